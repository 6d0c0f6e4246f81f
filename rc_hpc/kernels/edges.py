"""Edges of flat areas in pictures, to fractions of a pixel.

Where a flat colour meets a black outline, the pixels between hold a mixture of both: the share of
the colour tells where in the pixel the edge runs (a straight one, the inverse of the area of a
square cut by a line), the pixels around tell its direction and its curvature.
"""

import math

import numpy as np
from numba import njit

#: Steps to the neighbours of a pixel, those that share a side first.
_STEPS = np.array(((0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)))

#: Cosines of the largest angle between the normals on one local circle; the second where the first
#: finds fewer pixels than a circle needs.
_CONES = (0.766, 0.174)
_LEAST_AROUND = 6


@njit(cache=True)
def fill_codes(pixels, table):
    """The fill that each pixel shows exactly, (height, width) uint8, and flat patches of each.

    Parameters
    ----------
    pixels : (height, width, 3) uint8
    table : (2 ** 24,) uint8
        Code of each colour; 0 is none.

    Returns
    -------
    codes : (height, width) uint8
    flat : (256,) int64
        Patches of 3 x 3 pixels of one code, by code.
    """
    height, width = pixels.shape[:2]
    codes = np.zeros((height, width), np.uint8)
    for i in range(height):
        for j in range(width):
            red, green, blue = pixels[i, j]
            codes[i, j] = table[(np.int64(red) << 16) | (np.int64(green) << 8) | np.int64(blue)]
    flat = np.zeros(256, np.int64)
    for i in range(1, height - 1):
        for j in range(1, width - 1):
            code = codes[i, j]
            if code and codes[i, j - 1] == code and codes[i, j + 1] == code:
                same = True
                for k in range(j - 1, j + 2):
                    same = same and codes[i - 1, k] == code and codes[i + 1, k] == code
                flat[code] += same
    return codes, flat


@njit(cache=True)
def share_of(pixel, fill, norm2, tolerance):
    """Share of a fill in a mixture with black; -1 where the pixel is none.

    Parameters
    ----------
    pixel : (3,) uint8
    fill : (3,) float64
        Colour, 0 to 255.
    norm2 : float
        Its squared length.
    tolerance : float
        Largest difference of a colour from the mixture, of 255.
    """
    share = (pixel[0] * fill[0] + pixel[1] * fill[1] + pixel[2] * fill[2]) / norm2
    if share > 1.0:
        return -1.0
    for c in range(3):
        if abs(pixel[c] - share * fill[c]) > tolerance:
            return -1.0
    return share


@njit(cache=True)
def edge_pixels(pixels, codes, wanted, fills, tolerance, least):
    """Pixels that hold a mixture of a fill beside them and black.

    Parameters
    ----------
    pixels, codes
        See `fill_codes`.
    wanted : (256,) bool
        Codes that count.
    fills : (256, 3) float64
        Colour of each code, 0 to 255.
    tolerance : float
        See `share_of`.
    least : float
        Least share of the fill, and of black.

    Returns
    -------
    places : (n, 2) int64
        Columns and rows.
    code : (n,) uint8
    share : (n,) float64
    normals : (n, 2) float64
        Unit vectors from the fill outwards (right, down), from the eight pixels around.
    """
    height, width = codes.shape
    places, code, share = [], [], []
    normals = []
    for i in range(1, height - 1):
        for j in range(1, width - 1):
            if codes[i, j] and wanted[codes[i, j]]:
                continue
            own = _fill_beside(codes, wanted, i, j)
            if not own:
                continue
            fill = fills[own]
            norm2 = fill[0] ** 2 + fill[1] ** 2 + fill[2] ** 2
            part = share_of(pixels[i, j], fill, norm2, tolerance)
            if part < least or part > 1.0 - least:
                continue
            x, y = 0.0, 0.0
            for s in range(8):
                di, dj = _STEPS[s]
                if codes[i + di, j + dj] == own:
                    there = 1.0
                else:
                    there = max(0.0, share_of(pixels[i + di, j + dj], fill, norm2, tolerance))
                weight = 10.0 if s < 4 else 3.0  # Scharr's
                x -= weight * dj * there
                y -= weight * di * there
            length = math.sqrt(x * x + y * y)
            if length == 0.0:
                continue
            places.append((j, i))
            code.append(own)
            share.append(part)
            normals.append((x / length, y / length))
    n = len(places)
    out_places, out_normals = np.empty((n, 2), np.int64), np.empty((n, 2))
    out_code, out_share = np.empty(n, np.uint8), np.empty(n)
    for k in range(n):
        out_places[k, 0], out_places[k, 1] = places[k]
        out_normals[k, 0], out_normals[k, 1] = normals[k]
        out_code[k], out_share[k] = code[k], share[k]
    return out_places, out_code, out_share, out_normals


