"""The short sweep: one call where all settings would give its number, every call elsewhere."""

import json
from itertools import product

import numpy as np
import pytest
import spglib
from hypothesis import given
from hypothesis import settings as checked
from hypothesis import strategies as st

from rc_hpc.core.constants import ANGLE_TOLERANCE, TAU
from rc_hpc.kernels.near import first_that_maps
from rc_hpc.symmetry.conventional import canonical_order
from rc_hpc.symmetry.labels import POINT_GROUPS, label, symmetry_of
from rc_hpc.symmetry.sharp import ORDERS, is_sharp, near_lattice
from rc_hpc.symmetry.stability import order_dependent, settings, sweep

SETTINGS = settings()


def sharp(lattice, frac, numbers):
    """Whether a cell is, its number, and its atoms in the one fixed order."""
    order = canonical_order(frac @ lattice, numbers)
    cell = np.asarray(lattice, float), np.asarray(frac, float)[order], numbers[order]
    dataset, why = symmetry_of(*cell, TAU, ANGLE_TOLERANCE)
    assert dataset is not None, why
    group = label(int(dataset.number)).point_group
    return is_sharp(*cell, dataset, group, SETTINGS), int(dataset.number), cell


def check(lattice, frac, numbers):
    """Of a sharp cell every setting and every order gives the one number; whether it is."""
    is_one, number, cell = sharp(lattice, frac, numbers)
    if is_one:
        assert set(sweep(*cell, canonical=number).tolist()) == {number}
        assert not order_dependent(*cell, canonical=number)
    return is_one


def test_orders_are_those_of_spglib():
    for number in range(1, 231):
        hall = next(h for h in range(1, 531) if spglib.get_spacegroup_type(h).number == number)
        rotations = spglib.get_symmetry_from_database(hall)["rotations"]
        assert ORDERS[label(number).point_group] == len({one.tobytes() for one in rotations})
    assert set(ORDERS) == set(POINT_GROUPS)


ROCK_SALT = (
    5.6 * np.eye(3),
    np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]] * 2)
    + np.repeat([[0, 0, 0], [0.5, 0, 0]], 4, axis=0),
    np.repeat([11, 17], 4),
)


def test_rock_salt_is_sharp_and_near_rock_salt_is_not():
    lattice, frac, numbers = ROCK_SALT
    assert check(*ROCK_SALT)
    assert check(lattice * [1, 1, 1.2], frac, numbers)  # tetragonal, and far from cubic
    for strain in (1 + 1e-4, 1.001, 1.01):
        assert not sharp(lattice * [1, 1, strain], frac, numbers)[0]
    for shift in (1e-3, 0.01, 0.05):
        moved = frac.copy()
        moved[0, 2] += shift / 5.6
        assert not sharp(lattice, moved, numbers)[0]
    sheared = lattice.copy()
    sheared[0, 1] = 5.6 * np.tan(np.radians(6))
    assert not sharp(sheared, frac, numbers)[0]


def test_the_known_exceptions_are_called(shared):
    """Cells of which simpler rules of exactness make another number than the calls do."""
    for line in (shared / "cases" / "sweep_exceptions.jsonl").read_text().splitlines():
        told = json.loads(line)
        cell = np.array(told["lattice"]), np.array(told["frac"]), np.array(told["numbers"])
        assert not sharp(*cell)[0], told["id"]


@checked(deadline=None)
@given(st.integers(0, 1 << 30))
def test_the_kernel_is_its_plain_twin(seed):
    rng = np.random.default_rng(seed)
    lattice = np.eye(3) * rng.uniform(3, 5, 3) + rng.normal(scale=0.1, size=(3, 3))
    starts = np.array([0, *np.cumsum(rng.integers(1, 4, rng.integers(1, 4)))])
    frac = rng.choice([0, 0.25, 0.5], (starts[-1], 3)) + rng.normal(
        scale=0.01, size=(starts[-1], 3)
    )
    rotations = rng.integers(-1, 2, (6, 3, 3)).astype(float)
    rotations[::2] = np.eye(3)
    shifts = rng.choice([0, 0.25, 0.5], (6, 3)).astype(float)
    shifts[0] = 0
    reach = float(rng.choice([0.01, 0.2, 1.5]))

    def maps(rotation, shift):
        for s in range(len(starts) - 1):
            own = frac[starts[s] : starts[s + 1]]
            for atom in own:
                apart = own - (rotation @ atom + shift)
                apart -= np.round(apart)
                if np.linalg.norm(apart @ lattice, axis=1).min() > reach:
                    return False
        return True

    told = [maps(*one) for one in zip(rotations, shifts, strict=True)]
    for wanted in (True, False):
        expected = told.index(wanted) if wanted in told else -1
        assert first_that_maps(frac, starts, lattice, rotations, shifts, reach, wanted) == expected


