"""Command: one structure in words and as a picture: what each view subset gives of it, and why."""

from __future__ import annotations

import sys

from rc_hpc.core.door import Parser, Talk, guarded
from rc_hpc.core.lazy import resolve
from rc_hpc.engine.report_options import ShowOptions

EXAMPLES = """\
  python -m rc_hpc.show census.h5 mp-149            in words, and pictures show/mp-149.png and .svg
  python -m rc_hpc.show census.h5 mp-149 --subset axis_a+axis_b
                                                    the phantoms of these two cameras
  python -m rc_hpc.show census.h5 mp-149 mp-13 -o pictures
  python -m rc_hpc.show readings.h5 mp-149          discs found and atoms read, over its pictures
  python -m rc_hpc.show packed.h5 mp-149            its cell, labels and views
  python -m rc_hpc.show frontier.h5 mp-149          the deltas at which it has phantoms
  python -m rc_hpc.tables census.h5 --table failures
                                                    which ids are worth a look

A cross marks where a reconstruction has an atom and the crystal has none. Below the views one
phantom is shown where it arises: in two cameras it lies where an atom of its element is seen
(ringed), and a third contradicts it most. Atoms are taken from the packed file beside the census.
"""


def parser() -> Parser:
    """Argument parser of the command."""
    p = Parser("python -m rc_hpc.show", __doc__, EXAMPLES)
    p.add_options(ShowOptions)
    p.add_config()
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def _run(argv) -> int:
    asked = parser().read(argv)
    return resolve("rc_hpc.engine.showing:show")(asked.make(ShowOptions), asked.make(Talk).quiet)


if __name__ == "__main__":
    sys.exit(main())
