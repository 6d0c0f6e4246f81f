"""Discs of one known radius from the pixels of their edges: votes, fits, and who owns a pixel."""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from rc_hpc.kernels.edges import edge_distance

#: Largest distances from a circle of the pixels that fit it, px, one a step.
_REACHES = (1.0, 0.5, 0.25, 0.1, 0.08, 0.08)
#: Least cosine between a pixel's own normal and the circle's.
_ALONG = 0.9
#: Rounds of voting: later ones see what the first discs have left.
_ROUNDS = 3


class Outline(NamedTuple):
    """Edge pixels of one fill, row by row; see `rc_hpc.kernels.edges`.

    Attributes
    ----------
    places : (n, 2) int64
        Columns and rows.
    share : (n,) float64
        Share of the fill.
    normals : (n, 2) float64
        Outwards.
    rows : (height + 1,) int64
        First pixel of each row.
    """

    places: np.ndarray
    share: np.ndarray
    normals: np.ndarray
    rows: np.ndarray


@njit(cache=True)
def _span(outline, middle, reach):
    """First pixel of the rows within `reach` of a height, and the one after the last."""
    height = len(outline.rows) - 1
    first = min(max(int(middle - reach), 0), height)
    return outline.rows[first], outline.rows[min(max(int(middle + reach) + 1, 0), height)]


@njit(cache=True)
def vote_peaks(votes, free, shape, least):
    """Places where votes gather: local maxima of their number in 3 x 3 cells of a pixel.

    Parameters
    ----------
    votes : (n, 2) float64
        Right, down, px.
    free : (n,) bool
        Those that count.
    shape
        Height and width, px.
    least : int
        Votes that a place must have.

    Returns
    -------
    places : (m, 2) float64
        Mean of the votes there.
    counts : (m,) int64
    """
    height, width = shape
    grid = np.zeros((height + 2, width + 2), np.int32)
    for k in range(len(votes)):
        if free[k] and 0 <= votes[k, 0] < width and 0 <= votes[k, 1] < height:
            grid[int(votes[k, 1]) + 1, int(votes[k, 0]) + 1] += 1
    block = np.zeros_like(grid)
    for k in range(len(votes)):
        if free[k] and 0 <= votes[k, 0] < width and 0 <= votes[k, 1] < height:
            i, j = int(votes[k, 1]) + 1, int(votes[k, 0]) + 1
            for a in range(max(1, i - 1), min(height, i + 1) + 1):
                for b in range(max(1, j - 1), min(width, j + 1) + 1):
                    if block[a, b] == 0:
                        total = 0
                        for c in range(a - 1, a + 2):
                            for d in range(b - 1, b + 2):
                                total += grid[c, d]
                        block[a, b] = total
    number = np.full(grid.shape, -1, np.int32)
    counts = []
    for k in range(len(votes)):
        if not (free[k] and 0 <= votes[k, 0] < width and 0 <= votes[k, 1] < height):
            continue
        i, j = int(votes[k, 1]) + 1, int(votes[k, 0]) + 1
        for a in range(max(1, i - 1), min(height, i + 1) + 1):
            for b in range(max(1, j - 1), min(width, j + 1) + 1):
                own = block[a, b]
                if own < least or number[a, b] >= 0:
                    continue
                highest = True
                for c in range(a - 1, a + 2):
                    for d in range(b - 1, b + 2):
                        before = (c, d) < (a, b)
                        if block[c, d] > own or (block[c, d] == own and before):
                            highest = False
                if highest:
                    number[a, b] = len(counts)
                    counts.append(own)
    places = np.zeros((len(counts), 2))
    seen = np.zeros(len(counts))
    for k in range(len(votes)):
        if not (free[k] and 0 <= votes[k, 0] < width and 0 <= votes[k, 1] < height):
            continue
        i, j = int(votes[k, 1]) + 1, int(votes[k, 0]) + 1
        for a in range(i - 1, i + 2):
            for b in range(j - 1, j + 2):
                if number[a, b] >= 0:
                    places[number[a, b]] += votes[k]
                    seen[number[a, b]] += 1
    out = np.empty(len(counts), np.int64)
    for m in range(len(counts)):
        places[m] /= seen[m]
        out[m] = counts[m]
    return places, out


