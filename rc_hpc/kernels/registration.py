"""Pictures against drawings of them: what differs, and by how much strokes lie beside."""

import math

import numpy as np
from numba import njit


@njit(cache=True)
def differing(picture, drawn, levels):
    """Pixels some colour of which differs by more than `levels`, of pictures (H, W, 3) uint8."""
    count = 0
    for i in range(picture.shape[0]):
        for j in range(picture.shape[1]):
            for c in range(3):
                if abs(np.int64(picture[i, j, c]) - np.int64(drawn[i, j, c])) > levels:
                    count += 1
                    break
    return count


@njit(cache=True)
def rings(height, width, centres, radii, half):
    """Pixels within `half` px of the outlines of discs, (H, W) bool."""
    near = np.zeros((height, width), np.bool_)
    for k in range(radii.size):
        u, v, inner, outer = centres[k, 0], centres[k, 1], radii[k] - half, radii[k] + half
        for i in range(max(0, int(v - outer)), min(height, int(v + outer) + 1)):
            rise = i + 0.5 - v
            if abs(rise) > outer:
                continue
            far = math.sqrt(outer * outer - rise * rise)
            hole = math.sqrt(max(0.0, inner * inner - rise * rise)) if inner > 0.0 else 0.0
            for j in range(max(0, int(u - far)), min(width, int(u - hole) + 1)):
                near[i, j] = True
            for j in range(max(0, int(u + hole)), min(width, int(u + far) + 1)):
                near[i, j] = True
    return near


@njit(cache=True)
def stroke_shift(picture, drawn, masked, middles, halves, reach):
    """Normal equations of the shift that takes drawn strokes to those of the picture.

    Level and upright strokes tell nothing: the renderer moves them onto the middles of pixels.

    Parameters
    ----------
    picture, drawn : (H, W, 3) uint8
    masked : (H, W) bool
        Pixels that tell of other things.
    middles, halves : (m, 2) float64
        Of the strokes, px.
    reach : float
        Pixels this near a stroke take part, px.

    Returns
    -------
    left : (2, 2), right : (2,) float64
        Of the shift (u, v), px.
    """
    height, width = masked.shape
    left, right = np.zeros((2, 2)), np.zeros(2)
    used = masked.copy()
    for k in range(len(middles)):
        length = math.hypot(halves[k, 0], halves[k, 1])
        if length < 0.5 or min(abs(halves[k, 0]), abs(halves[k, 1])) < 1e-3:
            continue
        x, y = halves[k, 0] / length, halves[k, 1] / length
        wide = abs(halves[k, 0]) + reach
        high = abs(halves[k, 1]) + reach
        for i in range(
            max(1, int(middles[k, 1] - high)), min(height - 1, int(middles[k, 1] + high) + 1)
        ):
            for j in range(
                max(1, int(middles[k, 0] - wide)), min(width - 1, int(middles[k, 0] + wide) + 1)
            ):
                if used[i, j]:
                    continue
                run, rise = j + 0.5 - middles[k, 0], i + 0.5 - middles[k, 1]
                if abs(run * x + rise * y) > length + reach or abs(run * y - rise * x) > reach:
                    continue
                used[i, j] = True
                for c in range(3):
                    across = 0.5 * (float(drawn[i, j + 1, c]) - float(drawn[i, j - 1, c]))
                    down = 0.5 * (float(drawn[i + 1, j, c]) - float(drawn[i - 1, j, c]))
                    off = float(drawn[i, j, c]) - float(picture[i, j, c])
                    left[0, 0] += across * across
                    left[0, 1] += across * down
                    left[1, 1] += down * down
                    right[0] += across * off
                    right[1] += down * off
    left[1, 0] = left[0, 1]
    return left, right


@njit(cache=True)
def tie_votes(picture, drawn, turned, pairs, centres, radii):
    """Pixels that tell which of two tied discs was painted last, (k,) int64.

    Counted where a drawing and one with all ties turned round differ inside both discs: those
    where the picture is as the drawing, less those where it is as the other.

    Parameters
    ----------
    picture, drawn, turned : (H, W, 3) uint8
    pairs : (k, 2) int64
    centres : (n, 2), radii : (n,) float64
        px.
    """
    height, width = picture.shape[:2]
    votes = np.zeros(len(pairs), np.int64)
    for p in range(len(pairs)):
        a, b = pairs[p]
        top = max(centres[a, 1] - radii[a], centres[b, 1] - radii[b])
        end = min(centres[a, 1] + radii[a], centres[b, 1] + radii[b])
        left = max(centres[a, 0] - radii[a], centres[b, 0] - radii[b])
        right = min(centres[a, 0] + radii[a], centres[b, 0] + radii[b])
        for i in range(max(0, int(top)), min(height, int(end) + 1)):
            for j in range(max(0, int(left)), min(width, int(right) + 1)):
                inside = True
                for k in (a, b):
                    x, y = j + 0.5 - centres[k, 0], i + 0.5 - centres[k, 1]
                    if x * x + y * y > radii[k] * radii[k]:
                        inside = False
                if not inside:
                    continue
                as_drawn, as_turned, apart = 0, 0, 0
                for c in range(3):
                    p0, d0 = np.int64(picture[i, j, c]), np.int64(drawn[i, j, c])
                    t0 = np.int64(turned[i, j, c])
                    as_drawn = max(as_drawn, abs(p0 - d0))
                    as_turned = max(as_turned, abs(p0 - t0))
                    apart = max(apart, abs(d0 - t0))
                if apart > 16:
                    if as_drawn <= 8:
                        votes[p] += 1
                    elif as_turned <= 8:
                        votes[p] -= 1
    return votes
