"""Command: pictures of crystal structures, one a camera, with a manifest of what they show."""

from __future__ import annotations

import sys

from rc_hpc.core.door import Parser
from rc_hpc.engine import entry
from rc_hpc.kinds import renders


def parser() -> Parser:
    """Argument parser of drawing."""
    return entry.parser(renders.KIND)


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return entry.main("render", argv)


if __name__ == "__main__":
    sys.exit(main())
