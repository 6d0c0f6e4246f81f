"""Other crystals with the same pictures: what they are, and when there are none.

Words
-----
A *place* of a species is a point that lands on a pictured point of it in every view; C is the set
of all places of all species, and X, the atoms, is part of it. A place that is no atom is a
*phantom*. An *explanation* is a subset of C that leaves no pictured point without a place on it:
exactly the crystals of this lattice that have these pictures. A place is *forced* where some
pictured point has no other place on it.

Statements
----------
1. C is an explanation, for X alone explains every point; and every explanation is a subset of C.
   So C is the one maximal explanation, and what the merge rule `dominance` gives back.
2. With any number of atoms there is one explanation only if and only if every place is forced.
   Forced places are in every explanation; where one place is not forced, C without it is a second
   explanation.
3. *Certified* (no phantom, C = X) says that the maximal explanation is the truth. It does not say
   that there is no other: of four atoms at the corners of a rectangle, two diagonal ones have the
   same pictures in the two views along its sides. But a subset of C with as many atoms as X is X
   then: who knows the counts has one explanation only.
4. Theorem. Two views that are not parallel, counts per species known: there is one explanation only
   if and only if there is no phantom.

   Proof. Statement 3 is the one half. For the other, point i of the one view and point j of the
   other, of one species, are images of one place if and only if their heights along the common
   normal of the two view directions agree, and that place is the only one. So places are edges
   between the points of the two views, and all points of one species at one height, a *level*,
   are joined completely: a bipartite graph K(p, q). Explanations are the edge sets that leave
   no point alone. Let ij be a phantom: an edge that X lacks. X leaves neither i nor j alone, so
   it has an edge ij' and an edge i'j with i' and j' different from i and j, of the same level.
   Exchange j and j' in all edges of X: no point is left alone, there are as many edges, all of them
   of the level, and ij is among them now. So this is an explanation with the counts of X
   that is not X.

   Hence counts never decide a two-view picture that has a phantom; only physics can (sites apart,
   atoms not too close, atoms within the cell). The number of explanations of a level is the
   number of 0-1 matrices without an empty row or column, its fewest atoms are max(p, q).
5. Three and more views: with counts known there is one explanation only if and only if no exchange
   of atoms for as many phantoms leaves every point explained. That is a question of exact covers,
   which a solver answers.

Without a tolerance these are exact. At a tolerance a place explains all points within it, places
are the triangulated candidates, and what is looked for is an explanation with a phantom by
acceptance or with an atom missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rc_hpc.kernels.coverage import subset_places
from rc_hpc.kernels.records import Enumerated
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.oracle.reading import Compared, Enumeration

#: Two sites of one crystal are at least so far apart, periodic images included, Å.
FLOOR = 0.1
#: Separated atoms are at least this part of the sum of their covalent radii apart.
SEPARATION = 0.5
#: Coordinates of the closed cell reach so far beyond 0 and 1.
BOX_SLACK = 1e-6
#: Places that are one site, up to a lattice vector, Å.
EQUAL = 1e-4


@dataclass(frozen=True)
class Level:
    """All points of one species at one height along the common normal of two views.

    Attributes
    ----------
    number
        Atomic number.
    places : (p, q) int64
        Place of each pair of points.
    """

    number: int
    places: np.ndarray


@dataclass(frozen=True)
class Puzzle:
    """The places of one view subset, and which image points each explains.

    Attributes
    ----------
    lattice : (3, 3) float64
        Å.
    numbers : (C,) int64
        Atomic numbers, ascending.
    positions : (C, 3) float64
        Å.
    atom : (C,) int64
        Atom that the place is, -1 of a phantom.
    points : (P, C) bool
        Image points of all views, and the places on them.
    view : (P,) int64
        View of each image point.
    counts : dict of int to int
        Atoms by atomic number.
    views : int
    """

    lattice: np.ndarray
    numbers: np.ndarray
    positions: np.ndarray
    atom: np.ndarray
    points: np.ndarray
    view: np.ndarray
    counts: dict[int, int]
    views: int

    @property
    def size(self) -> int:
        """Number of places."""
        return len(self.numbers)

    @cached_property
    def frac(self) -> np.ndarray:
        """Fractional coordinates, (C, 3)."""
        return np.asarray(self.positions @ np.linalg.inv(self.lattice))

    @cached_property
    def truth(self) -> np.ndarray:
        """One place for each atom: the first, (C,) bool."""
        first = np.zeros(self.size, bool)
        atoms, places = np.unique(self.atom, return_index=True)
        first[places[atoms >= 0]] = True
        return first

    @cached_property
    def alone(self) -> bool:
        """Whether every place is the only one on some image point."""
        single = self.points.sum(axis=1) == 1
        return bool(self.points[single].any(axis=0).all())

    @cached_property
    def outside(self) -> np.ndarray:
        """Places outside the closed cell that is drawn, (C,) bool."""
        return np.asarray(((self.frac < -BOX_SLACK) | (self.frac > 1 + BOX_SLACK)).any(axis=1))

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs of places that are near, images included, and their distance."""
        from ase.data import covalent_radii

        radii = covalent_radii[self.numbers]
        reach = max(FLOOR, 2 * SEPARATION * radii.max(initial=0.0))
        first, second, away = near_pairs(self.lattice, self.frac, reach)
        return np.stack([first, second], axis=1), away, radii[first] + radii[second]

    @cached_property
    def clashes(self) -> np.ndarray:
        """Pairs of places of which no crystal has both, (N, 2): one site, or within the floor."""
        pairs, away, _ = self._pairs
        return pairs[away < FLOOR]

    @cached_property
    def crowded(self) -> np.ndarray:
        """Further pairs of places that are too close for two atoms of their species, (N, 2)."""
        pairs, away, radii = self._pairs
        return pairs[(away >= FLOOR) & (away < SEPARATION * radii)]

    @cached_property
    def sites(self) -> np.ndarray:
        """Number of the site of each place, (C,): equal up to lattice vectors and `EQUAL`."""
        pairs, away, _ = self._pairs
        site = np.arange(self.size)
        for a, b in pairs[(away < EQUAL)].tolist():
            if self.numbers[a] == self.numbers[b]:
                site[site == site[max(a, b)]] = site[min(a, b)]
        return np.unique(site, return_inverse=True)[1]

    @cached_property
    def levels(self) -> tuple[Level, ...] | None:
        """Levels of two views; None of other views, or where one is not complete."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        on = self.points
        if self.views != 2 or (on.sum(axis=0) != 2).any():
            return None
        ends = np.nonzero(on.T)[1].reshape(-1, 2)
        joined = csr_array((np.ones(len(ends)), ends.T), (len(on), len(on)))
        component = connected_components(joined, directed=False)[1][ends[:, 0]]
        levels = []
        for own in np.unique(component):
            places = np.flatnonzero(component == own)
            rows, row = np.unique(ends[places, 0], return_inverse=True)
            columns, column = np.unique(ends[places, 1], return_inverse=True)
            matrix = np.full((len(rows), len(columns)), -1)
            matrix[row, column] = places
            if (matrix < 0).any():
                return None
            levels.append(Level(int(self.numbers[places[0]]), matrix))
        return tuple(levels)

    def explains(self, chosen: np.ndarray) -> bool:
        """Whether these places, (C,) bool, leave no image point alone and do not clash."""
        whole = bool(self.points[:, chosen].any(axis=1).all())
        return whole and not self.any_pair(self.clashes, chosen)

    def has_counts(self, chosen: np.ndarray) -> bool:
        """Whether there are as many of each species as there are atoms."""
        return all(
            np.count_nonzero(chosen & (self.numbers == kind)) == n
            for kind, n in self.counts.items()
        )

    def is_physical(self, chosen: np.ndarray) -> bool:
        """Whether all are within the cell and no two too close."""
        return not (chosen & self.outside).any() and not self.any_pair(self.crowded, chosen)

    @staticmethod
    def any_pair(pairs: np.ndarray, chosen: np.ndarray) -> bool:
        """Whether both places of some pair are chosen."""
        return bool((chosen[pairs[:, 0]] & chosen[pairs[:, 1]]).any()) if len(pairs) else False


def near_pairs(
    lattice: np.ndarray, frac: np.ndarray, reach: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of points closer than `reach` (Å), periodic images included: first < second, distance.

    Of each pair the nearest images count.
    """
    from scipy.spatial import cKDTree

    wrapped = np.mod(frac, 1.0)
    margin = reach * np.linalg.norm(np.linalg.inv(lattice), axis=0)
    layers = np.ceil(margin).astype(int)
    shifts = np.stack(np.meshgrid(*(np.arange(-n, n + 1) for n in layers)), axis=-1).reshape(-1, 3)
    images = (wrapped[None] + shifts[:, None]).reshape(-1, 3)
    owner = np.tile(np.arange(len(frac)), len(shifts))
    close = ((images >= -margin) & (images <= 1 + margin)).all(axis=1)
    images, owner = images[close], owner[close]
    tree, own = cKDTree(images @ lattice), cKDTree(wrapped @ lattice)
    found = own.sparse_distance_matrix(tree, reach, output_type="ndarray")
    first, second, away = found["i"], owner[found["j"]], found["v"]
    ordered = first < second
    first, second, away = first[ordered], second[ordered], away[ordered]
    order = np.lexsort((away, second, first))
    first, second, away = first[order], second[order], away[order]
    nearest = np.ones(len(first), bool)
    nearest[1:] = (np.diff(first) != 0) | (np.diff(second) != 0)
    return first[nearest], second[nearest], away[nearest]


