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

Without a tolerance these are exact. At a tolerance places are the triangulated candidates, a place
explains all points within it, and every phantom by acceptance is a place of its own, however near
to an atom. Candidates within the tolerance of an atom are the atom: it is chosen at one of them,
which say what it explains, and stays where it is. So another crystal has a phantom or lacks an
atom.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO
from rc_hpc.kernels.places import Levelled, Placed, levels_of, near_pairs, subset_places
from rc_hpc.kernels.records import UNKNOWN, Enumerated
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
        Å; NaN of a molecule, which has none.
    numbers : (C,) int64
        Atomic numbers, ascending.
    positions : (C, 3) float64
        Å.
    atom : (C,) int64
        Atom that the place is, -1 of a phantom.
    truth : (C,) bool
        One place for each atom.
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
    truth: np.ndarray
    points: np.ndarray
    view: np.ndarray
    counts: dict[int, int]
    views: int

    @property
    def size(self) -> int:
        """Number of places."""
        return len(self.numbers)

    @property
    def periodic(self) -> bool:
        """Whether there is a lattice."""
        return bool(np.isfinite(self.lattice).all())

    @cached_property
    def species(self) -> np.ndarray:
        """Atomic numbers, each once, ascending, (S,)."""
        return np.array(sorted(self.counts), np.int64)

    @cached_property
    def kinds(self) -> np.ndarray:
        """Number of the species of each place, (C,) int64."""
        return np.searchsorted(self.species, self.numbers)

    @cached_property
    def frac(self) -> np.ndarray:
        """Fractional coordinates, (C, 3)."""
        return np.asarray(self.positions @ np.linalg.inv(self.lattice))

    @cached_property
    def body(self) -> np.ndarray:
        """What each place is: an atom, or a phantom of its own, numbered from 0 on, (C,) int64."""
        named = np.where(self.atom >= 0, self.atom, self.atom.max(initial=-1) + 1 + self._places)
        return np.unique(named, return_inverse=True)[1]

    @cached_property
    def _places(self) -> np.ndarray:
        return np.arange(self.size)

    @cached_property
    def several(self) -> bool:
        """Whether some atom has more than one place, as only at a tolerance."""
        return bool(self.body.max(initial=-1) + 1 < self.size)

    @cached_property
    def every(self) -> np.ndarray:
        """All atoms and phantoms, each once: the maximal explanation, (C,) bool."""
        every = np.zeros(self.size, bool)
        every[np.unique(self.body, return_index=True)[1]] = True
        return np.where(self.atom >= 0, self.truth, every)

    def key(self, chosen: np.ndarray) -> bytes:
        """Name of the crystal that a choice of places is."""
        if not self.several:
            return chosen.tobytes()
        there = np.zeros(self.body.max() + 1, bool)
        there[self.body[chosen]] = True
        return there.tobytes()

    def bodies(self, chosen: np.ndarray) -> np.ndarray:
        """All places of the atoms and phantoms that are chosen, (C,) bool."""
        return np.isin(self.body, self.body[chosen]) if self.several else chosen

    @cached_property
    def forced(self) -> np.ndarray:
        """Places of the atoms and phantoms that alone explain some image point, (C,) bool."""
        covers = self.points
        if self.several:
            n = self.body.max() + 1
            covers = np.zeros((len(self.points), n), bool)
            for place, own in enumerate(self.body.tolist()):
                covers[:, own] |= self.points[:, place]
        single = covers.sum(axis=1) == 1
        return np.asarray(covers[single].any(axis=0)[self.body if self.several else slice(None)])

    @property
    def alone(self) -> bool:
        """Whether every place is forced."""
        return bool(self.forced.all())

    @cached_property
    def on(self) -> list[list[int]]:
        """Places on each image point, numbered from 1 on as a solver wants them."""
        rows, places = np.nonzero(self.points)
        bounds = np.searchsorted(rows, np.arange(len(self.points) + 1)).tolist()
        numbers = (places + 1).tolist()
        return [numbers[a:b] for a, b in pairwise(bounds)]

    @cached_property
    def outside(self) -> np.ndarray:
        """Places outside the closed cell that is drawn, (C,) bool; none of a molecule."""
        if not self.periodic:
            return np.zeros(self.size, bool)
        return np.asarray(((self.frac < -BOX_SLACK) | (self.frac > 1 + BOX_SLACK)).any(axis=1))

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs of places that are near, images included, and their distance."""
        from ase.data import covalent_radii

        radii = covalent_radii[self.numbers]
        reach = max(FLOOR, 2 * SEPARATION * radii.max(initial=0.0))
        if self.periodic:
            first, second, away = near_pairs(self.lattice, self.frac, float(reach))
        else:
            first, second = np.triu_indices(self.size, 1)
            away = np.linalg.norm(self.positions[first] - self.positions[second], axis=1)
            near = away < reach
            first, second, away = first[near], second[near], away[near]
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
        if self.views != 2:
            return None
        found = Levelled(*levels_of(self.points))
        if not len(found.shape):
            return None
        matrices = [np.empty(shape, np.int64) for shape in found.shape.tolist()]
        for place, (own, row, column) in enumerate(
            zip(found.level.tolist(), found.row.tolist(), found.column.tolist(), strict=True)
        ):
            matrices[own][row, column] = place
        return tuple(Level(int(self.numbers[matrix[0, 0]]), matrix) for matrix in matrices)

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


def puzzle_of(
    geometry: GeometricOracle, found: Enumeration, k: int, zero: float, lattice: np.ndarray
) -> Puzzle:
    """The places of view subset `k`.

    Parameters
    ----------
    found
        Enumerated to `zero` at least, ties judged at no more than that. Without a truth all places
        are phantoms, and the counts are those of all places. With it places of an atom are where
        the atom is.
    zero
        Up to which a point is on another, Å.
    lattice
        Of the drawn cell.
    """
    exact = zero <= CENSUS_ZERO
    truth = found.truth if isinstance(found, Compared) else UNKNOWN
    placed = Placed(
        *subset_places(
            int(geometry.subsets.masks[k]),
            Enumerated(found.points, found.candidates),
            geometry.cameras,
            truth,
            float(zero),
            0.0 if exact else CENSUS_ZERO,
        )
    )
    numbers = found.species[found.candidates.species[placed.candidate]]
    positions = found.candidates.position[placed.candidate]
    known = placed.atom >= 0
    positions[known] = truth.positions[placed.atom[known]]
    if truth.starts.size:
        counts = dict(zip(found.species.tolist(), np.diff(truth.starts).tolist(), strict=True))
    else:
        each = np.bincount(found.candidates.species[placed.candidate], minlength=len(found.species))
        counts = dict(zip(found.species.tolist(), each.tolist(), strict=True))
    return Puzzle(
        lattice,
        numbers,
        positions,
        placed.atom,
        placed.nearest,
        placed.points,
        placed.view,
        counts,
        int(geometry.subsets.masks[k]).bit_count(),
    )
