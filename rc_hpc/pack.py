"""Command: structures to a packed HDF5 file: conventional cells, labels, tolerance sweep, status."""

from __future__ import annotations

import sys
from pathlib import Path

from rc_hpc.census import add_run_options, add_source_options
from rc_hpc.core.old_door import Parser
from rc_hpc.engine.entry import run_command

EXAMPLES = """\
  python -m rc_hpc.pack structures/ -o packed.h5    then: python -m rc_hpc.census packed.h5
  mpiexec -n 8 python -m rc_hpc.pack big.jsonl -o packed.h5
  python -m rc_hpc.pack big.jsonl -o packed.h5 --shard 0/16
                                                    one share of a job array; then: pack merge packed.h5
"""


def parser() -> Parser:
    """Argument parser of the packing command."""
    p = Parser("python -m rc_hpc.pack", __doc__, EXAMPLES)
    p.add_argument(
        "source",
        nargs="*",
        default=["prototypes"],
        metavar="SOURCE",
        help=(
            "CIF, POSCAR, extxyz or JSON file (gz too), folder, glob, ASE database, 'mp:IDS' or 'mp:QUERY' (Materials Project), "
            "'prototypes' (default) or 'synthetic:N'"
        ),
    )
    p.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("packed.h5"),
        metavar="FILE",
        help="default: %(default)s",
    )
    add_source_options(p)
    add_run_options(p)
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return run_command("pack", _run, argv)


def _run(argv: list[str]) -> int:
    args = parser().parse(argv)
    from rc_hpc.engine.commands import pack

    return pack(args)


if __name__ == "__main__":
    sys.exit(main())
