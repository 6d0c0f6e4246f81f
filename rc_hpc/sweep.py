"""Command: what happens to the ceilings as one condition is varied?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rc_hpc.census import add_oracle_options, add_run_options, add_source, add_truth_options
from rc_hpc.core import constants
from rc_hpc.core.old_door import Parser
from rc_hpc.core.vocabulary import (
    ENUMERATIONS,
    ESTIMATORS,
    LABELLERS,
    MERGE_RULES,
    NOISE_RULES,
    TRUTHS,
)
from rc_hpc.engine.entry import run_command
from rc_hpc.kinds.occlusion.options import CONDITIONS, OCCLUSION_RULES, VERIFICATIONS

EXAMPLES = """\
  python -m rc_hpc.sweep frontier packed.h5         R1 and certificates over the tolerance delta
  python -m rc_hpc.sweep noise packed.h5            R1 over the noise of the disc centres
  python -m rc_hpc.sweep occlusion packed.h5        R1 where discs hide the centres of others
  python -m rc_hpc.sweep design packed.h5           better cameras, judged on structures that the search did not see
  python -m rc_hpc.sweep frontier --help            the options of a sweep
  python -m rc_hpc.sweep frontier --resume          go on where a stopped or killed run was
  python -m rc_hpc.sweep status frontier.h5         how far it is (also: merge, validate)
"""
DESIGN_EXAMPLES = """\
  python -m rc_hpc.sweep design                     five cameras for the 288 prototypes, half of the compositions held out
  python -m rc_hpc.sweep design packed.h5 --held-out eval.txt --training 200
                                                    judged on the structures whose ids the file lists
  python -m rc_hpc.sweep design packed.h5 --keep axis_a,axis_b,axis_c -o kept.h5
                                                    the principal axes stay, the other two cameras are free
  python -m rc_hpc.sweep design packed.h5 --views 4 --beside frozen,mine.toml -o four.h5
  python -m rc_hpc.tables design.h5 --table phantoms
  python -m rc_hpc.sweep noise packed.h5 --protocols frozen,design.toml
                                                    the best set goes wherever --protocol does
"""
DESIGN_NOTE = """\
Better cameras by a seeded search, judged on structures that it did not see. \
Structures are split by composition. (1) Random starts are brought to a minimum of geometric_cost = gain^2 + 0.1 mean kappa^2 \
(gain: largest standard deviation of an all-view least-squares position per sigma; mean over camera pairs) by coordinate exchange over \
a lattice of 1000 directions. (2) On a sample of the training structures the sets are scored by \
cost = geometric_cost (1 + ambiguity + phantom_rate): phantoms per atom at delta 0.5 with all cameras, and the share of structures and \
view subsets with a phantom at --delta; the best, no two alike within 5 degrees, are improved by small random turns of one camera after the other. \
(3) The sets found and those of --beside are read under centroid noise (rule common, estimator all-views, labeller statistical). The best \
set is that with the highest noise tolerance, R1 averaged over all sigmas but 0, on the training structures; what is told of it \
comes from the held-out ones. Beside the HDF5 file a protocol file of the best set is written, with the ending .toml"""
OCCLUSION_EXAMPLES = """\
  python -m rc_hpc.sweep occlusion                  the 288 prototypes, four conditions, rules that know nothing of what is hidden
  python -m rc_hpc.sweep occlusion packed.h5 --verify covered,painted,strict,2-of-V,3-of-V -o occlusion.h5
  python -m rc_hpc.sweep occlusion packed.h5 --verify excused,strict --enumerations anchor --rules first --delta 0.15
                                                    the released experiment
  python -m rc_hpc.tables occlusion.h5 --table sites
                                                    how many atoms fewer than two views show
"""
FRONTIER_EXAMPLES = """\
  python -m rc_hpc.sweep frontier                   the 288 prototypes, 14 deltas, default reading
  python -m rc_hpc.sweep frontier packed.h5 --deltas 0.005,0.01,0.15 --rules all --enumerations all -o frontier.h5
                                                    every reading side by side
  python -m rc_hpc.sweep frontier packed.h5 --protocol off-axis --subsets all
  python -m rc_hpc.sweep frontier packed.h5 --deltas 0.01,0.15 --symprecs 0.001,0.01,0.1
                                                    the joint grid of delta and symprec
  python -m rc_hpc.tables frontier.h5 --table steps --format csv
                                                    the exact number of certified structures over delta
