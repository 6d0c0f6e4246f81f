"""Operations that some choice of sites can have: sites onto sites, lattice exact."""

from typing import NamedTuple

import numpy as np
from numba import njit

#: Boxes along each vector of the lattice, a power of two: the box beyond the last is `& _LAST`.
BOXES = 16
_LAST = BOXES - 1
#: Shifts are one to this part of a lattice vector.
_ONE_SHIFT = 1e-5


class SiteOperations(NamedTuple):
    """N operations on S sites.

    Attributes
    ----------
    matrix : (N,) int64
        Which rotation part.
    image : (N, S) int32
        Nearest site to the image of each site, -1 where none is within reach.
    off : (N, S) float64
        How far that is, Å.
    alive : (N, S) bool
        Sites that are mapped to sites for ever.
    more : (M, 3) int64
        Further sites within reach of an image: operation, site, image.
    """

    matrix: np.ndarray
    image: np.ndarray
    off: np.ndarray
    alive: np.ndarray
    more: np.ndarray


@njit(cache=True)
def boxed(frac):
    """Sites by box: the first of each box, and the next after each site."""
    head = np.full(BOXES**3, -1, np.int32)
    after = np.empty(frac.shape[0], np.int32)
    for s in range(frac.shape[0]):
        box = 0
        for axis in range(3):
            box = box * BOXES + (int(np.floor(frac[s, axis] * BOXES)) & _LAST)
        after[s] = head[box]
        head[box] = s
    return head, after


@njit(cache=True)
def _boxes_about(x, margin):
    """First and last box along one vector within a margin, none of them twice."""
    low = int(np.floor((x - margin) * BOXES))
    return low, min(int(np.floor((x + margin) * BOXES)), low + _LAST)


@njit(cache=True)
def _images(at, kind, frac, kinds, lattice, reach, margin, head, after, found, away):
    """Number of the sites of a kind within reach of a point; fills `found`, sorted, and `away`."""
    count, reach2 = 0, reach * reach
    x, y, z = at[0], at[1], at[2]
    low_x, high_x = _boxes_about(x, margin[0])
    low_y, high_y = _boxes_about(y, margin[1])
    low_z, high_z = _boxes_about(z, margin[2])
    for i in range(low_x, high_x + 1):
        for j in range(low_y, high_y + 1):
            row = ((i & _LAST) * BOXES + (j & _LAST)) * BOXES
            for k in range(low_z, high_z + 1):
                s = head[row + (k & _LAST)]
                while s >= 0:
                    if kinds[s] == kind:
                        a, b, c = frac[s, 0] - x, frac[s, 1] - y, frac[s, 2] - z
                        a, b, c = a - np.rint(a), b - np.rint(b), c - np.rint(c)
                        d2 = 0.0
                        for n in range(3):
                            d = a * lattice[0, n] + b * lattice[1, n] + c * lattice[2, n]
                            d2 += d * d
                        if d2 <= reach2 and count < found.size:
                            place = count
                            while place > 0 and found[place - 1] > s:  # whatever the boxes are
                                found[place], away[place] = found[place - 1], away[place - 1]
                                place -= 1
                            found[place], away[place] = s, np.sqrt(d2)
                            count += 1
                    s = after[s]
    return count


@njit(cache=True)
def _moved(frac, s, matrix, shift, at):
    for axis in range(3):
        x = shift[axis]
        for k in range(3):
            x += frac[s, k] * matrix[k, axis]
        at[axis] = x - np.floor(x)


@njit(cache=True)
def _distinct_shifts(frac, matrix, start, target):
    """Shifts that take some start site to some target site, each once, (N, 3)."""
    shifts = np.empty((start.size * target.size, 3))
    keys = np.empty(shifts.shape[0], np.int64)
    whole = int(np.rint(1 / _ONE_SHIFT))
    count = 0
    at = np.empty(3)
    for i in start:
        _moved(frac, i, matrix, np.zeros(3), at)
        for j in target:
            key = 0
            for axis in range(3):
                x = frac[j, axis] - at[axis]
                x -= np.floor(x)
                shifts[count, axis] = x
                key = key * whole + int(np.rint(x / _ONE_SHIFT)) % whole
            keys[count] = key
            count += 1
    order = np.argsort(keys)
    kept = 0
    for k in range(count):
        if k == 0 or keys[order[k]] != keys[order[k - 1]]:
            order[kept] = order[k]
            kept += 1
    return shifts[np.sort(order[:kept])]


