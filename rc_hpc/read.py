"""Command: crystals from their pictures, certified by drawing them again."""

from __future__ import annotations

import sys

from rc_hpc.core.door import Parser
from rc_hpc.engine import entry
from rc_hpc.kinds import readings


def parser() -> Parser:
    """Argument parser of reading."""
    return entry.parser(readings.KIND)


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return entry.main("read", argv)


if __name__ == "__main__":
    sys.exit(main())
