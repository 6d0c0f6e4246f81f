"""Image points and candidates of all independent pairs at once.

The correspondence is thrown away first: what enters the search is, per view and
species, a set of screen points. Two rays of one species can meet within `reach` only if
their heights along the pair's common normal agree within it, so sorting by that height
replaces the loop over all pairs of points.
"""

import numpy as np
from numba import njit

from rc_hpc.kernels.search import height2, nearest2, nearest3


@njit(cache=True)
def project(positions, rotations):
    """Screen coordinates (V, n, 2) of positions (n, 3) under rotations (V, 3, 3)."""
    screen = np.empty((rotations.shape[0], positions.shape[0], 2))
    for v in range(rotations.shape[0]):
        for k in range(positions.shape[0]):
            for c in range(2):
                screen[v, k, c] = (
                    positions[k, 0] * rotations[v, 0, c]
                    + positions[k, 1] * rotations[v, 1, c]
                    + positions[k, 2] * rotations[v, 2, c]
                )
    return screen


@njit(cache=True)
def image_points(screen, starts, once, zero):
    """Image points per view, sorted along the generic direction within each species.

    Parameters
    ----------
    screen : (V, n, 2) float64
    starts : (S + 1,) int64
        Species ranges of the atoms.
    once : bool
        Count coincident points (within `zero`, Å) once, as a picture shows them.

    Returns
    -------
    points : (V, n, 2), heights : (V, n), starts : (V, S + 1), atom : (V, n)
        Only the first ``starts[v, S]`` rows of view v are used; `atom` is the lowest
        index of an atom drawn at the point.
    """
    n_views, n = screen.shape[0], screen.shape[1]
    points = np.empty((n_views, n, 2))
    heights = np.empty((n_views, n))
    atom = np.empty((n_views, n), np.int64)
    view_starts = np.zeros((n_views, starts.size), np.int64)
    for v in range(n_views):
        filled = 0
        for s in range(starts.size - 1):
            low = starts[s]
            size = starts[s + 1] - low
            local = np.empty(size)
            for k in range(size):
                local[k] = height2(screen[v, low + k, 0], screen[v, low + k, 1])
            ranks = np.argsort(local, kind="mergesort")
            begin = filled
            for k in range(size):
                source = low + ranks[k]
                x, y, h = screen[v, source, 0], screen[v, source, 1], local[ranks[k]]
                twin = -1
                if once:
                    m = filled - 1
                    while m >= begin and h - heights[v, m] <= zero:
                        dx, dy = points[v, m, 0] - x, points[v, m, 1] - y
                        if dx * dx + dy * dy <= zero * zero:
                            twin = m
                            break
                        m -= 1
                if twin >= 0:
                    atom[v, twin] = min(atom[v, twin], source)
                else:
                    points[v, filled, 0] = x
                    points[v, filled, 1] = y
                    heights[v, filled] = h
                    atom[v, filled] = source
                    filled += 1
            view_starts[v, s + 1] = filled
    return points, heights, view_starts, atom


@njit(cache=True)
def _normal_heights(points, low, high, direction):
    """Heights of the points [low, high) along a screen direction, and their sorting order."""
    t = np.empty(high - low)
    for k in range(low, high):
        t[k - low] = points[k, 0] * direction[0] + points[k, 1] * direction[1]
    return t, np.argsort(t, kind="mergesort")


@njit(cache=True)
def _window(t_a, order_a, t_b, order_b, reach, out_a, out_b, fill):
    """Count, and when `fill` list, the index pairs whose heights agree within `reach`."""
    slack = reach + 1e-12  # the bounds of the window round; the gap itself decides
    count = 0
    first = 0
    for a in range(order_a.size):
        t = t_a[order_a[a]]
        while first < order_b.size and t_b[order_b[first]] < t - slack:
            first += 1
        m = first
        while m < order_b.size and t_b[order_b[m]] <= t + slack:
            if abs(t - t_b[order_b[m]]) <= reach:
                if fill:
                    out_a[count] = order_a[a]
                    out_b[count] = order_b[m]
                count += 1
            m += 1
    return count


@njit(cache=True)
def count_candidates(points, view_starts, pair_views, screen_normal, reach):
    """Candidates per pair and species, (P, S) int64, with a gap of at most `reach` Å."""
    n_species = view_starts.shape[1] - 1
    counts = np.zeros((pair_views.shape[0], n_species), np.int64)
    nothing = np.empty(0, np.int64)
    for p in range(pair_views.shape[0]):
        v, w = pair_views[p, 0], pair_views[p, 1]
        for s in range(n_species):
            t_v, o_v = _normal_heights(points[v], view_starts[v, s], view_starts[v, s + 1], screen_normal[p, 0])
            t_w, o_w = _normal_heights(points[w], view_starts[w, s], view_starts[w, s + 1], screen_normal[p, 1])
            counts[p, s] = _window(t_v, o_v, t_w, o_w, reach, nothing, nothing, False)
    return counts


