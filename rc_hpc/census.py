"""Command: what do the cameras determine of each structure, for every subset of them?"""

from __future__ import annotations

import sys

from rc_hpc.core.door import Parser
from rc_hpc.engine import entry
from rc_hpc.kinds import census


def parser() -> Parser:
    """Argument parser of the census."""
    return entry.parser(census.KIND)


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return entry.main("census", argv)


if __name__ == "__main__":
    sys.exit(main())