@njit(cache=True)
def drawn_outside(profile, dx, dy):
    """How far outside a circle its edge is drawn in a direction, px; see `fit_circle`."""
    n = len(profile)
    at = (math.atan2(dy, dx) / (math.pi / 4.0)) % 1.0 * n
    first = int(at)
    part = at - first
    return (1.0 - part) * profile[first % n] + part * profile[(first + 1) % n]


@njit(cache=True)
def fit_circle(outline, free, start, radius, profile, reaches, loose):
    """Least-squares circle of a radius through the edge pixels near it.

    Parameters
    ----------
    outline : Outline
    free : (n,) bool
        Pixels that count.
    start : (2,) float64
        First guess of the middle, px.
    radius : float
        Of the edge, px.
    profile : (p,) float64
        How far outside the circle the edge is drawn, px, by the direction within an eighth of a
        turn.
    reaches
        Largest distance from the circle of the pixels that count, px, one a step.
    loose : bool
        Fit the radius too.

    Returns
    -------
    middle : (2,) float64
    radius : float
    count : int
        Pixels of the last step.
    rms : float
        Of their distances from the circle, px.
    inverse : (3, 3) float64
        Inverse of the normal matrix of middle and radius; the radius' row and column are 0 where
        it is not fitted.
    """
    places, share, normals = outline.places, outline.share, outline.normals
    x, y, size = start[0], start[1], radius
    inverse = np.zeros((3, 3))
    count, rms = 0, 0.0
    for reach in reaches:
        a00, a01, a11, a02, a12, a22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        b0, b1, b2, total = 0.0, 0.0, 0.0, 0.0
        count = 0
        low, high = max(0.0, size - reach - 0.8) ** 2, (size + reach + 0.8) ** 2
        first, stop = _span(outline, y, size + reach + 1.3)
        for k in range(first, stop):
            if not free[k]:
                continue
            dx, dy = places[k, 0] + 0.5 - x, places[k, 1] + 0.5 - y
            away2 = dx * dx + dy * dy
            if away2 < low or away2 > high or away2 == 0.0:
                continue
            away = math.sqrt(away2)
            nx, ny = dx / away, dy / away
            if nx * normals[k, 0] + ny * normals[k, 1] < _ALONG:
                continue
            off = away + edge_distance(share[k], nx, ny) - size
            if abs(off) > reach + 0.3:
                continue
            off -= drawn_outside(profile, dx, dy)
            if abs(off) > reach:
                continue
            count += 1
            total += off * off
            a00 += nx * nx
            a01 += nx * ny
            a11 += ny * ny
            a02 += nx
            a12 += ny
            b0 += nx * off
            b1 += ny * off
            b2 += off
        a22 = float(count)
        if count < 3:
            return np.array((x, y)), size, 0, 0.0, inverse
        rms = math.sqrt(total / count)
        if loose:
            m = np.array(((a00, a01, a02), (a01, a11, a12), (a02, a12, a22)))
            if abs(np.linalg.det(m)) < 1e-9 * count**3:
                return np.array((x, y)), size, 0, 0.0, inverse
            inverse = np.linalg.inv(m)
            step = inverse @ np.array((b0, b1, b2))
            size += step[2]
        else:
            det = a00 * a11 - a01 * a01
            if det < 1e-6 * count * count:
                return np.array((x, y)), size, 0, 0.0, inverse
            inverse[0, 0], inverse[1, 1] = a11 / det, a00 / det
            inverse[0, 1] = inverse[1, 0] = -a01 / det
            step = np.array(
                (inverse[0, 0] * b0 + inverse[0, 1] * b1, inverse[0, 1] * b0 + inverse[1, 1] * b1)
            )
        length = math.sqrt(step[0] ** 2 + step[1] ** 2)
        scale = min(1.0, 3.0 / length) if length > 0.0 else 1.0  # no leaps
        x += scale * step[0]
        y += scale * step[1]
        if size <= 0.5:
            return np.array((x, y)), size, 0, 0.0, inverse
    return np.array((x, y)), size, count, rms, inverse


