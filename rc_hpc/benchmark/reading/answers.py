"""Which options of a question agree with what its pictures show, stratum by stratum.

Each function takes what is read and the meanings of the four options, and gives four bools. An
option remains where some set of atoms that explains every centre in every picture makes it right:
the true one does, as long as the centres are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, permutations, product
from typing import Any, NamedTuple

import numpy as np

from rc_hpc.benchmark.questions.texts import ARRANGEMENT, EXCHANGE, LATTICE, SAME
from rc_hpc.benchmark.reading.cells import Cell, alike, fold, site_places
from rc_hpc.benchmark.reading.meanings import Ratio
from rc_hpc.benchmark.reading.points import Points, least_cover
from rc_hpc.symmetry.labels import label_cell

ALL = [True] * 4
#: Sites that may or may not be there, up to which every set of them is looked at.
MOST_OPEN = 6
#: Axes whose lengths differ by less, and angles that differ by less, are equal to a reader of the
#: metric alone; relative, and degrees.
EQUAL_LENGTH, EQUAL_ANGLE = 5e-3, 0.5


class Sites(NamedTuple):
    """Sites of a cell as read: numbers (n,), fractional (n, 3); and the cell."""

    numbers: np.ndarray
    fractional: np.ndarray
    cell: Cell


# ---------------------------------------------------------------- counts


def displayed_range(points: Points) -> tuple[int, int]:
    """Fewest and most atoms that explain the pictures; all between do, too."""
    low = high = 0
    for number in np.unique(points.image_numbers):
        own = points.of(int(number))
        least, most = own.extra()
        low += least_cover(own.covers) + least
        high += len(own.numbers) + most
    return low, high


def content_range(points: Points, cell: Cell, same: float) -> dict[int, tuple[int, int]]:
    """Fewest and most sites of a cell by element; all between explain the pictures, too."""
    found = {}
    for number in np.unique(points.image_numbers):
        own = points.of(int(number))
        site = fold(own.positions, own.numbers, cell, same)
        n_sites = int(site.max(initial=-1)) + 1
        of_sites = own.covers.astype(int) @ (site[:, None] == np.arange(n_sites)) > 0
        found[int(number)] = least_cover(of_sites[~own.rays]), n_sites + own.extra()[1]
    return found


def counts_that_agree(values: Iterable[int], low: int, high: float) -> list[bool]:
    """Numbers between two bounds."""
    return [low <= value <= high for value in values]


def contents_that_agree(
    values: Iterable[Mapping[int, int]], ranges: Sequence[Mapping[int, tuple[int, int]]]
) -> list[bool]:
    """Contents that one of several readings of the cell allows."""
    found = []
    for value in values:
        found.append(
            any(
                value.keys() == one.keys()
                and all(low <= value[number] <= high for number, (low, high) in one.items())
                for one in ranges
            )
        )
    return found


def neighbour_range(
    points: Points, centre: np.ndarray, number: int, pairs, factor: float, same: float
) -> tuple[int, int]:
    """Neighbours of a centre by distances alone, of the forced points and of all.

    Parameters
    ----------
    centre : (3,)
        Å.
    number
        Its atomic number.
    pairs
        Pairs of atomic numbers that are bonded, the smaller first.
    factor
        Of the shortest distance of a pair among the points.
    same
        Points nearer than this are one, Å.
    """
    counts = []
    for own in (points.forced, np.ones(len(points.numbers), bool)):
        places, numbers = points.positions[own], points.numbers[own]
        apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
        apart[apart <= same] = np.inf
        away = np.linalg.norm(places - centre, axis=1)
        near = 0
        for one, other in pairs:
            if number not in (one, other):
                continue
            partner = other if number == one else one
            between = apart[np.ix_(numbers == one, numbers == other)]
            to_centre = away[numbers == partner]
            to_centre = to_centre[to_centre > same]
            shortest = min(between.min(initial=np.inf), to_centre.min(initial=np.inf))
            near += int((to_centre <= factor * shortest + same).sum())
        counts.append(near)
    return min(counts), max(counts)


# ---------------------------------------------------------------- distances


def triangulated(screen: np.ndarray, rotations: np.ndarray) -> np.ndarray | None:
    """Point whose images (V, 2) in views (V, 3, 3) are known, Å; None where they fix none."""
    if len(screen) < 2:
        return None
    rows = rotations[:, :, :2].transpose(0, 2, 1).reshape(-1, 3)
    solved, _, rank, values = np.linalg.lstsq(rows, screen.reshape(-1), rcond=None)
    return solved if rank == 3 and values[2] > 1e-6 * values[0] else None


def length_error(apart: np.ndarray, rotations: np.ndarray, pixel: float) -> tuple[float, float]:
    """How much longer and shorter than `apart` (3,) the vector between two places may be, Å.

    Both are triangulated from the same views, and no coordinate of either is off by more than
    `pixel` (Å). Along the vector errors add up in full; across it they make it longer by their
    square over twice the length.
    """
    length = float(np.linalg.norm(apart))
    rows = rotations[:, :, :2].transpose(0, 2, 1).reshape(-1, 3)
    inverse = np.linalg.pinv(rows)
    along = 2 * pixel * float(np.abs(apart / max(length, 1e-12) @ inverse).sum())
    across = 2 * pixel * float(np.linalg.norm(np.abs(inverse).sum(axis=1)))
    return along + across**2 / (2 * max(length - along, 1e-12)), along


def ratio_range(
    places: Sequence[np.ndarray], rotations: np.ndarray, pixel: float
) -> tuple[float, float]:
    """Bounds of A-B over A-C; see `length_error`."""
    a, b, c = places
    to_b, to_c = float(np.linalg.norm(b - a)), float(np.linalg.norm(c - a))
    (more_b, less_b), (more_c, less_c) = (
        length_error(other - a, rotations, pixel) for other in (b, c)
    )
    low = max(to_b - less_b, 0.0) / (to_c + more_c)
    return low, (to_b + more_b) / max(to_c - less_c, 1e-12)


def ratios_that_agree(values: Iterable[Ratio], low: float, high: float) -> list[bool]:
    """Options whose range of ratios meets another."""
    return [value.low <= value.high and low <= value.high and value.low <= high for value in values]


# ---------------------------------------------------------------- whole cells


def open_sets(covers: np.ndarray) -> Iterator[np.ndarray] | None:
    """Sets of columns, (m,) bool each, that explain all rows; None where they are too many."""
    forced = covers[covers.sum(axis=1) == 1].any(axis=0)
    free = np.flatnonzero(~forced)
    if len(free) > MOST_OPEN:
        return None
    wanted = covers.any(axis=1)
    every = chain.from_iterable(combinations(free, k) for k in range(len(free), -1, -1))

    def sets() -> Iterator[np.ndarray]:
        for chosen in every:
            taken = forced.copy()
            taken[list(chosen)] = True
            if (covers[wanted][:, taken].any(axis=1)).all():
                yield taken

    return sets()


def possible_sites(points: Points, cells: Sequence[Cell], same: float) -> list[Sites] | None:
    """All that the cell may hold; None where that cannot be told or is too much to list."""
    if points.rays.any() or not cells:
        return None
    found = []
    for cell in cells:
        site = fold(points.positions, points.numbers, cell, same)
        n_sites = int(site.max(initial=-1)) + 1
        of_sites = points.covers.astype(int) @ (site[:, None] == np.arange(n_sites)) > 0
        sets = open_sets(of_sites)
        if sets is None:
            return None
        first = np.unique(site, return_index=True)[1]
        places = site_places(points.positions, site, cell)
        for taken in sets:
            found.append(Sites(points.numbers[first][taken], places[taken], cell))
    return found


def systems_of(all_sites: Iterable[Sites], symprec: float) -> set[str]:
    """Crystal systems of what a cell may hold, by spglib."""
    found = set()
    for sites in all_sites:
        label, _ = label_cell(sites.cell.lattice, sites.fractional, sites.numbers, symprec)
        found.add(label.crystal_system if label else "")
    return found


def metric_systems(lattice: np.ndarray) -> list[str]:
    """Systems that the metric of a conventional cell allows, the most symmetric first."""
    sides = np.sort(np.linalg.norm(lattice, axis=1))
    unit = lattice / np.linalg.norm(lattice, axis=1)[:, None]
    angles = np.degrees(
        np.arccos(np.clip([unit[i] @ unit[j] for i, j in ((1, 2), (0, 2), (0, 1))], -1, 1))
    )
    right = np.abs(angles - 90) < EQUAL_ANGLE
    low = ["monoclinic", "triclinic"]
    if right.all():
        close = np.diff(sides) < EQUAL_LENGTH * sides[1:]
        higher = ["cubic", "tetragonal"] if close.all() else ["tetragonal"] if close.any() else []
        return [*higher, "orthorhombic", *low]
    if right.sum() == 2:
        axis = int(np.flatnonzero(~right)[0])
        others = np.delete(np.linalg.norm(lattice, axis=1), axis)
        close = abs(others[0] - others[1]) < EQUAL_LENGTH * others[0]
        sixfold = min(abs(angles[axis] - 120), abs(angles[axis] - 60)) < EQUAL_ANGLE
        return ["hexagonal", "trigonal", *low] if close and sixfold else low
    if np.ptp(sides) < EQUAL_LENGTH * sides[0] and np.ptp(angles) < EQUAL_ANGLE:
        return ["trigonal", *low]
    return ["triclinic"]


def change_between(first: Sites, second: Sites, same: float) -> str:
    """What has changed from one structure to another: one of the four texts of Q5.

    Both lie in one frame, that of their cells; edges are named alike, corners do not matter.
    """
    cell = alike(second.cell, first.cell)
    fractional = np.mod(_in_cell(second, cell), 1.0)
    equal_cell = bool(np.linalg.norm(cell.lattice - first.cell.lattice, axis=1).max() <= same)
    partner = _partners(first.fractional, fractional, first.cell.lattice, same)
    if partner is None:
        return ARRANGEMENT
    pairs = set(zip(first.numbers.tolist(), second.numbers[partner].tolist(), strict=True))
    moved = {(one, other) for one, other in pairs if one != other}
    if not moved:
        return SAME if equal_cell else LATTICE
    whole = (
        len(moved) == 2
        and {(b, a) for a, b in moved} == moved
        and len(pairs) == len({one for one, _ in pairs})
    )
    return EXCHANGE if equal_cell and whole else ARRANGEMENT


def _in_cell(sites: Sites, cell: Cell) -> np.ndarray:
    """Fractional coordinates of the sites in their cell with its edges renamed."""
    places = sites.fractional @ sites.cell.lattice + sites.cell.origin
    found: np.ndarray = (places - cell.origin) @ np.linalg.inv(cell.lattice)
    return found


def _partners(first, second, lattice, same: float) -> np.ndarray | None:
    """For each place the one in the other cell that is at it, one to one; None where some has none.

    Places are compared as fractions; `same` is in Å, in the first cell.
    """
    if len(first) != len(second):
        return None
    apart = first[:, None] - second[None]
    away = np.linalg.norm((apart - np.round(apart)) @ lattice, axis=-1)
    partner = away.argmin(axis=1)
    near = away[np.arange(len(first)), partner] <= same
    return partner if near.all() and len(set(partner.tolist())) == len(first) else None


def changes_that_agree(
    values: Sequence[str],
    first: Sequence[Sites] | None,
    second: Sequence[Sites] | None,
    same: float,
) -> list[bool]:
    """Options of Q5 that some pair of readings makes right."""
    if not first or not second:
        return list(ALL)
    made = {change_between(one, other, same) for one, other in product(first, second)}
    return [value in made for value in values]


# ---------------------------------------------------------------- directions


def directions_that_agree(
    values: Iterable[tuple[int, int, int]], edges: np.ndarray, named: bool, off: float
) -> list[bool]:
    """Directions u, v, w along which edges seen as (3, 2) leave u e_a + v e_b + w e_c = 0.

    Parameters
    ----------
    named
        Whether a letter tells which edge is which, and from which corner; otherwise any may be.
    off
        What a coordinate of an edge may be off by, Å.
    """
    found = []
    for value in values:
        ways: Iterable[Any] = [value]
        if not named:
            ways = [
                np.array(order) * signs
                for order in permutations(value)
                for signs in product((1, -1), repeat=3)
            ]
        found.append(
            any(
                bool((np.abs(np.asarray(way) @ edges) <= np.abs(way).sum() * off + 1e-6).all())
                for way in ways
            )
        )
    return found
