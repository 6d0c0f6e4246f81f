"""Cameras along lattice vectors."""

import itertools

import numpy as np
import pytest

from rc_hpc.geometry.alignment import aligned_vectors
from rc_hpc.geometry.protocol import load_protocol

FROZEN, OFF_AXIS = load_protocol("frozen").directions, load_protocol("off-axis").directions


def test_principal_axes_of_an_orthogonal_cell():
    assert aligned_vectors(np.diag([3.0, 4.0, 5.0]), FROZEN).tolist() == [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [0, 0, 0],
        [0, 0, 0],
    ]
    assert not aligned_vectors(np.diag([3.0, 4.0, 5.0]), OFF_AXIS).any()


def test_hexagonal_cell_and_its_longer_vector():
    lattice = 4.0 * np.array([[1, 0, 0], [-0.5, 3**0.5 / 2, 0], [0, 0, 1.3]])
    assert aligned_vectors(lattice, FROZEN)[:3].tolist() == [[1, 0, 0], [1, 2, 0], [0, 0, 1]]
    assert aligned_vectors(lattice, FROZEN, reach=1)[:3].tolist() == [
        [1, 0, 0],
        [0, 0, 0],
        [0, 0, 1],
    ]


@pytest.mark.parametrize("seed", range(5))
def test_shortest_of_all_lines_is_found_and_its_ends_coincide(seed):
    rng = np.random.default_rng(seed)
    lattice = rng.normal(size=(3, 3)) + 3 * np.eye(3)
    wanted = np.array([(1, -2, 1), (2, 0, -1), (0, 1, -3)])
    directions = -(wanted @ lattice) / np.linalg.norm(wanted @ lattice, axis=1)[:, None]
    assert aligned_vectors(lattice, directions).tolist() == wanted.tolist()
    others = rng.normal(size=(3, 3))
    others /= np.linalg.norm(others, axis=1)[:, None]
    found = aligned_vectors(lattice, others, zero=0.5)
    for direction, coefficients in zip(others, found, strict=True):
        across = {
            c: np.linalg.norm(np.cross(np.array(c) @ lattice, direction))
            for c in itertools.product(range(-3, 4), repeat=3)
            if any(c)
        }
        near = {c: np.linalg.norm(np.array(c) @ lattice) for c, d in across.items() if d <= 0.5}
        if not near:
            assert not coefficients.any()
        else:
            assert np.linalg.norm(coefficients @ lattice) == pytest.approx(min(near.values()))
