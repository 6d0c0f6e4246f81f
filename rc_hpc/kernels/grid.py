"""Distances to the nearest of many points: a grid of cells, for where a sorted list is too long.

Points far from all others make a sorted search look at a slab of the whole crystal; rings
of grid cells around the place look at a ball.
"""

import math

import numpy as np

from rc_hpc.kernels.compiled import inner, kernel
from rc_hpc.kernels.records import Grid

#: Points from which on the grid is faster than the sorted search.
GRID_POINTS = 1000
#: Points in a cell of the grid, on average.
_IN_CELL = 6.0
#: Far more than cell walls round, Å.
_ROUNDING = 1e-9


@inner
def _cell(value, origin, edge, size):
    """Index of the grid layer of a coordinate; what lies outside goes to the outermost."""
    return min(max(int((value - origin) / edge), 0), size - 1)


@kernel
def make_grid(points):
    """Sort points (n, 3) into cubic cells, n >= 1.

    Returns
    -------
    Grid
    """
    n = points.shape[0]
    low, high = points[0].copy(), points[0].copy()
    for k in range(n):
        for axis in range(3):
            low[axis] = min(low[axis], points[k, axis])
            high[axis] = max(high[axis], points[k, axis])
    longest = max(high[0] - low[0], high[1] - low[1], high[2] - low[2], 1e-9)
    volume = 1.0
    for axis in range(3):  # a flat crystal gets a flat grid, of no more cells than points
        volume *= max(high[axis] - low[axis], longest / n)
    edge = (volume * _IN_CELL / n) ** (1.0 / 3.0)
    shape = np.empty(3, np.int64)
    for axis in range(3):
        shape[axis] = int((high[axis] - low[axis]) / edge) + 1
    owner = np.empty(n, np.int64)
    starts = np.zeros(shape[0] * shape[1] * shape[2] + 1, np.int64)
    for k in range(n):
        i = _cell(points[k, 0], low[0], edge, shape[0])
        j = _cell(points[k, 1], low[1], edge, shape[1])
        m = _cell(points[k, 2], low[2], edge, shape[2])
        owner[k] = (i * shape[1] + j) * shape[2] + m
        starts[owner[k] + 1] += 1
    for c in range(starts.size - 1):
        starts[c + 1] += starts[c]
    cursor = starts[:-1].copy()
    inside = np.empty((n, 3))
    for k in range(n):
        for axis in range(3):
            inside[cursor[owner[k]], axis] = points[k, axis]
        cursor[owner[k]] += 1
    return Grid(low, high, edge, shape, starts, inside)


@inner
def _beyond(place, edge, own, layer):
    """Square of the least distance from a place in the layer `own` to what is in another."""
    away = 0.0
    if layer > own:
        away = max(layer * edge - place - _ROUNDING, 0.0)
    elif layer < own:
        away = max(place - (layer + 1) * edge - _ROUNDING, 0.0)
    return away * away


@inner
def _to_wall(place, edge, own, ring):
    """Least distance from a place in the layer `own` to what is beyond so many layers about it."""
    below, above = place - (own - ring) * edge, (own + ring + 1) * edge - place
    return max(min(below, above) - _ROUNDING, 0.0)


@kernel
def nearest_in_grid(grid, x, y, z):
    """Distance from a place, inside or outside the box, to the nearest point of the grid."""
    low, high, edge, shape, starts, inside = grid
    cx, cy, cz = (
        min(max(x, low[0]), high[0]),
        min(max(y, low[1]), high[1]),
        min(max(z, low[2]), high[2]),
    )
    # What lies beyond a wall is no nearer than the wall; the way to the box and the way within it
    # are the legs of a triangle with no acute angle between them.
    outside = (x - cx) * (x - cx) + (y - cy) * (y - cy) + (z - cz) * (z - cz)
    i, j, k = (
        _cell(cx, low[0], edge, shape[0]),
        _cell(cy, low[1], edge, shape[1]),
        _cell(cz, low[2], edge, shape[2]),
    )
    best = np.inf
    for r in range(max(shape[0], shape[1], shape[2])):
        for a in range(max(i - r, 0), min(i + r, shape[0] - 1) + 1):
            far_a = outside + _beyond(cx - low[0], edge, i, a)
            if far_a > best:
                continue
            for b in range(max(j - r, 0), min(j + r, shape[1] - 1) + 1):
                far_b = far_a + _beyond(cy - low[1], edge, j, b)
                if far_b > best:
                    continue
                step = 1 if abs(a - i) == r or abs(b - j) == r else max(2 * r, 1)
                for c in range(k - r, k + r + 1, step):
                    if c < 0 or c >= shape[2] or far_b + _beyond(cz - low[2], edge, k, c) > best:
                        continue
                    cell = (a * shape[1] + b) * shape[2] + c
                    for m in range(starts[cell], starts[cell + 1]):
                        dx, dy, dz = inside[m, 0] - x, inside[m, 1] - y, inside[m, 2] - z
                        best = min(best, dx * dx + dy * dy + dz * dz)
        wall = min(
            _to_wall(cx - low[0], edge, i, r),
            _to_wall(cy - low[1], edge, j, r),
            _to_wall(cz - low[2], edge, k, r),
        )
        if best <= outside + wall * wall:
            break
    return math.sqrt(best)
