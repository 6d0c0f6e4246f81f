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

    @cached_property
    def one_way(self) -> np.ndarray:
        """Those that are asked for: of inverse ones the first, of order 1 and 3 the proper, (N,).

        An improper one of order 3 has the proper one as a power.
        """
        proper = np.linalg.det(self.matrices) > 0
        kept: list[int] = []
        for n, inverse in enumerate(np.linalg.inv(self.matrices)):
            if self.order[n] in (1, 3) and not proper[n]:
                continue
            if not any(abs(inverse - self.matrices[m]).max() < 1e-6 for m in kept):
                kept.append(n)
        return np.isin(np.arange(len(self.order)), kept)


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
    from spglib import delaunay_reduce

    basis = lattice if basis is None else basis
    reduced = delaunay_reduce(lattice)
    if reduced is None:
        raise TooMany
    reduced = np.ascontiguousarray(reduced)
    whole, order, axis, off = whole_rotations(reduced, LOOSE, float(angle))
    to_basis = reduced @ np.linalg.inv(basis)
    return Rotations(
        np.linalg.inv(to_basis) @ whole @ to_basis,
        order,
        np.unique(axis, axis=0, return_inverse=True)[1].ravel(),
        (off[:, 1] < EQUAL_ANGLE) & (off[:, 0] < EQUAL),
    )


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
        self._finer: dict[tuple[Move, ...], list[list[Move]]] = {}

    @cached_property
    def rotations(self) -> Rotations:
        """Of the lattice itself."""
        return rotations_of(self.lattice, angle=self.angle)

    def foreign(self, moves: np.ndarray) -> bool:
        """Whether the lattice with all these translations may have rotations that this one lacks.

        Parameters
        ----------
        moves : (N, 3)
            A group but for the identity.
        """
        key = frozenset(map(tuple, (np.rint(moves * 1000).astype(int) % 1000).tolist()))
        if key not in self._foreign:
            exact = [snapped(move) for move in moves]
            if None in exact:
                return True
            finer = basis_of(np.array(exact)) @ self.lattice
            matrices = rotations_of(finer, self.lattice, self.angle).matrices
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
