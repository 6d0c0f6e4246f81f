"""Which symmetry operations a set of places can have at all: of its lattice, then site by site.

Operations act on fractional row vectors: ``frac @ rotation + shift``.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from rc_hpc.core.vocabulary import System
from rc_hpc.kernels.sites import SiteOperations, held, kept_by, site_operations, within
from rc_hpc.oracle.explanations import EQUAL, Puzzle
from rc_hpc.oracle.rotations import LOOSE, ORDERS, Metric, TooMany, snapped

#: Operations that are tried, and products of operations and sites that are kept, at most.
MANY_TRIALS, MANY_IMAGES = 4_000_000, 6_000_000
#: Order of the rotation that makes a system, and about how many axes; first come first.
MADE_BY = (
    (System.cubic, 3, 2),
    (System.hexagonal, 6, 1),
    (System.trigonal, 3, 1),
    (System.tetragonal, 4, 1),
    (System.orthorhombic, 2, 2),
    (System.monoclinic, 2, 1),
)
#: Operations of the holohedry of each system.
HOLOHEDRY = {
    System.none: 0,
    System.triclinic: 2,
    System.monoclinic: 4,
    System.orthorhombic: 8,
    System.trigonal: 12,
    System.tetragonal: 16,
    System.hexagonal: 24,
    System.cubic: 48,
}


class Operations(NamedTuple):
    """Operations that some explanation can have.

    Attributes
    ----------
    image : (N, S)
        Site that each site is mapped to, -1 where none is.
    alive : (N, S) bool
        Sites that are mapped to sites for ever; an explanation that has the operation is of these.
    axis : (N,) int
    more : dict of (int, int) to list of int
        Further sites that a site may be mapped to, by operation and site.
    """

    image: np.ndarray
    alive: np.ndarray
    axis: np.ndarray
    more: dict[tuple[int, int], list[int]]


class Symmetries:
    """Operations that explanations of a puzzle can have.

    Parameters
    ----------
    puzzle
    metric
        Of the puzzle's lattice.
    """

    def __init__(self, puzzle: Puzzle, metric: Metric):
        self.puzzle, self.metric = puzzle, metric
        _, first, self.site_of = np.unique(puzzle.sites, return_index=True, return_inverse=True)
        self.frac = np.mod(puzzle.frac[first], 1.0)
        self.numbers = puzzle.numbers[first]
        # A point is explained by a site where it is by any of its places.
        self.covers = puzzle.points
        if len(first) < puzzle.size:
            self.covers = np.zeros((len(puzzle.points), len(first)), bool)
            for place, site in enumerate(self.site_of.tolist()):
                self.covers[:, site] |= puzzle.points[:, place]
        sizes = self.covers.sum(axis=1)
        rows = np.argsort(sizes, kind="stable")
        bounds = np.concatenate(([0], np.cumsum(sizes[rows])))
        self._points = bounds, np.nonzero(self.covers[rows])[1]
        self._found: dict[int, tuple[SiteOperations, np.ndarray, np.ndarray]] = {}
        self._known: dict[tuple[int, bool], Operations] = {}
        self._foreign: dict[bytes, bool] = {}

    @cached_property
    def members(self) -> list[np.ndarray]:
        """Places of each site."""
        if len(self.frac) == self.puzzle.size:
            return list(np.argsort(self.site_of)[:, None])
        return [np.flatnonzero(self.site_of == s) for s in range(len(self.frac))]

    def there(self, chosen: np.ndarray) -> np.ndarray:
        """Sites of which some place is chosen, (N, S) bool, of N choices of places, (N, C) bool."""
        there = np.zeros((len(chosen), len(self.frac)), bool)
        n, place = np.nonzero(chosen)
        there[n, self.site_of[place]] = True
        return there

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

    def _of_order(self, order: int) -> tuple[SiteOperations, np.ndarray, np.ndarray]:
        """Operations of one order, as loosely as any label: they, their axes, sure rotations."""
        if order not in self._found:
            try:
                self._look(ORDERS)
            except TooMany:
                self._look((order,))
        return self._found[order]

    def _look(self, orders: tuple[int, ...]) -> None:
        """Look for the operations of these orders.

        Raises
        ------
        TooMany
        """
        rotations = self.metric.rotations
        by_order = [rotations.by_order[order] for order in orders]
        chosen = np.concatenate(by_order)
        start, target = self._anchor
        if len(chosen) * len(start) * len(target) > MANY_TRIALS:
            raise TooMany
        found = SiteOperations(
            *site_operations(
                self.frac,
                self.numbers,
                self.puzzle.lattice,
                rotations.matrices[chosen],
                (start, target),
                self._points,
                LOOSE,
            )
        )
        own = (found.image == np.arange(found.image.shape[1])).all(axis=1)
        own &= rotations.order[chosen[found.matrix]] == 1
        if own.any():  # the identity
            found = _some(found, ~own)
        of_matrix = chosen[found.matrix]
        bounds = np.searchsorted(found.matrix, np.cumsum([0, *map(len, by_order)]))
        for order, low, high in zip(orders, bounds[:-1], bounds[1:], strict=True):
            first, last = np.searchsorted(found.more[:, 0], (low, high))
            more = found.more[first:last] - (low, 0, 0)
            image, off, alive = (values[low:high] for values in found[1:4])
            part = SiteOperations(found.matrix[low:high], image, off, alive, more)
            own_matrix = of_matrix[low:high]
            self._found[order] = part, rotations.axis[own_matrix], rotations.sure[own_matrix]

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
            found, axis, sure_rotation = self._of_order(order)
            if found.image.size > MANY_IMAGES:
                raise TooMany
            if not sure:
                more: dict[tuple[int, int], list[int]] = {}
                for n, site, image in found.more.tolist():
                    more.setdefault((n, site), []).append(image)
                self._known[key] = Operations(found.image, found.alive, axis, more)
            else:
                kept, alive = within(found, EQUAL, *self._points)
                kept = kept & sure_rotation
                image = np.where(found.off <= EQUAL, found.image, -1)[kept]
                self._known[key] = Operations(image, alive[kept], axis[kept], {})
        return self._known[key]

    def axes(self, order: int) -> int:
        """About how many axes a label may find rotations of this order, in any explanation."""
        return len(np.unique(self._of_order(order)[1]))

    def systems(self, chosen: np.ndarray) -> list[System | None]:
        """Systems of choices of places, where any label that finds symmetries at `TAU` gives them.

        None where an operation is there loosely only, or in a finer lattice.

        Parameters
        ----------
        chosen : (N, C) bool
        """
        image, off, traits, more = self._all
        if more:
            return [None] * len(chosen)
        there = self.there(chosen)
        axes, translations = held(image, off, traits, there, EQUAL)
        doubtful = axes[:, 1] < 0
        for n in np.flatnonzero(translations.any(axis=1) & ~doubtful).tolist():
            key = translations[n].tobytes()
            if key not in self._foreign:
                site = int(there[n].argmax())
                moves = self.frac[image[: len(translations[n])][translations[n], site]]
                self._foreign[key] = self.metric.foreign(moves - self.frac[site])
            doubtful[n] = self._foreign[key]
        return [
            None if doubt else _system(one)
            for doubt, one in zip(doubtful.tolist(), axes.tolist(), strict=True)
        ]

    def held_by(self, operations: Operations, chosen: np.ndarray) -> np.ndarray:
        """Numbers of the operations that a choice of places, (C,) bool, has."""
        return np.flatnonzero(kept_by(operations.image, self.there(chosen[None])[0]))

    @cached_property
    def _all(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
        """Of the operations of all orders images, how far off, traits; whether there are more."""
        found = [self._of_order(order) for order in ORDERS]
        traits = [
            np.column_stack((np.full(len(axis), order), axis, sure))
            for order, (_, axis, sure) in zip(ORDERS, found, strict=True)
        ]
        image = np.concatenate([operations.image for operations, _, _ in found])
        off = np.concatenate([operations.off for operations, _, _ in found])
        more = any(len(operations.more) for operations, _, _ in found)
        return image, off, np.concatenate(traits).astype(np.int64), more

    @cached_property
    def finer(self) -> list[list[np.ndarray]]:
        """Finer lattices that some explanation may have, with rotations that this one lacks.

        Of each the translations that make it, as numbers of the operations of order 1 of which
        an explanation of that lattice has one.

        Raises
        ------
        TooMany
        """
        moves, _, _ = self._of_order(1)
        anchor = self._anchor[0]
        by_move: dict[tuple[float, ...], list[int]] = {}
        for n, image in enumerate(moves.image):
            site = next(s for s in anchor if image[s] >= 0)
            move = snapped(self.frac[image[site]] - self.frac[site])
            if move is not None and any(move):
                by_move.setdefault(move, []).append(n)
        return [
            [np.array(by_move[move]) for move in made] for made in self.metric.finer(tuple(by_move))
        ]


def _system(axes: list[int]) -> System:
    """System of rotations about these axes, as bits by order."""
    for system, order, n in MADE_BY:
        if axes[order].bit_count() >= n:
            return system
    return System.triclinic


def _some(found: SiteOperations, chosen: np.ndarray) -> SiteOperations:
    """Some of the operations."""
    matrix, image, off, alive, more = found
    if len(more):
        number = np.cumsum(chosen) - 1
        more = more[chosen[more[:, 0]]]
        more = np.column_stack((number[more[:, 0]], more[:, 1:]))
    return SiteOperations(matrix[chosen], image[chosen], off[chosen], alive[chosen], more)
