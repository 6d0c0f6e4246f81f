"""What is seen of discs when everything is painted from the farthest to the nearest."""

import math

import numpy as np
from numba import njit


@njit(cache=True)
def seen_pixels(order, centres, radii, middles, halves, half_widths, boxes, spared, width, height):
    """Paint a picture whose pixels hold the last disc over their middles, and count.

    Parameters
    ----------
    order : (k,) int64
        What is painted, the first first: discs from 0, then segments, as in a view.
    centres : (n, 2), radii : (n,)
        Of the discs, with their outlines, px.
    middles, halves : (m, 2), half_widths : (m,)
        Of the segments, px.
    boxes : (b, 4)
        Left, upper, right and lower edges of what is written over everything, px.
    spared : (n,) bool
        Discs that what is written does not cover.
    width, height
        Of the picture, px.

    Returns
    -------
    seen, whole : (n,) int64
        Pixels of each disc that nothing later covers, and all of them.
    """
    n = radii.shape[0]
    owner = np.full((height, width), -1, np.int32)
    whole = np.zeros(n, np.int64)
    for item in order:
        if item < n:
            whole[item] = _paint_disc(owner, item, centres[item], radii[item])
        else:
            k = item - n
            _paint_segment(owner, middles[k], halves[k], half_widths[k])
    for k in range(boxes.shape[0]):
        for i in range(_first(boxes[k, 1]), _last(boxes[k, 3], height) + 1):
            for j in range(_first(boxes[k, 0]), _last(boxes[k, 2], width) + 1):
                if owner[i, j] >= 0 and not spared[owner[i, j]]:
                    owner[i, j] = -1
    seen = np.zeros(n, np.int64)
    for i in range(height):
        for j in range(width):
            if owner[i, j] >= 0:
                seen[owner[i, j]] += 1
    return seen, whole


@njit(cache=True)
def _first(low):
    """First pixel whose middle does not lie before `low`."""
    return max(0, math.ceil(low - 0.5))


@njit(cache=True)
def _last(high, size):
    """Last pixel whose middle does not lie beyond `high`."""
    return min(size - 1, math.floor(high - 0.5))


@njit(cache=True)
def _paint_disc(owner, item, centre, radius):
    height, width = owner.shape
    count = 0
    for i in range(_first(centre[1] - radius), _last(centre[1] + radius, height) + 1):
        rise = i + 0.5 - centre[1]
        for j in range(_first(centre[0] - radius), _last(centre[0] + radius, width) + 1):
            run = j + 0.5 - centre[0]
            if run * run + rise * rise <= radius * radius:
                owner[i, j] = item
                count += 1
    return count


@njit(cache=True)
def _paint_segment(owner, middle, half, half_width):
    height, width = owner.shape
    length = math.sqrt(half[0] * half[0] + half[1] * half[1])
    if length == 0.0:
        return
    x, y = half[0] / length, half[1] / length
    reach_x = abs(half[0]) + half_width * abs(y)
    reach_y = abs(half[1]) + half_width * abs(x)
    for i in range(_first(middle[1] - reach_y), _last(middle[1] + reach_y, height) + 1):
        rise = i + 0.5 - middle[1]
        for j in range(_first(middle[0] - reach_x), _last(middle[0] + reach_x, width) + 1):
            run = j + 0.5 - middle[0]
            if abs(run * x + rise * y) <= length and abs(run * y - rise * x) <= half_width:
                owner[i, j] = -1
