"""Crystals whose symmetry is exact and that are near no other: one label is that of every setting.

Each of spglib's tolerances decides whether an operation counts. Where all operations of the group
that was found hold a hundred times better than the smallest tolerance, are as many as the group
has, and no other operation comes near even the largest, all settings see the same ones. What this
does not follow is how spglib reduces lattices and looks up its data base: that every setting
gives the same number then is what was seen, not proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import radians
from typing import Any

import numpy as np

from rc_hpc.core.lazy import resolve
from rc_hpc.symmetry.distances import closest_pair
from rc_hpc.symmetry.guard import spglib_raises

#: What is exact, as part of the smallest symprec.
EXACT = 0.1
#: What is near, as multiple of the largest symprec and of the largest angle.
NEAR = 1.1
NEAR_ANGLE = 1.05
#: Atoms closer than this, in units of the largest symprec, are never told apart safely.
APART = 4.0
#: Coefficients of the lattice vectors that a vector of a reduced basis may go to.
_COEFFICIENTS = np.array([v for v in product(range(-2, 3), repeat=3) if any(v)])
#: Rotations of each of the 32 crystal classes, in the order of `labels.POINT_GROUPS`.
ORDERS = dict(
    zip(
        (
            *("1", "-1", "2", "m", "2/m", "222", "mm2", "mmm", "4", "-4", "4/m", "422", "4mm"),
            *("-42m", "4/mmm", "3", "-3", "32", "3m", "-3m", "6", "-6", "6/m", "622", "6mm"),
            *("-6m2", "6/mmm", "23", "m-3", "432", "-43m", "m-3m"),
        ),
        (
            *(1, 2, 2, 2, 4, 4, 4, 8, 4, 4, 8, 8, 8),
            *(8, 16, 3, 6, 6, 6, 12, 6, 6, 12, 12, 12),
            *(12, 24, 12, 24, 24, 24, 48),
        ),
        strict=True,
    )
)


def is_sharp(
    lattice: np.ndarray,
    frac: np.ndarray,
    numbers: np.ndarray,
    dataset: Any,
    point_group: str,
    settings: Sequence[tuple[float, float]],
) -> bool:
    """Whether a cell has the operations that spglib found exactly, and nearly no others.

    Parameters
    ----------
    lattice, frac, numbers
        The cell: basis vectors as rows (Å), fractional coordinates, species.
    dataset
        What ``spglib.get_symmetry_dataset`` gave of it.
    point_group
        Of the space group found.
    settings
        symprec (Å) and angle tolerance (degrees) that the label is to hold at.
    """
    smallest, largest = (pick(symprec for symprec, _ in settings) for pick in (min, max))
    exact, near = EXACT * smallest, NEAR * largest
    rotations = np.asarray(dataset.rotations, np.int64)
    pure = int((rotations == np.eye(3, dtype=np.int64)).all(axis=(1, 2)).sum())
    if not pure or len(rotations) != ORDERS[point_group] * pure:
        return False
    basis, members = _primitive(dataset)
    if abs(len(numbers) - pure * len(members)) > 0 or not _fits(lattice, basis, pure):
        return False
    unique = np.unique(rotations, axis=0)
    if _strain(lattice, unique) * np.linalg.norm(basis, axis=1).max() > exact:
        return False
    if closest_pair(lattice, frac, own_images=True)[0] < APART * largest:
        return False
    # packing imports this before the kernels' cache is known
    first_that_maps = resolve("rc_hpc.kernels.near:first_that_maps")
    lattice = np.ascontiguousarray(lattice, float)
    operations = rotations.astype(float), np.ascontiguousarray(dataset.translations, float)
    if first_that_maps(*_sorted(frac, numbers), lattice, *operations, exact, False) >= 0:
        return False
    # columns of fractional coordinates: in the primitive basis A x, with A = (L P^-1)^T
    change = (lattice @ np.linalg.inv(basis)).T
    inside = np.rint(change @ unique @ np.linalg.inv(change))
    angle = radians(NEAR_ANGLE * max(abs(angle) for _, angle in settings))
    primitive = _sorted((frac @ lattice)[members] @ np.linalg.inv(basis), numbers[members])
    others = _others(near_lattice(basis, near, angle), inside.astype(np.int64))
    nearly = _shifts(*primitive, others)
    return bool(first_that_maps(*primitive, basis, *nearly, near, True) < 0)


def near_lattice(basis: np.ndarray, length: float, angle: float) -> np.ndarray:
    """Integer matrices that nearly keep a lattice.

    Parameters
    ----------
    basis : (3, 3)
        A reduced basis as rows, Å.
    length
        Largest change of a basis vector's length, Å.
    angle
        Largest change of the angle between two, radians.

    Returns
    -------
    (k, 3, 3) int64
        Acting on columns of fractional coordinates; determinant 1 or -1.
    """
    vectors = _COEFFICIENTS @ basis
    lengths = np.linalg.norm(vectors, axis=1)
    own = np.linalg.norm(basis, axis=1)
    like = [np.flatnonzero(np.abs(lengths - one) <= length) for one in own]
    a, b, c = np.meshgrid(*like, indexing="ij")
    kept = np.ones(a.shape, bool)
    for k, (one, other) in enumerate(((a, b), (b, c), (c, a))):
        wanted = _angles(basis[k], basis[(k + 1) % 3])
        kept &= np.abs(_angles(vectors[one], vectors[other]) - wanted) <= angle
    rows = np.stack([_COEFFICIENTS[which[kept]] for which in (a, b, c)], axis=1)
    whole = np.abs(np.abs(np.linalg.det(rows)) - 1) < 0.5
    return np.swapaxes(rows[whole], 1, 2)


def _angles(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    angles: np.ndarray = np.arccos(np.clip((a * b).sum(axis=-1) / lengths, -1, 1))
    return angles


def _others(near: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Of rotations of a lattice, one of each coset of the exact ones that is not theirs."""
    seen = {one.tobytes() for one in exact}
    others = []
    for one in near:
        if one.tobytes() not in seen:
            others.append(one)
            seen.update(made.tobytes() for made in one @ exact)
    return np.array(others, np.int64).reshape(-1, 3, 3)


