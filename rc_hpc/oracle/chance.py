"""Explanations at random of any number of views, without a solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rc_hpc.kernels.covers import thinned
from rc_hpc.oracle.explanations import Puzzle


def left_over(
    puzzle: Puzzle,
    least: Sequence[Mapping[int, int]],
    physical: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """All places but some, in random order left out as long as the others explain, N times.

    One of two that clash goes first, so that seldom both stay.

    Parameters
    ----------
    puzzle
    least
        Places of each species that are left at least, by atomic number; of each of the N.
    physical : (N,) bool
        Whether one of two that are too close, and what is outside the cell, goes first as well.
    rng

    Returns
    -------
    (N, C) bool
    """
    n = len(least)
    late = rng.random((n, puzzle.size))
    late[physical[:, None] & puzzle.outside] -= 1
    rows = np.arange(n)[:, None]
    for pairs, some in ((puzzle.clashes, rows), (puzzle.crowded, rows[physical])):
        if len(pairs):
            one = rng.integers(2, size=(len(some), len(pairs)))
            late[some, pairs[np.arange(len(pairs)), one]] -= 1
    fewest = [[one.get(kind, 0) for kind in puzzle.species.tolist()] for one in least]
    left: np.ndarray = thinned(
        puzzle.points, puzzle.kinds, np.array(fewest, np.int64), np.argsort(late, axis=1)
    )
    return left
