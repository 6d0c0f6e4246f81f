"""What a run says when it is over: rows that were refused, and what may be done next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.core.kind import Kind
from rc_hpc.core.text import typed
from rc_hpc.engine.results import lists_in
from rc_hpc.engine.showing import paths_of
from rc_hpc.store.reader import read_table

#: Width of the commands before what they are for.
_WIDTH = 52


def refused_rows(path: Path) -> Iterator[str]:
    """Every row of a file that has no result, with its message."""
    columns = [f"structures/{name}" for name in ("id", "status", "message")]
    read = read_table(path, columns)
    ids, codes, messages = (read[name] for name in columns)
    for row in np.flatnonzero(codes != Status.ok):
        message = " ".join(str(messages[row]).split())
        yield f"{ids[row]}: {Status(int(codes[row])).name}: {message}"


def next_commands(kind: Kind, path: Path) -> list[str]:
    """Commands that look at the result, as a person can type them; none of other kinds."""
    told: list[tuple[list[str | Path], str]] = []
    if kind.after:
        told += kind.load("after")(path)
    elif not (kind.details and kind.show and kind.page):
        return []
    told.append((["tables", path, "--table", "failures"], "which fail, and why"))
    if kind.show and (worst := _worth_showing(path)):
        there = any(one.exists() for one in paths_of(Path("show"), worst, path))
        more = ["--overwrite"] if there else []
        told.append((["show", path, worst, *more], "one in words and as a picture"))
    if kind.page:
        page = path.with_suffix(".html")
        more = ["--overwrite"] if page.exists() else []
        told.append((["report", path, "-o", page, *more], "all of them on one page"))
    lines = ((f"python -m rc_hpc.{' '.join(map(typed, words))}", what) for words, what in told)
    return ["next:", *(f"  {command:<{_WIDTH}}  # {what}" for command, what in lines)]


def _worth_showing(path: Path) -> str:
    """A structure with a result: one that some cameras get wrong, else the first."""
    for name in ("failures", "structures"):
        frame = lists_in(path, [name])[1][0].frame
        for id_ in frame["id"][frame["status"] == Status.ok.name]:
            if str(id_).isprintable() and not str(id_).startswith("-"):
                return str(id_)
    return ""
