"""Command: compile the kernels ahead of a run, into the cache of this machine or node."""

from __future__ import annotations

import sys

from rc_hpc.core.door import Parser, guarded
from rc_hpc.core.lazy import resolve

EXAMPLES = """\
  python -m rc_hpc.warm                     the kernels of a census
  python -m rc_hpc.warm census noise        those of several kinds of result
  srun --ntasks-per-node=1 --mpi=none python -m rc_hpc.warm
                                            once on each node; the batch scripts do so
"""


def parser() -> Parser:
    """Argument parser of the command."""
    p = Parser("python -m rc_hpc.warm", __doc__, EXAMPLES)
    p.add_options(resolve("rc_hpc.engine.warming:WarmOptions"), "what is compiled")
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(lambda: resolve("rc_hpc.engine.warming:warm")(parser().read(argv)))


if __name__ == "__main__":
    sys.exit(main())