@pytest.mark.parametrize(
    "lattice, count",
    [
        (3 * np.eye(3), 48),
        (np.diag([3, 3, 5.0]), 16),
        (np.diag([3, 4, 5.0]), 8),
        (np.array([[3, 0, 0], [-1.5, 3 * np.sqrt(0.75), 0], [0, 0, 5]]), 24),
        (np.array([[3, 0, 0], [0.4, 4, 0], [0.3, 0.7, 5]]), 2),
    ],
    ids=["cubic", "tetragonal", "orthorhombic", "hexagonal", "triclinic"],
)
def test_operations_of_lattices(lattice, count):
    found = near_lattice(lattice, 1e-6, 1e-6)
    assert len(found) == len({one.tobytes() for one in found}) == count
    metric = lattice @ lattice.T
    for one in found:  # columns of fractional coordinates
        np.testing.assert_allclose(one.T @ metric @ one, metric, atol=1e-9)
    rough = lattice * (1 + 0.004 * np.arange(3))
    assert len(near_lattice(rough, 0.11, np.radians(10.5))) >= count


def made_cells(seed, count):
    """Cells of exact low symmetry near a higher one: waves, strains and shears at the tolerances,
    supercells."""
    rng = np.random.default_rng(seed)
    basis = [
        (np.eye(3), [[0, 0, 0]], [6]),
        (np.eye(3), [[0, 0, 0], [0.5, 0.5, 0.5]], [55, 17]),
        (np.eye(3), [[0, 0, 0], [0.5, 0.5, 0.5]], [26, 26]),
        (np.eye(3), [[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]], [29] * 4),
        (np.diag([1, 1, 1.3]), [[0, 0, 0], [0.5, 0.5, 0.37]], [22, 8]),
        (
            np.array([[1, 0, 0], [-0.5, np.sqrt(0.75), 0], [0, 0, 1.63]]),
            [[1 / 3, 2 / 3, 0.25], [2 / 3, 1 / 3, 0.75]],
            [12, 12],
        ),
    ]
    amplitudes = (0, 0, 1e-5, 9e-4, 1.1e-3, 9e-3, 0.011, 0.045, 0.055, 0.09, 0.105, 0.13, 0.3)
    for _ in range(count):
        lattice, frac, numbers = basis[rng.integers(len(basis))]
        lattice, frac, numbers = 4.2 * np.array(lattice), np.array(frac, float), np.array(numbers)
        times = rng.integers(1, 4, 3)
        if np.prod(times) * len(frac) > 60:
            times = np.array([1, 1, 2])
        cells = np.array(list(product(*map(range, times))))
        frac = ((frac[None] + cells[:, None]) / times).reshape(-1, 3)
        numbers = np.tile(numbers, len(cells))
        lattice = lattice * times[:, None]
        positions = frac @ lattice
        wave = rng.integers(0, 3, 3) * rng.choice(amplitudes)
        phase = 2 * np.pi * frac @ rng.integers(0, 2, 3)
        positions = positions + np.cos(phase)[:, None] * np.sign(wave) * rng.choice(amplitudes)
        positions[0] += rng.choice(amplitudes) * rng.integers(0, 2, 3)
        strain = np.eye(3)
        axis, other = rng.choice(3, 2, replace=False)
        strain[axis, axis] += rng.choice(amplitudes) / 4.2
        strain[axis, other] += np.tan(
            np.radians(rng.choice([0, 0, 0.5, 0.95, 1.05, 4.8, 9.7, 10.3]))
        )
        yield lattice @ strain, (positions @ np.linalg.inv(lattice)) % 1.0, numbers


def test_some_made_cells():
    found = [check(*cell) for cell in made_cells(1, 60)]
    assert 3 < sum(found) < 50


# 5,000 cells: some ten CPU minutes
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(10, 15))
def test_many_made_cells(seed):
    found = [check(*cell) for cell in made_cells(seed, 1000)]
    assert sum(found) > 100
