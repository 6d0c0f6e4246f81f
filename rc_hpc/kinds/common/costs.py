"""Predicted times, by which work is shared out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import System

#: Time of a row that is not computed, ms.
NOTHING_MS = 0.01
#: Time of the point groups of a molecule, and more for each atom, ms.
MOLECULE_MS, MOLECULE_ATOM_MS = 5.0, 2.0
#: One column of the packed file's structures, by name.
Rows = Callable[[str], np.ndarray]


def census_costs(rows: Rows, molecules: bool = False) -> np.ndarray:
    """Predicted time of each structure in a census, (n,), ms on a core of 2024.

    The labels dominate: their time grows with the atoms and is some twenty times higher for
    cubic cells, which have the most operations. Rows that are not computed cost next to nothing.
    """
    if molecules:
        cost = MOLECULE_MS + MOLECULE_ATOM_MS * rows("n_atoms").astype(float)
        return np.where(rows("status") == Status.ok, cost, NOTHING_MS)
    cubic = rows("crystal_system_conventional") == System.cubic
    cost = 1.0 + 0.05 * rows("n_atoms").astype(float) * np.where(cubic, 20.0, 1.0)
    return np.where(rows("status") == Status.ok, cost, NOTHING_MS)
