"""How a tolerance frontier is run: what it takes besides the oracle on one structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from rc_hpc.kinds.common.costs import Rows, census_costs
from rc_hpc.kinds.common.statics import subset_dims, subset_statics
from rc_hpc.kinds.common.warm import cameras
from rc_hpc.kinds.frontier.options import FrontierOptions
from rc_hpc.oracle.labels import LabelTable

#: Predicted time of one more delta or reading, in units of a census, and in s.
POINT_WEIGHT, POINT_S = 0.1, 0.001
#: Predicted time of the rest of a structure, s.
STRUCTURE_S = 0.02


def _points(options: FrontierOptions) -> int:
    return len(options.deltas) * len(options.readings) * len(options.symprecs)


def dims(options: FrontierOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return subset_dims(options) | {
        "reading": len(options.readings),
        "delta": len(options.deltas),
        "symprec": len(options.symprecs),
    }


def statics(options: FrontierOptions) -> dict[str, Any]:
    """Datasets that belong to no structure."""
    enumerations, rules = zip(*options.readings, strict=True)
    return subset_statics(options) | {
        "axes/enumeration": (
            list(enumerations),
            "1",
            "Camera pairs that each reading triangulates.",
            ("reading",),
        ),
        "axes/merge": (list(rules), "1", "Merge rule of each reading.", ("reading",)),
        "axes/delta": (
            np.array(options.deltas),
            "angstrom",
            "Acceptance and merge tolerances.",
            ("delta",),
        ),
        "axes/symprec": (
            np.array(options.symprecs),
            "angstrom",
            "Tolerance of the point groups of the reconstructions."
            if options.pack.molecules
            else "spglib's symprec of the reconstructions' labels.",
            ("symprec",),
        ),
    }


def costs(options: FrontierOptions, _shared: Any, rows: Rows) -> np.ndarray:
    """Predicted time of each structure, (n,), ms."""
    return (1.0 + POINT_WEIGHT * _points(options)) * census_costs(rows, options.pack.molecules)


def facts(options: FrontierOptions) -> tuple[dict[str, Any], float]:
    """What a dry run tells, and seconds for a structure."""
    told = {
        "view subsets": len(options.subsets),
        "deltas": len(options.deltas),
        "readings": len(options.readings),
    }
    return told, STRUCTURE_S + POINT_S * _points(options)


def warm(options: FrontierOptions) -> None:
    """Run the kernels once."""
    small = cameras(options.protocol)
    candidates = small.enumerate_cell([[0.0, 0.0, 0.0]], [1], 0.01, 0.01)
    small.steps(candidates, np.array([0.01]))
    small.profile(candidates)
    merged = small.reconstruct(candidates.within(0.01), 0.01, chosen=np.array([0]))
    table = LabelTable(np.eye(3), (), ordered=False)
    for _ in range(2):  # the second is compared with the first
        table.labels(merged.species, *merged.cells[0])
