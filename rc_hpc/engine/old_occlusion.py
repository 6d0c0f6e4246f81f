"""The occlusion run: a packed file to its reconstructions from pictures that hide centres."""

from __future__ import annotations

from pathlib import Path

from rc_hpc.engine.rows import Job, merge_rows, run_rows
from rc_hpc.engine.run import RunOptions
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.common.statics import subset_dims, subset_statics
from rc_hpc.kinds.occlusion.options import OcclusionOptions
from rc_hpc.kinds.occlusion.oracle import OcclusionOracle
from rc_hpc.kinds.occlusion.schema import OCCLUSION
from rc_hpc.parallel.launch import Comm
from rc_hpc.parallel.run import Totals
from rc_hpc.parallel.signals import StopSignal

#: Predicted time of one more reading of one condition, in units of a census.
POINT_WEIGHT = 0.1
#: What each condition takes away.
CONDITION_TEXTS = {
    "O0": "nothing",
    "O1": "centres occluded by atoms of other orbits only (informative)",
    "O2": "all occluded centres",
    "O3": "centres occluded by an atom of their own orbit (redundant)",
}


def run_occlusion(
    comm: Comm,
    packed: Path,
    protocol: Protocol,
    options: OcclusionOptions,
    run: RunOptions,
    stop: StopSignal,
) -> Totals | None:
    """Occlusion sweep of a packed file; all ranks together.

    Returns
    -------
    Totals
        None where the output was finished already.
    """

    def prepare(recorder):
        return OcclusionOracle(protocol, options, recorder).run

    weight = 1.0 + POINT_WEIGHT * len(options.readings) * len(options.conditions)
    return run_rows(
        comm, packed, Job(OCCLUSION, options, dims_of(options), statics, prepare, weight), run, stop
    )


def merge_occlusion(output: Path, partial: bool = False) -> str:
    """Merge the parts of an occlusion sweep, and remove them where none is missing; returns the content hash.

    Raises
    ------
    RcError
        Rows are missing, unless `partial`; all are.
    """
    return merge_rows(output, OCCLUSION, statics, partial)


def dims_of(options: OcclusionOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return subset_dims(options) | {
        "view": len(options.protocol["views"]),
        "reading": len(options.readings),
        "condition": len(options.conditions),
    }


def statics(options: dict) -> dict:
    """Datasets of an occlusion file that belong to no structure, from the options it was made with."""
    made = OcclusionOptions(
        **{
            name: tuple(options[name])
            for name in ("subsets", "conditions", "verifications", "enumerations", "rules")
        },
        protocol=options["protocol"],
    )
    verifications, enumerations, rules = zip(*made.readings, strict=True)
    return subset_statics(options) | {
        "axes/verification": (
            list(verifications),
            "1",
            "When a view that does not show a candidate lets it pass.",
            ("reading",),
        ),
        "axes/enumeration": (
            list(enumerations),
            "1",
            "Camera pairs that each reading triangulates.",
            ("reading",),
        ),
        "axes/merge": (list(rules), "1", "Merge rule of each reading.", ("reading",)),
        "axes/condition": (list(made.conditions), "1", "Name of each condition.", ("condition",)),
        "axes/removed": (
            [CONDITION_TEXTS[name] for name in made.conditions],
            "1",
            "What the condition takes away.",
            ("condition",),
        ),
    }