"""
NOISE_EXAMPLES = """\
  python -m rc_hpc.sweep noise                      the 288 prototypes under the frozen and the off-axis cameras
  python -m rc_hpc.sweep noise packed.h5 --protocols frozen,off-axis,frozen@2 --seeds 3
                                                    the cell repeated twice along each axis, too
  python -m rc_hpc.sweep noise packed.h5 --rules all --estimators all -o every.h5
                                                    every reading side by side, from the same errors
  python -m rc_hpc.sweep noise packed.h5 --rules record --sigmas 0,0.001,0.003,0.01,0.02 --order ids.txt
                                                    the released experiment
  mpiexec -n 8 python -m rc_hpc.sweep noise packed.h5
                                                    the same content from any number of ranks or shards
  python -m rc_hpc.tables noise.h5 --table crossings
"""


def lengths(text: str) -> tuple[float, ...]:
    """Comma-separated lengths, ascending, each once."""
    return tuple(sorted({float(part) for part in text.split(",")}))


def some_of(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """Parser of ``all`` or comma-separated names of `known`, in their order."""

    def names(text: str) -> tuple[str, ...]:
        asked = known if text == "all" else text.split(",")
        strange = [name for name in asked if name not in known]
        if strange:
            raise argparse.ArgumentTypeError(f"{strange[0]!r}: choose from all, {', '.join(known)}")
        return tuple(name for name in known if name in asked)

    return names


def add_frontier(p: Parser) -> None:
    """Options of the tolerance frontier."""
    add_source(p, "frontier.h5")
    add_oracle_options(p, subsets="full")
    p.add_argument(
        "--deltas",
        type=lengths,
        default=constants.FRONTIER_DELTAS,
        metavar="Å,Å",
        help=(
            f"acceptance and merge tolerances; default: {','.join(f'{delta:g}' for delta in constants.FRONTIER_DELTAS)}"
        ),
    )
    p.add_argument(
        "--symprecs",
        type=lengths,
        default=None,
        metavar="Å,Å",
        help="spglib's symprec of the reconstructions' labels (the true label is at --tau); default: --tau",
    )
    p.add_argument(
        "--delta-max",
        type=float,
        default=None,
        metavar="Å",
        help=f"follow the delta profile up to this delta; default: {constants.DELTA_MAX}, or the largest of --deltas",
    )
    p.add_argument(
        "--enumerations",
        type=some_of(ENUMERATIONS),
        default=ENUMERATIONS[:1],
        metavar="all|NAME,NAME",
        help=f"of {', '.join(ENUMERATIONS)}; default: {ENUMERATIONS[0]}",
    )
    p.add_argument(
        "--rules",
        type=some_of(MERGE_RULES),
        default=MERGE_RULES[:1],
        metavar="all|NAME,NAME",
        help=f"merge rules, of {', '.join(MERGE_RULES)}; default: {MERGE_RULES[0]}",
    )
    add_run_options(p)


def add_noise(p: Parser) -> None:
    """Options of the noise sweep."""
    add_source(p, "noise.h5")
    p.add_argument(
        "--protocols",
        default="frozen,off-axis",
        metavar="NAME|FILE[@TILING],...",
        help="cameras: frozen, off-axis or TOML files; @2 or @2x2x1 repeats the conventional cell; default: %(default)s",
    )
    p.add_argument(
        "--sigmas",
        type=lengths,
        default=constants.NOISE_SIGMAS,
        metavar="Å,Å",
        help=(
            f"standard deviations of each screen coordinate of a disc centre; default: {','.join(f'{sigma:g}' for sigma in constants.NOISE_SIGMAS)}"
        ),
    )
    p.add_argument(
        "--seeds", type=int, default=10, metavar="N", help="seeds 0 to N-1; default: %(default)s"
    )
    p.add_argument(
        "--rules",
        type=some_of(NOISE_RULES),
        default=NOISE_RULES[:1],
        metavar="all|NAME,NAME",
        help=(
            "tolerance rules: common is delta = max(0.01, 8 sigma) for all protocols, paper is max(0.15, 4 sigma), record is the released "
            f"experiment, its estimator, merge rule, labeller and random numbers included (parity only); default: {NOISE_RULES[0]}"
        ),
    )
    p.add_argument(
        "--estimators",
        type=some_of(ESTIMATORS),
        default=ESTIMATORS[:1],
        metavar="all|NAME,NAME",
        help=f"centroids that a position is estimated from, of {', '.join(ESTIMATORS)}; default: {ESTIMATORS[0]}",
    )
    p.add_argument(
        "--merge",
        choices=MERGE_RULES,
        default="best-residual",
        help="merge rule of the estimators that read pairs; default: %(default)s",
    )
    p.add_argument(
        "--labeller",
        choices=LABELLERS,
        default=LABELLERS[0],
        help="how the noisy cell's symmetry is found: by a test against the errors' covariance (default), at a symprec that follows from sigma, or at the record's, which follows from the true errors (parity only)",
    )
    p.add_argument(
        "--order",
        type=Path,
        default=None,
        metavar="FILE",
        help="ids, one a line, in the order in which the rule record draws its errors; default: the order of the packed file",
    )
    add_truth_options(p)
    add_run_options(p)


def names(text: str) -> tuple[str, ...]:
    """Comma-separated names."""
    return tuple(text.split(","))


def add_occlusion(p: Parser) -> None:
    """Options of the occlusion sweep."""
    add_source(p, "occlusion.h5")
    add_oracle_options(p, subsets="full")
    p.add_argument(
        "--delta",
        type=float,
        default=constants.DELTA,
        metavar="Å",
        help="acceptance and merge tolerance; default: %(default)s",
    )
    p.add_argument(
        "--conditions",
        type=some_of(CONDITIONS),
        default=CONDITIONS,
        metavar="all|NAME,NAME",
        help=(
            "centres taken away: O0 none, O1 those hidden by atoms of other symmetry orbits only, O2 all hidden, O3 those hidden by one of their own orbit; default: all"
        ),
    )
    p.add_argument(
        "--verify",
        type=names,
        default=VERIFICATIONS,
        metavar="NAME,NAME",
        help=(
            "when a view that does not show a candidate lets it pass: strict (never), covered (where a disc whose centre is shown covers the spot), "
            "painted (where any disc does), K-of-V (where K views show it), excused (where something was taken away: knows the answer, for parity only); "
            f"default: {','.join(VERIFICATIONS)}"
        ),
    )
    p.add_argument(
        "--enumerations",
        type=some_of(ENUMERATIONS),
        default=ENUMERATIONS[:1],
        metavar="all|NAME,NAME",
        help=(
            f"of {', '.join(ENUMERATIONS)} (the next pair where the first two cameras give nothing); default: {ENUMERATIONS[0]}"
        ),
    )
    p.add_argument(
        "--rules",
        type=some_of(OCCLUSION_RULES),
        default=OCCLUSION_RULES[:1],
        metavar="all|NAME,NAME",
        help=(
            f"merge rules, of {', '.join(OCCLUSION_RULES)} (with strict and excused only); default: {OCCLUSION_RULES[0]}"
        ),
    )
    p.add_argument(
        "--radii",
        type=float,
        default=0.5,
        metavar="FACTOR",
        help="disc radius in units of the covalent radius; default: %(default)s",
    )
    add_run_options(p)


def held_out(text: str) -> float | Path:
    """A share, or a file of ids."""
    try:
        return float(text)
    except ValueError:
        return Path(text)


def add_design(p: Parser) -> None:
    """Options of the camera design."""
    add_source(p, "design.h5")
    p.add_argument(
        "--views", type=int, default=5, metavar="N", help="cameras of a set; default: %(default)s"
    )
    p.add_argument(
        "--keep",
        type=names,
        default=(),
        metavar="NAME,NAME",
        help="cameras of the protocol frozen that every set holds, such as axis_a,axis_b,axis_c; default: none",
    )
    p.add_argument(
        "--beside",
        default="frozen,off-axis",
        metavar="NAME|FILE[@TILING],...",
        help="protocols to compare with: frozen, off-axis or TOML files; default: %(default)s",
    )
    p.add_argument(
        "--held-out",
        type=held_out,
        default=0.5,
        metavar="SHARE|FILE",
        help=(
            "structures that the search does not see: a share of the compositions, or a file of ids, one a line (other structures of their compositions are not searched on either); default: %(default)s"
        ),
    )
    p.add_argument(
        "--training",
        type=int,
        default=100,
        metavar="N",
        help="structures, at most, on which the best of the sets found is chosen; default: %(default)s",
    )
    p.add_argument(
        "--sample",
        type=int,
        default=40,
        metavar="N",
        help="those of them, at most, on which the search counts phantoms; default: %(default)s",
    )
    p.add_argument(
        "--starts",
        type=int,
        default=64,
        metavar="N",
        help="random starts of the search; default: %(default)s",
    )
    p.add_argument(
        "--shortlist",
        type=int,
        default=4,
        metavar="N",
        help="sets found, at most, that are read under noise; default: %(default)s",
    )
    p.add_argument(
        "--search-seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the split and of the search; default: %(default)s",
    )
    p.add_argument(
        "--delta",
        type=float,
        default=constants.DELTA,
        metavar="Å",
        help="acceptance and merge tolerance of the phantom rates; default: %(default)s",
    )
    p.add_argument(
        "--sigmas",
        type=lengths,
        default=constants.DESIGN_SIGMAS,
        metavar="Å,Å",
        help=(
            f"standard deviations of each screen coordinate of a disc centre; default: {','.join(f'{sigma:g}' for sigma in constants.DESIGN_SIGMAS)}"
        ),
    )
    p.add_argument(
        "--seeds",
        type=int,
        default=3,
        metavar="N",
        help="noise seeds 0 to N-1; default: %(default)s",
    )
    p.add_argument(
        "--truth",
        choices=TRUTHS,
        default=TRUTHS[0],
        help="the cell whose label counts as true; default: %(default)s",
    )
    p.add_argument(
        "--quarantine",
        choices=("drop", "keep"),
        default="drop",
        help="structures with an unstable label: drop (default; they take no part) or keep",
    )
    add_run_options(p)


class Sweep(NamedTuple):
    """One sub-command: what it is, examples, its options, and what it is in one line where the first takes more."""

    description: str
    examples: str
    add_options: Callable[[Parser], None]
    line: str = ""


SWEEPS = {
    "frontier": Sweep(
        "R1 over the tolerance delta under every reading, and the deltas at which each structure has phantoms",
        FRONTIER_EXAMPLES,
        add_frontier,
    ),
    "occlusion": Sweep(
        "R1 where discs hide the centres of others, by what is taken away and by how misses are judged",
        OCCLUSION_EXAMPLES,
        add_occlusion,
    ),
    "design": Sweep(
        DESIGN_NOTE,
        DESIGN_EXAMPLES,
        add_design,
        "better cameras by a seeded search, judged on structures that it did not see",
    ),
    "noise": Sweep(
        "R1 over Gaussian noise of the disc centres, for camera protocols, tolerance rules and estimators side by side",
        NOISE_EXAMPLES,
        add_noise,
    ),
}


def parser() -> Parser:
    """Argument parser of all sweeps."""
    p = Parser("python -m rc_hpc.sweep", __doc__, EXAMPLES, told=False)
    sweeps = p.add_subparsers(dest="sweep", required=True, metavar="SWEEP", title="sweeps")
    for name, sweep in SWEEPS.items():
        sweep.add_options(
            sweeps.add_parser(
                name,
                help=sweep.line or sweep.description,
                description=f"{sweep.description}.",
                examples=sweep.examples,
            )
        )
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return run_command("sweep", _run, argv)


def _run(argv: list[str]) -> int:
    args = parser().parse(argv)
    from rc_hpc.engine.sweeps import run_sweep

    return run_sweep(args)


if __name__ == "__main__":
    sys.exit(main())
