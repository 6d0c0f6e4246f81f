"""The cell whose edges are drawn, and what points are when they are moved into it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations, product
from typing import NamedTuple

import numpy as np

from rc_hpc.benchmark.reading.points import CORNERS, EDGES, Points, reconstruct
from rc_hpc.benchmark.reading.sights import Pictures, image_points
from rc_hpc.benchmark.records import DisplayedScene

#: Volume of a cell over the product of its edges, below which it is taken for flat.
FLAT = 1e-3


class Cell(NamedTuple):
    """A parallelepiped: one of its corners, Å, and its edges as rows, Å."""

    origin: np.ndarray
    lattice: np.ndarray


def read_cells(pictures: Pictures, counts: Sequence[int], delta: float) -> dict[int, list[Cell]]:
    """Cells that agree with the edges drawn in the first views, by number of views.

    Corners are points without correspondence, as centres are; two corners are joined where every
    view draws a line between their images.

    Returns
    -------
    dict
        None at all where no edges are drawn, or where one view or parallel ones show them.
    """
    found: dict[int, list[Cell]] = {n: [] for n in counts}
    if pictures.scene.mode == "environment":
        return found
    screen = pictures.seen_at(CORNERS @ pictures.scene.lattice)
    seen = image_points(screen, np.zeros(8, np.int64), np.ones(screen.shape[:2], bool))
    tried = reconstruct(pictures, counts, delta, images=seen)
    for n, corners in tried.items():
        if corners is not None:
            found[n] = _boxes(corners, _drawn(corners, screen[:n]), 3 * delta)
    return found


def _drawn(corners: Points, screen: np.ndarray) -> np.ndarray:
    """Which pairs of image points a line joins in the same view, (k, k) bool."""
    joined = np.zeros((len(corners.image_views),) * 2, bool)
    first = 0
    for v in range(len(screen)):
        places = corners.image_places[corners.image_views == v]
        at = [int(np.abs(places - corner).sum(axis=1).argmin()) for corner in screen[v]]
        for i, j in EDGES:
            joined[first + at[i], first + at[j]] = joined[first + at[j], first + at[i]] = True
        first += len(places)
    return joined


def _boxes(corners: Points, joined: np.ndarray, same: float) -> list[Cell]:
    """Parallelepipeds with all corners among the points, and all lines among those drawn."""
    n_views = int(corners.image_views.max()) + 1
    seen = np.array(
        [corners.covers[corners.image_views == v].argmax(axis=0) for v in range(n_views)]
    )
    starts = np.searchsorted(corners.image_views, np.arange(n_views))
    seen = seen + starts[:, None]
    linked = np.all([joined[np.ix_(row, row)] for row in seen], axis=0)
    places, found = corners.positions, {}
    for at in range(len(places)):
        beside = [k for k in np.flatnonzero(linked[at]) if k != at]
        for three in combinations(beside, 3):
            lattice = places[list(three)] - places[at]
            size = np.prod(np.linalg.norm(lattice, axis=1))
            if abs(np.linalg.det(lattice)) <= FLAT * size:
                continue
            eight = [_near(places, place, same) for place in places[at] + CORNERS @ lattice]
            key = frozenset(eight)
            if -1 in key or len(key) < 8 or key in found:
                continue
            whole = all(linked[eight[i], eight[j]] for i, j in EDGES)
            if whole and corners.covers[:, eight].any(axis=1).all():
                found[key] = _fitted(places[eight])
    return list(found.values())


def _near(places: np.ndarray, place: np.ndarray, same: float) -> int:
    away = np.linalg.norm(places - place, axis=1)
    best = int(away.argmin())
    return best if away[best] <= same else -1


def _fitted(eight: np.ndarray) -> Cell:
    """Least squares of a corner and three edges to eight corners in the order of `CORNERS`."""
    design = np.column_stack((np.ones(8), CORNERS))
    solved = np.linalg.lstsq(design, eight, rcond=None)[0]
    return Cell(solved[0], solved[1:])


def alike(cell: Cell, other: Cell) -> Cell:
    """`cell` with its edges named, and its corner chosen, as like those of `other` as can be."""
    best, least = cell, np.inf
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            turned = cell.lattice[list(order)] * np.array(signs)[:, None]
            away = float(np.abs(turned - other.lattice).sum())
            if away < least:
                behind = turned[np.array(signs) < 0].sum(axis=0)
                best, least = Cell(cell.origin - behind, turned), away
    return best


def fold(positions: np.ndarray, numbers: np.ndarray, cell: Cell, same: float) -> np.ndarray:
    """Site of each point when all are moved into the cell, (m,) int64, from 0 on.

    Parameters
    ----------
    same
        Points of one element that are nearer than this, periodic, are one site, Å.
    """
    fractional = (positions - cell.origin) @ np.linalg.inv(cell.lattice)
    site = np.empty(len(positions), np.int64)
    leaders: list[int] = []
    for k, place in enumerate(fractional):
        apart = fractional[leaders] - place
        away = np.linalg.norm((apart - np.round(apart)) @ cell.lattice, axis=1)
        near = np.flatnonzero((away <= same) & (numbers[leaders] == numbers[k]))
        if near.size:
            site[k] = near[0]
        else:
            site[k] = len(leaders)
            leaders.append(k)
    return site


def site_places(positions: np.ndarray, site: np.ndarray, cell: Cell) -> np.ndarray:
    """Fractional coordinates of sites, each the mean of its points, (n, 3), in [0, 1)."""
    fractional = (positions - cell.origin) @ np.linalg.inv(cell.lattice)
    found = np.empty((int(site.max(initial=-1)) + 1, 3))
    for s in range(len(found)):
        own = fractional[site == s]
        found[s] = own[0] + (own - own[0] - np.round(own - own[0])).mean(axis=0)
    return np.mod(found, 1.0)


def drawn_cell(scene: DisplayedScene) -> Cell:
    """The cell as it is."""
    return Cell(np.zeros(3), scene.lattice)
