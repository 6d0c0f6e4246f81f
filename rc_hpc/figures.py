"""Command: the figures of a result, as PDF and PNG with their data."""

from __future__ import annotations

import sys

from rc_hpc.core.door import Parser, Talk, guarded
from rc_hpc.core.errors import Exit
from rc_hpc.core.lazy import resolve
from rc_hpc.engine.report_options import FigureOptions, lists

EXAMPLES = """\
  python -m rc_hpc.figures census.h5                all its figures, into the folder figures
  python -m rc_hpc.figures census.h5 --figure view-curve --figure subsets -o paper
  python -m rc_hpc.figures frontier.h5              the same of a sweep
  python -m rc_hpc.ladder predictions/ --census census.h5 --figures figures
                                                    those of the attribution ladder
"""
NOTE = """\

Each figure is NAME.pdf, NAME.png and NAME.csv: the table of rc_hpc.tables that it shows, unrounded,
after comment lines (#) with the file, its content hash, its options and the published values that
are marked. Those are marked only on the structures and under the options at which they were read.
Of several sets of structures the first is drawn. Read it with
pandas.read_csv(file, comment="#")."""


def parser() -> Parser:
    """Argument parser of the figures."""
    about = f"{EXAMPLES}\n{lists('figure_lines', 'figures')}\n{NOTE}"
    p = Parser("python -m rc_hpc.figures", __doc__, about)
    p.add_options(FigureOptions)
    p.add_config()
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def _run(argv) -> int:
    asked = parser().read(argv)
    options, talk = asked.make(FigureOptions), asked.make(Talk)
    drawn = resolve("rc_hpc.engine.results:figures_of")(
        options.file, options.figure, options.output
    )
    resolve("rc_hpc.report.plot:tell")(drawn, talk.quiet)
    return Exit.CLEAN


if __name__ == "__main__":
    sys.exit(main())
