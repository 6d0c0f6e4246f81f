"""Result files of any kind as tables and figures."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rc_hpc.core.errors import UsageError
from rc_hpc.core.kind import LIST_LINES, Kind
from rc_hpc.engine.published import conditions_of
from rc_hpc.kinds.common.counting import Counts
from rc_hpc.kinds.common.lists import lists_of
from rc_hpc.kinds.registry import KINDS, PACKED
from rc_hpc.report import recorded
from rc_hpc.report.plot import Drawn, Origin, draw
from rc_hpc.report.tables import Table, render, together
from rc_hpc.store.reader import open_ours


def kind_of(path: Path) -> Kind:
    """The kind of a file, which must be one of the registry's.

    Raises
    ------
    RcError
        Not a file of ours.
    UsageError
        Of a kind that this version does not know.
    """
    with open_ours(path) as h5:
        name = str(h5.attrs["kind"])
    if name not in KINDS:
        raise UsageError(f"{path} is a {name} file, which this version of rc_hpc does not know")
    return KINDS[name]


def tables_of(path: Path, names: Sequence[str] = (), short: bool = False):
    """Counts and tables of a file: those of these names, by default all, or those that end a run.

    Raises
    ------
    UsageError
        The kind has no tables, or none of such a name.
    """
    kind = kind_of(path)
    if not kind.tables:
        cure = f": python -m rc_hpc.census {path} makes one that has" if kind is PACKED else ""
        raise UsageError(f"{path} is a {kind.name} file, which has no tables{cure}")
    for name in names:
        if name not in kind.table_lines:
            raise UsageError(
                f"--table {name}: {path} is a {kind.name} file, whose tables are "
                f"{', '.join((*kind.table_lines, *LIST_LINES))}"
            )
    counts: Counts = kind.load("counts")(path)
    every = tuple(name for name in kind.table_lines if name not in kind.long)
    wanted = names or (kind.summary if short else every)
    tables: list[Table] = kind.load("tables")(counts, wanted)
    return counts, tables


def lists_in(path: Path, names: Sequence[str]) -> tuple[dict[str, Any], list[Table]]:
    """Root attributes and lists of structures of a file of any kind.

    Parameters
    ----------
    names
        Of `rc_hpc.core.kind.LIST_LINES`.
    """
    kind = kind_of(path)
    with open_ours(path) as h5:
        attrs = dict(h5.attrs)
    return attrs, lists_of(path, kind, names)


def summary(path: str | Path) -> str:
    """The tables that end a run as terminal text."""
    tables, conditions = together(tables_of(Path(path), short=True)[1])
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if width:
        conditions = textwrap.fill(conditions, width)
    shown = [render(table, "terminal", width) for table in tables]
    return "\n\n".join(filter(None, [*shown, conditions]))


def figures_of(path: Path, names: Sequence[str], folder: Path) -> Drawn:
    """Draw figures of a file; `names` is empty for all of them.

    Raises
    ------
    UsageError
        There are no figures of files of this kind, or none of such a name.
    """
    kind = kind_of(path)
    if not kind.figures:
        drawable = ", ".join(one.name for one in KINDS.values() if one.figures)
        raise UsageError(
            f"{path}: there are no figures of a {kind.name} file, only of {drawable} files"
        )
    known = {plot.name: plot for plot in kind.load("figures")}
    for name in names:
        if name not in known:
            raise UsageError(
                f"--figure {name}: {path} is a {kind.name} file, whose figures are "
                f"{', '.join(known)}"
            )
    plots = [known[name] for name in dict.fromkeys(names)] or list(known.values())
    wanted = tuple(dict.fromkeys(name for plot in plots for name in plot.tables))
    counts, tables = tables_of(path, wanted)
    conditions = conditions_of(path, counts)
    origin = Origin(path.name, str(counts.attrs["content_hash"]), counts.options)
    return draw(plots, tables, origin, lambda name: recorded.find(name, conditions), folder)
