"""Ceilings under centroid noise: crossings and paired tests from per-structure outcomes."""

from __future__ import annotations

import numpy as np

from rc_hpc.stats.statistics import sign_test

#: R1 at whose crossing a sweep's noise tolerance is read.
LEVEL = 0.95


def crossing(sigmas, accuracy, level: float = LEVEL) -> float:
    """sigma at which a curve first falls below a level, linear between grid points, Å.

    Parameters
    ----------
    sigmas : (D,)
        Ascending.
    accuracy : (D,)

    Returns
    -------
    float
        NaN where the first point is below the level already, infinity where none is.
    """
    sigmas, accuracy = np.asarray(sigmas, float), np.asarray(accuracy, float)
    below = np.flatnonzero(accuracy < level)
    if below.size == 0:
        return np.inf
    k = int(below[0])
    if k == 0:
        return np.nan
    part = (accuracy[k - 1] - level) / (accuracy[k - 1] - accuracy[k])
    return float(sigmas[k - 1] + part * (sigmas[k] - sigmas[k - 1]))


def majority(correct) -> np.ndarray:
    """Whether more than half of the seeds are right; seeds are the last axis."""
    correct = np.asarray(correct, bool)
    return 2 * correct.sum(axis=-1) > correct.shape[-1]


def paired(first, second) -> tuple[int, int, float]:
    """Structures that only one of two arms has right, and the exact sign test on them.

    A structure is right where more than half of the seeds are.

    Parameters
    ----------
    first, second : (N, M) bool
        By seed and structure, the same structures in both.

    Returns
    -------
    only_first, only_second, p
    """
    a, b = (majority(np.asarray(arm, bool).T) for arm in (first, second))
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    return only_a, only_b, sign_test(only_a, only_b)
