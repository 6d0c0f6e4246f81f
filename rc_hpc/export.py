"""Command: structures, reconstructions and phantoms as extxyz, CIF or POSCAR."""

from __future__ import annotations

import sys

from rc_hpc.core.door import Parser, Talk, guarded
from rc_hpc.core.lazy import resolve
from rc_hpc.engine.report_options import ExportOptions

EXAMPLES = """\
  python -m rc_hpc.export census.h5                 all conventional cells, cells.extxyz
  python -m rc_hpc.export census.h5 --what reconstructions --subset axis_a+axis_b --ids mp-149,mp-13
                                                    what these two cameras give back
  python -m rc_hpc.export census.h5 --what phantoms --subset axis_a+axis_b -o phantoms.extxyz
  python -m rc_hpc.export packed.h5 --format poscar -o cells
  python -m rc_hpc.export readings.h5 -o read.extxyz
                                                    crystals as they were read from pictures

Frames of extxyz carry id, true label, subset, whether it reads the crystal system rightly, whether
it is certified, its phantoms and the smallest delta with one; phantoms carry the deltas between
which each is one; crystals read carry how reading ended, certificate, pixels that differ, labels,
and the standard error of every site. CIFs are in P 1. Molecules, which have no cell, are extxyz
alone.
"""


def parser() -> Parser:
    """Argument parser of the command."""
    p = Parser("python -m rc_hpc.export", __doc__, EXAMPLES)
    p.add_options(ExportOptions)
    p.add_config()
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def _run(argv) -> int:
    asked = parser().read(argv)
    resolve("rc_hpc.parallel.compiling:tell_when_compiling")()  # before kernels are loaded
    export = resolve("rc_hpc.engine.exporting:export")
    return export(asked.make(ExportOptions), asked.make(Talk).quiet)


if __name__ == "__main__":
    sys.exit(main())
