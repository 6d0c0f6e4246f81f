"""Command: rendered pictures, decoded and reduced once, as input for training."""

from __future__ import annotations

import sys
from pathlib import Path

from rc_hpc.core.door import Parser, Talk, guarded
from rc_hpc.core.lazy import resolve
from rc_hpc.engine.options import CodedWorkOptions
from rc_hpc.training.options import PixelOptions

EXAMPLES = """\
  python -m rc_hpc.pixels renders.h5 -o pixels.h5           224 px, bicubic with antialiasing
  python -m rc_hpc.pixels train.h5 eval.h5 -o pixels.h5     pictures of two rendering runs in one
  python -m rc_hpc.pixels renders.h5 --size 64 --filter box -o small.h5

  Every picture is checked against the manifest's SHA-256. The attribute content_hash of the output
  is the hash of what was decoded; training runs record it.
"""


def parser() -> Parser:
    """Argument parser of the command."""
    p = Parser("python -m rc_hpc.pixels", __doc__, EXAMPLES)
    p.add_options(PixelOptions, "pixels")
    p.add_options(CodedWorkOptions, "run", output=Path("pixels.h5"))
    p.add_config()
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def _run(argv) -> int:
    asked = parser().read(argv)
    make_pixels = resolve("rc_hpc.training.pixel_files:make_pixels")
    return make_pixels(asked.make(PixelOptions), asked.make(CodedWorkOptions), asked.make(Talk))


if __name__ == "__main__":
    sys.exit(main())
