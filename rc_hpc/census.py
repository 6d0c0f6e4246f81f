"""Command: what do the cameras determine of each structure, for every subset of them?"""

from __future__ import annotations

import sys
from pathlib import Path

from rc_hpc.core import constants
from rc_hpc.core.old_door import Parser
from rc_hpc.core.vocabulary import ENUMERATIONS, MERGE_RULES, QUARANTINE_POLICIES, TRUTHS
from rc_hpc.engine.entry import run_command

EXAMPLES = """\
  python -m rc_hpc.census                           the 288 prototypes, all 26 view subsets
  python -m rc_hpc.census structures/ -o out.h5     every structure file of a folder
  mpiexec -n 8 python -m rc_hpc.census big.jsonl    under MPI; on SLURM: srun python -m rc_hpc.census
  python -m rc_hpc.census census.packed.h5 --delta 0.15 -o loose.h5
                                                    again at another tolerance, without reading and labelling
  python -m rc_hpc.census packed.h5 --shard 0/16    one share of a job array; then: census merge census.h5
  python -m rc_hpc.census --resume                  go on where a stopped or killed run was
  python -m rc_hpc.census status census.h5          how far it is (also: merge, validate)
"""


def parser() -> Parser:
    """Argument parser of the census."""
    p = Parser("python -m rc_hpc.census", __doc__, EXAMPLES)
    add_source(p, "census.h5")
    add_oracle_options(p, subsets="all")
    p.add_argument(
        "--delta",
        type=float,
        default=constants.DELTA,
        metavar="Å",
        help="acceptance and merge tolerance; default: %(default)s",
    )
    p.add_argument(
        "--delta-max",
        type=float,
        default=None,
        metavar="Å",
        help=f"follow phantoms up to this delta; default: {constants.DELTA_MAX}, or --delta if that is larger",
    )
    p.add_argument(
        "--enumeration",
        choices=ENUMERATIONS,
        default=ENUMERATIONS[0],
        help="camera pairs that are triangulated: all of a subset (the definition) or its first two cameras (the released program)",
    )
    p.add_argument(
        "--merge",
        choices=MERGE_RULES,
        default=MERGE_RULES[0],
        help="which accepted candidates become atoms; 'first' is the released program's rule",
    )
    p.add_argument(
        "--label-every",
        action="store_true",
        help="label every reconstruction, not the distinct ones only: slower, same result",
    )
    add_run_options(p)
    return p


def add_source(p: Parser, output: str) -> None:
    """What is read and what is written, for commands that work on packed structures."""
    p.add_argument(
        "source",
        nargs="*",
        default=["prototypes"],
        metavar="SOURCE",
        help=(
            "CIF, POSCAR, extxyz or JSON file (gz too), folder, glob, ASE database, packed HDF5, 'mp:IDS' or 'mp:QUERY' (Materials Project), "
            "'prototypes' (default) or 'synthetic:N'"
        ),
    )
    p.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path(output),
        metavar="FILE",
        help="default: %(default)s",
    )
    add_source_options(p)
    p.add_argument(
        "--packed",
        type=Path,
        default=None,
        metavar="FILE",
        help="where the packed structures go when SOURCE is not packed; default: beside the output",
    )


def add_oracle_options(p: Parser, subsets: str) -> None:
    """Options of everything that asks the oracle: cameras, their subsets, what is true and what is left out."""
    p.add_argument(
        "--protocol",
        default="frozen",
        metavar="NAME|FILE",
        help="cameras: frozen (default), off-axis, or a TOML file",
    )
    p.add_argument(
        "--subsets",
        default=subsets,
        metavar="all|full|a+b,a+c",
        help="view subsets; default: %(default)s",
    )
    p.add_argument(
        "--tiling",
        default=None,
        metavar="N|N,N,N",
        help="repeat the conventional cell; default: the protocol's",
    )
    add_truth_options(p)
    p.add_argument(
        "--max-candidates",
        type=int,
        default=100_000_000,
        metavar="N",
        help="refuse a structure with more candidates (100 bytes each); default: %(default)s",
    )


def add_truth_options(p: Parser) -> None:
    """Options that say what is true and what is left out."""
    p.add_argument(
        "--truth",
        choices=TRUTHS,
        default=TRUTHS[0],
        help="the cell whose label counts as true; default: %(default)s",
    )
    p.add_argument(
        "--quarantine",
        choices=QUARANTINE_POLICIES,
        default=QUARANTINE_POLICIES[0],
        help="structures with an unstable label: mark (default; computed, left out of headline numbers), keep (counted too) or drop (not computed)",
    )


def add_source_options(p: Parser) -> None:
    """Options that say what is read and how it is labelled."""
    p.add_argument(
        "--ids",
        type=Path,
        default=None,
        metavar="FILE",
        help="only the ids in this file, one a line",
    )
    p.add_argument(
        "--format",
        default=None,
        choices=("cif", "poscar", "xyz", "json", "jsonl", "db"),
        help="format of files whose name does not tell it",
    )
    p.add_argument(
        "--seed", type=int, default=0, help="seed of 'synthetic:N'; default: %(default)s"
    )
    p.add_argument(
        "--tau",
        type=float,
        default=constants.TAU,
        metavar="Å",
        help="symprec of the labels; default: %(default)s",
    )
    p.add_argument(
        "--angle-tolerance",
        type=float,
        default=constants.ANGLE_TOLERANCE,
        metavar="deg",
        help="default: %(default)s",
    )
    p.add_argument(
        "--max-atoms",
        type=int,
        default=constants.MAX_ATOMS,
        metavar="N",
        help="refuse larger cells; default: %(default)s",
    )


def add_run_options(p: Parser) -> None:
    """Options that say how the run goes about its work."""
    p.add_argument(
        "--resume",
        action="store_true",
        help="go on with earlier work of this output, under the same options and input",
    )
    p.add_argument("--overwrite", action="store_true", help="remove earlier work of this output")
    p.add_argument(
        "--shard",
        default=None,
        metavar="i/N",
        help="do the i-th (from 0) of N shares, for job arrays; 'merge' joins them",
    )
    p.add_argument(
        "--dry-run", action="store_true", help="say what would be done and how long it may take"
    )
    p.add_argument(
        "--progress",
        choices=("auto", "bar", "plain", "none"),
        default="auto",
        help="default: a bar on a terminal, else plain lines",
    )
    p.add_config()


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return run_command("census", _run, argv)


def _run(argv: list[str]) -> int:
    args = parser().parse(argv)
    from rc_hpc.engine.commands import census

    return census(args)


if __name__ == "__main__":
    sys.exit(main())
