"""Scores from their options to tables and figures."""

from __future__ import annotations

import sys

from rc_hpc.benchmark.scoring.evidence import Evidence
from rc_hpc.benchmark.scoring.figures import draw_scores
from rc_hpc.benchmark.scoring.options import SUMMARY, TABLES, ScoreOptions
from rc_hpc.benchmark.scoring.tables import make_tables
from rc_hpc.core.door import Talk, setup_logging
from rc_hpc.core.errors import Exit, UsageError
from rc_hpc.report.plot import tell
from rc_hpc.report.tables import ALL, show, tell_others, write


def run(options: ScoreOptions, talk: Talk) -> int:
    """Make the tables that are asked for, print or write them, and draw their figures.

    Returns
    -------
    int
        `Exit.FAILURES` where answers are missing.

    Raises
    ------
    UsageError
        The one table that is asked for needs an input that was not given.
    """
    setup_logging(talk)
    evidence = Evidence(options)
    tables, missing = make_tables(evidence, options.tables)
    if missing and options.table not in (None, ALL):
        raise UsageError(f"--table {options.table} {missing[options.table]}")
    if options.output is None:
        shown = [table for table in tables if options.table or table.name in SUMMARY]
        show(shown, options.format)
        if options.table is None and not talk.quiet:
            tell_others([table.name for table in shown] + list(missing), TABLES)
    else:
        source = {"answers": list(map(str, options.answers)), "package": evidence.package.sha256}
        for table in tables:
            path = write(table, options.output, options.format, source)
            if not talk.quiet:
                print(f"{path}: {table.caption}")
    if options.figures is not None:
        tell(draw_scores(evidence, tables, options.figures), talk.quiet)
    if not talk.quiet:
        for name, reason in missing.items():
            print(f"rc_hpc: table {name} left out: it {reason}", file=sys.stderr)
    lost = [one for one in evidence.answers if evidence.why_unscored(one)]
    for one in lost if not talk.quiet else ():
        cure = "" if options.allow_partial else "; --allow-partial scores what there is"
        print(
            f"rc_hpc: {one.file.source}: {one.model}, {one.arm}: {evidence.why_unscored(one)}: no "
            f"formal score{cure}",
            file=sys.stderr,
        )
    return Exit.FAILURES if lost else Exit.CLEAN
