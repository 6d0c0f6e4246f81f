"""Sorted search: the one way in which the kernels find neighbours.

Points are sorted along a fixed generic direction, so that lattice planes and rows do
not fall together on it; a neighbour within r lies within r along that direction.

The loops here have no `break` and no early return: with one, the compiler counts references
to the arrays at every call, which took a sixth of the time of a cell.
"""

import math

import numpy as np
from numba import njit

from rc_hpc.kernels.compiled import inner, kernel
from rc_hpc.kernels.records import PointSet

#: Numbers that are sorted by insertion, and from which on they are sorted by their digits.
RUN, MANY = 32, 1024
#: Bits of a digit, and digits of a number.
_BITS, _DIGITS = 11, 6
# Generic unit directions: irrational to every low-index lattice direction.
SCREEN_X, SCREEN_Y = math.cos(1.0), math.sin(1.0)
SPACE_X, SPACE_Y, SPACE_Z = 1.0 / math.sqrt(6.0), math.sqrt(2.0 / 6.0), math.sqrt(3.0 / 6.0)


@njit(cache=True, inline="always")
def height2(x, y):
    """Coordinate of a screen point along the generic direction."""
    return SCREEN_X * x + SCREEN_Y * y


@njit(cache=True, inline="always")
def height3(x, y, z):
    """Coordinate of a point in space along the generic direction."""
    return SPACE_X * x + SPACE_Y * y + SPACE_Z * z


