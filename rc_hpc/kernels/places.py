"""Places of a view subset, which image points each is on, and how they lie to each other."""

from typing import NamedTuple

import numpy as np
from numba import njit

from rc_hpc.kernels.certificate import acceptance, views_of
from rc_hpc.kernels.merge import clusters, merge_by_image_points, worst_residuals

#: Residuals within it are equal, Å.
TIE = 1e-9
#: What rounding may take from a range of images, in units of the lattice.
_SLACK = 1e-9


class Placed(NamedTuple):
    """C places of one view subset on P image points.

    Attributes
    ----------
    candidate : (C,) int64
        Ascending.
    atom : (C,) int64
        Row of the atom that the place is, -1 of a phantom.
    nearest : (C,) bool
        Of the places of an atom the one that is nearest to it.
    points : (P, C) bool
        Which places are on which point.
    view : (P,) int64
        View of each point.
    """

    candidate: np.ndarray
    atom: np.ndarray
    nearest: np.ndarray
    points: np.ndarray
    view: np.ndarray


class Levelled(NamedTuple):
    """Places of two views as edges between their points.

    Attributes
    ----------
    level, row, column : (C,) int64
        Of each place: its level, and its point of the one view and of the other within that.
    shape : (L, 2) int64
        Points of each level.
    """

    level: np.ndarray
    row: np.ndarray
    column: np.ndarray
    shape: np.ndarray


@njit(cache=True)
def _atoms_of(chosen, candidates, truth, zero):
    """Row of the atom within `zero` of each candidate, -1 where there is none; and how far."""
    atom = np.full(chosen.size, -1, np.int64)
    away = np.full(chosen.size, np.inf)
    if truth.starts.size == 0:
        return atom, away
    for k in range(chosen.size):
        c = chosen[k]
        s = candidates.species[c]
        for a in range(truth.starts[s], truth.starts[s + 1]):
            if abs(truth.heights[a] - candidates.height[c]) > zero + 1e-9:
                continue
            d2 = 0.0
            for axis in range(3):
                d = truth.positions[a, axis] - candidates.position[c, axis]
                d2 += d * d
            d = np.sqrt(d2)
            if d <= zero and d < away[k]:
                atom[k], away[k] = a, d
    return atom, away


@njit(cache=True)
def _on_points(chosen, enumerated, rotations, views, zero):
    """Which of the candidates are on which image point: (P, C) bool, and the points' views."""
    candidates, image = enumerated.candidates, enumerated.points
    total = 0
    for v in views:
        total += image.starts[v, -1]
    points, view = np.zeros((total, chosen.size), np.bool_), np.empty(total, np.int64)
    reach = zero * (1 + 1e-9)
    base = 0
    for v in views:
        for m in range(image.starts[v, -1]):
            view[base + m] = v
        for k in range(chosen.size):
            c = chosen[k]
            x, y = 0.0, 0.0
            for axis in range(3):
                x += candidates.position[c, axis] * rotations[v, axis, 0]
                y += candidates.position[c, axis] * rotations[v, axis, 1]
            s = candidates.species[c]
            for m in range(image.starts[v, s], image.starts[v, s + 1]):
                dx, dy = image.screen[v, m, 0] - x, image.screen[v, m, 1] - y
                if abs(dx) <= reach and np.sqrt(dx * dx + dy * dy) <= reach:
                    points[base + m, k] = True
        base += image.starts[v, -1]
    return points, view


@njit(cache=True)
def _nearest_first(atom, away):
    """Of the places of each atom the nearest, (C,) bool."""
    nearest = np.zeros(atom.size, np.bool_)
    best = np.full(atom.max() + 1 if atom.size else 0, -1, np.int64)
    for k in range(atom.size):
        a = atom[k]
        if a >= 0 and (best[a] < 0 or away[k] < away[best[a]]):
            best[a] = k
    for k in best:
        if k >= 0:
            nearest[k] = True
    return nearest


@njit(cache=True)
def _needless(atom, nearest, points):
    """Places of an atom that are on no point that another place of the atom is not on, (C,)."""
    drop = np.zeros(atom.size, np.bool_)
    for k in range(atom.size):
        if atom[k] < 0 or nearest[k]:
            continue
        for m in range(atom.size):
            if m == k or atom[m] != atom[k] or drop[m]:
                continue
            within = True
            for p in range(points.shape[0]):
                if points[p, k] and not points[p, m]:
                    within = False
                    break
            if within:
                drop[k] = True
                break
    return drop


