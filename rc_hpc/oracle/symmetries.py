"""Which symmetry operations a set of places can have at all: of its lattice, then site by site.

Operations act on fractional row vectors: ``frac @ rotation + shift``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from math import gcd
from typing import NamedTuple

import numpy as np

from rc_hpc.core.constants import ANGLE_TOLERANCE, TAU
from rc_hpc.oracle.explanations import EQUAL, Puzzle

#: Sites that no symmetry at `TAU` can tell from each other, Å: each of two may be off by tau.
LOOSE = 3 * TAU
#: Angles of lattices that are surely equal, degrees.
EQUAL_ANGLE = 1e-2
#: Products of operations and sites that are looked at at most.
MANY_IMAGES = 6_000_000
#: Finer lattices that are looked at at most.
MANY_LATTICES = 64
#: Order of a rotation by its trace.
_ORDER = {3: 1, -1: 2, 0: 3, 1: 4, 2: 6}


class TooMany(Exception):
    """There are more operations than are looked at."""


@dataclass(frozen=True)
class Rotations:
    """Rotation parts that map a lattice onto itself, each with a sure and a possible reading.

    Attributes
    ----------
    matrices : (N, 3, 3)
        In the basis of the lattice that they were asked for.
    order : (N,) int
        Of the proper rotation: 1, 2, 3, 4 or 6.
    axis : (N,) int
        Number of its axis; equal for parallel ones.
    sure : (N,) bool
        Whether the lattice has it exactly, not within the tolerances only.
    """

    matrices: np.ndarray
    order: np.ndarray
    axis: np.ndarray
    sure: np.ndarray


class Operations(NamedTuple):
    """Operations that some explanation can have.

    Attributes
    ----------
    image : (N, S) int64
        Site that each site is mapped to, -1 where none is.
    alive : (N, S) bool
        Sites that are mapped to sites for ever; an explanation that has the operation is of these.
    axis : (N,) int
    """

    image: np.ndarray
    alive: np.ndarray
    axis: np.ndarray


def rotations_of(
    lattice: np.ndarray, basis: np.ndarray | None = None, angle: float = ANGLE_TOLERANCE
) -> Rotations:
    """Rotation parts of a lattice within the tolerances of a label.

    As spglib looks for them: matrices of -1, 0 and 1 over a reduced basis that keep lengths and
    angles.

    Parameters
    ----------
    lattice : (3, 3)
        Vectors as rows, Å.
    basis : (3, 3), optional
        Lattice in whose coordinates the matrices are wanted; by default the lattice itself.
    angle
        Degrees.
    """
    from ase.geometry.minkowski_reduction import minkowski_reduce

    basis = lattice if basis is None else basis
    reduced = np.asarray(minkowski_reduce(lattice)[0])
    whole, order, axis = _whole_matrices()
    vectors = whole @ reduced
    metric, wanted = vectors @ vectors.transpose(0, 2, 1), reduced @ reduced.T
    lengths, own = np.sqrt(np.diagonal(metric, axis1=1, axis2=2)), np.sqrt(np.diagonal(wanted))
    off_length = abs(lengths - own).max(axis=1)
    near = np.flatnonzero(off_length < LOOSE)
    off_angle = abs(_angles(metric[near], lengths[near]) - _angles(wanted, own)).max(axis=1)
    near, off_angle = near[off_angle <= angle], off_angle[off_angle <= angle]
    to_basis = reduced @ np.linalg.inv(basis)
    return Rotations(
        np.linalg.inv(to_basis) @ whole[near] @ to_basis,
        order[near],
        np.unique(axis[near], return_inverse=True)[1],
        (off_angle < EQUAL_ANGLE) & (off_length[near] < EQUAL),
    )


def _angles(metric: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Angles between the vectors of metrics (..., 3, 3), degrees, (..., 3)."""
    i, j = np.array([0, 0, 1]), np.array([1, 2, 2])
    cosine = metric[..., i, j] / (lengths[..., i] * lengths[..., j])
    return np.asarray(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


@cache
def _whole_matrices() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Matrices of -1, 0 and 1 that can be rotation parts, their orders, and numbers of their axes.

    Axes that are parallel in one lattice are so in all: they are whole vectors.
    """
    rows = np.array(list(product((-1, 0, 1), repeat=9))).reshape(-1, 3, 3)
    sign = np.rint(np.linalg.det(rows)).astype(int)
    rows, sign = rows[abs(sign) == 1], sign[abs(sign) == 1]
    found, orders, axes = [], [], []
    for whole, one in zip(rows, sign.tolist(), strict=True):
        order = _ORDER.get(int(one * np.trace(whole)))
        if order is None:
            continue
        powers = [np.linalg.matrix_power(one * whole, n) for n in range(order + 1)]
        if (powers[-1] == powers[0]).all():
            found.append(whole)
            orders.append(order)
            axes.append(_direction(np.sum(powers[:-1], axis=0)))
    numbers = {axis: number for number, axis in enumerate(sorted(set(axes)))}
    return np.array(found), np.array(orders), np.array([numbers[axis] for axis in axes])


def _direction(invariant: np.ndarray) -> tuple[int, ...]:
    """Axis of a rotation, from the sum of its powers, whose rows lie along it."""
    row = invariant[np.abs(invariant).sum(axis=1).argmax()].astype(int).tolist()
    row = [x // gcd(*row) for x in row]
    sign = next((x for x in row if x), 1)
    return tuple(x if sign > 0 else -x for x in row)


class Symmetries:
    """Operations that explanations of a puzzle can have.

    Parameters
    ----------
    puzzle
    rotations
        Of the puzzle's lattice.
    """

    def __init__(self, puzzle: Puzzle, rotations: Rotations):
        self.puzzle, self.rotations = puzzle, rotations
        site, self.first = np.unique(puzzle.sites, return_index=True)
        self.members = [np.flatnonzero(puzzle.sites == s) for s in site]
        self.frac = np.mod(puzzle.frac[self.first], 1.0)
        self.numbers = puzzle.numbers[self.first]
        # A point is explained by a site where it is by any of its places.
        self.covers = np.stack([puzzle.points[:, own].any(axis=1) for own in self.members], axis=1)
        self._known: dict[tuple[int, bool], Operations] = {}

    @cached_property
    def dense(self) -> bool:
        """Whether some sites are so near that a symmetry within the tolerances may mix them up."""
        puzzle = self.puzzle
        pairs, away, _ = puzzle._pairs
        near = pairs[away < 2 * LOOSE]
        site, number = puzzle.sites, puzzle.numbers
        same = number[near[:, 0]] == number[near[:, 1]]
        return bool((same & (site[near[:, 0]] != site[near[:, 1]])).any())

    @cached_property
    def _tree(self):
        from scipy.spatial import cKDTree

        lengths = np.linalg.norm(self.puzzle.lattice, axis=1)
        at = np.column_stack((self.frac * lengths, 100.0 * self.numbers))
        at[:, :3] = np.where(at[:, :3] >= lengths, 0.0, at[:, :3])
        return cKDTree(at, boxsize=[*lengths, 0.0]), lengths

    @cached_property
    def _anchor(self) -> tuple[np.ndarray, np.ndarray]:
        """Sites of which each explanation has one, and those that one may be mapped to; few."""
        best: tuple[int, np.ndarray, np.ndarray] | None = None
        for kind in self.puzzle.counts:
            own = np.flatnonzero(self.numbers == kind)
            covers = self.covers[:, own]
            covers = covers[covers.any(axis=1)]
            fewest = own[covers[covers.sum(axis=1).argmin()]]
            if best is None or len(fewest) * len(own) < best[0]:
                best = (len(fewest) * len(own), fewest, own)
        assert best is not None
        return best[1], best[2]

    def operations(self, order: int, sure: bool) -> Operations:
        """Operations with a rotation of this order.

        Parameters
        ----------
        order
            2, 3, 4 or 6; of inverse ones the one, and of order 3 only the proper ones, since an
            improper one has them as powers. 1: translations.
        sure
            Those that a label surely finds, not all that it may find.

        Raises
        ------
        TooMany
        """
        key = (order, sure)
        if key not in self._known:
            self._known[key] = self._operations(order, sure)
        return self._known[key]

    def _operations(self, order: int, sure: bool) -> Operations:
        rotations = self.rotations
        chosen = []
        kept: list[np.ndarray] = []
        for n in np.flatnonzero((rotations.order == order) & (rotations.sure | (not sure))):
            matrix = rotations.matrices[n]
            proper = np.linalg.det(matrix) > 0
            inverse = np.linalg.inv(matrix)
            if (order in (1, 3) and not proper) or any(np.allclose(inverse, m) for m in kept):
                continue
            kept.append(matrix)
            chosen.append(n)
        start, target = self._anchor
        work = len(chosen) * len(start) * len(target) * len(self.frac)
        if work > MANY_IMAGES:
            raise TooMany
        images, axes = [], []
        for n, matrix in zip(chosen, kept, strict=True):
            shifts = self.frac[target][None] - (self.frac[start] @ matrix)[:, None]
            shifts = _distinct(np.mod(shifts.reshape(-1, 3), 1.0))
            images.append(self._mapped(matrix, shifts, EQUAL if sure else LOOSE))
            axes += [int(rotations.axis[n])] * len(shifts)
        if not images:
            none = np.empty((0, len(self.frac)), np.int64)
            return Operations(none, none.astype(bool), np.empty(0, np.int64))
        image, axis = np.concatenate(images), np.array(axes)
        if order == 1:  # not the identity
            moved = (image != np.arange(image.shape[1])).any(axis=1)
            image, axis = image[moved], axis[moved]
        alive = image >= 0
        while True:
            still = alive & np.take_along_axis(alive, np.maximum(image, 0), axis=1)
            if (still == alive).all():
                break
            alive = still
        possible = (alive.astype(np.int32) @ self.covers.T.astype(np.int32) > 0).all(axis=1)
        return Operations(image[possible], alive[possible], axis[possible])

    def _mapped(self, matrix: np.ndarray, shifts: np.ndarray, within: float) -> np.ndarray:
        """Site of the image of every site under one rotation and many shifts, (N, S)."""
        tree, lengths = self._tree
        moved = np.mod(self.frac @ matrix + shifts[:, None], 1.0)
        at = np.empty((*moved.shape[:2], 4))
        at[..., :3] = np.where(moved >= 1.0, 0.0, moved) * lengths
        at[..., :3] = np.where(at[..., :3] >= lengths, 0.0, at[..., :3])
        at[..., 3] = 100.0 * self.numbers
        # Along skewed vectors coordinates differ by more than the distance.
        away, found = tree.query(at, distance_upper_bound=5 * within)
        found = np.where(np.isfinite(away), found, 0)
        between = moved - self.frac[found]
        between -= np.rint(between)
        distance = np.linalg.norm(between @ self.puzzle.lattice, axis=-1)
        return np.where(np.isfinite(away) & (distance <= within), found, -1)

    @cached_property
    def finer(self) -> bool:
        """Whether a finer lattice of some explanation may have rotations that this one lacks.

        Raises
        ------
        TooMany
        """
        moves = self.operations(1, sure=False)
        if not len(moves.image):
            return False
        anchor = self._anchor[0]
        translations = []
        for image in moves.image:
            site = next(s for s in anchor if image[s] >= 0)
            between = self.frac[image[site]] - self.frac[site]
            translations.append(between - np.floor(between + 1e-6))
        lattices, seen = [np.zeros((0, 3))], {frozenset[tuple[int, ...]]()}
        for group in lattices:
            for move in translations:
                larger = _closed(group, move)
                if larger is None:
                    continue
                key = frozenset(map(tuple, np.rint(larger * 1000).astype(int) % 1000))
                if key in seen:
                    continue
                seen.add(key)
                lattices.append(larger)
                if len(lattices) > MANY_LATTICES:
                    raise TooMany
                found = rotations_of(_basis(larger) @ self.puzzle.lattice, self.puzzle.lattice)
                foreign = abs(found.matrices - np.rint(found.matrices)).max(axis=(1, 2)) > 1e-3
                if foreign.any():
                    return True
        return False


def _distinct(shifts: np.ndarray) -> np.ndarray:
    """Shifts without those that are equal to 1e-5."""
    keys = np.mod(np.rint(shifts * 1e5), 1e5)
    return np.asarray(shifts[np.unique(keys, axis=0, return_index=True)[1]])


def _closed(group: np.ndarray, move: np.ndarray) -> np.ndarray | None:
    """Generators with one more, or None where its multiples never close (24 at most)."""
    order = next((n for n in range(2, 25) if abs(n * move - np.rint(n * move)).max() < 1e-2), 0)
    if not order:
        return None
    move = np.rint(order * move) / order
    elements = {tuple(np.rint(e * 720720).astype(int) % 720720) for e in group} | {(0, 0, 0)}
    step = np.rint(move * 720720).astype(int)
    grown = {tuple((np.array(e) + n * step) % 720720) for e in elements for n in range(order)} - {
        (0, 0, 0)
    }
    return np.array(sorted(grown)).reshape(-1, 3) / 720720


def _basis(group: np.ndarray) -> np.ndarray:
    """Basis, as rows of fractional vectors, of a lattice with these translations beside 1."""
    rows = np.rint(np.concatenate((np.eye(3), group)) * 720720).astype(object)
    basis = []
    for axis in range(3):  # Euclid down each column
        while True:
            live = [r for r in range(len(rows)) if rows[r][axis] != 0]
            if len(live) == 1:
                break
            least = min(live, key=lambda r: abs(rows[r][axis]))
            for r in live:
                if r != least:
                    rows[r] = rows[r] - (rows[r][axis] // rows[least][axis]) * rows[least]
        basis.append(rows[live[0]].astype(float) / 720720)
        rows = np.delete(rows, live[0], axis=0)
    return np.array(basis)
