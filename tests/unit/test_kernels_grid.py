"""The grid finds the same distance as looking at every point, also far outside and on flat sets."""

import numpy as np
import pytest

from rc_hpc.kernels.candidates import fill_distances
from rc_hpc.kernels.grid import GRID_POINTS, make_grid, nearest_in_grid
from rc_hpc.kernels.search import sort_in_space


def places_around(points, extent, rng):
    """Points themselves, places among them, and places far outside."""
    own = points[rng.integers(0, len(points), 40)]
    return np.concatenate(
        [own, rng.random((80, 3)) * extent, (rng.random((40, 3)) * 3 - 1) * (np.array(extent) + 5)]
    )


@pytest.mark.parametrize(
    ("n", "extent", "rounded"),
    [
        (1, (5, 5, 5), False),
        (2, (5, 5, 5), False),
        (200, (20, 20, 20), False),
        (200, (20, 20, 0), False),
        (200, (50, 0, 0), False),
        (50, (0, 0, 0), False),
        (300, (40, 3, 100), False),
        (300, (6, 6, 6), True),
    ],
)
def test_distance_is_that_of_all_points(n, extent, rounded):
    rng = np.random.default_rng(n)
    points = rng.random((n, 3)) * extent
    points = np.round(points) if rounded else points
    grid = make_grid(points)
    assert sorted(map(tuple, grid.inside)) == sorted(map(tuple, points))
    for place in places_around(points, extent, rng):
        expected = np.sqrt(np.square(points - place).sum(axis=1).min())
        assert nearest_in_grid(grid, *place) == pytest.approx(expected, rel=1e-14, abs=0)


def test_many_and_few_atoms_are_measured_alike():
    rng = np.random.default_rng(7)
    n = GRID_POINTS
    atoms = sort_in_space(rng.random((n, 3)) * 60, np.array([0, n]))
    parts = atoms._replace(starts=np.array([0, n - 1, n]))
    places = places_around(atoms.positions, (60, 60, 60), rng)
    by_grid, by_list, far = np.empty(len(places)), np.empty(len(places)), np.empty(len(places))
    fill_distances(places, atoms, 0, by_grid)
    fill_distances(places, parts, 0, by_list)
    fill_distances(places, parts, 1, far)
    assert np.array_equal(by_grid, np.minimum(by_list, far))