@njit(cache=True)
def fill_candidates(points, heights, view_starts, atom, rotations, pair_views, normal,
                    screen_normal, screen_side, dual, atoms, atom_heights, starts,
                    counts, reach, in_order):
    """Enumerate the counted candidates with residuals and distances.

    Parameters
    ----------
    points, heights, view_starts, atom
        From `image_points`.
    pair_views, normal, screen_normal, screen_side, dual
        Frames of the pairs, see `rc_hpc.geometry.pairs.PairFrames`.
    atoms, atom_heights, starts
        True atoms sorted by `sort_in_space`, for the distance.
    counts : (P, S) int64
        From `count_candidates` at the same `reach`.
    reach : float
        Gap up to which candidates are listed and residuals are measured, Å.
    in_order : bool
        List the candidates of a pair by the first view's atom, then the second's: the
        order in which a double loop over the atoms meets them.

    Returns
    -------
    pair, species : (C,) int32
    position : (C, 3) float64
        Midpoint of closest approach of the two rays, Å.
    gap : (C,) float64
        Distance of the two rays, Å.
    residual : (C, V) float64
        Distance to the nearest image point of the species in each view; inf beyond `reach`.
    nearest : (C, V) int32
        That point's index among the view's image points; -1 beyond `reach`.
    distance : (C,) float64
        Distance to the nearest true atom of the species, Å.
    """
    n_views = points.shape[0]
    n_species = starts.size - 1
    total = counts.sum()
    pair = np.empty(total, np.int32)
    species = np.empty(total, np.int32)
    position = np.empty((total, 3))
    gap = np.empty(total)
    residual = np.empty((total, n_views))
    nearest = np.empty((total, n_views), np.int32)
    distance = np.empty(total)
    c = 0
    for p in range(pair_views.shape[0]):
        v, w = pair_views[p, 0], pair_views[p, 1]
        for s in range(n_species):
            size = counts[p, s]
            if size == 0:
                continue
            low_v, low_w = view_starts[v, s], view_starts[w, s]
            t_v, o_v = _normal_heights(points[v], low_v, view_starts[v, s + 1], screen_normal[p, 0])
            t_w, o_w = _normal_heights(points[w], low_w, view_starts[w, s + 1], screen_normal[p, 1])
            first = np.empty(size, np.int64)
            second = np.empty(size, np.int64)
            _window(t_v, o_v, t_w, o_w, reach, first, second, True)
            if in_order:
                key = np.empty(size, np.int64)
                for k in range(size):
                    key[k] = atom[v, low_v + first[k]] * atom.shape[1] + atom[w, low_w + second[k]]
                ranks = np.argsort(key, kind="mergesort")
                first, second = first[ranks], second[ranks]
            for k in range(size):
                i, j = low_v + first[k], low_w + second[k]
                middle = 0.5 * (t_v[first[k]] + t_w[second[k]])
                a = points[v, i, 0] * screen_side[p, 0, 0] + points[v, i, 1] * screen_side[p, 0, 1]
                b = points[w, j, 0] * screen_side[p, 1, 0] + points[w, j, 1] * screen_side[p, 1, 1]
                x = middle * normal[p, 0] + a * dual[p, 0, 0] + b * dual[p, 1, 0]
                y = middle * normal[p, 1] + a * dual[p, 0, 1] + b * dual[p, 1, 1]
                z = middle * normal[p, 2] + a * dual[p, 0, 2] + b * dual[p, 1, 2]
                pair[c] = p
                species[c] = s
                position[c, 0], position[c, 1], position[c, 2] = x, y, z
                gap[c] = abs(t_v[first[k]] - t_w[second[k]])
                for u in range(n_views):
                    sx = x * rotations[u, 0, 0] + y * rotations[u, 1, 0] + z * rotations[u, 2, 0]
                    sy = x * rotations[u, 0, 1] + y * rotations[u, 1, 1] + z * rotations[u, 2, 1]
                    found, d = nearest2(heights[u], points[u], view_starts[u, s], view_starts[u, s + 1], sx, sy, reach)
                    residual[c, u] = d
                    nearest[c, u] = found
                distance[c] = nearest3(atom_heights, atoms, starts[s], starts[s + 1], x, y, z)
                c += 1
    return pair, species, position, gap, residual, nearest, distance
