"""Cluster bootstrap of ratios: what belongs together is drawn together."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rc_hpc.stats.statistics import Interval

#: Draws of which the weights are in memory at once.
_BLOCK = 20_000


def ratio_draws(sums: np.ndarray, sizes: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Ratios ``sum of sums / sum of sizes`` over clusters drawn with replacement.

    Parameters
    ----------
    sums : (c, m)
        Of each cluster, for m statistics: all have the same draws, so that differences of columns
        are paired.
    sizes : (c, m) or (c, 1)
        Of each cluster, for each statistic or for all.

    Returns
    -------
    (n_resamples, m) float64
        NaN in draws without any size.

    Notes
    -----
    How often each of c clusters is drawn in c draws is multinomial, so that all draws are one
    product of matrices.
    """
    c, m = sums.shape
    both = np.column_stack([sums, sizes]).astype(float)
    rng, even = np.random.default_rng(seed), np.full(c, 1 / c)
    drawn = np.empty((n_resamples, m))
    for start in range(0, n_resamples, _BLOCK):
        stop = min(start + _BLOCK, n_resamples)
        if n_resamples <= _BLOCK:
            weights = _weights(c, n_resamples, seed)
        else:
            weights = rng.multinomial(c, even, stop - start).astype(float)
        totals = weights @ both
        with np.errstate(invalid="ignore"):
            drawn[start:stop] = totals[:, :m] / totals[:, m:]
    return drawn


@lru_cache(maxsize=16)
def _weights(c: int, n_resamples: int, seed: int) -> np.ndarray:
    """How often each cluster is drawn, (n_resamples, c): the same for all tables of a seed."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(c, np.full(c, 1 / c), n_resamples).astype(float)


def percentiles(drawn: np.ndarray) -> Interval:
    """95 % percentile interval of draws (B,), those without a value left out."""
    known = drawn[np.isfinite(drawn)]
    if not len(known):
        return Interval(np.nan, np.nan)
    return Interval(*np.percentile(known, [2.5, 97.5]).tolist())


def cluster_sums(values: np.ndarray, places: np.ndarray, n_clusters: int) -> np.ndarray:
    """Sums (c, m) of values (n, m) over the clusters whose numbers are `places` (n,)."""
    sums = np.zeros((n_clusters, values.shape[1]))
    np.add.at(sums, places, values)
    return sums
