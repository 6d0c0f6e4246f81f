"""Atoms that leave a result file for other programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Exported:
    """One structure, or points that belong to one.

    Attributes
    ----------
    id
    lattice : (3, 3) float64 or None
        Vectors of the drawn cell as rows, Å; None of a molecule.
    positions : (n, 3) float64
        Å, in the frame of `lattice`, of a molecule as it stands before the cameras.
    numbers : (n,) int
        Atomic numbers.
    facts
        Of the whole: plain values by name.
    columns
        Of each atom: arrays by name.
    """

    id: str
    lattice: np.ndarray | None
    positions: np.ndarray
    numbers: np.ndarray
    facts: dict[str, Any]
    columns: dict[str, np.ndarray] = field(default_factory=dict)