def _shifts(frac: np.ndarray, starts: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, ...]:
    """Operations with these rotations, or with none, that take one atom of the rarest species to
    another, or to itself.
    """
    rarest = int(np.argmin(np.diff(starts)))
    own = frac[starts[rarest] : starts[rarest + 1]]
    pure = own[1:] - own[0]
    moved = own[None] - (others @ own[0])[:, None]
    rotations = np.concatenate(
        [np.broadcast_to(np.eye(3), (len(pure), 3, 3)), np.repeat(others, len(own), axis=0)]
    )
    return rotations.astype(float), np.concatenate([pure, moved.reshape(-1, 3)])


def _primitive(dataset: Any) -> tuple[np.ndarray, np.ndarray]:
    """A reduced basis of the primitive cell, (3, 3) Å as rows, and one atom for each of its."""
    import spglib

    basis = np.asarray(dataset.primitive_lattice, float)
    with spglib_raises():
        try:
            reduced = spglib.niggli_reduce(basis, eps=1e-5)
        except getattr(spglib, "SpglibError", ()):
            reduced = None
    _, members = np.unique(dataset.mapping_to_primitive, return_index=True)
    return np.ascontiguousarray(basis if reduced is None else reduced, float), members


def _fits(lattice: np.ndarray, basis: np.ndarray, pure: int) -> bool:
    """Whether the cell holds that many primitive ones."""
    change = lattice @ np.linalg.inv(basis)
    whole = np.abs(change - np.rint(change)).max() < 1e-3
    return bool(whole and round(abs(float(np.linalg.det(change)))) == pure)


def _strain(lattice: np.ndarray, rotations: np.ndarray) -> float:
    """Largest strain by which any of the rotations misses the metric."""
    basis = np.asarray(lattice, float).T
    moved = basis @ rotations @ np.linalg.inv(basis)
    strains = (np.swapaxes(moved, 1, 2) @ moved - np.eye(3)) / 2
    return float(np.abs(np.linalg.eigvalsh(strains)).max())


def _sorted(frac: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates by species, and where each species begins."""
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1, append=-1))
    return np.ascontiguousarray(frac[order], float), starts.astype(np.int64)
