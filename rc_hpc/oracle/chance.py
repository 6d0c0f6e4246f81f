"""Explanations at random of any number of views, without a solver."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rc_hpc.kernels.covers import thinned
from rc_hpc.oracle.explanations import Puzzle


def left_over(
    puzzle: Puzzle, least: Mapping[int, int], physical: bool, rng: np.random.Generator
) -> np.ndarray:
    """All places but some, in random order left out as long as the others explain, (C,) bool.

    One of two that clash goes first, so that seldom both stay.

    Parameters
    ----------
    puzzle
    least
        Places of each species that are left at least, by atomic number.
    physical
        Whether one of two that are too close, and what is outside the cell, goes first as well.
    rng
    """
    species, kinds = np.unique(puzzle.numbers, return_inverse=True)
    late = rng.random(puzzle.size)
    if physical:
        late[puzzle.outside] -= 1
    for pairs in (puzzle.clashes, puzzle.crowded) if physical else (puzzle.clashes,):
        late[pairs[np.arange(len(pairs)), rng.integers(2, size=len(pairs))]] -= 1
    return np.asarray(
        thinned(
            puzzle.points,
            np.ones(puzzle.size, bool),
            kinds,
            np.array([least.get(kind, 0) for kind in species.tolist()], np.int64),
            np.argsort(late),
        )
    )
