"""Command: structures to a packed HDF5 file.

Conventional cells, labels, tolerance sweep, status.
"""

from __future__ import annotations

import sys

from rc_hpc.core.door import Parser
from rc_hpc.engine import entry
from rc_hpc.kinds import packed


def parser() -> Parser:
    """Argument parser of packing."""
    return entry.parser(packed.KIND)


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return entry.main("pack", argv)


if __name__ == "__main__":
    sys.exit(main())