@njit(cache=True)
def site_operations(frac, kinds, lattice, matrices, anchor, points, reach):
    """Operations that some choice of sites with a site on each point can have.

    Parameters
    ----------
    frac : (S, 3) float64
        Fractional coordinates within 0 and 1.
    kinds : (S,) int64
    lattice : (3, 3) float64
        Å.
    matrices : (R, 3, 3) float64
        Rotation parts, of fractional row vectors.
    anchor : (2,) tuple of (n,) int64
        Sites of which each choice has one, and those that these may be mapped to.
    points : (2,) tuple of int64 arrays
        Bounds (P + 1,) of the sites on each point, those with the fewest first, and the sites.
    reach : float
        How far from its image a site may be, Å.

    Returns
    -------
    SiteOperations
    """
    n = frac.shape[0]
    start, target = anchor
    bounds, on_point = points
    inverse = np.linalg.inv(lattice)
    margin = np.empty(3)
    for axis in range(3):
        margin[axis] = reach * np.sqrt((inverse[:, axis] ** 2).sum()) + 1e-9
    head, after = boxed(frac)
    found, away = np.empty(16, np.int64), np.empty(16)
    at = np.empty(3)
    size, n_more = 8, 0
    of_matrix = np.empty(size, np.int64)
    image, off = np.empty((size, n), np.int32), np.empty((size, n))
    alive = np.empty((size, n), np.bool_)
    more = np.empty((8, 3), np.int64)
    count = 0
    for r in range(matrices.shape[0]):
        matrix = matrices[r]
        shifts = _distinct_shifts(frac, matrix, start, target)
        for shift in shifts:
            good = True
            for p in range(bounds.size - 1):  # most fail at the first points
                good = False
                for m in range(bounds[p], bounds[p + 1]):
                    s = on_point[m]
                    _moved(frac, s, matrix, shift, at)
                    if _images(
                        at, kinds[s], frac, kinds, lattice, reach, margin, head, after, found, away
                    ):
                        good = True
                        break
                if not good:
                    break
            if not good:
                continue
            if count == size:
                of_matrix = np.append(of_matrix, np.empty(size, np.int64))
                image = np.concatenate((image, np.empty((size, n), np.int32)))
                off = np.concatenate((off, np.empty((size, n))))
                alive = np.concatenate((alive, np.empty((size, n), np.bool_)))
                size *= 2
            before = n_more
            for s in range(n):
                _moved(frac, s, matrix, shift, at)
                hits = _images(
                    at, kinds[s], frac, kinds, lattice, reach, margin, head, after, found, away
                )
                image[count, s], off[count, s] = -1, np.inf
                for h in range(hits):
                    if away[h] < off[count, s]:
                        image[count, s], off[count, s] = found[h], away[h]
                for h in range(hits):
                    if found[h] == image[count, s]:
                        continue
                    if n_more == more.shape[0]:
                        more = np.concatenate((more, np.empty((n_more, 3), np.int64)))
                    more[n_more, 0], more[n_more, 1], more[n_more, 2] = count, s, found[h]
                    n_more += 1
            _live_on(image[count], more[before:n_more], alive[count])
            if _covers(alive[count], bounds, on_point):
                of_matrix[count] = r
                count += 1
            else:
                n_more = before
    return SiteOperations(
        of_matrix[:count], image[:count], off[:count], alive[:count], more[:n_more]
    )


@njit(cache=True)
def _live_on(image, more, alive):
    """Fill `alive`: sites of which some image is alive."""
    for s in range(image.size):
        alive[s] = image[s] >= 0
    changed = True
    while changed:
        changed = False
        for s in range(image.size):
            if alive[s] and not alive[image[s]]:
                other = False
                for m in range(more.shape[0]):
                    if more[m, 1] == s and alive[more[m, 2]]:
                        other = True
                        break
                if not other:
                    alive[s] = False
                    changed = True


@njit(cache=True)
def _covers(alive, bounds, on_point):
    for p in range(bounds.size - 1):
        covered = False
        for m in range(bounds[p], bounds[p + 1]):
            if alive[on_point[m]]:
                covered = True
                break
        if not covered:
            return False
    return True


@njit(cache=True)
def within(operations, reach, bounds, on_point):
    """Operations that are there within a smaller reach: which, and which sites are alive then."""
    image, off = operations.image, operations.off
    kept = np.zeros(image.shape[0], np.bool_)
    alive = np.zeros(image.shape, np.bool_)
    none = np.empty((0, 3), np.int64)
    near = np.empty(image.shape[1], np.int32)
    for n in range(image.shape[0]):
        for s in range(image.shape[1]):
            near[s] = image[n, s] if off[n, s] <= reach else -1
        _live_on(near, none, alive[n])
        kept[n] = _covers(alive[n], bounds, on_point)
    return kept, alive


@njit(cache=True)
def held(image, off, traits, chosen, reach):
    """What operations map all chosen sites to chosen ones, of N choices.

    Parameters
    ----------
    image, off : (M, S)
        See `SiteOperations`.
    traits : (M, 3) int64
        Order, number of the axis (below 64), and whether the rotation is sure; those of order 1
        come first.
    chosen : (N, S) bool
    reach : float
        How far images may be off where an operation is sure, Å.

    Returns
    -------
    axes : (N, 7) int64
        Axes of the operations by their order, as bits; all -1 where one is there, but not surely.
    translations : (N, T) bool
        Those of order 1 that are there.
    """
    moves = 0
    while moves < traits.shape[0] and traits[moves, 0] == 1:
        moves += 1
    axes = np.zeros((chosen.shape[0], 7), np.int64)
    translations = np.zeros((chosen.shape[0], moves), np.bool_)
    sites = np.empty(chosen.shape[1], np.int64)
    for n in range(chosen.shape[0]):
        there = chosen[n]
        size = 0
        for s in range(there.size):
            if there[s]:
                sites[size] = s
                size += 1
        for m in range(image.shape[0]):
            holds, sure = True, traits[m, 2] > 0
            for s in sites[:size]:
                if image[m, s] < 0 or not there[image[m, s]]:
                    holds = False
                    break
                if off[m, s] > reach:
                    sure = False
            if holds and not sure:
                axes[n] = -1
                break
            if holds:
                axes[n, traits[m, 0]] |= np.int64(1) << traits[m, 1]
                if m < moves:
                    translations[n, m] = True
    return axes, translations


@njit(cache=True)
def kept_by(image, chosen):
    """Which operations map all chosen sites to chosen ones, (M,) bool."""
    kept = np.ones(image.shape[0], np.bool_)
    for m in range(image.shape[0]):
        for s in range(chosen.size):
            if chosen[s] and (image[m, s] < 0 or not chosen[image[m, s]]):
                kept[m] = False
                break
    return kept
