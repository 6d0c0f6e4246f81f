"""Forced and redundant candidates, and the number of explanations, against all sets of them."""

import itertools
import math

import naive
import naive_unique
import numpy as np
import oracle_cases as cases
import pytest
from hypothesis import assume, given, settings

from rc_hpc.core.constants import CENSUS_ZERO
from rc_hpc.kernels.coverage import MANY_COLUMNS, log10_covers
from rc_hpc.oracle.geometry import GeometricOracle

#: Places up to which all sets of them are looked at.
FEW = 14


@pytest.mark.parametrize(
    ("rows", "columns"), [(p, q) for p in range(1, 5) for q in range(1, 5) if p * q <= 12]
)
def test_matrices_without_an_empty_line(rows, columns):
    assert 10 ** log10_covers(rows, columns) == pytest.approx(naive_unique.matrices(rows, columns))


@pytest.mark.parametrize(("rows", "columns"), [(7, 9), (30, 31), (3, 200), (MANY_COLUMNS, 70)])
def test_large_levels_by_inclusion_and_exclusion_in_whole_numbers(rows, columns):
    count = sum(
        (-1) ** k * math.comb(columns, k) * (2 ** (columns - k) - 1) ** rows
        for k in range(columns + 1)
    )
    expected = math.log10(count >> 900) + 900 * math.log10(2) if count >> 900 else math.log10(count)
    assert log10_covers(rows, columns) == pytest.approx(expected, rel=1e-12)


def coverage(protocol, positions, numbers, subsets):
    oracle = GeometricOracle(protocol, subsets)
    found = oracle.enumerate_cell(positions, numbers, 0.01, 0.5)
    return oracle.cover(found, CENSUS_ZERO)


@settings(max_examples=60, deadline=None)
@given(cases.cells())
def test_against_all_sets_of_places(cell):
    positions, numbers = cell
    subsets = naive_unique.subsets_of(3)
    found = coverage(cases.EXACT, positions, numbers, subsets)
    for k, subset in enumerate(subsets):
        rotations = [cases.EXACT.rotations[v] for v in subset]
        where, _, explained = naive_unique.places(positions, numbers, rotations)
        free = naive_unique.removable(explained)
        assert (found.n_forced[k], found.n_redundant[k]) == (len(where) - len(free), len(free))
        if len(subset) == 2 and len(where) <= FEW:
            number = len(naive_unique.explanations(explained))
            assert 10 ** found.log10_explanations[k] == pytest.approx(number)
        assert np.isnan(found.log10_explanations[k]) == (len(subset) > 2)


@settings(max_examples=25, deadline=None)
@given(cases.cells(max_atoms=6))
def test_unique_with_any_count_is_one_explanation(cell):
    positions, numbers = cell
    subsets = naive_unique.subsets_of(5)
    found = coverage(cases.FROZEN, positions, numbers, subsets)
    for k, subset in enumerate(subsets):
        rotations = [cases.FROZEN.rotations[v] for v in subset]
        candidates = naive.all_candidates(positions, numbers, rotations)
        assume(cases.decided(candidates.reached, CENSUS_ZERO))
        where, _, explained = naive_unique.places(positions, numbers, rotations)
        if len(where) <= FEW:
            alone = len(naive_unique.explanations(explained)) == 1
            assert (found.n_redundant[k] == 0) == alone


def test_four_atoms_on_a_rectangle_are_certified_and_not_unique():
    """Two diagonal ones have the same two pictures: no phantom, yet two atoms may be left out."""
    corners = np.array([[x, y, 0.0] for x, y in itertools.product((0, 2.0), (0, 3.0))])
    oracle = GeometricOracle(cases.EXACT, [(0, 1)])
    reading = oracle.run(corners, np.full(4, 26), 0.01, 0.5)
    found = oracle.cover(reading.enumeration, CENSUS_ZERO)
    assert reading.n_phantoms[0] == 0 and reading.reconstruction[0] == 0
    assert (found.n_forced[0], found.n_redundant[0]) == (0, 4)
    assert 10 ** found.log10_explanations[0] == pytest.approx(7)


def test_parallel_views_explain_nothing():
    found = coverage(cases.FACING, np.array([[0.0, 1.0, 2.0]]), [8], [(0, 2), (0, 1)])
    assert found.n_forced.tolist() == [-1, 1] and found.n_redundant.tolist() == [-1, 0]
    assert np.isnan(found.log10_explanations[0]) and found.log10_explanations[1] == 0


def test_images_of_one_place_to_rounding_are_one_point():
    """Two atoms whose images differ by less than what a coordinate in a file is rounded to."""
    positions = np.array([[0.0, 0, 0], [3.0, 1e-8, 2.0], [3.0, 0, 0], [0.0, 0, 2.0]])
    exact = positions.copy()
    exact[1, 1] = 0
    near, same = (
        coverage(cases.EXACT, one, np.full(4, 26), [(0, 1), (1, 2), (0, 1, 2)])
        for one in (positions, exact)
    )
    for a, b in zip(near, same):
        np.testing.assert_array_equal(a, b)
