"""Bonds: which elements, how far, how many, and where the number depends on how far."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

#: A distance at the limit counts, Å: rounding must not decide.
ROUNDING = 1e-8
#: Distances of one atom from itself, Å.
_NOTHING = 1e-6
#: Factors of the shortest distance at which a coordination must be the same, and up to which no
#: neighbour may follow.
SAME_AT, NOBODY_TO = (1.05, 1.10, 1.15), 1.25

Pairs = tuple[tuple[int, int], ...]


def default_pairs(numbers, difference: float) -> Pairs:
    """Pairs of elements that are bonded unless a catalogue says otherwise.

    An anion is an element that no other exceeds in electronegativity (Pauling) by more than
    `difference`; bonded are anions and elements that lie by more than that below. Where there is
    no such pair, as in elements and alloys, all pairs are.

    Parameters
    ----------
    numbers : (n,) array_like of int
        Atomic numbers.
    """
    from pymatgen.core import Element

    elements = sorted({int(number) for number in numbers})
    told = {number: Element.from_Z(number).data.get("X") for number in elements}
    value = {number: float(x) for number, x in told.items() if _known(x)}
    anions = {one for one, x in value.items() if max(value.values()) - x <= difference}
    polar = [
        pair
        for pair in itertools.combinations(elements, 2)
        if value.keys() >= set(pair) and abs(value[pair[0]] - value[pair[1]]) > difference
        if max(pair, key=value.__getitem__) in anions
    ]
    return tuple(polar or itertools.combinations_with_replacement(elements, 2))


def _known(value) -> bool:
    return isinstance(value, int | float) and bool(np.isfinite(value))


def periodic_neighbours(lattice, fractional, reach: float):
    """All pairs of an atom of the cell and an atom of the crystal up to `reach` apart.

    Parameters
    ----------
    lattice : (3, 3), fractional : (n, 3)
        Å; fractions of the vectors.
    reach
        Å.

    Returns
    -------
    first, second : (k,) int64
        Atoms of the cell.
    translation : (k, 3) int64
        Lattice translation of the second.
    distance : (k,) float64
        Å.
    """
    from scipy.spatial import cKDTree

    lattice, fractional = np.asarray(lattice, float), np.asarray(fractional, float)
    # Of a ball within the crystal no point is farther from a face than its radius over the height.
    layers = np.floor(reach * np.linalg.norm(np.linalg.inv(lattice), axis=0)).astype(int) + 1
    shifts = np.array(list(itertools.product(*(range(-n, n + 1) for n in layers))))
    n = len(fractional)
    images = (fractional + shifts[:, None, :]).reshape(-1, 3)
    near = cKDTree(fractional @ lattice).sparse_distance_matrix(
        cKDTree(images @ lattice), reach, output_type="ndarray"
    )
    near = near[near["v"] > _NOTHING]
    near = near[np.lexsort((near["j"], near["i"]))]
    image = near["j"].astype(np.int64)
    return near["i"].astype(np.int64), image % n, shifts[image // n], near["v"].copy()


def shortest_distances(lattice, fractional, numbers, pairs: Pairs) -> dict[tuple[int, int], float]:
    """Shortest periodic distance of each pair of elements that the crystal has, Å."""
    from ase.geometry.minkowski_reduction import minkowski_reduce

    numbers = np.asarray(numbers)
    there = set(numbers.tolist())
    wanted = [pair for pair in pairs if there.issuperset(pair)]
    if not wanted:
        return {}
    # An atom meets one of each element within the longest diagonal of the reduced cell.
    reduced = minkowski_reduce(np.asarray(lattice, float))[0]
    farthest = np.linalg.norm(reduced, axis=1).sum() + ROUNDING
    reach = 1.75
    found: dict[tuple[int, int], float] = {}
    while len(found) < len(wanted):
        reach = min(2 * reach, farthest)
        first, second, _, distance = periodic_neighbours(lattice, fractional, reach)
        low = np.minimum(numbers[first], numbers[second])
        high = np.maximum(numbers[first], numbers[second])
        for pair in wanted:
            its = distance[(low == pair[0]) & (high == pair[1])]
            if its.size:
                found[pair] = float(its.min())
        if reach == farthest:
            break
    return found


def bonded(number_a, number_b, distance, limits: Mapping[tuple[int, int], float]) -> np.ndarray:
    """Which pairs of atoms are bonded, (k,) bool.

    Parameters
    ----------
    number_a, number_b : (k,)
        Atomic numbers.
    distance : (k,)
        Å.
    limits
        Longest bond of each pair of elements, Å.
    """
    low, high = np.minimum(number_a, number_b), np.maximum(number_a, number_b)
    reach = np.full(np.shape(distance), -1.0)
    for (a, b), limit in limits.items():
        reach[(low == a) & (high == b)] = limit + ROUNDING
    return np.asarray(distance) <= reach


def bond_limits(lattice, fractional, numbers, pairs: Pairs, factor: float):
    """Longest bond of each pair of elements, Å."""
    shortest = shortest_distances(lattice, fractional, numbers, pairs)
    return {pair: factor * distance for pair, distance in shortest.items()}


def coordination_numbers(lattice, fractional, numbers, pairs: Pairs, factor: float) -> np.ndarray:
    """Bonds of each atom of the cell, (n,) int64."""
    limits = bond_limits(lattice, fractional, numbers, pairs, factor)
    return _counts(lattice, fractional, np.asarray(numbers), limits)


def _counts(lattice, fractional, numbers, limits) -> np.ndarray:
    if not limits:
        return np.zeros(len(numbers), np.int64)
    reach = max(limits.values()) + 2 * ROUNDING
    first, second, _, distance = periodic_neighbours(lattice, fractional, reach)
    joined = bonded(numbers[first], numbers[second], distance, limits)
    return np.bincount(first[joined], minlength=len(numbers))


def unambiguous_coordination(lattice, fractional, numbers, pairs: Pairs) -> bool:
    """Whether coordination can be asked about: shells that end where nobody can doubt it.

    Every bonded atom must have one number of neighbours at 1.05, 1.10 and 1.15 times the shortest
    distances and no further one up to 1.25 times, and one atom must have two neighbours or more.
    """
    numbers = np.asarray(numbers)
    counts = [
        coordination_numbers(lattice, fractional, numbers, pairs, factor)
        for factor in (*SAME_AT, NOBODY_TO)
    ]
    same = all(np.array_equal(counts[0], other) for other in counts[1:])
    return bool(same and counts[0].max(initial=0) >= 2)
