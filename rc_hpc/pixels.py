"""Command: rendered pictures, decoded and reduced once, as input for training."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rc_hpc.core.old_door import Parser, guarded, setup_logging
from rc_hpc.core.errors import Exit, UsageError

EXAMPLES = """\
  python -m rc_hpc.pixels renders.h5 -o pixels.h5           224 px, bicubic with antialiasing
  python -m rc_hpc.pixels train.h5 eval.h5 -o pixels.h5     pictures of two rendering runs in one file
  python -m rc_hpc.pixels renders.h5 --size 64 --filter box -o small.h5

  Every picture is checked against the manifest's SHA-256. The attribute content_hash of the output
  is the hash of what was decoded; training runs record it.
"""


def parser() -> Parser:
    """Argument parser of the command."""
    p = Parser("python -m rc_hpc.pixels", __doc__, EXAMPLES)
    p.add_argument(
        "manifest",
        nargs="+",
        type=Path,
        metavar="RENDERS",
        help="manifests written by python -m rc_hpc.render, their pictures beside them",
    )
    p.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("pixels.h5"),
        metavar="FILE",
        help="default: %(default)s",
    )
    p.add_argument(
        "--size", type=int, default=224, metavar="PX", help="width and height; default: %(default)s"
    )
    p.add_argument(
        "--filter",
        default="bicubic",
        metavar="NAME",
        help="bicubic (default), bilinear, lanczos, hamming, box or nearest; all but nearest average over what they reduce",
    )
    p.add_argument(
        "--threads",
        type=int,
        default=None,
        metavar="N",
        help="default: the cores this process may use",
    )
    p.add_argument(
        "--resume",
        action="store_true",
        help="leave a finished output of the same pictures and options as it is",
    )
    p.add_argument("--overwrite", action="store_true", help="replace the output")
    p.add_argument(
        "--progress",
        choices=("auto", "bar", "plain", "none"),
        default="auto",
        help="default: a bar on a terminal, else plain lines",
    )
    p.add_config()
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def _run(argv) -> int:
    args = parser().parse(argv)
    setup_logging(args)
    threads = len(os.sched_getaffinity(0)) if args.threads is None else args.threads
    if threads < 1:
        raise UsageError(f"--threads {threads}: give 1 or more")
    from rc_hpc.engine.run import RunOptions
    from rc_hpc.training.pixel_files import make_pixels

    run = RunOptions(args.output, args.resume, args.overwrite, None, args.progress)
    told = make_pixels(args.manifest, args.size, args.filter, run, threads)
    if not args.quiet:
        print(told or f"{args.output}: finished already")
    return Exit.CLEAN


if __name__ == "__main__":
    sys.exit(main())
