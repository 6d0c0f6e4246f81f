"""How an occlusion sweep is run: what it takes besides the oracle on one structure."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.kinds.common.costs import Rows, census_costs
from rc_hpc.kinds.common.options import identity_of
from rc_hpc.kinds.common.statics import subset_dims, subset_statics
from rc_hpc.kinds.occlusion.options import OCCLUSION_RULES, OcclusionOptions
from rc_hpc.kinds.occlusion.oracle import OcclusionOracle
from rc_hpc.oracle.cell import PackedCell

#: Predicted time of one more reading of one condition, in units of a census, and in s.
POINT_WEIGHT, POINT_S = 0.1, 0.001
#: Predicted time of the rest of a structure, s.
STRUCTURE_S = 0.02
#: What each condition takes away.
CONDITION_TEXTS = {
    "O0": "nothing",
    "O1": "centres occluded by atoms of other orbits only (informative)",
    "O2": "all occluded centres",
    "O3": "centres occluded by an atom of their own orbit (redundant)",
}


def dims(options: OcclusionOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return subset_dims(options) | {
        "view": len(options.protocol["views"]),
        "reading": len(options.readings),
        "condition": len(options.conditions),
    }


def statics(options: OcclusionOptions) -> dict[str, Any]:
    """Datasets that belong to no structure."""
    verifications, enumerations, rules = zip(*options.readings, strict=True)
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
        "axes/condition": (
            list(options.conditions),
            "1",
            "Name of each condition.",
            ("condition",),
        ),
        "axes/removed": (
            [CONDITION_TEXTS[name] for name in options.conditions],
            "1",
            "What the condition takes away.",
            ("condition",),
        ),
    }


def costs(options: OcclusionOptions, _shared: Any, rows: Rows) -> np.ndarray:
    """Predicted time of each structure, (n,), ms."""
    return (1.0 + POINT_WEIGHT * len(options.readings) * len(options.conditions)) * census_costs(
        rows
    )


def facts(options: OcclusionOptions) -> tuple[dict[str, Any], float]:
    """What a dry run tells, and seconds for a structure."""
    told = {
        "view subsets": len(options.subsets),
        "conditions": len(options.conditions),
        "readings": len(options.readings),
    }
    return told, STRUCTURE_S + POINT_S * len(options.conditions) * len(options.readings)


def warm(_options: OcclusionOptions) -> None:
    """Run the kernels once."""
    protocol = dataclasses.replace(load_protocol("frozen"), tiling=(2, 1, 1))
    smallest = OcclusionOptions(
        identity_of(protocol),
        ((0, 1),),
        conditions=("O2",),
        verifications=("covered", "excused"),
        rules=OCCLUSION_RULES,
    )
    OcclusionOracle(protocol, smallest).run(
        PackedCell("", 3 * np.eye(3), np.zeros((1, 3)), np.array([29]), 221, 221, np.inf)
    )
