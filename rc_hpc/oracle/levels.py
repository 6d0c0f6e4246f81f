"""Explanations of two views, without a solver: levels, their numbers of explanations, and draws.

The places of a level are all pairs of its points (see `rc_hpc.oracle.explanations`), so a choice of
them is a 0-1 matrix, and an explanation one without an empty row or column.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from rc_hpc.kernels.covers import completions
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
        self.levels = {kind: [level for level in levels if level.number == kind] for kind in counts}
        self.tables: dict[int, list[np.ndarray]] = {}
        #: log10 of their number; NaN where it is too large to count.
        self.log10 = 0.0
        for kind, n in counts.items():
            tables = [_completions(*level.places.shape, n) for level in self.levels[kind]]
            self.tables[kind] = [table for table in tables if table is not None]
            if len(self.tables[kind]) < len(tables):
                self.log10 = np.nan
                continue
            total, log10 = np.eye(1, n + 1)[0], 0.0
            for table in self.tables[kind]:
                total = np.convolve(total, table[-1, 0])[: n + 1]
                log10 += np.log10(total.max())
                total /= total.max()
            self.log10 += log10 + np.log10(total[n])

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """One explanation, (C,) bool.

        Raises
        ------
        OverflowError
            Their number is too large to count.
        """
        if np.isnan(self.log10):
            raise OverflowError("too many explanations to draw all equally likely")
        chosen = np.zeros(self.size, bool)
        for kind, n in self.counts.items():
            tables = [table[-1, 0] / table[-1, 0].max() for table in self.tables[kind]]
            suffix = [np.eye(1, n + 1)[0]]
            for table in reversed(tables):
                suffix.append(np.convolve(table, suffix[-1])[: n + 1])
            left = n
            for k, level in enumerate(self.levels[kind]):
                rest = suffix[len(tables) - 1 - k]
                weight = tables[k][: left + 1] * rest[left::-1]
                edges = rng.choice(left + 1, p=weight / weight.sum())
                matrix = _matrix(self.tables[kind][k], int(edges), rng)
                chosen[level.places[matrix]] = True
                left -= int(edges)
        return chosen


def _matrix(table: np.ndarray, edges: int, rng: np.random.Generator) -> np.ndarray:
    """A 0-1 matrix without empty lines and with so many ones, all equally likely."""
    p, q = table.shape[0] - 1, table.shape[1] - 1
    matrix = np.zeros((p, q), bool)
    covered = np.zeros(q, bool)
    for row in range(p):
        after = table[p - row - 1]
        j = int(covered.sum())
        new, old = np.meshgrid(np.arange(q - j + 1), np.arange(j + 1), indexing="ij")
        rest = edges - new - old
        ways = np.where(rest >= 0, after[j + new, np.maximum(rest, 0)], 0.0)
        weight = ways * _choose(q - j)[:, None] * _choose(j)
        weight[0, 0] = 0.0
        picked = rng.choice(weight.size, p=(weight / weight.sum()).ravel())
        i, t = np.unravel_index(picked, weight.shape)
        columns = np.concatenate(
            (
                rng.permutation(np.flatnonzero(~covered))[:i],
                rng.permutation(np.flatnonzero(covered))[:t],
            )
        )
        matrix[row, columns] = True
        covered[columns] = True
        edges -= int(i + t)
    return matrix


@lru_cache(maxsize=256)
def _choose(n: int) -> np.ndarray:
    """Binomial coefficients (n + 1,)."""
    row = np.ones(1)
    for _ in range(n):
        row = np.convolve(row, [1.0, 1.0])
    return row


def permuted(levels: Sequence[Level], chosen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An explanation with the counts of another: points of the one view change places by level."""
    result = chosen.copy()
    for level in levels:
        result[level.places] = chosen[level.places][:, rng.permutation(level.places.shape[1])]
    return result
