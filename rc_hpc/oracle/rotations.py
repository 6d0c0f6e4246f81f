"""Rotations of a lattice, and of the finer lattices that translations make of it.

Matrices act on fractional row vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rc_hpc.core.constants import ANGLE_TOLERANCE, TAU
from rc_hpc.kernels.lattices import whole_rotations
from rc_hpc.oracle.explanations import EQUAL

#: Points that no symmetry at `TAU` can tell from each other, Å: each of two may be off by tau.
LOOSE = 3 * TAU
#: Angles of lattices that are surely equal, degrees.
EQUAL_ANGLE = 1e-2
#: Multiples of a translation within which it comes back, and the least number they all divide.
_MULTIPLES, _WHOLE = 25, 720720
#: Finer lattices that are looked at at most.
MANY_LATTICES = 64
#: Of rotations of a lattice.
ORDERS = (1, 2, 3, 4, 6)


#: A translation, in units of the lattice.
Move = tuple[float, ...]
#: Translations with the identity, in units of a part of the lattice, `_WHOLE`.
Group = frozenset[tuple[int, int, int]]


class TooMany(Exception):
    """There are more operations than are looked at."""


@dataclass(frozen=True)
class Rotations:
    """Rotation parts that map a lattice onto itself, each with a sure and a possible reading.

    Attributes
    ----------
    matrices : (N, 3, 3)
        In the basis of the lattice.
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

    @cached_property
    def one_way(self) -> np.ndarray:
        """Those that are asked for: of inverse ones the first, of order 1 and 3 the proper, (N,).

        An improper one of order 3 has the proper one as a power.
        """
        asked = ~np.isin(self.order, (1, 3)) | (np.linalg.det(self.matrices) > 0)
        inverse = np.linalg.inv(self.matrices)
        equal = abs(inverse[:, None] - self.matrices[None]).max(axis=(2, 3)) < 1e-6
        number = np.arange(len(asked))
        return asked & ~(equal & (number < number[:, None]) & asked).any(axis=1)

    @cached_property
    def by_order(self) -> dict[int, np.ndarray]:
        """Numbers of those that are asked for, by their order."""
        return {order: np.flatnonzero(self.one_way & (self.order == order)) for order in ORDERS}


def rotations_of(lattice: np.ndarray, angle: float = ANGLE_TOLERANCE) -> Rotations:
    """Rotation parts of a lattice within the tolerances of a label.

    As spglib looks for them: matrices of -1, 0 and 1 over a reduced basis that keep lengths and
    angles.

    Parameters
    ----------
    lattice : (3, 3)
        Vectors as rows, Å.
    angle
        Degrees.
    """
    whole, order, axis, off, to_basis = _whole(lattice, lattice, angle)
    return Rotations(
        np.linalg.inv(to_basis) @ whole @ to_basis,
        order,
        np.unique(axis, axis=0, return_inverse=True)[1].ravel(),
        (off[:, 1] < EQUAL_ANGLE) & (off[:, 0] < EQUAL),
    )


def _whole(
    lattice: np.ndarray, basis: np.ndarray, angle: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rotation parts over a reduced basis: see `whole_rotations`; and that basis in another."""
    from spglib import delaunay_reduce

    reduced = delaunay_reduce(lattice)
    if reduced is None:
        raise TooMany
    reduced = np.ascontiguousarray(reduced)
    return *whole_rotations(reduced, LOOSE, float(angle)), reduced @ np.linalg.inv(basis)


class Metric:
    """A lattice's rotations, and those of finer lattices; looked for once.

    Parameters
    ----------
    lattice : (3, 3)
        Å.
    angle
        See `rotations_of`.
    """

    def __init__(self, lattice: np.ndarray, angle: float = ANGLE_TOLERANCE):
        self.lattice, self.angle = lattice, angle
        self._foreign: dict[frozenset[tuple[int, ...]], bool] = {}
        self._sorted: dict[bytes, bool] = {}
        self._finer: dict[tuple[Move, ...], list[list[Move]]] = {}

    @cached_property
    def rotations(self) -> Rotations:
        """Of the lattice itself."""
        return rotations_of(self.lattice, self.angle)

    def foreign(self, moves: np.ndarray) -> bool:
        """Whether the lattice with all these translations may have rotations that this one lacks.

        Parameters
        ----------
        moves : (N, 3)
            A group but for the identity.
        """
        rounded = np.rint(moves * 1000).astype(int) % 1000
        name = rounded.tobytes()
        if name not in self._sorted:
            self._sorted[name] = self._is_foreign(moves, frozenset(map(tuple, rounded.tolist())))
        return self._sorted[name]

    def _is_foreign(self, moves: np.ndarray, key: frozenset[tuple[int, ...]]) -> bool:
        if key not in self._foreign:
            exact = [snapped(move) for move in moves]
            if None in exact:
                return True
            finer = basis_of(np.array(exact)) @ self.lattice
            whole, *_, to_basis = _whole(finer, self.lattice, self.angle)
            matrices = np.linalg.inv(to_basis) @ whole @ to_basis
            self._foreign[key] = bool((abs(matrices - np.rint(matrices)) > 1e-3).any())
        return self._foreign[key]

    def finer(self, moves: tuple[Move, ...]) -> list[list[Move]]:
        """Finer lattices with rotations that this one lacks, each as translations that make it.

        A lattice with all translations of one of these is left out.

        Parameters
        ----------
        moves
            Translations that there may be, from `snapped`.

        Raises
        ------
        TooMany
        """
        if moves not in self._finer:
            none: Group = frozenset([(0, 0, 0)])
            lattices: list[tuple[Group, list[Move]]] = [(none, [])]
            seen, foreign = {none}, []
            for group, made_by in lattices:
                for move in moves:
                    larger = _closed(group, move)
                    if larger in seen:
                        continue
                    seen.add(larger)
                    if self.foreign(np.array(sorted(larger - none)) / _WHOLE):
                        foreign.append([*made_by, move])
                        continue
                    lattices.append((larger, [*made_by, move]))
                    if len(lattices) > MANY_LATTICES:
                        raise TooMany
            self._finer[moves] = foreign
        return self._finer[moves]


def snapped(move: np.ndarray) -> Move | None:
    """A translation that comes back after some times, without its errors; None of others."""
    for n in range(2, _MULTIPLES):
        if abs(n * move - np.rint(n * move)).max() < 1e-2:
            return tuple((np.mod(np.rint(n * move), n) / n).tolist())
    return None


def _closed(group: Group, move: Move) -> Group:
    """A group of translations with one more."""
    x, y, z = (round(part * _WHOLE) for part in move)
    parts = (x, y, z)
    order = next(n for n in range(2, _MULTIPLES) if not any(n * part % _WHOLE for part in parts))
    return frozenset(
        ((a + n * x) % _WHOLE, (b + n * y) % _WHOLE, (c + n * z) % _WHOLE)
        for a, b, c in group
        for n in range(order)
    )


def basis_of(group: np.ndarray) -> np.ndarray:
    """Basis, as rows of fractional vectors, of a lattice with these translations beside 1."""
    rows = np.rint(np.concatenate((np.eye(3), group)) * _WHOLE).astype(object)
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
        basis.append(rows[live[0]].astype(float) / _WHOLE)
        rows = np.delete(rows, live[0], axis=0)
    return np.array(basis)
