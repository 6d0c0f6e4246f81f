"""Sites of a tiled cell against discs marked in pictures: which copies are met, which covered.

Every site of the cell is drawn once a tile. A copy is met where a disc of its species is marked,
covered where something else is painted all over its place, and contradicted where the picture
is blank inside its outline.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

#: What stands for a mark's row at a copy that is covered, and at one that is contradicted.
COVERED, CONTRADICTED = -1, -2


class MarkSet(NamedTuple):
    """Marked discs of V views, one view after the other, by species, then by u.

    Attributes
    ----------
    centres : (n, 2) float64
        u and v, px.
    covariance : (n, 3) float64
        uu, uv and vv, px^2.
    starts : (V, S + 1) int64
        Rows of each species in each view.
    reach : (V,) float64
        Largest standard error of a centre in each view, px.
    """

    centres: np.ndarray
    covariance: np.ndarray
    starts: np.ndarray
    reach: np.ndarray


class Lens(NamedTuple):
    """Where a tiled cell lies in V pictures.

    Attributes
    ----------
    rows : (V, 2, 3) float64
        A position's u and v are ``origins + rows @ position``, px.
    origins : (V, 2) float64
        px.
    shifts : (V, T, 2) float64
        From a site to its copy in each tile, px.
    sides : (V, 3, 4) float64
        Strips whose intersection is the cell's image: a normal (u, v), and the lowest and highest
        value along it from the origin, px; a normal of zeros bounds nothing.
    """

    rows: np.ndarray
    origins: np.ndarray
    shifts: np.ndarray
    sides: np.ndarray


class Blanks(NamedTuple):
    """Which pixels of V pictures are blank.

    Attributes
    ----------
    before : (V, height, width + 1) int32
        Blank pixels of the row to the left of each column's left edge.
    radii : (V, S) float64
        Of what a disc of each species paints for certain, px.
    most : int
        Blank pixels within a disc that do not yet contradict it.
    """

    before: np.ndarray
    radii: np.ndarray
    most: int


@njit(cache=True)
def blanks_before(blank):
    """Blank pixels to the left in each row, (H, W + 1) int32, of a bool picture (H, W)."""
    height, width = blank.shape
    before = np.zeros((height, width + 1), np.int32)
    for i in range(height):
        for j in range(width):
            before[i, j + 1] = before[i, j] + blank[i, j]
    return before


@njit(cache=True)
def blank_within(before, u, v, radius, most):
    """Blank pixels whose middles lie within `radius` of (u, v), px; counts little beyond `most`."""
    height, width = before.shape[0], before.shape[1] - 1
    count = 0
    for i in range(
        max(0, math.ceil(v - radius - 0.5)), min(height - 1, math.floor(v + radius - 0.5)) + 1
    ):
        rise = i + 0.5 - v
        half = math.sqrt(max(0.0, radius * radius - rise * rise))
        left = max(0, math.ceil(u - half - 0.5))
        right = min(width - 1, math.floor(u + half - 0.5))
        if right >= left:
            count += before[i, right + 1] - before[i, left]
            if count > most:
                break
    return count


@njit(cache=True)
def nearest_mark(marks, view, s, u, v, blur2, gate2):
    """Row of the mark of species s nearest to (u, v) and its misfit squared; (-1, inf) if none.

    Parameters
    ----------
    blur2 : float
        Variance of the place that is looked at, along either axis, px^2.
    gate2 : float
        Largest misfit squared, in units of the variance.
    """
    low, high = marks.starts[view, s], marks.starts[view, s + 1]
    reach = math.sqrt(gate2 * (blur2 + marks.reach[view] ** 2))
    end = high
    while low < end:
        middle = (low + end) // 2
        if marks.centres[middle, 0] < u - reach:
            low = middle + 1
        else:
            end = middle
    best, found = gate2, -1
    while low < high and marks.centres[low, 0] <= u + reach:
        y = marks.centres[low, 1] - v
        if abs(y) <= reach:
            x = marks.centres[low, 0] - u
            uu, uv, vv = marks.covariance[low]
            uu += blur2
            vv += blur2
            misfit = (x * x * vv - 2.0 * x * y * uv + y * y * uu) / (uu * vv - uv * uv)
            if misfit < best:
                best, found = misfit, low
        low += 1
    return found, best if found >= 0 else np.inf


@njit(cache=True)
def _copy(marks, blanks, view, s, u, v, blur2, gate2):
    """What is at one copy of a site: the row of the mark met, or why there is none."""
    row, misfit = nearest_mark(marks, view, s, u, v, blur2, gate2)
    if row >= 0:
        return row, misfit
    radius = blanks.radii[view, s] - math.sqrt(blur2)
    if blank_within(blanks.before[view], u, v, radius, blanks.most) > blanks.most:
        return CONTRADICTED, 0.0
    return COVERED, 0.0


@njit(cache=True)
def base_points(marks, lens, blanks, view, margin, blur, gate):
    """Where sites of the cell at the origin may lie in one picture.

    Each marked disc is a copy of a site in some tile. Of the tiles those stay whose site lies in
    the image of the cell and none of whose copies is contradicted; a site seen in many copies is
    told once.

    Parameters
    ----------
    view : int
    margin : float
        By which sites may lie outside the cell, px.
    blur : float
        Standard error of the shifts, px.
    gate : float
        Largest misfit, in standard errors.

    Returns
    -------
    places : (m, 2) float64
        px, by species.
    starts : (S + 1,) int64
    """
    n_species = marks.starts.shape[1] - 1
    tiles = lens.shifts.shape[1]
    places = np.empty((tiles * (marks.starts[view, -1] - marks.starts[view, 0]), 2))
    starts = np.zeros(n_species + 1, np.int64)
    filled = 0
    shifts, sides, origin = lens.shifts[view], lens.sides[view], lens.origins[view]
    for s in range(n_species):
        for m in range(marks.starts[view, s], marks.starts[view, s + 1]):
            for t in range(tiles):
                u = marks.centres[m, 0] - shifts[t, 0]
                v = marks.centres[m, 1] - shifts[t, 1]
                inside = True
                for k in range(3):
                    along = (u - origin[0]) * sides[k, 0] + (v - origin[1]) * sides[k, 1]
                    if along < sides[k, 2] - margin or along > sides[k, 3] + margin:
                        inside = False
                if not inside:
                    continue
                total_u, total_v, hits = 0.0, 0.0, 0
                for n in range(tiles):
                    row, _ = _copy(
                        marks,
                        blanks,
                        view,
                        s,
                        u + shifts[n, 0],
                        v + shifts[n, 1],
                        blur * blur,
                        gate * gate,
                    )
                    if row == CONTRADICTED or (row >= 0 and n < t and row != m):
                        inside = False
                        break
                    if row >= 0:
                        if row == m and n < t:
                            inside = False
                            break
                        total_u += marks.centres[row, 0] - shifts[n, 0]
                        total_v += marks.centres[row, 1] - shifts[n, 1]
                        hits += 1
                if inside and hits > 0:
                    places[filled, 0], places[filled, 1] = total_u / hits, total_v / hits
                    filled += 1
        starts[s + 1] = filled
    return places[:filled], starts


@njit(cache=True)
def support(positions, species, marks, lens, blanks, blur, gate, least):
    """What is at every copy of every site.

    Parameters
    ----------
    positions : (C, 3) float64
        Å.
    species : (C,) int64
    blur : (C,) float64
        Standard error of the places, px.
    gate : float
        Largest misfit, in standard errors.
    least : int
        Views in which a site must be met; one that cannot is not followed to the end.

    Returns
    -------
    rows : (C, V, T) int32
        Row of the mark met, or `COVERED`, or `CONTRADICTED`.
    score : (C,) float64
        Sum over the copies met of gate^2 minus the misfit squared; -inf where a copy is
        contradicted or too few views meet the site.
    """
    n_views, tiles = lens.shifts.shape[:2]
    rows = np.full((species.size, n_views, tiles), COVERED, np.int32)
    score = np.zeros(species.size)
    for c in range(species.size):
        views = 0
        for view in range(n_views):
            u, v = lens.origins[view, 0], lens.origins[view, 1]
            for axis in range(3):
                u += lens.rows[view, 0, axis] * positions[c, axis]
                v += lens.rows[view, 1, axis] * positions[c, axis]
            met = False
            for t in range(tiles):
                row, misfit = _copy(
                    marks,
                    blanks,
                    view,
                    species[c],
                    u + lens.shifts[view, t, 0],
                    v + lens.shifts[view, t, 1],
                    blur[c] * blur[c],
                    gate * gate,
                )
                rows[c, view, t] = row
                if row == CONTRADICTED:
                    score[c] = -np.inf
                elif row >= 0:
                    score[c] += gate * gate - misfit
                    met = True
            views += met
            if score[c] == -np.inf or views + n_views - 1 - view < least:
                score[c] = -np.inf
                break
    return rows, score


@njit(cache=True)
def refit(positions, rows, marks, lens):
    """Least-squares positions of sites from the marks that they meet, (C, 3), Å.

    Returns
    -------
    positions : (C, 3) float64
        Unmoved where the marks do not fix it.
    misfit : (C,) float64
        Sum of misfits squared after it, in units of the marks' variance.
    """
    moved = positions.copy()
    misfit = np.zeros(len(positions))
    n_views, tiles = lens.shifts.shape[:2]
    for c in range(len(positions)):
        left, right, square = np.zeros((3, 3)), np.zeros(3), 0.0
        for view in range(n_views):
            for t in range(tiles):
                m = rows[c, view, t]
                if m < 0:
                    continue
                uu, uv, vv = marks.covariance[m]
                det = uu * vv - uv * uv
                wa, wb, wc = vv / det, -uv / det, uu / det
                x = marks.centres[m, 0] - lens.origins[view, 0] - lens.shifts[view, t, 0]
                y = marks.centres[m, 1] - lens.origins[view, 1] - lens.shifts[view, t, 1]
                for i in range(3):
                    x -= lens.rows[view, 0, i] * positions[c, i]
                    y -= lens.rows[view, 1, i] * positions[c, i]
                square += wa * x * x + 2.0 * wb * x * y + wc * y * y
                for i in range(3):
                    a, b = lens.rows[view, 0, i], lens.rows[view, 1, i]
                    right[i] += a * (wa * x + wb * y) + b * (wb * x + wc * y)
                    for j in range(3):
                        p, q = lens.rows[view, 0, j], lens.rows[view, 1, j]
                        left[i, j] += a * (wa * p + wb * q) + b * (wb * p + wc * q)
        size = left[0, 0] + left[1, 1] + left[2, 2]
        if size > 0.0 and np.linalg.det(left / size) > 1e-9:
            step = np.linalg.solve(left, right)
            for i in range(3):
                moved[c, i] += step[i]
                square -= step[i] * right[i]
        misfit[c] = square
    return moved, misfit
