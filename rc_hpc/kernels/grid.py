"""Distances to the nearest of many points: a grid of cells, for where a sorted list is too long.

Points far from all others make a sorted search look at a slab of the whole crystal; rings
of grid cells around the place look at a ball.
"""

import math

import numpy as np

from rc_hpc.kernels.compiled import inner, kernel
from rc_hpc.kernels.records import Grid

#: Points from which on the grid is faster than the sorted search.
GRID_POINTS = 2000
#: Points in a cell of the grid, on average.
_IN_CELL = 2.0


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


@kernel
def nearest_in_grid(grid, x, y, z):
    """Distance from a place, inside or outside the box, to the nearest point of the grid."""
    low, high, edge, shape, starts, inside = grid
    # From the place of the box nearest to (x, y, z) a point in ring r + 1 or beyond is at least
    # r edges away; the two distances are the legs of a triangle with no acute angle between them.
    cx, cy, cz = (
        min(max(x, low[0]), high[0]),
        min(max(y, low[1]), high[1]),
        min(max(z, low[2]), high[2]),
    )
    outside = (x - cx) * (x - cx) + (y - cy) * (y - cy) + (z - cz) * (z - cz)
    i, j, k = (
        _cell(cx, low[0], edge, shape[0]),
        _cell(cy, low[1], edge, shape[1]),
        _cell(cz, low[2], edge, shape[2]),
    )
    best = np.inf
    for r in range(max(shape[0], shape[1], shape[2])):
        for a in range(max(i - r, 0), min(i + r, shape[0] - 1) + 1):
            for b in range(max(j - r, 0), min(j + r, shape[1] - 1) + 1):
                step = 1 if abs(a - i) == r or abs(b - j) == r else max(2 * r, 1)
                for c in range(k - r, k + r + 1, step):
                    if c < 0 or c >= shape[2]:
                        continue
                    cell = (a * shape[1] + b) * shape[2] + c
                    for m in range(starts[cell], starts[cell + 1]):
                        dx, dy, dz = inside[m, 0] - x, inside[m, 1] - y, inside[m, 2] - z
                        best = min(best, dx * dx + dy * dy + dz * dz)
        reached = outside + (r * edge) * (r * edge)
        if best <= reached * (1.0 - 1e-9):  # cell walls round
            break
    return math.sqrt(best)
