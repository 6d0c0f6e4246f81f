"""Numbers of a cell."""

from __future__ import annotations

import numpy as np


def cell_parameters(lattice: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths (Å) and angles (degrees) of the vectors that are the rows."""
    sides = np.linalg.norm(lattice, axis=1)
    cosines = [lattice[k] @ lattice[m] / (sides[k] * sides[m]) for k, m in ((1, 2), (0, 2), (0, 1))]
    return sides, np.degrees(np.arccos(np.clip(cosines, -1, 1)))
