"""Explanations of two views, without a solver: levels, their numbers of explanations, and draws.

The places of a level are all pairs of its points (see `rc_hpc.oracle.explanations`), so a choice of
them is a 0-1 matrix, and an explanation one without an empty row or column.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from rc_hpc.kernels.covers import completions, filled
from rc_hpc.oracle.explanations import Level

#: Entries of a matrix up to which their numbers fit into a float.
MANY_ENTRIES = 900
#: Steps of the count of one level at most.
MANY_STEPS = 50_000_000


@lru_cache(maxsize=512)
def _completions(p: int, q: int, most: int) -> np.ndarray | None:
    """`completions`, where its numbers are of a size to be counted."""
    if p * q > MANY_ENTRIES or p * q * q * q * most > MANY_STEPS:
        return None
    table: np.ndarray = completions(p, q, most)
    return table


class Draws:
    """Explanations with known counts at random, all equally likely.

    Parameters
    ----------
    levels
    counts
        Atoms by atomic number.
    """

    def __init__(self, levels: Sequence[Level], counts: dict[int, int]):
        self.size = sum(level.places.size for level in levels)
        self.counts = counts
        #: Levels with a choice, by species, and the atoms that are left for them.
        self.levels: dict[int, list[Level]] = {kind: [] for kind in counts}
        self.left = dict(counts)
        self.sure = np.zeros(self.size, bool)
        for level in levels:
            if min(level.places.shape) > 1:
                self.levels[level.number].append(level)
            else:  # each point has one partner only
                self.sure[level.places] = True
                self.left[level.number] -= level.places.size
        self.tables: dict[int, list[np.ndarray]] = {}
        self.suffix: dict[int, list[np.ndarray]] = {}
        #: log10 of their number; NaN where it is too large to count.
        self.log10 = 0.0
        for kind, n in self.left.items():
            tables = [_completions(*level.places.shape, n) for level in self.levels[kind]]
            self.tables[kind] = [table for table in tables if table is not None]
            if len(self.tables[kind]) < len(tables):
                self.log10 = np.nan
                continue
            suffix = self.suffix[kind] = [np.eye(1, n + 1)[0]]
            for table in reversed(self.tables[kind]):
                total = np.convolve(table[-1, 0] / table[-1, 0].max(), suffix[-1])[: n + 1]
                self.log10 += np.log10(table[-1, 0].max()) + np.log10(total.max())
                suffix.append(total / total.max())
            self.log10 += np.log10(suffix[-1][n])

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """One explanation, (C,) bool.

        Raises
        ------
        OverflowError
            Their number is too large to count.
        """
        if np.isnan(self.log10):
            raise OverflowError("too many explanations to draw all equally likely")
        chosen = self.sure.copy()
        for kind, left in self.left.items():
            tables, suffix = self.tables[kind], self.suffix[kind]
            for k, (level, table) in enumerate(zip(self.levels[kind], tables, strict=True)):
                weight = table[-1, 0, : left + 1] * suffix[len(tables) - 1 - k][left::-1]
                total = np.cumsum(weight)
                ones = int(np.searchsorted(total, rng.random() * total[-1], side="right"))
                p, q = level.places.shape
                matrix = filled(table, ones, rng.random((p, q + 1)))
                chosen[level.places[matrix]] = True
                left -= ones
        return chosen


def permuted(
    levels: Sequence[Level], chosen: np.ndarray, rng: np.random.Generator, times: int
) -> np.ndarray:
    """Explanations with the counts of another, (times, C) bool.

    Points of the one view change places by level.
    """
    result = np.repeat(chosen[None], times, axis=0)
    for level in levels:
        if min(level.places.shape) > 1:
            columns = np.argsort(rng.random((times, level.places.shape[1])), axis=1)
            there = chosen[level.places][:, columns].transpose(1, 0, 2)
            result[:, level.places] = there
    return result


def sparse(levels: Sequence[Level], size: int, rng: np.random.Generator, times: int) -> np.ndarray:
    """Explanations with max(p, q) places of each level, at random, (times, C) bool."""
    result = np.zeros((times, size), bool)
    for level in levels:
        p, q = level.places.shape
        places = level.places if p >= q else level.places.T
        # Each point of the longer side has one partner, each of the shorter at least one.
        partner = np.arange(max(p, q)) % min(p, q)
        rows = np.argsort(rng.random((times, max(p, q))), axis=1)
        result[np.arange(times)[:, None], places[rows, partner]] = True
    return result
