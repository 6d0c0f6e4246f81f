"""Displacements that take a picture of a tiled cell to itself: images of the cell's vectors."""

import numpy as np
from numba import njit

from rc_hpc.kernels.copies import blank_within, nearest_mark


@njit(cache=True)
def carried(marks, blanks, strong, view, shift, blur, gate, allowed):
    """Whether a displacement takes each strong mark to a mark, one way or the other.

    In a block of two cells along a vector every disc has a copy at plus or at minus the vector,
    marked or covered.

    Parameters
    ----------
    strong : (n,) bool
    shift : (2,) float64
        px.
    blur : float
        Standard error of the displacement, px.
    gate : float
    allowed : float
        Share of the strong marks that may have no copy.

    Returns
    -------
    met : float
        Share of the strong marks whose copy is marked; -1 where the displacement fails.
    mean : (2,) float64
        Mean displacement of the marks that meet.
    """
    first, last = marks.starts[view, 0], marks.starts[view, -1]
    count = 0
    for m in range(first, last):
        count += strong[m]
    lost, met = 0, 0
    total = np.zeros(2)
    for s in range(marks.starts.shape[1] - 1):
        radius = blanks.radii[view, s] - blur
        for m in range(marks.starts[view, s], marks.starts[view, s + 1]):
            if not strong[m]:
                continue
            hidden, found = False, False
            for sign in (1.0, -1.0):
                u = marks.centres[m, 0] + sign * shift[0]
                v = marks.centres[m, 1] + sign * shift[1]
                row, _ = nearest_mark(marks, view, s, u, v, blur * blur, gate * gate)
                if row >= 0:
                    found = True
                    total[0] += sign * (marks.centres[row, 0] - marks.centres[m, 0])
                    total[1] += sign * (marks.centres[row, 1] - marks.centres[m, 1])
                    break
                if not hidden:
                    height, width = blanks.before.shape[1], blanks.before.shape[2] - 1
                    hidden = (
                        0.0 < u < width
                        and 0.0 < v < height
                        and blank_within(blanks.before[view], u, v, radius, blanks.most)
                        <= blanks.most
                    )
            if found:
                met += 1
            elif not hidden:
                lost += 1
                if lost > allowed * count:
                    return -1.0, shift
    if met == 0:
        return 0.0, shift
    return met / count, total / met


@njit(cache=True)
def displacements(marks, blanks, strong, view, species, most, blur, gate, allowed, least):
    """All displacements between marks of some species that take the picture to itself.

    Parameters
    ----------
    species : (k,) int64
        Whose pairs are tried, the first first, until `most` pairs are tried.
    blur, gate, allowed
        See `carried`.
    least : float
        Share of the strong marks that must meet a mark.

    Returns
    -------
    shifts : (m, 2) float64
        px, one of each sign.
    met : (m,) float64
    """
    shifts, shares = [np.zeros(2)], [0.0]
    tried = 0
    for s in species:
        if tried >= most:
            break
        low, high = marks.starts[view, s], marks.starts[view, s + 1]
        for i in range(low, high):
            if not strong[i]:
                continue
            for j in range(i + 1, high):
                if not strong[j]:
                    continue
                tried += 1
                shift = marks.centres[j] - marks.centres[i]
                if shift[0] < -1e-3 or (shift[0] < 1e-3 and shift[1] < 0.0):
                    shift = -shift
                if shift[0] * shift[0] + shift[1] * shift[1] < 1.0:
                    continue
                known = False
                for one in shifts[1:]:
                    if (one[0] - shift[0]) ** 2 + (one[1] - shift[1]) ** 2 < (3.0 * blur) ** 2:
                        known = True
                        break
                if known:
                    continue
                met, mean = carried(marks, blanks, strong, view, shift, blur, gate, allowed)
                if met >= least:
                    shifts.append(mean)
                    shares.append(met)
    found = np.empty((len(shifts) - 1, 2))
    for k in range(1, len(shifts)):
        found[k - 1] = shifts[k]
    return found, np.array(shares[1:])


