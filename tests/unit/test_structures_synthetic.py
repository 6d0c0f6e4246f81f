"""Synthetic crystals: what they promise of symmetry, distances and reproducibility."""

import itertools

import numpy as np
import pytest

from rc_hpc.core.errors import UsageError
from rc_hpc.structures.sources import iter_items
from rc_hpc.structures.synthetic import MIN_DISTANCE, _operations, random_cell, random_crystal

pytestmark = pytest.mark.long


def shortest(lattice, frac):
    """Smallest distance over two cells around, atom pairs and self-images alike, Å."""
    best = np.inf
    for shift in itertools.product(range(-2, 3), repeat=3):
        delta = (frac[:, None] - frac[None] + shift) @ lattice
        distance = np.linalg.norm(delta, axis=-1)
        if shift == (0, 0, 0):
            np.fill_diagonal(distance, np.inf)
        best = min(best, distance.min())
    return best


@pytest.mark.parametrize("k", range(60))
def test_distances_and_operations_hold(k):
    lattice, frac, numbers, group = random_crystal(5, k)
    assert shortest(lattice, frac) >= MIN_DISTANCE - 1e-9
    assert ((frac >= 0) & (frac < 1)).all()
    rotations, translations = _operations(group)
    metric = lattice @ lattice.T
    for rotation, translation in zip(rotations, translations, strict=True):
        # Operations act on columns of fractional coordinates: W^T G W = G, and sites go to sites.
        np.testing.assert_allclose(rotation.T @ metric @ rotation, metric, atol=1e-9)
        delta = (frac @ rotation.T + translation)[:, None] - frac[None]
        miss = np.linalg.norm((delta - np.round(delta)) @ lattice, axis=-1)
        target = miss.argmin(axis=1)
        assert miss.min(axis=1).max() < 1e-6
        np.testing.assert_array_equal(numbers[target], numbers)


def test_spglib_finds_the_intended_group():
    import spglib

    counts, groups = 150, set()
    exact = 0
    for k in range(counts):
        lattice, frac, numbers, group = random_crystal(11, k)
        groups.add(group)
        found = spglib.get_symmetry_dataset((lattice, frac, numbers), symprec=0.01)
        exact += found.number == group
        # Never fewer operations than intended: per lattice point, point-group order times centring.
        assert len(found.rotations) >= len(_operations(group)[0])
    assert exact >= 0.65 * counts
    assert len(groups) > 80


def test_depends_on_seed_and_number_only():
    items = list(iter_items(["synthetic:6"], seed=9))
    forward = [item.read(item, item.blob()) for item in items]
    again = list(iter_items(["synthetic:40"], seed=9))[:6]
    for structure, item in zip(reversed(forward), reversed(again), strict=True):
        copy = item.read(item, item.blob())
        assert (copy.id, copy.sha256) == (structure.id, structure.sha256)
        np.testing.assert_array_equal(copy.frac, structure.frac)
        np.testing.assert_array_equal(copy.lattice, structure.lattice)
        np.testing.assert_array_equal(copy.numbers, structure.numbers)
    lattices = {structure.lattice.tobytes() for structure in forward}
    (other,) = iter_items(["synthetic:1"], seed=10)
    assert other.read(other, other.blob()).lattice.tobytes() not in lattices
    assert len(lattices) == 6
    assert {structure.source_space_group for structure in forward} == {
        random_crystal(9, k)[3] for k in range(6)
    }


def test_asked_size_is_reached():
    sizes = []
    for item in iter_items(["synthetic:12:150"], seed=2):
        structure = item.read(item, item.blob())
        sizes.append(len(structure.numbers))
    assert max(sizes) <= 150
    assert np.median(sizes) > 120


@pytest.mark.parametrize("n_atoms", [1, 2, 27, 300])
def test_random_cell(n_atoms):
    cell = random_cell(n_atoms, 3, 4)
    assert cell.frac.shape == (n_atoms, 3)
    assert set(cell.numbers) <= {8, 9, 12}
    assert shortest(cell.lattice, cell.frac) >= MIN_DISTANCE
    np.testing.assert_array_equal(cell.frac, random_cell(n_atoms, 3, 4).frac)
    assert not np.array_equal(cell.frac, random_cell(n_atoms, 3, 5).frac)


def test_big_random_cell():
    from scipy.spatial import cKDTree

    cell = random_cell(100_000, 5, 0)
    assert len(np.unique(cell.numbers)) == 5
    assert not cKDTree(cell.positions).query_pairs(MIN_DISTANCE - 1e-9)
    assert np.linalg.det(cell.lattice) / 100_000 == pytest.approx(16, rel=0.1)


@pytest.mark.parametrize(("n_atoms", "n_species"), [(0, 1), (5, 0), (5, 99)])
def test_random_cell_refuses_nonsense(n_atoms, n_species):
    with pytest.raises(UsageError):
        random_cell(n_atoms, n_species, 0)
