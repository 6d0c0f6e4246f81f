"""Single structures of a result file, in words and as pictures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rc_hpc.core.errors import Exit, RcError, UsageError
from rc_hpc.core.files import HEAD, appear, name_a_folder, spare_others
from rc_hpc.core.kind import Kind
from rc_hpc.core.text import file_stem, plain, typed
from rc_hpc.engine.report_options import ShowOptions
from rc_hpc.engine.results import kind_of
from rc_hpc.kinds.registry import KINDS
from rc_hpc.report import style
from rc_hpc.store.reader import open_ours

#: Files of each picture, and the resolution of those made of pixels.
ENDINGS, DPI = ("png", "svg"), 200
#: By which a picture is known for one of ours, which may be replaced, and where it stands.
MARK, _WHERE = "rc_hpc show", {"png": "Software", "svg": "Creator"}
#: What a picture was made from, as its metadata tell it.
_MADE_FROM = re.compile(rb"([^\s\0<>]+), content ([0-9a-f]{64})")


def show(options: ShowOptions, quiet: bool) -> int:
    """Print what is known of each structure, and write its pictures; returns the exit code.

    Raises
    ------
    UsageError
        There is nothing of the kind to show, no structure of that name, or a picture of another
        file where its own would go.
    RcError
        A picture cannot be written.
    """
    kind = kind_of(options.file)
    if not kind.show:
        drawable = ", ".join(one.name for one in KINDS.values() if one.show)
        raise UsageError(
            f"{options.file} is a {kind.name} file, of which no structure can be shown, only of "
            f"{drawable} files: {_instead(kind, options)}"
        )
    if not options.ids:
        raise UsageError(
            f"name structures of {options.file} to show: "
            f"python -m rc_hpc.tables {options.file} --table failures lists those that fail"
        )
    name_a_folder(options.output)
    source = _source(options.file)
    for id_ in options.ids:
        for path in paths_of(options.output, id_, options.file):
            spare_others(path, MARK.encode())
            if not options.overwrite:
                _spare(path, source)
    for number, id_ in enumerate(options.ids):
        if number and not quiet:
            print()
        _one(kind, options, id_, source, quiet)
    return Exit.CLEAN


def _instead(kind: Kind, options: ShowOptions) -> str:
    """The command that tells of the structures of a file that cannot be shown itself."""
    for words, _ in kind.load("after")(options.file) if kind.after else ():
        if words[0] == "show":  # the file that this one is made from
            command = " ".join(map(typed, ["show", words[1], *(options.ids or words[2:3])]))
            return f"python -m rc_hpc.{command}"
    return f"python -m rc_hpc.tables {typed(options.file)} --table structures lists them"


def _one(kind: Kind, options: ShowOptions, id_: str, source: str, quiet: bool) -> None:
    words, figure = kind.load("show")(options.file, options.packed, id_, options.subset)
    written = [] if figure is None else _write(figure, options, id_, source)
    if not quiet:
        print("\n".join([words, *([", ".join(map(str, written))] if written else [])]))


def paths_of(folder: Path, id_: str, file: Path) -> list[Path]:
    """Where the pictures of a structure of a file go: named after both."""
    return [folder / f"{file_stem(id_)}.{file_stem(file.stem)}.{end}" for end in ENDINGS]


def _source(path: Path) -> str:
    """Name and content of a file, as its pictures tell them."""
    with open_ours(path) as h5:
        return f"{plain(path.name)}, content {h5.attrs['content_hash']}"


def _spare(path: Path, source: str) -> None:
    """Refuse to write over a picture that was made from another file, or does not say of which.

    Raises
    ------
    UsageError
    """
    if not path.is_file() or not path.stat().st_size:
        return
    with open(path, "rb") as file:
        told = _MADE_FROM.search(file.read(HEAD))
    if told is None or told[2].decode() != source[-len(told[2]) :]:
        name = told[1].decode(errors="replace") if told else "file"
        another = "another " if told is None or source.startswith(f"{name},") else ""
        raise UsageError(
            f"{path} is there and was made from {another}{name}: choose another -o, or --overwrite"
        )


def _write(figure: Any, options: ShowOptions, id_: str, source: str) -> list[Path]:
    """The figure as files."""
    folder, paths = options.output, paths_of(options.output, id_, options.file)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with style.styled():
            for path, end in zip(paths, ENDINGS, strict=True):
                dated = {"Date": None} if end == "svg" else {}
                with appear(path, durable=False, run=False) as whole:
                    told = {_WHERE[end]: MARK, "Source": source, **dated}
                    figure.savefig(whole, format=end, dpi=DPI, metadata=told)
    except OSError as error:
        raise RcError(
            f"{folder}: cannot be written ({error.strerror}): choose another --output folder or "
            "free space"
        ) from error
    return paths
