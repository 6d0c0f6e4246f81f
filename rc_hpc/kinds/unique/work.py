"""How a uniqueness sweep is run: what it takes besides the oracle on one structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.kernels.covers import completions, filled
from rc_hpc.kinds.common.costs import Rows, census_costs
from rc_hpc.kinds.common.options import identity_of
from rc_hpc.kinds.common.statics import subset_dims, subset_statics
from rc_hpc.kinds.unique.options import UniqueOptions
from rc_hpc.kinds.unique.oracle import UniqueOracle
from rc_hpc.oracle.cell import PackedCell

#: Predicted time of one more policy, in units of a census, and in s.
POLICY_WEIGHT, POLICY_S = 0.5, 0.01
#: Predicted time of the rest of a structure, s.
STRUCTURE_S = 0.02


def dims(options: UniqueOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return subset_dims(options) | {"policy": len(options.policies)}


def statics(options: UniqueOptions) -> dict[str, Any]:
    """Datasets that belong to no structure."""
    return subset_statics(options) | {
        "axes/policy": (
            list(options.policies),
            "1",
            "What a reader knows beside the pictures.",
            ("policy",),
        ),
    }


def costs(options: UniqueOptions, _shared: Any, rows: Rows) -> np.ndarray:
    """Predicted time of each structure, (n,), ms."""
    return (1.0 + POLICY_WEIGHT * len(options.policies)) * census_costs(
        rows, options.pack.molecules
    )


def facts(options: UniqueOptions) -> tuple[dict[str, Any], float]:
    """What a dry run tells, and seconds for a structure."""
    told = {"view subsets": len(options.subsets), "policies": len(options.policies)}
    return told, STRUCTURE_S + POLICY_S * len(options.policies)


def warm(_options: UniqueOptions) -> None:
    """Run the kernels once, on four atoms at the corners of a rectangle, which are not unique."""
    smallest = UniqueOptions(identity_of(load_protocol("frozen")), ((0, 2),), truth="conventional")
    corners = np.array([[0.0, 0, 0], [2, 1, 0], [0, 1, 3], [2, 0, 3]])
    UniqueOracle(load_protocol("frozen"), smallest).run(
        PackedCell("", 6 * np.eye(3), corners, np.full(4, 29), 1, 1, 2.0)
    )
    ways = completions(2, 2, 3)
    filled(ways, 3, np.full((2, 3), 0.5))
