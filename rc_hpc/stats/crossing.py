"""Ceilings under centroid noise: crossings and paired tests from per-structure outcomes."""

from __future__ import annotations

import numpy as np

from rc_hpc.stats.statistics import SEED, sign_test

#: R1 at whose crossing a sweep's noise tolerance is read.
LEVEL = 0.95
#: Resamples of structures.
N_RESAMPLES = 2_000
#: Numbers drawn at once, so that memory does not grow with the structures.
_AT_ONCE = 1 << 22


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


def over_structures(
    sigmas,
    hits,
    seeds: int,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> tuple[np.ndarray, tuple[float, float]]:
    """95 % percentile bootstrap over structures of a curve and of its crossing.

    A structure is drawn with all its seeds, so that the interval is one over structures however
    many seeds there are. Percentiles are resamples themselves: they may be infinite, or NaN.

    Parameters
    ----------
    sigmas : (D,)
        Ascending.
    hits : (n, D)
        Seeds in which each structure is right.
    seeds
        Of how many.

    Returns
    -------
    (D, 2)
        Limits of the curve; NaN without structures.
    (float, float)
        Limits of the crossing, as `crossing` tells it.
    """
    hits = np.asarray(hits, float)
    n, n_sigmas = hits.shape
    if not n:
        return np.full((n_sigmas, 2), np.nan), (np.nan, np.nan)
    rng = np.random.default_rng(seed)
    curves = np.empty((n_resamples, n_sigmas))
    step = max(1, _AT_ONCE // n)
    for low in range(0, n_resamples, step):
        drawn = rng.multinomial(n, np.full(n, 1 / n), min(step, n_resamples - low))
        curves[low : low + len(drawn)] = drawn @ hits / (n * seeds)
    limits = np.percentile(curves, [2.5, 97.5], axis=0).T
    # below the level at the first sigma already: before all others
    each = np.array([crossing(sigmas, curve, level) for curve in curves])
    found = np.sort(np.where(np.isnan(each), -np.inf, each))
    ends = found[int(0.025 * n_resamples)], found[int(np.ceil(0.975 * n_resamples)) - 1]
    first, last = (np.nan if end == -np.inf else float(end) for end in ends)
    return limits, (first, last)


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