@njit(cache=True)
def subset_places(mask, enumerated, cameras, truth, zero, distinct):
    """Places of one view subset.

    Parameters
    ----------
    mask : int
        Views as bits.
    enumerated : Enumerated
    cameras : Cameras
    truth : PointSet
        The atoms; `UNKNOWN` makes all places phantoms.
    zero : float
        Up to which gaps, residuals, and distances from atoms are nothing, Å.
    distinct : float
        0: of the candidates that share all image points the best is a place. Else candidates
        farther apart than this (Å) are places of their own; those within `zero` of an atom are
        places of it, as many as differ in the points that they are on.

    Returns
    -------
    Placed
    """
    candidates = enumerated.candidates
    own, seen, accepted = acceptance(candidates, cameras.pairs, zero)
    views = views_of(mask, np.empty(enumerated.points.starts.shape[0], np.int64))
    live = np.empty(accepted.size, np.int64)
    size = 0
    for c in accepted:
        if (own[c] & ~mask) == 0 and (mask & ~seen[c]) == 0:
            live[size] = c
            size += 1
    live = live[:size]
    if distinct == 0:
        worst = worst_residuals(live, candidates.residual, views)
        every = np.ones(live.size, np.bool_)
        live = live[
            merge_by_image_points(
                live, worst, every, candidates.nearest, views, candidates.pair, cameras.kappa, TIE
            )
        ]
        atom, away = _atoms_of(live, candidates, truth, zero)
        nearest = _nearest_first(atom, away)
        points, view = _on_points(live, enumerated, cameras.rotations, views, zero)
        return Placed(live, atom, nearest, points, view)
    atom, away = _atoms_of(live, candidates, truth, zero)
    keep = atom >= 0
    far = np.flatnonzero(~keep)
    if far.size:
        _, leaders = clusters(
            live[far],
            np.arange(far.size),
            candidates.species,
            candidates.position,
            candidates.height,
            distinct,
            False,
        )
        keep[far[leaders]] = True
    live, atom, away = live[keep], atom[keep], away[keep]
    nearest = _nearest_first(atom, away)
    points, view = _on_points(live, enumerated, cameras.rotations, views, zero)
    kept = np.flatnonzero(~_needless(atom, nearest, points))
    return Placed(live[kept], atom[kept], nearest[kept], points[:, kept], view)


@njit(cache=True)
def _root(parent, k):
    while parent[k] != k:
        parent[k] = parent[parent[k]]
        k = parent[k]
    return k


@njit(cache=True)
def levels_of(points):
    """Levels of the places of two views; without any where they are not complete.

    Parameters
    ----------
    points : (P, C) bool
        Those of the one view come first.

    Returns
    -------
    Levelled
    """
    n_points, n = points.shape
    none = np.empty(0, np.int64)
    nothing = Levelled(none, none, none, np.empty((0, 2), np.int64))
    ends = np.full((n, 2), -1, np.int64)
    for k in range(n):
        found = 0
        for p in range(n_points):
            if points[p, k]:
                if found == 2:
                    return nothing
                ends[k, found] = p
                found += 1
        if found < 2:
            return nothing
    parent = np.arange(n_points)
    for k in range(n):
        a, b = _root(parent, ends[k, 0]), _root(parent, ends[k, 1])
        if a != b:
            parent[b] = a
    number = np.full(n_points, -1, np.int64)
    level, row, column = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    shape, edges = np.zeros((n, 2), np.int64), np.zeros(n, np.int64)
    at = np.full(n_points, -1, np.int64)
    count = 0
    for k in range(n):
        root = _root(parent, ends[k, 0])
        if number[root] < 0:
            number[root] = count
            count += 1
        own = number[root]
        level[k] = own
        edges[own] += 1
        for side in range(2):
            p = ends[k, side]
            if at[p] < 0:
                at[p] = shape[own, side]
                shape[own, side] += 1
        row[k], column[k] = at[ends[k, 0]], at[ends[k, 1]]
    for own in range(count):
        if edges[own] != shape[own, 0] * shape[own, 1]:
            return nothing
    return Levelled(level, row, column, shape[:count])


@njit(cache=True)
def _up(x):
    return int(np.ceil(x))


@njit(cache=True)
def near_pairs(lattice, frac, reach):
    """Pairs of points closer than `reach`, periodic images included.

    Of each pair the nearest images count.

    Parameters
    ----------
    lattice : (3, 3) float64
        Å.
    frac : (n, 3) float64
        Fractional coordinates.
    reach : float
        Å.

    Returns
    -------
    first, second : (N,) int64
        first < second.
    away : (N,) float64
        Å.
    """
    inverse = np.linalg.inv(lattice)
    margin = np.empty(3)
    for axis in range(3):
        total = 0.0
        for k in range(3):
            total += inverse[k, axis] * inverse[k, axis]
        margin[axis] = reach * np.sqrt(total)
    n = frac.shape[0]
    first, second = np.empty(16, np.int64), np.empty(16, np.int64)
    away = np.empty(16)
    count = 0
    for i in range(n):
        for j in range(i + 1, n):
            x, y, z = frac[j, 0] - frac[i, 0], frac[j, 1] - frac[i, 1], frac[j, 2] - frac[i, 2]
            best = reach * reach
            near = False
            for a in range(_up(-margin[0] - x), _up(margin[0] - x + _SLACK)):
                for b in range(_up(-margin[1] - y), _up(margin[1] - y + _SLACK)):
                    for c in range(_up(-margin[2] - z), _up(margin[2] - z + _SLACK)):
                        d2 = 0.0
                        for k in range(3):
                            d = (
                                (x + a) * lattice[0, k]
                                + (y + b) * lattice[1, k]
                                + (z + c) * lattice[2, k]
                            )
                            d2 += d * d
                        if d2 < best:
                            best, near = d2, True
            if near:
                if count == first.size:
                    first = np.append(first, np.empty(count, np.int64))
                    second = np.append(second, np.empty(count, np.int64))
                    away = np.append(away, np.empty(count))
                first[count], second[count], away[count] = i, j, np.sqrt(best)
                count += 1
    return first[:count], second[:count], away[:count]
