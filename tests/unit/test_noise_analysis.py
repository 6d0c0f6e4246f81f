"""Crossings, curves and paired tests of noise outcomes."""

import numpy as np
import pytest

from rc_hpc.analysis.noise import crossing, curve, paired


def test_crossing_is_linear_between_grid_points():
    assert crossing([0, 0.01, 0.02], [1.0, 0.9790, 0.9152]) == pytest.approx(0.01 + 0.01 * 0.0290 / 0.0638)
    assert crossing([0, 0.01, 0.02], [1.0, 0.95, 0.9]) == pytest.approx(0.01)
    assert crossing([0, 0.01, 0.02], [1.0, 0.94, 0.99]) == pytest.approx(0.01 * 0.05 / 0.06)  # the first fall counts
    assert crossing([0, 0.01], [1.0, 0.95]) == np.inf
    assert np.isnan(crossing([0, 0.01], [0.9, 1.0]))


def test_curve_is_the_mean_over_seeds():
    correct = np.ones((2, 2, 4), bool)
    correct[1, 0, :2] = False
    frame = curve([0.0, 0.1], correct)
    assert frame.accuracy.tolist() == [1.0, 0.75] and frame.correct_mean.tolist() == [4.0, 3.0]
    assert frame.accuracy_sd.tolist() == pytest.approx([0.0, np.std([0.5, 1.0], ddof=1)])
    assert np.isnan(curve([0.0], correct[:1, :1]).accuracy_sd[0])


def test_a_structure_is_right_where_more_than_half_of_the_seeds_are():
    first = np.array([[1, 1, 1], [1, 0, 1]], bool)  # the second: half only
    second = np.array([[0, 1, 1], [0, 1, 1]], bool)
    assert paired(first, second) == (1, 1, 1.0)
    many = np.ones((1, 21), bool)
    few = many.copy()
    few[0, :18] = False
    many[0, 18:] = False
    assert paired(many, few) == (18, 3, pytest.approx(0.00148963928))
