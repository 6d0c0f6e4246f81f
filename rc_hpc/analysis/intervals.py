"""Confidence intervals of counted fractions."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1 << 16)
def wilson(count: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Two-sided Wilson score interval of the fraction ``count / n``.

    Parameters
    ----------
    count, n
        Successes and trials, 0 <= count <= n.
    confidence
        Coverage; 0.95 is z = 1.959964.

    Returns
    -------
    (low, high) : tuple of float
        NaN both where n is 0: nothing is known then.
    """
    if n == 0:
        return float("nan"), float("nan")
    from scipy.stats import binomtest

    interval = binomtest(count, n).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)
