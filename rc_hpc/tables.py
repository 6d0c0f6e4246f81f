"""Command: a result as tables, on the terminal or as Markdown, CSV, LaTeX and Parquet."""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from rc_hpc.core.door import Parser, Talk, guarded
from rc_hpc.core.errors import UsageError
from rc_hpc.core.lazy import resolve
from rc_hpc.core.options import Options, opt
from rc_hpc.kinds.registry import KINDS
from rc_hpc.report.tables import ENDINGS

EXAMPLES = """\
  python -m rc_hpc.tables census.h5                 all tables on the terminal
  python -m rc_hpc.tables census.h5 --table reference --format latex > reference.tex
  python -m rc_hpc.tables census.h5 --format csv --output tables
                                                    tables/reference.csv, tables/subsets.csv, ...
  python -m rc_hpc.tables census.h5 --format parquet --output tables
  python -m rc_hpc.tables frontier.h5               the same of a sweep
"""
NOTE = """\

Only structures with status ok are counted. What was not computed (the full protocol, a
subset size) is left out. Terminal, Markdown and LaTeX round as each caption
says; CSV and Parquet carry every digit, and units in the names of their columns. Captions, options
and the content hash are inside Parquet files, and in tables.json beside CSV files."""


@dataclass(frozen=True)
class TableOptions(Options):
    """Which tables of which file, and how."""

    census: Path = opt(
        Path("census.h5"),
        "census or sweep file",
        parse=Path,
        positional=True,
        metavar="FILE.h5",
    )
    table: str = opt(
        "all",
        "only this one",
        choices=(
            *dict.fromkeys(name for kind in KINDS.values() for name in kind.table_lines),
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
    return "\n\n".join(texts)


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
    names = () if options.table == "all" else (options.table,)
    tell = resolve("rc_hpc.engine.telling:tell_tables")
    return tell(options.census, names, options.format, options.output, talk.quiet)


if __name__ == "__main__":
    sys.exit(main())
