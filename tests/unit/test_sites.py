"""Operations of sites: the kernel beside all rotations and shifts tried one by one."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rc_hpc.kernels.sites import site_operations

LATTICE = np.array([[4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]])
#: Signed permutations: the rotation parts that a cube's lattice has.
MATRICES = np.array(
    [
        [[sign[i] * (j == order[i]) for j in range(3)] for i in range(3)]
        for order in itertools.permutations(range(3))
        for sign in itertools.product((1.0, -1.0), repeat=3)
    ]
)


def length(difference):
    """Å, of the shortest among the images of a difference of fractions."""
    return float(np.linalg.norm((difference - np.rint(difference)) @ LATTICE))


def one_by_one(frac, kinds, start, target, points, reach):
    """Matrix, images and nearest distances of each operation, by trying all of them."""
    found = set()
    for m, matrix in enumerate(MATRICES):
        shifts = {
            tuple(np.round(np.mod(frac[j] - frac[i] @ matrix, 1.0), 4) % 1.0)
            for i in start
            for j in target
        }
        for shift in shifts:
            image = []
            for s in range(len(frac)):
                moved = frac[s] @ matrix + shift
                away = [
                    (round(length(frac[t] - moved), 9), t)
                    for t in range(len(frac))
                    if kinds[t] == kinds[s] and length(frac[t] - moved) <= reach
                ]
                image.append(min(away)[1] if away else -1)
            alive = {s for s, t in enumerate(image) if t >= 0}
            while (left := {s for s in alive if image[s] in alive}) != alive:
                alive = left
            if all(alive & set(point) for point in points):
                found.add((m, tuple(image), frozenset(alive)))
    return found


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_operations_of_sites_equal_those_tried_one_by_one(data):
    """Sites on a grid so wide that no two are within reach of one image."""
    n = data.draw(st.integers(2, 7))
    grid = [(i / 8, j / 8, k / 8) for i in range(8) for j in range(8) for k in range(8)]
    frac = np.array(data.draw(st.lists(st.sampled_from(grid), min_size=n, max_size=n, unique=True)))
    kinds = np.array(data.draw(st.lists(st.integers(1, 2), min_size=n, max_size=n)))
    kinds[0] = 1
    sites = st.lists(st.integers(0, n - 1), min_size=1, max_size=n, unique=True)
    points = data.draw(st.lists(sites, min_size=1, max_size=3))
    points = sorted((sorted(point) for point in points), key=len)
    own = np.flatnonzero(kinds == 1)
    start = own[: data.draw(st.integers(1, len(own)))]
    bounds = np.cumsum([0, *map(len, points)])
    given_points = (bounds, np.concatenate([np.array(p) for p in points]))
    operations = site_operations(frac, kinds, LATTICE, MATRICES, (start, own), given_points, 0.1)
    assert not len(operations.more)
    found = {
        (int(m), tuple(image.tolist()), frozenset(np.flatnonzero(alive).tolist()))
        for m, image, alive in zip(
            operations.matrix, operations.image, operations.alive, strict=True
        )
    }
    assert found == one_by_one(frac, kinds, start, own, points, 0.1)
    near = operations.image >= 0
    assert np.isinf(operations.off[~near]).all() and (operations.off[near] < 1e-9).all()


@pytest.mark.parametrize("reversed_", [False, True])
def test_of_sites_at_one_place_the_first_is_the_image(reversed_):
    """Two of them: the second is told as a further one, whatever box or order they come in."""
    frac = np.array([[0.9999, 0.5, 0.0], [0.0, 0.5, 0.0], [0.0001, 0.5, 0.0]])
    if reversed_:
        frac = frac[::-1].copy()
    points = (np.array([0, 3]), np.arange(3))
    one = MATRICES[(np.abs(MATRICES - np.eye(3)).sum(axis=(1, 2)) == 0)]
    operations = site_operations(
        frac, np.ones(3, np.int64), LATTICE, one, (np.array([1]), np.array([1])), points, 0.1
    )
    assert operations.image.tolist() == [[0, 1, 2]]
    assert sorted(map(tuple, operations.more[:, 1:].tolist())) == [
        (s, t) for s in range(3) for t in range(3) if s != t
    ]
    assert operations.more[:, 1:].tolist() == sorted(operations.more[:, 1:].tolist())
