"""Crossings, curves and paired tests of noise outcomes."""

import numpy as np
import pytest

from rc_hpc.stats.crossing import crossing, over_structures, paired


def test_crossing_is_linear_between_grid_points():
    assert crossing([0, 0.01, 0.02], [1.0, 0.9790, 0.9152]) == pytest.approx(
        0.01 + 0.01 * 0.0290 / 0.0638
    )
    assert crossing([0, 0.01, 0.02], [1.0, 0.95, 0.9]) == pytest.approx(0.01)
    assert crossing([0, 0.01, 0.02], [1.0, 0.94, 0.99]) == pytest.approx(
        0.01 * 0.05 / 0.06
    )  # the first fall counts
    assert crossing([0, 0.01], [1.0, 0.95]) == np.inf
    assert np.isnan(crossing([0, 0.01], [0.9, 1.0]))


def test_a_structure_is_right_where_more_than_half_of_the_seeds_are():
    first = np.array([[1, 1, 1], [1, 0, 1]], bool)  # the second: half only
    second = np.array([[0, 1, 1], [0, 1, 1]], bool)
    assert paired(first, second) == (1, 1, 1.0)
    many = np.ones((1, 21), bool)
    few = many.copy()
    few[0, :18] = False
    many[0, 18:] = False
    assert paired(many, few) == (18, 3, pytest.approx(0.00148963928))


def test_an_interval_over_structures_does_not_shrink_with_seeds():
    sigmas, rng = [0.0, 0.1, 0.2], np.random.default_rng(3)
    odds = np.stack([np.ones(80), rng.random(80) < 0.97, rng.random(80) < 0.9], axis=1)
    few, ends = over_structures(sigmas, 2 * odds, 2, n_resamples=400)
    many, same = over_structures(sigmas, 50 * odds, 50, n_resamples=400)
    np.testing.assert_allclose(few, many)
    assert ends == same and few[0].tolist() == [1, 1]
    assert (few[:, 0] <= odds.mean(axis=0)).all() and (odds.mean(axis=0) <= few[:, 1]).all()
    assert ends[0] <= crossing(sigmas, odds.mean(axis=0)) <= ends[1]
    # twin: one resample after the other
    drawn = np.random.default_rng(0).multinomial(80, np.full(80, 1 / 80), 400)
    curves = [np.repeat(odds, times, axis=0).mean(axis=0) for times in drawn]
    np.testing.assert_allclose(few, np.percentile(curves, [2.5, 97.5], axis=0).T)
    crossings = sorted(crossing(sigmas, curve) for curve in curves)
    assert ends == pytest.approx((crossings[10], crossings[389]))
    never, (low, high) = over_structures(sigmas, np.full((5, 3), 4), 4, n_resamples=50)
    assert never.min() == 1 and low == high == np.inf
    assert np.isnan(over_structures(sigmas, np.zeros((0, 3)), 4)[0]).all()