@njit(cache=True)
def dash_scores(ink, dashes, gaps, planes, low, shape, step):
    """How well dashes laid at each offset lie on ink, and the gaps between them off it.

    Parameters
    ----------
    ink : (H, W) int8
        1 on ink that is no outline, -1 on blank pixels, else 0.
    dashes, gaps : (k, 2), (g, 2) float64
        Points of dashes and of the gaps between them from the offset, px.
    planes : (m, 3) float64
        Half planes ``u * c0 + v * c1 <= c2`` that the offset lies in, px.
    low : (2,) float64
        First offset that is tried, px.
    shape : (int, int)
        Offsets along u and v.
    step : float
        px.

    Returns
    -------
    (shape) float64
        Sum over the dashes of `ink`, less ink on the gaps; -inf outside the half planes.
    """
    height, width = ink.shape
    scores = np.full(shape, -np.inf)
    for a in range(shape[0]):
        for b in range(shape[1]):
            u, v = low[0] + a * step, low[1] + b * step
            inside = True
            for c in range(planes.shape[0]):
                if u * planes[c, 0] + v * planes[c, 1] > planes[c, 2]:
                    inside = False
                    break
            if not inside:
                continue
            score = 0.0
            for k in range(dashes.shape[0]):
                x, y = int(u + dashes[k, 0]), int(v + dashes[k, 1])
                if 0 <= x < width and 0 <= y < height:
                    score += ink[y, x]
                else:
                    score -= 1.0
            for k in range(gaps.shape[0]):
                x, y = int(u + gaps[k, 0]), int(v + gaps[k, 1])
                if 0 <= x < width and 0 <= y < height and ink[y, x] > 0:
                    score -= 1.0
            scores[a, b] = score
    return scores


@njit(cache=True)
def ink_of(dark, blank, centres, radii, half):
    """Ink that is no disc's outline, as `dash_scores` takes it, (H, W) int8.

    Parameters
    ----------
    dark, blank : (H, W) bool
    centres : (n, 2), radii : (n,)
        Of the marked discs, to the middle of the outline, px.
    half : float
        Half of the outline's width with its soft rim, px.
    """
    height, width = dark.shape
    ink = np.zeros((height, width), np.int8)
    for i in range(height):
        for j in range(width):
            if dark[i, j]:
                ink[i, j] = 1
            elif blank[i, j]:
                ink[i, j] = -1
    for k in range(radii.size):
        u, v, inner, outer = centres[k, 0], centres[k, 1], radii[k] - half, radii[k] + half
        for i in range(max(0, int(v - outer)), min(height, int(v + outer) + 1)):
            rise = i + 0.5 - v
            if abs(rise) > outer:
                continue
            far = np.sqrt(outer * outer - rise * rise)
            near = np.sqrt(max(0.0, inner * inner - rise * rise))
            for j in range(max(0, int(u - far)), min(width, int(u - near) + 1)):
                if ink[i, j] > 0:
                    ink[i, j] = 0
            for j in range(max(0, int(u + near)), min(width, int(u + far) + 1)):
                if ink[i, j] > 0:
                    ink[i, j] = 0
    return ink


@njit(cache=True)
def layer_shift(first, second, window, width, prior):
    """Shift that lays most layers of one picture on layers of another.

    Parameters
    ----------
    first, second : (n,), (m,) float64
        Heights of layers, each once, ascending.
    window : float
        Largest shift.
    width : float
        Within which two layers are one.
    prior : float
        Standard error of a shift about 0.

    Returns
    -------
    shift : float
        What is added to `second`.
    count : int
        Layers that meet.
    """
    apart = np.empty(first.size * second.size)
    n = 0
    for a in first:
        for b in second:
            if abs(a - b) <= window:
                apart[n] = a - b
                n += 1
    if n == 0:
        return 0.0, 0
    apart = np.sort(apart[:n])
    best, found, begin, count = -np.inf, 0.0, 0, 0
    end = 0
    for k in range(n):
        while apart[k] - apart[begin] > width:
            begin += 1
        while end < n and apart[end] - apart[k] <= width:
            end += 1
        mean = 0.0
        for e in range(begin, end):
            mean += apart[e]
        mean /= end - begin
        score = (end - begin) - 0.5 * (mean / prior) ** 2
        if score > best:
            best, found, count = score, mean, end - begin
    return found, count
