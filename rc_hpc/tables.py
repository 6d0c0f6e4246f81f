"""Command: a result as tables, on the terminal or as Markdown, CSV, LaTeX and Parquet."""

from __future__ import annotations

import sys

from rc_hpc.core.door import Parser, Talk, guarded
from rc_hpc.core.lazy import resolve
from rc_hpc.engine.report_options import TableOptions, lists

EXAMPLES = """\
  python -m rc_hpc.tables census.h5                 all tables on the terminal
  python -m rc_hpc.tables census.h5 --table reference --format latex > reference.tex
  python -m rc_hpc.tables census.h5 --format csv --output tables
                                                    tables/reference.csv, tables/subsets.csv, ...
  python -m rc_hpc.tables census.h5 --format parquet --output tables
  python -m rc_hpc.tables frontier.h5               the same of a sweep
  python -m rc_hpc.tables census.h5 --table failures
                                                    which structures fail, on which cameras, and why
  python -m rc_hpc.tables census.h5 --table structures --format csv -o lists
"""
NOTE = """\

Only structures with status ok are counted. What was not computed (the full protocol, a
subset size) is left out. Of tables of many rows the terminal shows the first, and all by name.
Terminal, Markdown and LaTeX round as each caption
says; CSV and Parquet carry every digit, and units in the names of their columns. Captions, options
and the content hash are inside Parquet files, and in tables.json beside CSV files."""


def parser() -> Parser:
    """Argument parser of the tables."""
    p = Parser(
        "python -m rc_hpc.tables",
        __doc__,
        f"{EXAMPLES}\n{lists('table_lines', 'tables')}\n{NOTE}",
    )
    p.add_options(TableOptions)
    p.add_config()
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def _run(argv) -> int:
    asked = parser().read(argv)
    options, talk = asked.make(TableOptions), asked.make(Talk)
    tell = resolve("rc_hpc.engine.telling:tell_tables")
    return tell(options.census, options.names, options.format, options.output, talk.quiet)


if __name__ == "__main__":
    sys.exit(main())
