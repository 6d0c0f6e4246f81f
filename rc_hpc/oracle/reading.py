"""What the oracle finds of one structure: candidates, reconstructions, certificates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from rc_hpc.kernels.records import Candidates, PointSet, SortedPoints


@dataclass(frozen=True)
class Enumeration:
    """All candidates of image points: all that a reconstruction needs.

    Attributes
    ----------
    points, candidates
        See `rc_hpc.kernels.records`.
    species : (S,) int64
        Atomic number of each species.
    reach : float
        Gap up to which all candidates are there, Å.
    tie : float
        Scale at which ties are judged, Å.
    """

    points: SortedPoints
    candidates: Candidates
    species: np.ndarray
    reach: float
    tie: float

    def within(self, delta: float) -> Self:
        """Without the candidates that no tolerance up to `delta` (Å) accepts."""
        near = np.flatnonzero(self.candidates.gap <= delta)
        candidates = Candidates(*(array[near] for array in self.candidates))
        return replace(self, candidates=candidates, reach=min(delta, self.reach))


@dataclass(frozen=True)
class Compared(Enumeration):
    """Candidates beside the true atoms: all that a certificate needs.

    Attributes
    ----------
    truth : PointSet
        By the same species.
    distance : (C,) float64
        Of each candidate from the nearest true atom of its species, Å.
    """

    truth: PointSet
    distance: np.ndarray

    def within(self, delta: float) -> Self:
        """See `Enumeration.within`."""
        near = np.flatnonzero(self.candidates.gap <= delta)
        return replace(super().within(delta), distance=self.distance[near])


@dataclass(frozen=True)
class Reconstructions:
    """What every view subset gives.

    The arrays are those of `rc_hpc.kernels.records.Reconstructed`. Atoms come sorted by species
    and along a generic direction, so that labels (which spglib makes of near-symmetric cells in
    an order-dependent way) do not depend on the order of the input; under the merge rules `mean`
    and `first` they come in the order in which they were met.
    """

    n_recovered: np.ndarray
    reconstruction: np.ndarray
    entry: np.ndarray
    point_error: np.ndarray
    atom_error: np.ndarray
    set_starts: np.ndarray
    set_positions: np.ndarray
    set_order: np.ndarray
    set_numbers: np.ndarray
    species: np.ndarray
    by_atom: bool

    @cached_property
    def numbers(self) -> list[int]:
        """Number of the distinct reconstruction that each point set is."""
        return [int(number) for number in self.set_numbers]

    @cached_property
    def cells(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The point sets, each as atomic numbers (M,) and positions (M, 3), Å."""
        return [self._cell(bounds) for bounds in self.set_starts]

    def cell(self, entry: int) -> tuple[np.ndarray, np.ndarray]:
        """One of the `cells`, without the others."""
        known = self.__dict__.get("cells")
        return known[entry] if known else self._cell(self.set_starts[entry])

    def _cell(self, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows, sizes = slice(bounds[0], bounds[-1]), bounds[1:] - bounds[:-1]
        numbers, points = np.repeat(self.species, sizes), self.set_positions[rows]
        if self.by_atom:
            ranks = np.lexsort((self.set_order[rows], np.repeat(np.arange(sizes.size), sizes)))
            numbers, points = numbers[ranks], points[ranks]
        return numbers, points


@dataclass(frozen=True)
class Reading(Reconstructions):
    """What every view subset gives, with its certificate; set 0 is the true cell.

    The arrays are also those of `rc_hpc.kernels.records.Certificates`.

    Attributes
    ----------
    other_counts, other_points : (K,) bool
        Subsets on which another number of points is recovered with ties judged at any of the other
        scales that were asked for, and on which other points are.
    """

    n_phantoms: np.ndarray
    n_exact: np.ndarray
    n_strict: np.ndarray
    phantom_delta: np.ndarray
    phantom_delta_exact: np.ndarray
    phantoms: np.ndarray
    other_counts: np.ndarray
    other_points: np.ndarray
    enumeration: Compared
