"""Seeded random crystals of intended space groups, for scale tests and property tests.

Structure k of a seed depends on (seed, k, natoms) only, through a Philox stream
of its own: any part of a collection can be made anywhere, in any order. These
structures are never reported as results.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from functools import cache, partial

import numpy as np

import rc_hpc
from rc_hpc.core.constants import CRYSTAL_SYSTEMS, LAST_NUMBER
from rc_hpc.core.errors import UsageError
from rc_hpc.structures.checks import build, guarded, version_of
from rc_hpc.structures.record import Item, Structure

#: No two atoms come closer than this, Å.
MIN_DISTANCE = 1.2
#: Volume an atom takes at first, Å^3; a cell grows where its atoms do not fit.
ATOM_VOLUME = 16.0
GROWTH = 1.25
#: Atoms per cell where none are asked for: drawn from this range.
ATOMS = (2, 40)
#: Tries to place an orbit before the cell grows.
TRIES = 40
#: Images of one atom closer than this are one atom on a special position, Å.
SAME_SITE = 1e-3
#: Atomic numbers drawn from: common elements of distinct radii.
ELEMENTS = (8, 9, 12, 13, 14, 16, 17, 19, 20, 22, 26, 29, 38, 50, 56, 57, 79, 82)


def synthetic_items(count: int, natoms: int | None, seed: int) -> Iterator[Item]:
    """Items of the first `count` synthetic crystals of a seed.

    Parameters
    ----------
    natoms
        Atoms per cell aimed at (reached from below where the group allows); None draws it.
    """
    return (synthetic_item(k, natoms, seed) for k in range(count))


def synthetic_item(k: int, natoms: int | None, seed: int) -> Item:
    """Crystal `k` of a seed."""
    size = "" if natoms is None else f"-n{natoms}"
    return Item(
        f"synthetic-{seed}{size}-{k:06d}", "synthetic", partial(_blob, seed, k, natoms), _read
    )


def _blob(seed: int, k: int, natoms: int | None) -> bytes:
    return json.dumps(
        {"seed": seed, "k": k, "natoms": natoms, "rc_hpc": rc_hpc.__version__}
    ).encode()


def _read(item: Item, blob: bytes) -> Structure:
    with guarded(item):
        recipe = json.loads(blob)
        lattice, frac, numbers, group = random_crystal(
            recipe["seed"], recipe["k"], recipe["natoms"]
        )
        return build(
            item,
            blob,
            lattice,
            frac,
            numbers,
            space_group=group,
            reader=f"rc_hpc {rc_hpc.__version__} synthetic, spglib {version_of('spglib')}",
        )


def random_crystal(
    seed: int, k: int, natoms: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Crystal `k` of a seed.

    Returns
    -------
    lattice : (3, 3) float64, Å
    frac : (n, 3) float64, in [0, 1)
    numbers : (n,) int32
    group
        Intended space-group number; atoms on special positions may have a higher one.
    """
    rng = _stream(seed, k)
    group = int(rng.integers(1, 231))
    rotations, translations = _operations(group)
    shape = _unit_lattice(rng, group)
    target = natoms or int(rng.integers(ATOMS[0], ATOMS[1] + 1))
    species = rng.choice(ELEMENTS, size=int(rng.integers(1, 5)), replace=False)
    volume = ATOM_VOLUME * target
    while True:
        lattice = shape * volume ** (1 / 3)
        # In flatter cells the nearest image would not be the one that rounding gives.
        if _heights(lattice).min() > 2 * MIN_DISTANCE:
            frac, numbers = _fill(rng, lattice, rotations, translations, species, target)
            if len(numbers):
                return lattice, frac, numbers, group
        volume *= GROWTH


def _stream(seed: int, k: int) -> np.random.Generator:
    """Generator of its own for each (seed, k)."""
    return np.random.Generator(np.random.Philox(key=np.array([seed, k], dtype=np.uint64)))


@cache
def _hall_numbers() -> tuple[int, ...]:
    """spglib's first (default) Hall number of each space group, from group 1 on."""
    import spglib

    first: dict[int, int] = {}
    for hall in range(1, 531):
        first.setdefault(spglib.get_spacegroup_type(hall).number, hall)
    return tuple(first[number] for number in range(1, 231))


@cache
def _operations(group: int) -> tuple[np.ndarray, np.ndarray]:
    """Rotations (m, 3, 3) and translations (m, 3) of a group in its default setting."""
    import spglib

    found = spglib.get_symmetry_from_database(_hall_numbers()[group - 1])
    return found["rotations"].astype(np.float64), found["translations"]


def _unit_lattice(rng: np.random.Generator, group: int) -> np.ndarray:
    """Random lattice of the group's crystal system (hexagonal axes where trigonal), volume 1."""
    system = CRYSTAL_SYSTEMS[int(np.searchsorted(LAST_NUMBER, group))]
    a, b, c = rng.uniform(0.75, 1.6, size=3)
    alpha, beta, gamma = 90.0, 90.0, 90.0
    if system == "triclinic":
        alpha, beta, gamma = rng.uniform(72.0, 108.0, size=3)
    elif system == "monoclinic":
        beta = rng.uniform(95.0, 120.0)
    elif system == "tetragonal":
        b = a
    elif system in ("trigonal", "hexagonal"):
        b, gamma = a, 120.0
    elif system == "cubic":
        b = c = a
    return _unit_volume(_lattice(a, b, c, alpha, beta, gamma))