@njit(cache=True)
def _fill_beside(codes, wanted, i, j):
    """Code of a wanted fill that shares a side with a pixel and is no lone pixel; 0: none."""
    height, width = codes.shape
    for s in range(4):
        a, b = i + _STEPS[s, 0], j + _STEPS[s, 1]
        code = codes[a, b]
        if not code or not wanted[code]:
            continue
        alike = 0
        for t in range(8):
            c, d = a + _STEPS[t, 0], b + _STEPS[t, 1]
            alike += 0 <= c < height and 0 <= d < width and codes[c, d] == code
        if alike >= 2:
            return code
    return np.uint8(0)


@njit(cache=True)
def edge_distance(share, x, y):
    """Where a straight edge cuts a pixel, px from its middle along the edge's normal.

    Inverse of the area of the unit square on the inner side of a line.

    Parameters
    ----------
    share : float
        Area on the inner side, 0 to 1.
    x, y : float
        Unit normal, outwards.
    """
    a, b = abs(x), abs(y)
    if a < b:
        a, b = b, a
    corner = b / (2.0 * a)  # area of the triangle before the line meets the next corner
    if share < corner:
        way = math.sqrt(2.0 * a * b * share)
    elif share <= 1.0 - corner:
        way = a * share + b / 2.0
    else:
        way = a + b - math.sqrt(2.0 * a * b * (1.0 - share))
    return way - (a + b) / 2.0


@njit(cache=True)
def edge_distances(share, normals):
    """`edge_distance` of each edge pixel, (n,) px."""
    found = np.empty(len(share))
    for k in range(len(share)):
        found[k] = edge_distance(share[k], normals[k, 0], normals[k, 1])
    return found


@njit(cache=True)
def outline_offsets(places, share, normals, centres, radius):
    """How far outside circles of one radius the edge runs.

    Parameters
    ----------
    places, share, normals
        See `edge_pixels`.
    centres : (n, 2) float64
        Middle of each pixel's circle, px.
    radius : float
        px.

    Returns
    -------
    turn : (n,) float64
        Direction from the middle, in eighths of a turn.
    off : (n,) float64
        px; infinite where the pixel's own normal does not point outwards.
    """
    turn, off = np.empty(len(share)), np.full(len(share), np.inf)
    for k in range(len(share)):
        dx, dy = places[k, 0] + 0.5 - centres[k, 0], places[k, 1] + 0.5 - centres[k, 1]
        away = math.sqrt(dx * dx + dy * dy)
        turn[k] = math.atan2(dy, dx) / (math.pi / 4.0)
        if away > 0.0 and dx * normals[k, 0] + dy * normals[k, 1] > 0.7 * away:
            off[k] = away + edge_distance(share[k], dx / away, dy / away) - radius
    return turn, off


