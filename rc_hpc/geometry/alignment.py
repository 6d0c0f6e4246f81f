"""Cameras along lattice vectors: they show atoms that differ by such a vector at one place."""

from __future__ import annotations

import itertools

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO

#: Largest coefficient of the lattice vectors that are looked at.
REACH = 3


def aligned_vectors(
    lattice, directions, reach: int = REACH, zero: float = CENSUS_ZERO
) -> np.ndarray:
    """Shortest lattice vector along each camera's line.

    Parameters
    ----------
    lattice : (3, 3) array_like
        Lattice vectors as rows, Å.
    directions : (V, 3) array_like
        Unit view directions.
    reach
        Largest coefficient.
    zero
        Length on the screen up to which a vector counts as along the line, Å.

    Returns
    -------
    (V, 3) int8
        Coefficients, the first that is not 0 positive; 0, 0, 0 where there is no such vector.
    """
    every = np.array(list(itertools.product(range(-reach, reach + 1), repeat=3)), np.int8)
    every = every[
        len(every) // 2 + 1 :
    ]  # each line once: the first coefficient that is not 0 is positive
    vectors = every @ np.asarray(lattice, float)
    found = np.zeros((len(directions), 3), np.int8)
    for v, direction in enumerate(np.asarray(directions, float)):
        across = np.linalg.norm(vectors - np.outer(vectors @ direction, direction), axis=1)
        along = np.flatnonzero(across <= zero)
        if len(along):
            found[v] = every[along[np.argmin(np.linalg.norm(vectors[along], axis=1))]]
    return found
