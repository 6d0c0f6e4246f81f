"""How packing is run: what it takes besides the oracle on one structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from rc_hpc.core.constants import ANGLE_TOLERANCE, SWEEP, TAU
from rc_hpc.kinds.common.statics import vocabulary
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.symmetry.labels import symmetry_of
from rc_hpc.symmetry.point_groups import point_group
from rc_hpc.symmetry.sharp import is_sharp
from rc_hpc.symmetry.stability import settings

#: Predicted time of packing a structure, s.
PACKING_S = 0.05


def dims(options: PackOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return {} if options.molecules else {"setting": len(SWEEP)}


def statics(options: PackOptions) -> dict[str, Any]:
    """Datasets that belong to no structure."""
    return vocabulary(options)


def warm(options: PackOptions) -> None:
    """Load, or compile, what packing calls."""
    if options.molecules:
        point_group([1, 1], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.74]])
        return
    lattice, frac = 3 * np.eye(3), np.zeros((1, 3))
    dataset, _ = symmetry_of(lattice, frac, np.array([6]), TAU, ANGLE_TOLERANCE)
    is_sharp(lattice, frac, np.array([6]), dataset, "m-3m", settings())


def facts(_options: PackOptions) -> tuple[dict[str, Any], float]:
    """What a dry run tells, and seconds for a structure."""
    return {}, PACKING_S
