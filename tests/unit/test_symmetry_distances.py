"""Smallest distances against a slow twin that tries every image."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rc_hpc.symmetry.distances import closest_pair, min_distances


def brute_force(lattice, frac, own_images, reach=3):
    """All pairs over (2 reach + 1)^3 images of a cell that is not skewed."""
    shifts = np.array(list(itertools.product(range(-reach, reach + 1), repeat=3)))
    best = np.inf
    for i, j in itertools.product(range(len(frac)), repeat=2):
        if i == j and not own_images:
            continue
        lengths = np.linalg.norm((frac[j] - frac[i] + shifts) @ lattice, axis=1)
        if i == j:
            lengths = lengths[shifts.any(axis=1)]
        best = min(best, lengths.min())
    return best


edges = st.floats(2, 9)
obliquity = st.floats(-0.45, 0.45)
skew = st.integers(-30, 30)


@st.composite
def crystals(draw):
    """A compact lattice, the same lattice in skewed vectors, and atoms in both."""
    a, b, c = draw(edges), draw(edges), draw(edges)
    p, q, r = draw(obliquity), draw(obliquity), draw(obliquity)
    compact = np.array([[a, 0, 0], [p * a, b, 0], [q * a, r * b, c]])
    lower, upper = np.eye(3, dtype=int), np.eye(3, dtype=int)
    lower[1, 0], lower[2, 0], lower[2, 1] = draw(skew), draw(skew), draw(skew)
    upper[0, 1], upper[0, 2], upper[1, 2] = draw(skew), draw(skew), draw(skew)
    change = lower @ upper  # unimodular: the same lattice
    n = draw(st.integers(1, 6))
    frac = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).random((n, 3))
    if draw(st.booleans()):
        frac = np.round(frac * 4) / 4  # ties, atoms on faces, coincident atoms
    # Unimodular, so the inverse is one of integers: rounded, it costs the atoms no digits.
    inverse = np.round(np.linalg.inv(upper)).astype(int) @ np.round(np.linalg.inv(lower)).astype(
        int
    )
    assert (change @ inverse == np.eye(3)).all()
    return compact, frac, change @ compact, frac @ inverse


@settings(max_examples=60, deadline=None)
@given(crystals(), st.booleans())
def test_equals_brute_force_in_skewed_cells(crystal, own_images):
    compact, frac, skewed, skewed_frac = crystal
    expected = brute_force(compact, frac, own_images)
    for lattice, coordinates in ((compact, frac), (skewed, skewed_frac)):
        distance, i, j = closest_pair(lattice, coordinates, own_images=own_images)
        assert distance == pytest.approx(expected, abs=1e-7)
        if np.isfinite(expected):
            assert 0 <= i <= j < len(frac) and (i != j or own_images)
        else:
            assert (i, j) == (-1, -1)


@settings(max_examples=30, deadline=None)
@given(crystals(), st.floats(0.5, 6))
def test_limit_hides_only_what_is_beyond(crystal, limit):
    _, _, lattice, frac = crystal
    free, limited = closest_pair(lattice, frac), closest_pair(lattice, frac, limit=limit)
    if free[0] < limit:
        assert limited[0] == pytest.approx(free[0], abs=1e-9)
    else:
        assert limited[0] >= limit


@settings(max_examples=30, deadline=None)
@given(crystals())
def test_min_distances_by_species(crystal):
    lattice, frac, _, _ = crystal
    numbers = np.arange(len(frac)) % 2 + 1
    same, drawn = np.inf, np.inf
    for species in (1, 2):
        own = frac[numbers == species]
        same = min(same, brute_force(lattice, own, False))
        drawn = min(drawn, brute_force(lattice, own, False, reach=0))
    expected = drawn, same, brute_force(lattice, frac, False)
    assert min_distances(lattice, frac @ lattice, numbers) == pytest.approx(expected, abs=1e-9)


def test_no_pair_is_infinite():
    assert min_distances(np.eye(3) * 4, np.zeros((1, 3)), [29]) == (np.inf, np.inf, np.inf)
    two = np.array([[0, 0, 0], [2.0, 2, 2]])
    assert min_distances(np.eye(3) * 4, two, [29, 8]) == pytest.approx((np.inf, np.inf, 12**0.5))


def test_pair_across_a_face_counts_only_with_periodicity():
    positions = np.array([[0.1, 0, 0], [3.9, 0, 0]])
    assert min_distances(np.eye(3) * 4, positions, [29, 29]) == pytest.approx((3.8, 0.2, 0.2))


def test_large_cell_stays_near_linear():
    """10^5 atoms on a jittered grid with one planted pair; all pairs would need 80 GB."""
    grid = np.stack(np.meshgrid(*[np.arange(47)] * 3, indexing="ij"), -1).reshape(-1, 3)
    frac = (grid + 0.2 * np.random.default_rng(0).random(grid.shape)) / 47
    frac[-1] = frac[0] - [0.3 / 141, 0, 0]
    distance, i, j = closest_pair(np.eye(3) * 141.0, frac)
    assert (i, j) == (0, len(frac) - 1)
    assert distance == pytest.approx(0.3)
