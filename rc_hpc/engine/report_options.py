"""Options of tables and figures, and what the kinds of file have of them."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

from rc_hpc.core.errors import UsageError
from rc_hpc.core.kind import EXPORTED, LIST_LINES
from rc_hpc.core.options import Options, opt
from rc_hpc.kinds.common.selection import Selection
from rc_hpc.kinds.registry import KINDS
from rc_hpc.report.tables import ENDINGS


def file_of_results() -> Path:
    """The file that is told of."""
    return opt(
        Path("census.h5"),
        "census, sweep or other result file",
        parse=Path,
        positional=True,
        metavar="FILE.h5",
    )


def packed_file() -> Path | None:
    """Where the atoms are."""
    return opt(
        None,
        "packed file that the results were computed from",
        parse=Path,
        metavar="FILE.h5",
        told="the one beside it",
    )


@dataclass(frozen=True)
class TableOptions(Options):
    """Which tables of which file, and how."""

    census: Path = file_of_results()
    table: str = opt(
        "all",
        "only this one",
        choices=(
            *dict.fromkeys(name for kind in KINDS.values() for name in kind.table_lines),
            *LIST_LINES,
            "all",
        ),
        metavar="NAME",
    )
    format: str = opt(
        "terminal",
        "terminal, markdown, csv, latex or parquet (needs pyarrow)",
        choices=tuple(ENDINGS),
    )
    output: Path | None = opt(
        None,
        "write one file per table into this folder",
        parse=Path,
        short="-o",
        metavar="DIR",
        told="print them",
    )

    def __post_init__(self):
        super().__post_init__()
        if self.format == "parquet" and self.output is None:
            raise UsageError("--format parquet is not for a terminal: name a folder with --output")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tables; none stands for all."""
        return () if self.table == "all" else (self.table,)


@dataclass(frozen=True)
class FigureOptions(Options):
    """Which figures of which file."""

    file: Path = file_of_results()
    figure: tuple[str, ...] = opt(
        (),
        "only this one; may be repeated",
        many=True,
        metavar="NAME",
        told="all that can be drawn",
    )
    output: Path = opt(
        Path("figures"), "folder for the files", parse=Path, short="-o", metavar="DIR"
    )


@dataclass(frozen=True)
class ShowOptions(Options):
    """Which structures of which file are shown, and where their pictures go."""

    file: Path = file_of_results()
    ids: tuple[str, ...] = opt(
        (), "ids of the structures", many=True, positional=True, metavar="ID"
    )
    subset: str | None = opt(
        None,
        "view subset whose phantoms are shown, cameras joined by +",
        metavar="CAMERAS",
        told="of the wrong ones, else of all, the first with most",
    )
    packed: Path | None = packed_file()
    output: Path = opt(
        Path("show"), "folder for the pictures", parse=Path, short="-o", metavar="DIR"
    )
    overwrite: bool = opt(False, "replace pictures of another file of the same name")


@dataclass(frozen=True)
class ExportOptions(Options):
    """Which structures of which file go where, and how."""

    file: Path = file_of_results()
    what: str = opt(
        EXPORTED[0],
        "conventional cells as they are drawn (of readings: as they were read), what a view subset "
        "gives back of them, or the phantoms of that subset at delta",
        choices=EXPORTED,
    )
    chosen: Selection = Selection()
    subset: str | None = opt(
        None, "view subset, cameras joined by +", metavar="CAMERAS", told="all cameras"
    )
    format: str = opt(
        "extxyz",
        "extxyz (a file, with properties), cif (a file) or poscar (a folder)",
        choices=("extxyz", "cif", "poscar"),
    )
    packed: Path | None = packed_file()
    output: Path | None = opt(
        None,
        "file, or folder of POSCARs",
        parse=Path,
        short="-o",
        metavar="PATH",
        told="named after --what",
    )
    overwrite: bool = opt(False, "replace an output that is there")


@dataclass(frozen=True)
class PageOptions(Options):
    """Which files are told on the page, and where it goes."""

    files: tuple[Path, ...] = opt(
        (Path("census.h5"),),
        "census, sweep or other result files",
        parse=Path,
        positional=True,
        many=True,
        metavar="FILE.h5",
    )
    output: Path = opt(Path("report.html"), "the page", parse=Path, short="-o", metavar="FILE")
    title: str | None = opt(None, "its title", metavar="TEXT", told="the names of the files")
    packed: Path | None = packed_file()
    chemiscope: Path | None = opt(
        None,
        "write the structures of the first file for chemiscope too (needs rc_hpc[chemiscope])",
        parse=Path,
        metavar="FILE.json",
    )
    overwrite: bool = opt(False, "replace a page that is there")


def lists(field: str, what: str) -> str:
    """Help on the names that each kind of file has of something."""
    texts = []
    for kind in KINDS.values():
        lines = [
            textwrap.fill(line, 98, initial_indent=f"  {name:<15} ", subsequent_indent=" " * 18)
            for name, line in getattr(kind, field).items()
        ]
        if lines:
            title = f"{what} of a {kind.name} file (python -m rc_hpc.{kind.command}):"
            texts.append("\n".join([title, *lines]))
    if field == "table_lines":
        lines = [f"  {name:<15} {line}" for name, line in LIST_LINES.items()]
        texts.append("\n".join(["lists of every kind of file, by name only:", *lines]))
    return "\n\n".join(texts)