@njit(cache=True)
def take(outline, free, middle, radius, profile, reach, owner, number):
    """Give the free pixels within `reach` of a circle to it; the share of its outline they show.

    That is the share of equal pieces of the outline, some 2 px each, that hold one.
    """
    places, share, normals = outline.places, outline.share, outline.normals
    pieces = max(8, int(math.pi * radius))
    seen = np.zeros(pieces, np.bool_)
    low, high = max(0.0, radius - reach - 0.8) ** 2, (radius + reach + 0.8) ** 2
    first, stop = _span(outline, middle[1], radius + reach + 1.3)
    for k in range(first, stop):
        if not free[k]:
            continue
        dx, dy = places[k, 0] + 0.5 - middle[0], places[k, 1] + 0.5 - middle[1]
        away2 = dx * dx + dy * dy
        if away2 < low or away2 > high or away2 == 0.0:
            continue
        away = math.sqrt(away2)
        nx, ny = dx / away, dy / away
        if nx * normals[k, 0] + ny * normals[k, 1] < _ALONG:
            continue
        off = away + edge_distance(share[k], nx, ny) - radius
        if abs(off - drawn_outside(profile, dx, dy)) > reach:
            continue
        free[k] = False
        owner[k] = number
        turn = (math.atan2(dy, dx) / (2.0 * math.pi)) % 1.0
        seen[min(pieces - 1, int(turn * pieces))] = True
    return seen.sum() / pieces


@njit(cache=True)
def find_discs(outline, offsets, radius, profile, shape, least, ring):
    """Discs of one fill and radius, the one with the most edge pixels first; each takes its own.

    Parameters
    ----------
    outline : Outline
    offsets : (n,) float64
        Distance of the edge from the pixel's middle along its normal, px.
    radius : float
        Of the inner edge of the outline, px.
    profile
        See `fit_circle`.
    shape
        Height and width of the picture, px.
    least : int
        Edge pixels that a disc must have.
    ring : float
        Least share of its outline that must be seen.

    Returns
    -------
    middles : (m, 2) float64
        px.
    counts : (m,) int64
        Edge pixels of each.
    rms : (m,) float64
        Of their distances from the circle, px.
    inverses : (m, 2, 2) float64
        Covariance of the middle for errors of 1 px of every pixel.
    visible : (m,) float64
        Share of the outline.
    """
    places, normals = outline.places, outline.normals
    n = len(offsets)
    free = np.ones(n, np.bool_)
    owner = np.full(n, -1, np.int64)
    votes = np.empty((n, 2))
    for k in range(n):
        votes[k, 0] = places[k, 0] + 0.5 + (offsets[k] - radius) * normals[k, 0]
        votes[k, 1] = places[k, 1] + 0.5 + (offsets[k] - radius) * normals[k, 1]
    found, visible = [], []
    last = _REACHES[3:]
    for _ in range(_ROUNDS):
        peaks, counts = vote_peaks(votes, free, shape, max(3, least // 2))
        middles = np.empty((len(peaks), 2))
        for m in range(len(peaks)):
            middle, _, count, _, _ = fit_circle(
                outline, free, peaks[m], radius, profile, _REACHES, False
            )
            far = (middle[0] - peaks[m, 0]) ** 2 + (middle[1] - peaks[m, 1]) ** 2 > 9.0
            middles[m] = middle
            counts[m] = 0 if far else count
        new = 0
        while len(peaks):
            m = int(np.argmax(counts))
            if counts[m] < least:
                break
            middle, _, count, _, _ = fit_circle(
                outline, free, middles[m], radius, profile, last, False
            )
            if count < counts[m] and count < 0.97 * counts[m]:
                middles[m], counts[m] = middle, count
                continue
            counts[m] = 0
            before = free.copy()
            part = take(outline, free, middle, radius, profile, 0.3, owner, len(found))
            if part < ring:
                free[:] = before
                continue
            found.append((middle[0], middle[1]))
            visible.append(part)
            new += 1
        if not new:
            break
    m = len(found)
    out = np.empty((m, 2))
    number, rms, inverses = np.zeros(m, np.int64), np.zeros(m), np.zeros((m, 2, 2))
    seen = np.zeros(m)
    for d in range(m):
        own = owner == d
        middle, _, count, error, inverse = fit_circle(
            outline, own, np.array(found[d]), radius, profile, last, False
        )
        reach = max(0.03, 3.0 * error)
        middle, _, count, error, inverse = fit_circle(
            outline, own, middle, radius, profile, (reach, reach), False
        )
        out[d], number[d], rms[d] = middle, count, error
        inverses[d] = inverse[:2, :2]
        seen[d] = visible[d]
    return out, number, rms, inverses, seen
