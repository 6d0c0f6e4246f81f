"""Command: readings of pictures against the structures that were drawn."""

from __future__ import annotations

import sys

from rc_hpc.core.door import Parser
from rc_hpc.engine import entry
from rc_hpc.kinds import scores


def parser() -> Parser:
    """Argument parser of scoring."""
    return entry.parser(scores.KIND)


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return entry.main("score", argv)


if __name__ == "__main__":
    sys.exit(main())