@njit(cache=True)
def local_circles(places, code, share, normals, shape, reach):
    """Circle through the edge around each edge pixel: its normal there, and its radius.

    The least-squares circle (Kasa) through the edge in the pixels around of the same fill whose
    normals are within 40 degrees, or 80 on small circles, twice, with better normals the second
    time.

    Parameters
    ----------
    places, code, share, normals
        See `edge_pixels`.
    shape
        Height and width of the picture.
    reach : int
        Pixels around, along each axis.

    Returns
    -------
    normals : (n, 2) float64
        Outwards; as given where there are too few pixels around.
    radius : (n,) float64
        Of the circle, px; negative where its middle lies outside, 0 where there is none.
    residual : (n,) float64
        Root mean square distance from the circle, px.
    """
    n = len(code)
    index = np.full(shape, -1, np.int32)
    for k in range(n):
        index[places[k, 1], places[k, 0]] = k
    found = normals.copy()
    radius, residual = np.zeros(n), np.zeros(n)
    near = np.empty(((2 * reach + 1) ** 2, 2))
    for _ in range(2):
        before = found.copy()
        for k in range(n):
            nx, ny = before[k]
            count = 0
            for cosine in _CONES:
                count = _edge_around(places, code, share, before, index, k, reach, cosine, near)
                if count >= _LEAST_AROUND:
                    break
            if count < _LEAST_AROUND:
                radius[k] = 0.0
                continue
            x, y, size, rms = circle_through(near[:count])
            if size == 0.0:
                radius[k] = 0.0
                continue
            off = edge_distance(share[k], nx, ny)
            ux, uy = off * nx - x, off * ny - y
            length = math.sqrt(ux * ux + uy * uy)
            sign = 1.0 if ux * nx + uy * ny > 0.0 else -1.0
            found[k, 0], found[k, 1] = sign * ux / length, sign * uy / length
            radius[k], residual[k] = sign * size, rms
    return found, radius, residual


@njit(cache=True)
def _edge_around(places, code, share, normals, index, k, reach, cosine, near):
    """Put the edge around pixel k into `near`, px from its middle; the number of its points."""
    nx, ny = normals[k]
    column, row = places[k]
    count = 0
    for i in range(max(0, row - reach), min(index.shape[0], row + reach + 1)):
        for j in range(max(0, column - reach), min(index.shape[1], column + reach + 1)):
            m = index[i, j]
            if m < 0 or code[m] != code[k]:
                continue
            ax, ay = normals[m]
            along = ax * nx + ay * ny
            if along < cosine:
                continue
            off = edge_distance(share[m], ax, ay)
            px, py = j - column + off * ax, i - row + off * ay
            # Along the normal the edge bends away by less than this.
            if abs(px * nx + py * ny) > 1.5 + (1.0 - 0.7 * cosine) * abs(py * nx - px * ny):
                continue
            near[count, 0], near[count, 1] = px, py
            count += 1
    return count


@njit(cache=True)
def circle_through(points):
    """Least-squares circle (Kasa): its middle, radius and root mean square distance.

    A radius of 0 says that the points lie on a line.
    """
    n = len(points)
    mx, my = 0.0, 0.0
    for k in range(n):
        mx += points[k, 0]
        my += points[k, 1]
    mx /= n
    my /= n
    xx, xy, yy, xz, yz, zz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(n):
        x, y = points[k, 0] - mx, points[k, 1] - my
        z = x * x + y * y
        xx += x * x
        xy += x * y
        yy += y * y
        xz += x * z
        yz += y * z
        zz += z
    det = xx * yy - xy * xy
    if det <= 1e-9 * (xx + yy) ** 2:
        return 0.0, 0.0, 0.0, 0.0
    x, y = (xz * yy - yz * xy) / (2.0 * det), (yz * xx - xz * xy) / (2.0 * det)
    radius = math.sqrt(x * x + y * y + zz / n)
    total = 0.0
    for k in range(n):
        away = math.sqrt((points[k, 0] - mx - x) ** 2 + (points[k, 1] - my - y) ** 2) - radius
        total += away * away
    return x + mx, y + my, radius, math.sqrt(total / n)
