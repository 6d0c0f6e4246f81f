"""Command: results as one HTML page, with every structure, its views and its phantoms."""

from __future__ import annotations

import sys

from rc_hpc.core.door import Parser, Talk, guarded
from rc_hpc.core.lazy import resolve
from rc_hpc.engine.report_options import PageOptions

EXAMPLES = """\
  python -m rc_hpc.report census.h5                 report.html, to open in any browser
  python -m rc_hpc.report census.h5 frontier.h5 noise.h5 -o all.html
                                                    several results on one page

The page is one file that loads nothing from anywhere: sentences, figures and tables of each file,
and of a census all structures, to sort and to search (words; atoms<20, sg:225, phantoms>0, wrong>2,
wrong:axis_a+axis_b, status:ok, system:cubic, quarantined). report.html#ID opens a structure. Atoms
are taken from the packed file beside the census.
"""


def parser() -> Parser:
    """Argument parser of the command."""
    p = Parser("python -m rc_hpc.report", __doc__, EXAMPLES)
    p.add_options(PageOptions)
    p.add_config()
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def _run(argv) -> int:
    asked = parser().read(argv)
    report = resolve("rc_hpc.engine.reporting:report")
    return report(asked.make(PageOptions), asked.make(Talk).quiet)


if __name__ == "__main__":
    sys.exit(main())
