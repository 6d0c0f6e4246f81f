"""One packed structure to its smallest same-species distance, and how a run goes about it."""

from __future__ import annotations

import numpy as np

from rc_hpc.core.constants import SWEEP
from rc_hpc.kinds.common.costs import Rows, census_costs
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.common.statics import vocabulary
from rc_hpc.kinds.distances.options import DistanceOptions
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.symmetry.distances import closest_pair

#: Predicted time of a structure, s.
STRUCTURE_S = 0.001


def oracle(options: DistanceOptions, given: Given) -> Compute:
    """What computes one structure."""

    def compute(cell: PackedCell) -> tuple[dict, dict]:
        frac = np.linalg.solve(cell.lattice.T, cell.positions.T).T
        nearest, species = np.inf, 0
        for number in np.unique(cell.numbers):
            own = frac[cell.numbers == number]
            distance = closest_pair(cell.lattice, own, own_images=options.own_images)[0]
            if distance < nearest:
                nearest, species = distance, number
        return {"distances/same_species": nearest, "distances/number": species}, {}

    return compute


def dims(options: DistanceOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return {"setting": len(SWEEP)}


def statics(options: DistanceOptions) -> dict:
    """Datasets that belong to no structure."""
    return vocabulary(options.pack)


def costs(options: DistanceOptions, shared: None, rows: Rows) -> np.ndarray:
    """Predicted time of each structure, (n,), ms."""
    return 0.01 * census_costs(rows)


def facts(options: DistanceOptions) -> tuple[dict, float]:
    """What a dry run tells, and seconds for a structure."""
    return {}, STRUCTURE_S


def warm(options: DistanceOptions) -> None:
    """There are no kernels to compile."""
