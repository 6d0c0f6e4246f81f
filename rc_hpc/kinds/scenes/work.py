"""How scenes are made: what it takes besides the scenes of one structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from rc_hpc.core.constants import SWEEP
from rc_hpc.core.errors import Status
from rc_hpc.kernels.painting import seen_pixels
from rc_hpc.kinds.common.costs import NOTHING_MS, Rows
from rc_hpc.kinds.common.statics import vocabulary
from rc_hpc.kinds.scenes.options import ScenesOptions

#: Predicted time of a structure and of each of its atoms, ms on a core of 2024.
EACH_MS, ATOM_MS = 300.0, 10.0
#: Predicted time of a structure, s.
EACH_S = 0.5


def dims(_options: ScenesOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return {"setting": len(SWEEP)}


def statics(options: ScenesOptions) -> dict[str, Any]:
    """Datasets that belong to no structure."""
    return vocabulary(options.pack)


def costs(_options: ScenesOptions, _shared: None, rows: Rows) -> np.ndarray:
    """Predicted time of each structure, (n,), ms."""
    each = EACH_MS + ATOM_MS * rows("n_atoms").astype(float)
    return np.where(rows("status") == Status.ok, each, NOTHING_MS)


def facts(options: ScenesOptions) -> tuple[dict[str, Any], float]:
    """What a dry run tells, and seconds for a structure."""
    return {"supercells of each at most": options.display.supercells}, EACH_S


def warm(_options: ScenesOptions) -> None:
    """Compile the painting of a picture."""
    nothing, pairs = np.zeros(1), np.zeros((1, 2))
    seen_pixels(
        np.arange(2),
        pairs,
        nothing,
        pairs,
        pairs,
        nothing,
        np.zeros((1, 4)),
        np.zeros(1, bool),
        8,
        8,
    )
