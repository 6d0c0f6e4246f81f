"""The tests of the ladder, by the names the field gives them: thin covers of scipy.

Two-sided unless said. Counts stay whole numbers: accuracies rounded to four decimals move the
ends of an interval. An undefined test (no data, no variation) is NaN, never 1 or 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

#: Significance level of everything that is called significant.
ALPHA = 0.05
#: Resamples of the bootstrap and seed of everything drawn here.
N_BOOTSTRAP = 20_000
SEED = 0
#: Resamples of the permutation tests; the smallest p they can give is 1e-4.
N_PERMUTATIONS = 9_999


class Association(NamedTuple):
    """A rank correlation and its p."""

    rho: float
    p: float


class Interval(NamedTuple):
    """Ends of an interval, and its exact coverage where that is known."""

    low: float
    high: float
    coverage: float = float("nan")


class KruskalWallis(NamedTuple):
    """Kruskal-Wallis test (H corrected for ties) with the three effect sizes in use.

    `eta2` is that of a one-way ANOVA on the raw values, `eta2_h` is (H - k + 1) / (n - k) and
    `epsilon2` is H / (n - 1), for k groups of n values in all.
    """

    h: float
    df: int
    p: float
    eta2: float
    eta2_h: float
    epsilon2: float


def sign_test(greater: int, less: int) -> float:
    """Exact sign test of two discordant counts; 1 where there is none.

    With the counts of pairs that only one of two arms has right this is the exact McNemar test.
    """
    return binomial_test(greater, greater + less, 0.5)


def binomial_test(count: int, n: int, p: float, alternative: str = "two-sided") -> float:
    """Exact binomial test of `count` successes in `n` trials of probability `p`.

    Parameters
    ----------
    alternative
        ``two-sided``, ``less`` or ``greater``.
    """
    from scipy.stats import binomtest

    return float(binomtest(int(count), int(n), p, alternative).pvalue) if n else 1.0


def exact_lower_bound(count: int, n: int, confidence: float = 0.95) -> float:
    """One-sided Clopper-Pearson lower bound; 0.05**(1/n) where all n succeed."""
    from scipy.stats import binomtest

    return float(
        binomtest(int(count), int(n), alternative="greater").proportion_ci(confidence, "exact").low
    )


def bootstrap_median(
    values: Sequence[float] | np.ndarray, n_resamples: int = N_BOOTSTRAP, seed: int = SEED
) -> Interval:
    """95 % percentile bootstrap of the median.

    Each resample draws n indices with ``default_rng(seed).integers``, one resample after the
    other; percentiles are interpolated linearly. This is the released protocol to the bit, which
    `scipy.stats.bootstrap` (percentile) only matches in distribution.
    """
    sample = np.asarray(values, float)
    if not len(sample):
        return Interval(np.nan, np.nan)
    drawn = np.random.default_rng(seed).integers(0, len(sample), (n_resamples, len(sample)))
    return Interval(*np.percentile(np.median(sample[drawn], axis=1), [2.5, 97.5]).tolist())


def order_statistic_interval(
    values: Sequence[float] | np.ndarray, first: int, last: int
) -> Interval:
    """The `first`-th and `last`-th smallest value as an interval of the median.

    Its coverage, the probability that a Binomial(n, 1/2) lies in [first, last - 1], holds for any
    continuous distribution.
    """
    from scipy.stats import binom

    ordered = np.sort(np.asarray(values, float))
    n = len(ordered)
    if not 1 <= first < last <= n:
        raise ValueError(f"ranks {first} and {last} are not two of 1 to {n} in order")
    coverage = binom.cdf(last - 1, n, 0.5) - binom.cdf(first - 1, n, 0.5)
    return Interval(float(ordered[first - 1]), float(ordered[last - 1]), float(coverage))


def spearman(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> Association:
    """Spearman's rank correlation, average ranks, p from the t approximation."""
    from scipy.stats import ConstantInputWarning, spearmanr

    if len(x) < 3:
        return Association(np.nan, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantInputWarning)  # NaN says it
        correlation = spearmanr(x, y)
    return Association(float(correlation.statistic), float(correlation.pvalue))


def spearman_p(rho: float, n: int) -> float:
    """p of a Spearman correlation of which only rho and n are known."""
    from scipy.stats import t

    return float(2 * t.sf(abs(rho) * np.sqrt((n - 2) / (1 - rho**2)), n - 2))


def chi2_p(statistic: float, df: int) -> float:
    """p of a chi-squared statistic, as the Kruskal-Wallis test takes it."""
    from scipy.stats import chi2

    return float(chi2.sf(statistic, df))


def kruskal_wallis(
    values: Sequence[float] | np.ndarray, groups: Sequence | np.ndarray
) -> KruskalWallis:
    """Kruskal-Wallis test of `values` (n,) by the labels `groups` (n,)."""
    from scipy.stats import kruskal

    sample, names = np.asarray(values, float), np.asarray(groups)
    parts = [sample[names == name] for name in np.unique(names)]
    n, k = len(sample), len(parts)
    test = kruskal(*parts)
    h, total = float(test.statistic), float(((sample - sample.mean()) ** 2).sum())
    between = sum(len(part) * (part.mean() - sample.mean()) ** 2 for part in parts)
    return KruskalWallis(
        h, k - 1, float(test.pvalue), float(between / total), (h - k + 1) / (n - k), h / (n - 1)
    )


def fisher(a: int, n_a: int, b: int, n_b: int) -> float:
    """Fisher's exact test of a of n_a against b of n_b."""
    from scipy.stats import fisher_exact

    return float(fisher_exact([[a, n_a - a], [b, n_b - b]]).pvalue)


def benjamini_hochberg(p: Sequence[float]) -> np.ndarray:
    """Step-up adjusted p-values, in the order given."""
    from scipy.stats import false_discovery_control

    return false_discovery_control(np.asarray(p, float), method="bh")


def pooled_spearman(correct: np.ndarray, x: Sequence[float] | np.ndarray) -> Association:
    """Spearman over all (model, structure) pairs.

    Parameters
    ----------
    correct : (m, n)
        Whether model m is right on structure n.
    x : (n,)
        A property of the structures.

    Notes
    -----
    Every structure counts m times, so this p is too small; see `clustered_spearman`.
    """
    return spearman(np.tile(np.asarray(x, float), len(correct)), np.ravel(correct))


def clustered_spearman(
    correct: np.ndarray,
    x: Sequence[float] | np.ndarray,
    n_resamples: int = N_PERMUTATIONS,
    seed: int = SEED,
) -> Association:
    """The same rho, tested by permuting whole structures with all models' answers to them.

    Given the ranks of `x`, rho grows with the sum over structures of rank times number of models
    that are right, so that sum is what is permuted.
    """
    from scipy.stats import permutation_test, rankdata

    rho = pooled_spearman(correct, x).rho
    ranks = rankdata(x)
    ranks -= ranks.mean()
    right = np.asarray(correct, float).sum(axis=0)
    if np.isnan(rho):
        return Association(rho, np.nan)
    test = permutation_test(
        (ranks,),
        lambda shuffled, axis: (shuffled * right).sum(axis=axis),
        permutation_type="pairings",
        vectorized=True,
        n_resamples=n_resamples,
        random_state=np.random.default_rng(seed),
    )
    return Association(rho, float(test.pvalue))
