"""How a census is run: what it takes besides the oracle on one structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.common.costs import Rows, census_costs
from rc_hpc.kinds.common.statics import subset_dims, subset_statics
from rc_hpc.kinds.common.warm import cameras

#: Time of a structure whose every reconstruction is labelled, beside one with its distinct ones.
LABEL_EVERY = 10.0
#: Predicted time of a structure, s.
STRUCTURE_S = 0.02


def dims(options: CensusOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return subset_dims(options) | {"view": len(options.protocol["views"])}


def statics(options: CensusOptions) -> dict[str, Any]:
    """Datasets that belong to no structure."""
    return subset_statics(options)


def costs(options: CensusOptions, _shared: Any, rows: Rows) -> np.ndarray:
    """Predicted time of each structure, (n,), ms."""
    return (LABEL_EVERY if options.label_every else 1.0) * census_costs(
        rows, options.pack.molecules
    )


def facts(options: CensusOptions) -> tuple[dict[str, Any], float]:
    """What a dry run tells, and seconds for a structure."""
    return {"view subsets": len(options.subsets)}, STRUCTURE_S


def warm(options: CensusOptions) -> None:
    """Run the kernels once."""
    small, atom = cameras(options.protocol), ([[0.0, 0.0, 0.0]], [1])
    small.cover(small.run(*atom, 0.01).enumeration, CENSUS_ZERO)
    images, _ = small.project(*atom)
    small.reconstruct(small.enumerate(images, 0.01, 0.01), 0.01)
