"""Command: what are cameras worth? Directions, kappa, alignment, phantoms, noise."""

from __future__ import annotations

import sys

from rc_hpc.core.door import Parser, Talk, guarded
from rc_hpc.core.lazy import resolve
from rc_hpc.engine.camera_options import CameraOptions, OnOptions

EXAMPLES = """\
  python -m rc_hpc.cameras mine.toml                beside frozen and off-axis, without structures
  python -m rc_hpc.cameras mine.toml --on structures/ -o cameras
                                                    what they give of these, and a drawing
  python -m rc_hpc.cameras design.toml --on packed.h5 --sample 100
  python -m rc_hpc.cameras frozen off-axis --on prototypes --sample 50 --seeds 0
                                                    without noise: quicker

kappa is the factor by which a pair of cameras makes the error of its image points an error in
space; gain is the same for all cameras together. A structure is aligned where a lattice vector
(coefficients up to 3) lies along a camera: its atoms then hide behind each other. Noise is for
orthographic cameras.
"""


def parser() -> Parser:
    """Argument parser of the command."""
    p = Parser("python -m rc_hpc.cameras", __doc__, EXAMPLES)
    p.add_options(CameraOptions)
    p.add_options(OnOptions, "structures")
    p.add_config()
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def _run(argv) -> int:
    asked = parser().read(argv)
    resolve("rc_hpc.parallel.compiling:tell_when_compiling")()  # before kernels are loaded
    judge = resolve("rc_hpc.engine.judging:judge")
    return judge(asked.make(CameraOptions), asked.make(OnOptions), asked.make(Talk))


if __name__ == "__main__":
    sys.exit(main())
