"""Crossings, curves and paired tests of noise outcomes."""

import numpy as np
import pytest

from rc_hpc.stats.crossing import crossing, paired


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
