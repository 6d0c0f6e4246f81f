"""Perception's share of a shortfall, P / (P + S): where it means something, and how sure it is.

P = R3 - R4 and S = ceiling - R3 are counts of structures. A share is a part of a whole only where
neither is negative and one is positive; elsewhere it is undefined, and the counts speak.
"""

from __future__ import annotations

import numpy as np

from rc_hpc.stats import statistics

#: Resamples of structures that an interval is read from.
N_RESAMPLES = 10_000
#: Numbers drawn at once, so that memory does not grow with the structures.
_AT_ONCE = 1 << 22
#: Models from which a median over models has an interval: with fewer not even the smallest and
#: the largest of them cover it with 93 %.
FEWEST_MODELS = 5


def share_of(p: np.ndarray, s: np.ndarray) -> np.ndarray:
    """P / (P + S), (m,); NaN where one of them is negative or both are 0."""
    p, s = np.asarray(p, float), np.asarray(s, float)
    whole = (p >= 0) & (s >= 0) & (p + s > 0)
    return np.divide(p, p + s, out=np.full(p.shape, np.nan), where=whole)


def dominant(p: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Models that lose more after perception than in it, P < S, and those that do not.

    Two masks (m,); a model without a shortfall, P + S <= 0, is in neither.
    """
    short = np.asarray(p + s) > 0
    return short & (p < s), short & (p >= s)


def ranked(p: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Shares as ranks want them, (k,): minus infinity where P < 0, infinity where S < 0.

    Models without a shortfall are left out.
    """
    p, s = np.asarray(p, float), np.asarray(s, float)
    values = np.where(p < 0, -np.inf, np.where(s < 0, np.inf, share_of(p, s)))
    return values[p + s > 0]


def median(values: np.ndarray) -> float:
    """Median of `ranked` shares; NaN where it falls among the undefined, or there are none."""
    if not len(values):
        return float("nan")
    ordered = np.sort(values)
    middle = ordered[(len(values) - 1) // 2], ordered[len(values) // 2]
    return float(np.mean(middle)) if np.isfinite(middle).all() else float("nan")


def median_interval(values: np.ndarray) -> statistics.Interval:
    """95 % percentile bootstrap over models of their median share.

    NaN with fewer than `FEWEST_MODELS` models, or where a limit falls among the undefined.
    """
    if len(values) < FEWEST_MODELS:
        return statistics.Interval(np.nan, np.nan)
    with np.errstate(invalid="ignore"):
        found = statistics.bootstrap_median(values)
    return statistics.Interval(*(end if np.isfinite(end) else np.nan for end in found[:2]))


def intervals(
    r4: np.ndarray,
    r3: np.ndarray,
    ceiling: np.ndarray,
    n_resamples: int = N_RESAMPLES,
    seed: int = statistics.SEED,
) -> np.ndarray:
    """95 % percentile bootstrap over structures of each model's share, (m, 2).

    Structures are drawn with all that is known of them: both rungs and the ceiling together. A
    limit below 0 or above 1 says that P or S may be negative. NaN where the share itself is
    undefined, or where over 2.5 % of the resamples leave no shortfall.

    Parameters
    ----------
    r4, r3 : (m, n)
        Credit of each model on each structure.
    ceiling : (n,)
        What the pictures determine.
    """
    r4, r3, ceiling = (np.asarray(one, float) for one in (r4, r3, ceiling))
    m, n = r4.shape
    limits = np.full((m, 2), np.nan)
    if not n or not m:
        return limits
    rng = np.random.default_rng(seed)
    gained, short = (r3 - r4).T, (ceiling - r4).T
    shares = np.empty((n_resamples, m))
    step = max(1, _AT_ONCE // n)
    for low in range(0, n_resamples, step):
        drawn = rng.multinomial(n, np.full(n, 1 / n), min(step, n_resamples - low)).astype(float)
        p, total = drawn @ gained, drawn @ short
        shares[low : low + len(drawn)] = np.divide(
            p, total, out=np.full(p.shape, np.nan), where=total > 0
        )
    usable = np.isfinite(share_of(gained.sum(axis=0), (short - gained).sum(axis=0)))
    usable &= np.isnan(shares).mean(axis=0) <= 0.025
    for row in np.flatnonzero(usable):
        limits[row] = np.nanpercentile(shares[:, row], [2.5, 97.5])
    return limits
