"""What a figure is made of, and how it comes to its files."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import rc_hpc
from rc_hpc.core.errors import RcError
from rc_hpc.core.files import name_a_folder
from rc_hpc.report.style import styled
from rc_hpc.report.tables import Table, csv_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Written of every figure beside its data.
FORMATS = ("pdf", "png")
#: Files written of each figure by its name, and why others were left out.
Drawn = tuple[dict[str, list[Path]], dict[str, str]]


class NothingToDraw(Exception):
    """A figure cannot be made of this frame: the message says why."""


@dataclass(frozen=True)
class Given:
    """What a figure is drawn from.

    Attributes
    ----------
    frame
        Rows of the table, of the headline set of structures where there are several.
    options
        Options of the file; empty where there is none.
    recorded
        Published values that hold under these options, from `recorded.find`.
    others
        Rows of the further tables of the figure, by name.
    """

    frame: pd.DataFrame
    options: dict = field(default_factory=dict)
    recorded: tuple[dict, ...] = ()
    others: dict[str, pd.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Plot:
    """One figure: its name, the table that it shows, how it is drawn, and further tables."""

    name: str
    table: str
    draw: Callable[[Given], Figure]
    also: tuple[str, ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables it needs."""
        return self.table, *self.also


@dataclass(frozen=True)
class Origin:
    """Where the numbers come from, for the head of the data files.

    Attributes
    ----------
    source
        Name of the file or files.
    content_hash
    options
        See `Given`.
    """

    source: str
    content_hash: str
    options: dict = field(default_factory=dict)


def write(
    plot: Plot,
    tables: dict[str, Table],
    origin: Origin,
    recorded: tuple[dict, ...],
    folder: str | Path,
) -> list[Path]:
    """Draw one figure of tables into `folder`, which is created: PDF, PNG and its data as CSV.

    Returns
    -------
    list of Path
        The files, the data last: ``NAME.csv`` is the table of the figure, ``NAME.TABLE.csv`` a
        further one.

    Raises
    ------
    NothingToDraw
        The frame has nothing for this figure.
    RcError
        The folder cannot be written.
    """
    table = tables[plot.table]
    contents = {}
    with styled():
        made = _drawn(plot, tables, origin, recorded)
        for ending in FORMATS:
            contents[ending] = _saved(made, ending, table.caption)
    for ending, name in {"csv": plot.table, **{f"{name}.csv": name for name in plot.also}}.items():
        contents[ending] = (
            _head(plot, tables[name], origin, recorded) + csv_of(tables[name].frame)
        ).encode()
    name_a_folder(Path(folder))
    paths = [Path(folder) / f"{plot.name}.{ending}" for ending in contents]
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for path, data in zip(paths, contents.values(), strict=True):
            path.write_bytes(data)
    except OSError as error:
        raise RcError(
            f"{folder}: cannot be written ({error.strerror}): choose another folder or free space"
        ) from error
    return paths


def _drawn(
    plot: Plot, tables: dict[str, Table], origin: Origin, recorded: tuple[dict, ...]
) -> Figure:
    """One figure of tables; raises NothingToDraw."""
    given = Given(
        _headline(tables[plot.table].frame),
        origin.options,
        recorded,
        {name: _headline(tables[name].frame) for name in plot.also},
    )
    if given.frame.empty:
        raise NothingToDraw("has a table without rows")
    return plot.draw(given)


def drawn_svg(
    plot: Plot, tables: dict[str, Table], origin: Origin, recorded: tuple[dict, ...]
) -> bytes:
    """The same figure as SVG, its letters as text; raises NothingToDraw."""
    import matplotlib

    with styled(), matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "rc_hpc"}):
        svg = _saved(_drawn(plot, tables, origin, recorded), "svg", tables[plot.table].caption)
    # Names of clip paths come from addresses in memory: numbered, equal work gives equal files.
    names = dict.fromkeys(re.findall(rb'<clipPath id="([^"]+)"', svg))
    numbers = {name: b"clip%d" % number for number, name in enumerate(names)}
    return re.sub(rb'(?<=id=")[^"]+|(?<=url\(#)[^)]+', lambda m: numbers.get(m[0], m[0]), svg)


def draw(
    plots: Iterable[Plot],
    tables: Iterable[Table],
    origin: Origin,
    published: Callable[[str], tuple[dict, ...]],
    folder: Path,
) -> Drawn:
    """Draw figures of tables into `folder`.

    Parameters
    ----------
    published
        Published values that hold for these tables, by the name of a figure.
    """
    by_name = {table.name: table for table in tables}
    written, left_out = {}, {}
    for plot in plots:
        try:
            written[plot.name] = write(plot, by_name, origin, published(plot.name), folder)
        except NothingToDraw as reason:
            left_out[plot.name] = str(reason)
    return written, left_out


def tell(drawn: Drawn, quiet: bool) -> None:
    """Say what was written, and to stderr what was left out."""
    written, left_out = drawn
    if quiet:
        return
    for paths in written.values():
        print(", ".join(map(str, paths)))
    for name, reason in left_out.items():
        print(f"rc_hpc: figure {name} left out: it {reason}", file=sys.stderr)


def _headline(frame: pd.DataFrame) -> pd.DataFrame:
    if "structures" not in frame or frame.empty:
        return frame
    return frame[frame["structures"] == frame["structures"].iloc[0]].reset_index(drop=True)


def _saved(made: Figure, ending: str, caption: str) -> bytes:
    # no dates and no versions: equal work gives equal files
    metadata = {
        "pdf": {"Title": caption, "CreationDate": None, "Creator": None, "Producer": None},
        "png": {"Description": caption, "Software": None},
        "svg": {"Title": caption, "Date": None, "Creator": None},
    }
    sink = io.BytesIO()
    made.savefig(sink, format=ending, metadata=metadata[ending])
    return sink.getvalue()


def _head(plot: Plot, table: Table, origin: Origin, recorded: tuple[dict, ...]) -> str:
    told = {
        "figure": plot.name,
        "caption": table.caption,
        "source": origin.source,
        "content_hash": origin.content_hash,
        "written by": f"rc_hpc {rc_hpc.__version__}, table {table.name}, unrounded",
    }
    if origin.options:
        told["options"] = json.dumps(origin.options, sort_keys=True)
    lines = [f"{name}: {text}" for name, text in told.items()] + [
        f"recorded: {json.dumps(entry, sort_keys=True)}" for entry in recorded
    ]
    return "".join(f"# {' '.join(line.split())}\n" for line in lines)
