"""Command: one structure in words and as a picture: what each view subset gives of it, and why."""

from __future__ import annotations

import sys

from rc_hpc.core.door import Parser, Talk, guarded
from rc_hpc.core.lazy import resolve
from rc_hpc.engine.report_options import ShowOptions

EXAMPLES = """\
  python -m rc_hpc.show census.h5 mp-149            in words, and as pictures in show/:
                                                    mp-149.census.png and .svg
  python -m rc_hpc.show census.h5 mp-149 --subset axis_a+axis_b
                                                    the phantoms of these two cameras
  python -m rc_hpc.show census.h5 mp-149 mp-13 -o pictures
  python -m rc_hpc.show readings.h5 mp-149          discs found and atoms read, over its pictures
  python -m rc_hpc.show packed.h5 mp-149            its cell, labels and views
  python -m rc_hpc.show frontier.h5 mp-149          the deltas at which it has phantoms
  python -m rc_hpc.tables census.h5 --table failures
                                                    which ids are worth a look

What is drawn of each kind of file:
  census     its views; a cross is a phantom of the subset: a point that its cameras accept as an
             atom at delta, where the crystal has none (a merge may drop it: what is read is told
             in words). Below, one of them where it arises: in two cameras it lies where an atom
             of its element is seen (ringed), and a third contradicts it most
  unique     the crystal above another one that has the same pictures
  readings   its pictures, pale; circles are discs found, dashed where no atom read has its place,
             points atoms read, crosses atoms read without a disc of their own
  frontier   the deltas at which there are phantoms by acceptance
  noise      the share of seeds that is read rightly
  packed, occlusion
             the cell as cameras see it

Atoms are taken from the packed file beside the results. Pictures of the same file are replaced;
those of another file of the same name are only with --overwrite.
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
