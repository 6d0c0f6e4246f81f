"""Perception's share: where it is defined, its median, its interval."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rc_hpc.ladder import shares


def test_a_share_is_a_part_of_a_whole():
    p, s = np.array([3, -1, 2, 0, 0]), np.array([1, 4, -1, 0, 5])
    assert shares.share_of(p, s).tolist() == pytest.approx(
        [0.75, np.nan, np.nan, np.nan, 0], nan_ok=True
    )
    residual, other = shares.dominant(p, s)
    assert residual.tolist() == [False, True, False, False, True]
    assert other.tolist() == [True, False, True, False, False]
    assert shares.ranked(p, s).tolist() == [0.75, -np.inf, np.inf, 0]


def test_the_median_falls_among_the_defined_or_there_is_none():
    assert shares.median(np.array([-np.inf, 0.2, 0.4])) == 0.2
    assert np.isnan(shares.median(np.array([-np.inf, -np.inf, 0.4])))
    assert np.isnan(shares.median(np.array([-np.inf, 0.2])))
    assert np.isnan(shares.median(np.array([])))
    assert np.isnan(shares.median_interval(np.array([0.1, 0.2, 0.3, 0.4])).low)
    low, high, _ = shares.median_interval(np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    assert 0.1 <= low < high <= 0.5


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(5, 40))
def test_intervals_equal_a_slow_bootstrap(seed, n):
    rng = np.random.default_rng(seed)
    r4, r3 = rng.random((2, n)) < 0.3, rng.random((2, n)) < 0.6
    ceiling = rng.random(n) < 0.9
    found = shares.intervals(r4, r3, ceiling, n_resamples=400, seed=1)
    for row in range(2):
        p = int(r3[row].sum()) - int(r4[row].sum())
        s = int(ceiling.sum()) - int(r3[row].sum())
        drawn = np.random.default_rng(1).multinomial(n, np.full(n, 1 / n), 400)
        ratios = []
        for times in drawn:
            k = np.repeat(np.arange(n), times)
            lost, short = (
                r3[row, k].sum() - 1.0 * r4[row, k].sum(),
                ceiling[k].sum() - 1.0 * (r4[row, k].sum()),
            )
            ratios.append(lost / short if short > 0 else np.nan)
        defined = p >= 0 and s >= 0 and p + s > 0 and np.isnan(ratios).mean() <= 0.025
        wanted = np.nanpercentile(ratios, [2.5, 97.5]) if defined else [np.nan, np.nan]
        np.testing.assert_allclose(found[row], wanted)


def test_the_interval_covers_the_share():
    rng = np.random.default_rng(0)
    r4, r3 = np.zeros((1, 60), bool), np.zeros((1, 60), bool)
    hits = 0
    for trial in range(200):
        u = rng.random(60)
        r4[0], r3[0] = u < 0.3, u < 0.5
        low, high = shares.intervals(r4, r3, np.ones(60, bool), 400, trial)[0]
        hits += low <= 0.2 / 0.7 <= high
    assert hits >= 176  # 88 %: a percentile bootstrap of 60 runs somewhat below 95 %