@kernel
def lower_bound(heights, low, high, value):
    """First index in [low, high) whose height is not below `value`."""
    while low < high:
        middle = (low + high) // 2
        if heights[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _order_by_digits(values):
    """Stable argsort of many numbers, none of them nan: by the last digit, ..., by the first."""
    n = values.size
    keys, order = (values + 0.0).view(np.uint64), np.arange(n)  # -0 is 0
    top = np.uint64(1) << np.uint64(63)
    counts = np.zeros((_DIGITS, 1 << _BITS), np.int64)
    last = np.uint64((1 << _BITS) - 1)
    for k in range(n):  # as integers in the order of the numbers
        keys[k] = ~keys[k] if keys[k] & top else keys[k] | top
        for digit in range(_DIGITS):
            counts[digit, (keys[k] >> np.uint64(_BITS * digit)) & last] += 1
    other_keys, other = np.empty(n, np.uint64), np.empty(n, np.int64)
    for digit in range(_DIGITS):
        shift, count = np.uint64(_BITS * digit), counts[digit]
        if count[(keys[0] >> shift) & last] < n:  # else all have the same
            place = 0
            for value in range(count.size):
                count[value], place = place, place + count[value]
            for k in range(n):
                value = (keys[k] >> shift) & last
                other_keys[count[value]], other[count[value]] = keys[k], order[k]
                count[value] += 1
            keys, other_keys = other_keys, keys
            order, other = other, order
    return order


@kernel
def stable_order(values):
    """Stable argsort of numbers: runs by insertion, which is all of the usual case, then merged."""
    n = values.size
    if n >= MANY:
        return _order_by_digits(values)
    order = np.arange(n)
    for low in range(0, n, RUN):
        for k in range(low + 1, min(low + RUN, n)):
            item = order[k]
            m = k - 1
            while m >= low and values[order[m]] > values[item]:
                order[m + 1] = order[m]
                m -= 1
            order[m + 1] = item
    if n <= RUN:
        return order
    other = np.empty(n, np.int64)
    width = RUN
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            a, b = low, middle
            for k in range(low, high):
                if a < middle and (b == high or values[order[a]] <= values[order[b]]):
                    other[k] = order[a]
                    a += 1
                else:
                    other[k] = order[b]
                    b += 1
        order, other = other, order
        width *= 2
    return order


@kernel
def nearest2(heights, points, low, high, x, y, bound):
    """Nearest of the sorted screen points [low, high) within `bound`.

    Returns
    -------
    (index, distance)
        (-1, inf) where none is that near. Of equally near points the first is taken.
    """
    return nearest2_from(
        heights, points, low, high, lower_bound(heights, low, high, height2(x, y)), x, y, bound
    )


@njit(cache=True, inline="always")
def nearest2_from(heights, points, low, high, middle, x, y, bound):
    """As `nearest2`, from a `middle` known to be within `bound`, or else from `lower_bound`."""
    h = height2(x, y)
    best = bound * bound * (1.0 + 1e-12)  # squares round: the distance itself is compared below
    nearest = -1
    k = middle
    while k < high and (heights[k] - h) ** 2 <= best:
        dx, dy = points[k, 0] - x, points[k, 1] - y
        d2 = dx * dx + dy * dy
        if d2 < best or (d2 == best and (nearest < 0 or k < nearest)):
            best, nearest = d2, k
        k += 1
    k = middle - 1
    while k >= low and (heights[k] - h) ** 2 <= best:
        dx, dy = points[k, 0] - x, points[k, 1] - y
        d2 = dx * dx + dy * dy
        if d2 < best or (d2 == best and (nearest < 0 or k < nearest)):
            best, nearest = d2, k
        k -= 1
    distance = math.sqrt(best)
    if nearest < 0 or distance > bound:
        return -1, np.inf
    return nearest, distance


@njit(cache=True, inline="always")
def first_as_near(heights, points, low, nearest, x, y, limit):
    """First of the sorted screen points from `low` to `nearest` that is within `limit`."""
    h = height2(x, y)
    first = nearest
    k = nearest - 1
    while k >= low and h - heights[k] <= limit:
        dx, dy = points[k, 0] - x, points[k, 1] - y
        if dx * dx + dy * dy <= limit * limit:
            first = k
        k -= 1
    return first


@kernel
def bounds_table(heights, low, high):
    """Where to look for a height among the sorted [low, high), for `bound_from`, (n,) int64."""
    n = high - low
    table = np.empty(n, np.int64)
    scale = height_scale(heights, low, high)
    k = low
    for bucket in range(n):
        while k < high and (heights[k] - heights[low]) * scale < bucket:
            k += 1
        table[bucket] = k
    return table


@njit(cache=True, inline="always")
def height_scale(heights, low, high):
    """Points per Å along the generic direction, of sorted [low, high) with more than one."""
    return (high - low - 1) / max(heights[high - 1] - heights[low], 1e-300)


@njit(cache=True, inline="always")
def bound_from(table, scale, heights, low, high, value):
    """As `lower_bound`, by a table of `bounds_table`: two or three looks where that takes many."""
    k = table[int(min(max((value - heights[low]) * scale, 0.0), high - low - 1.0))]
    while k < high and heights[k] < value:
        k += 1
    while k > low and heights[k - 1] >= value:
        k -= 1
    return k


@kernel
def nearest3(heights, points, low, high, x, y, z):
    """Distance to the nearest of the sorted points [low, high) in space; inf of none."""
    middle = lower_bound(heights, low, high, height3(x, y, z))
    return nearest3_from(heights, points, low, high, middle, x, y, z)


@njit(cache=True, inline="always")
def nearest3_from(heights, points, low, high, middle, x, y, z):
    """As `nearest3`, from its `lower_bound`."""
    h = height3(x, y, z)
    best = np.inf
    k = middle
    while k < high and (heights[k] - h) ** 2 <= best:
        dx, dy, dz = points[k, 0] - x, points[k, 1] - y, points[k, 2] - z
        best = min(best, dx * dx + dy * dy + dz * dz)
        k += 1
    k = middle - 1
    while k >= low and (heights[k] - h) ** 2 <= best:
        dx, dy, dz = points[k, 0] - x, points[k, 1] - y, points[k, 2] - z
        best = min(best, dx * dx + dy * dy + dz * dz)
        k -= 1
    return math.sqrt(best)


@inner
def heights_of(points):
    """Coordinates of points (n, 3) along the generic direction, (n,) float64, Å."""
    heights = np.empty(points.shape[0])
    for k in range(heights.size):
        heights[k] = height3(points[k, 0], points[k, 1], points[k, 2])
    return heights


@kernel
def sort_in_space(points, starts):
    """Sort points (n, 3) along the generic direction within each species' range.

    Parameters
    ----------
    starts : (S + 1,) int64
        Species s owns the points starts[s] to starts[s + 1].

    Returns
    -------
    PointSet
        Sorted copies.
    """
    n = points.shape[0]
    heights = np.empty(n)
    order = np.empty(n, np.int64)
    positions = np.empty((n, 3))
    for s in range(starts.size - 1):
        low, high = starts[s], starts[s + 1]
        local = np.empty(high - low)
        for k in range(low, high):
            local[k - low] = height3(points[k, 0], points[k, 1], points[k, 2])
        ranks = stable_order(local)
        for k in range(high - low):
            source = low + ranks[k]
            order[low + k] = source
            heights[low + k] = local[ranks[k]]
            for axis in range(3):
                positions[low + k, axis] = points[source, axis]
    return PointSet(positions, heights, order, starts)


@inner
def farthest_partner(points_a, heights_a, starts_a, points_b, heights_b, starts_b, tolerance):
    """`worst_partner` of sets that are rows of larger arrays."""
    limit = tolerance * tolerance
    worst = 0.0
    for s in range(starts_a.size - 1):
        if starts_a[s + 1] - starts_a[s] != starts_b[s + 1] - starts_b[s]:
            worst = np.inf
    for s in range(starts_a.size - 1):
        high = starts_b[s + 1]
        first = starts_b[s]
        k = starts_a[s]
        while worst <= limit and k < starts_a[s + 1]:
            while first < high and heights_b[first] < heights_a[k] - tolerance:
                first += 1
            nearest = np.inf
            m = first
            while m < high and heights_b[m] <= heights_a[k] + tolerance:
                dx = points_a[k, 0] - points_b[m, 0]
                dy = points_a[k, 1] - points_b[m, 1]
                dz = points_a[k, 2] - points_b[m, 2]
                nearest = min(nearest, dx * dx + dy * dy + dz * dz)
                m += 1
            worst = max(worst, nearest)
            k += 1
    return math.sqrt(worst) if worst <= limit else np.inf


@kernel
def worst_partner(a, b, tolerance):
    """Largest distance from a point of set a to its partner in set b; inf where one has none.

    A partner is a point of the same species within `tolerance`; sets of equal counts whose
    points lie farther than twice that apart are then the same set.

    Parameters
    ----------
    a, b : PointSet
    tolerance : float
        Å.
    """
    return farthest_partner(
        a.positions, a.heights, a.starts, b.positions, b.heights, b.starts, tolerance
    )


@inner
def farthest_from(points, starts, heights, targets, target_starts):
    """`largest_distance` of sets that are rows of larger arrays."""
    largest = 0.0
    for s in range(starts.size - 1):
        low, high = target_starts[s], target_starts[s + 1]
        middle = low  # the points are sorted, too
        for k in range(starts[s], starts[s + 1]):
            x, y, z = points[k, 0], points[k, 1], points[k, 2]
            h = height3(x, y, z)
            while middle < high and heights[middle] < h:
                middle += 1
            near = nearest3_from(heights, targets, low, high, middle, x, y, z)
            largest = max(largest, near)
    return largest


@kernel
def largest_distance(points, others):
    """Largest distance from a point to the nearest other of its species; inf where there is none.

    Parameters
    ----------
    points, others : PointSet
    """
    return farthest_from(
        points.positions, points.starts, others.heights, others.positions, others.starts
    )