def puzzle_of(
    geometry: GeometricOracle, found: Enumeration, k: int, zero: float, lattice: np.ndarray
) -> Puzzle:
    """The places of view subset `k`.

    Parameters
    ----------
    found
        Enumerated to `zero` at least, ties judged at no more than that. Without a truth all places
        are phantoms, and the counts are those of all places.
    zero
        Up to which a point is on another, Å.
    lattice
        Of the drawn cell.
    """
    from scipy.spatial import cKDTree

    mask = int(geometry.subsets.masks[k])
    enumerated = Enumerated(found.points, found.candidates)
    chosen = subset_places(mask, enumerated, geometry.cameras, zero)
    kinds = found.candidates.species[chosen]
    positions = found.candidates.position[chosen]
    atom = np.full(len(chosen), -1)
    points = found.points
    rows, views = [], []
    numbers = found.species[kinds]
    counts = {int(kind): int(np.count_nonzero(numbers == kind)) for kind in found.species}
    for s in range(len(found.species)):
        own = np.flatnonzero(kinds == s)
        if isinstance(found, Compared):
            low, high = found.truth.starts[s : s + 2]
            away, nearest = cKDTree(found.truth.positions[low:high]).query(positions[own])
            atom[own] = np.where(away <= zero, low + nearest, -1)
            counts[int(found.species[s])] = int(high - low)
        for v in range(len(geometry.cameras.rotations)):
            if not mask >> v & 1:
                continue
            first, last = points.starts[v, s], points.starts[v, s + 1]
            seen = positions[own] @ geometry.cameras.rotations[v][:, :2]
            distance = np.linalg.norm(points.screen[v, first:last, None] - seen[None], axis=2)
            row = np.zeros((last - first, len(chosen)), bool)
            row[:, own] = distance <= zero * (1 + 1e-9)
            rows.append(row)
            views += [v] * len(row)
    return Puzzle(
        lattice,
        numbers,
        positions,
        atom,
        np.concatenate(rows),
        np.array(views),
        counts,
        mask.bit_count(),
    )
