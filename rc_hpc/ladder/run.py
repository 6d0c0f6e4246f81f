"""The ladder from its options to tables and figures."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from rc_hpc.core.door import Talk
from rc_hpc.core.errors import Exit, UsageError
from rc_hpc.ladder import baseline_tables, paper_tables, summary
from rc_hpc.ladder import tables as ladder_tables
from rc_hpc.ladder.evidence import Evidence, Missing
from rc_hpc.ladder.figures import draw_ladder
from rc_hpc.ladder.options import TABLES, LadderOptions
from rc_hpc.report.plot import tell
from rc_hpc.report.tables import ALL, DIGITS_P, Table, show, tell_others, write

#: What makes each table: its caption, without the digits, and its frame.
_EVERY = ladder_tables.MAKERS | baseline_tables.MAKERS | paper_tables.MAKERS | summary.MAKERS
MAKERS = {name: _EVERY[name] for name in TABLES}


def run(options: LadderOptions, talk: Talk) -> int:
    """Make the tables that are asked for, print or write them, and draw their figures.

    Raises
    ------
    UsageError
        The one table that is asked for needs an input that was not given.
    """
    evidence = Evidence(options)
    tables, missing = make_tables(evidence, options.tables)
    if options.table is None and not tables:  # nothing of the summary: whatever there is
        tables, missing = make_tables(evidence, TABLES)
    if missing and options.table not in (None, ALL):
        raise UsageError(f"--table {options.table} {missing[options.table]}")
    if options.output is None:
        first = {table.name for table in tables} & set(options.first)
        shown = [one for one in tables if options.table or not first or one.name in first]
        show(shown, options.format)
        if options.table is None and not talk.quiet:
            tell_others([table.name for table in shown] + list(missing), TABLES)
    else:
        _write(tables, options.output, options, talk)
    if options.figures is not None:
        tell(draw_ladder(evidence, tables, options.figures), talk.quiet)
    for note in evidence.cells_differ:
        print(f"rc_hpc: {note}", file=sys.stderr)
    if not talk.quiet:
        for name, reason in missing.items():
            print(f"rc_hpc: table {name} left out: it {reason}", file=sys.stderr)
    return Exit.CLEAN


def make_tables(evidence: Evidence, names: Iterable[str]) -> tuple[list[Table], dict[str, str]]:
    """The tables of these names, and for those that cannot be made the input that they need."""
    tables, missing = [], {}
    for name in names:
        try:
            caption, frame = MAKERS[name](evidence)
        except Missing as reason:
            missing[name] = str(reason)
        else:
            tables.append(Table(name, f"{caption} ({DIGITS_P}).", frame))
    return tables, missing


def _write(tables: Iterable[Table], folder: Path, options: LadderOptions, talk: Talk) -> None:
    source = {
        name: list(map(str, getattr(options, name))) for name in ("predictions", "census", "scores")
    }
    for table in tables:
        path = write(table, folder, options.format, source)
        if not talk.quiet:
            print(f"{path}: {table.caption}")