def _lattice(a: float, b: float, c: float, alpha: float, beta: float, gamma: float) -> np.ndarray:
    """Rows from lengths and angles in degrees: a along x, b in the xy plane."""
    cos_a, cos_b, cos_g = np.cos(np.radians([alpha, beta, gamma]))
    if gamma == 90.0:
        cos_g = 0.0
    if gamma == 120.0:
        cos_g = -0.5
    cos_a = 0.0 if alpha == 90.0 else cos_a
    cos_b = 0.0 if beta == 90.0 else cos_b
    sin_g = math.sqrt(1 - cos_g**2)
    y = (cos_a - cos_b * cos_g) / sin_g
    return np.array(
        [
            [a, 0, 0],
            [b * cos_g, b * sin_g, 0],
            [c * cos_b, c * y, c * math.sqrt(1 - cos_b**2 - y**2)],
        ]
    )


def _unit_volume(lattice: np.ndarray) -> np.ndarray:
    return lattice / abs(np.linalg.det(lattice)) ** (1 / 3)


def _fill(rng, lattice, rotations, translations, species, target) -> tuple[np.ndarray, np.ndarray]:
    """Orbits until `target` atoms or no room is left; empty where not even one fits."""
    frac, numbers = np.empty((0, 3)), np.empty(0, dtype=np.int32)
    failures = 0
    while len(numbers) < target and failures < TRIES:
        room = target - len(numbers)
        point = rng.random(3)
        # A general position where it fits; else ever more symmetry is imposed on the point.
        for _ in range(int(rng.integers(0, 2)) if len(rotations) <= room else 1 + failures % 4):
            point = _project(rng, point, rotations, translations)
        orbit = _orbit(lattice, point, rotations, translations)
        # The first orbit may be too large in the end: some groups have no small ones.
        fits = len(orbit) <= room or (not len(numbers) and failures >= TRIES - 8)
        if not fits or _too_close(lattice, orbit, frac):
            failures += 1
            continue
        failures = 0
        frac = np.concatenate([frac, orbit])
        numbers = np.append(numbers, np.full(len(orbit), rng.choice(species), dtype=np.int32))
    return frac, numbers


def _project(rng, point, rotations, translations) -> np.ndarray:
    """The point moved onto the element of one random operation; unmoved for screws and glides."""
    pick = int(rng.integers(len(rotations)))
    rotation, shift = rotations[pick], translations[pick] + rng.integers(-1, 2, size=3)
    images = [point]
    while len(images) <= 6:
        image = rotation @ images[-1] + shift
        if np.abs(image - point).max() < 1e-9:  # a finite cycle: its mean is fixed
            return np.mean(images, axis=0)
        images.append(image)
    return point


def _orbit(lattice, point, rotations, translations) -> np.ndarray:
    """Distinct images of a point in the cell, (m, 3)."""
    images = _wrap(rotations @ point + translations)
    same = _distances(lattice, images, images) < SAME_SITE
    return images[np.argmax(same, axis=1) == np.arange(len(images))]


def _wrap(frac: np.ndarray) -> np.ndarray:
    """Into [0, 1); values that round to 1 become 0."""
    frac = frac - np.floor(frac)
    frac[frac >= 1.0] = 0.0
    return frac


def _too_close(lattice, orbit, frac) -> bool:
    """Whether an atom of `orbit` comes too close to another or to one at `frac`."""
    within = _distances(lattice, orbit, orbit)
    np.fill_diagonal(within, np.inf)
    return min(within.min(), _distances(lattice, orbit, frac).min(initial=np.inf)) < MIN_DISTANCE


def _distances(lattice, a, b) -> np.ndarray:
    """Distances (len(a), len(b)), Å, right below half the smallest height of the cell."""
    delta = a[:, None] - b[None]
    return np.linalg.norm((delta - np.round(delta)) @ lattice, axis=-1)


def _heights(lattice) -> np.ndarray:
    """Distances between opposite faces of the cell, Å."""
    return 1 / np.linalg.norm(np.linalg.inv(lattice), axis=0)


def random_cell(n_atoms: int, n_species: int, seed: int) -> Structure:
    """One big triclinic cell without symmetry, for scale tests.

    Atoms sit on a grid of cells, each moved at random by as much as keeps
    every two at least `MIN_DISTANCE` apart: linear in `n_atoms`.

    Parameters
    ----------
    n_atoms
        Number of atoms.
    n_species
        Number of elements, each given to about the same share of the atoms.
    seed
        Of the random numbers.
    """
    if n_atoms < 1 or not 1 <= n_species <= len(ELEMENTS):
        raise UsageError(f"a random cell needs atoms, and 1 to {len(ELEMENTS)} species")
    rng = _stream(seed, n_atoms)
    side = math.ceil(n_atoms ** (1 / 3))
    shape = _lattice(*rng.uniform(0.9, 1.1, size=3), *rng.uniform(80.0, 100.0, size=3))
    lattice = _unit_volume(shape) * (ATOM_VOLUME * side**3) ** (1 / 3)
    free = 1 - MIN_DISTANCE * side / _heights(
        lattice
    )  # share of a grid cell that an atom may move in
    cells = np.sort(rng.choice(side**3, size=n_atoms, replace=False))
    corners = np.stack(np.unravel_index(cells, (side,) * 3), axis=1)
    frac = (corners + 0.5 + (rng.random((n_atoms, 3)) - 0.5) * free) / side
    numbers = rng.choice(np.array(ELEMENTS[:n_species], dtype=np.int32), size=n_atoms)
    recipe = json.dumps({"random_cell": [n_atoms, n_species, seed], "rc_hpc": rc_hpc.__version__})
    return Structure(
        id=f"random-{n_atoms}-{n_species}-{seed}",
        lattice=lattice,
        frac=frac,
        numbers=numbers,
        source="random_cell",
        reader=f"rc_hpc {rc_hpc.__version__} random_cell",
        sha256=hashlib.sha256(recipe.encode()).hexdigest(),
    )
