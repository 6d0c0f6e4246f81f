"""Confidence intervals of counted fractions."""

from __future__ import annotations

from statistics import NormalDist


def wilson(count: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Two-sided Wilson score interval of the fraction ``count / n``.

    The closed form (E. B. Wilson, J. Am. Stat. Assoc. 22, 209, 1927); `scipy.stats` takes a
    third of a second to import, which every command that ends with a table would pay.

    Parameters
    ----------
    count, n
        Successes and trials, 0 <= count <= n. A count may be the sum of n values between 0 and 1:
        these vary less than zeros and ones alone, so that the interval is on the safe side.
    confidence
        Coverage; 0.95 is z = 1.959964.

    Returns
    -------
    (low, high) : tuple of float
        NaN both where n is 0: nothing is known then.
    """
    if n == 0:
        return float("nan"), float("nan")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = count / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * (max(share * (1 - share), 0.0) / n + z * z / (4 * n * n)) ** 0.5
    low = 0.0 if count == 0 else max(0.0, middle - reach)
    high = 1.0 if count == n else min(1.0, middle + reach)
    return low, high
