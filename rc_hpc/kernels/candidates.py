"""Image points and candidates of all independent pairs at once.

The correspondence is thrown away first: what enters the search is, per view and
species, a set of screen points. Two rays of one species can meet within `reach` only if
their heights along the pair's common normal agree within it, so sorting by that height
replaces the loop over all pairs of points.
"""

import numpy as np
from numba import njit

from rc_hpc.kernels.grid import GRID_POINTS, make_grid, nearest_in_grid
from rc_hpc.kernels.search import (
    height2,
    height3,
    lower_bound,
    nearest2_from,
    nearest3,
    stable_order,
)


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
            ranks = stable_order(local)
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
def normal_heights(points, view_starts, pair_views, screen_normal):
    """Heights of the image points along each pair's common normal, and their sorted order.

    Returns
    -------
    heights : (P, 2, n) float64
    order : (P, 2, n) int64
        Within each species the view's image points by ascending height.
    """
    n_pairs = pair_views.shape[0]
    heights = np.empty((n_pairs, 2, points.shape[1]))
    order = np.empty((n_pairs, 2, points.shape[1]), np.int64)
    for p in range(n_pairs):
        for side in range(2):
            v = pair_views[p, side]
            for k in range(view_starts[v, -1]):
                heights[p, side, k] = (
                    points[v, k, 0] * screen_normal[p, side, 0]
                    + points[v, k, 1] * screen_normal[p, side, 1]
                )
            for s in range(view_starts.shape[1] - 1):
                low, high = view_starts[v, s], view_starts[v, s + 1]
                ranks = stable_order(heights[p, side, low:high])
                for k in range(high - low):
                    order[p, side, low + k] = low + ranks[k]
    return heights, order


@njit(cache=True)
def _window(t_a, order_a, t_b, order_b, reach, out_a, out_b):
    """Count the point pairs whose heights agree within `reach`; list them where there is room."""
    slack = reach + 1e-12  # the bounds of the window round; the gap itself decides
    count = 0
    first = 0
    for a in order_a:
        t = t_a[a]
        while first < order_b.size and t_b[order_b[first]] < t - slack:
            first += 1
        m = first
        while m < order_b.size and t_b[order_b[m]] <= t + slack:
            if abs(t - t_b[order_b[m]]) <= reach:
                if count < out_a.size:
                    out_a[count] = a
                    out_b[count] = order_b[m]
                count += 1
            m += 1
    return count


@njit(cache=True)
def count_candidates(normal_height, normal_order, view_starts, pair_views, reach):
    """Candidates per pair and species, (P, S) int64, with a gap of at most `reach` Å."""
    n_species = view_starts.shape[1] - 1
    counts = np.zeros((pair_views.shape[0], n_species), np.int64)
    nothing = np.empty(0, np.int64)
    for p in range(pair_views.shape[0]):
        v, w = pair_views[p, 0], pair_views[p, 1]
        for s in range(n_species):
            counts[p, s] = _window(
                normal_height[p, 0],
                normal_order[p, 0, view_starts[v, s] : view_starts[v, s + 1]],
                normal_height[p, 1],
                normal_order[p, 1, view_starts[w, s] : view_starts[w, s + 1]],
                reach,
                nothing,
                nothing,
            )
    return counts


@njit(cache=True)
def _midpoint(points, normal_height, v, w, i, j, p, normal, side, dual):
    """Midpoint of closest approach of the rays of points i and j of the two views of pair p."""
    middle = 0.5 * (normal_height[p, 0, i] + normal_height[p, 1, j])
    a = points[v, i, 0] * side[p, 0, 0] + points[v, i, 1] * side[p, 0, 1]
    b = points[w, j, 0] * side[p, 1, 0] + points[w, j, 1] * side[p, 1, 1]
    return (
        middle * normal[p, 0] + a * dual[p, 0, 0] + b * dual[p, 1, 0],
        middle * normal[p, 1] + a * dual[p, 0, 1] + b * dual[p, 1, 1],
        middle * normal[p, 2] + a * dual[p, 0, 2] + b * dual[p, 1, 2],
    )


@njit(cache=True)
def fill_distances(places, atom_heights, atoms, low, high, distance):
    """Distance of each place (m, 3) to the nearest of the sorted atoms [low, high), into `distance`."""
    if high - low < GRID_POINTS:
        for k in range(places.shape[0]):
            distance[k] = nearest3(
                atom_heights, atoms, low, high, places[k, 0], places[k, 1], places[k, 2]
            )
        return
    corner, opposite, edge, shape, cells, inside = make_grid(atoms[low:high])
    for k in range(places.shape[0]):
        distance[k] = nearest_in_grid(
            corner, opposite, edge, shape, cells, inside, places[k, 0], places[k, 1], places[k, 2]
        )


@njit(cache=True)
def fill_candidates(
    points,
    heights,
    view_starts,
    atom,
    normal_height,
    normal_order,
    rotations,
    pair_views,
    normal,
    screen_side,
    dual,
    atoms,
    atom_heights,
    starts,
    counts,
    reach,
    by_atom,
):
    """Enumerate the counted candidates with residuals and distances.

    Parameters
    ----------
    points, heights, view_starts, atom
        From `image_points`.
    normal_height, normal_order
        From `normal_heights`.
    pair_views, normal, screen_side, dual
        Frames of the pairs, see `rc_hpc.geometry.pairs.PairFrames`.
    atoms, atom_heights, starts
        True atoms sorted by `sort_in_space`, for the distance.
    counts : (P, S) int64
        From `count_candidates` at the same `reach`.
    reach : float
        Gap up to which candidates are listed and residuals are measured, Å.
    by_atom : bool
        Number the candidates of a pair by the first view's atom, then the second's, as a
        double loop over the atoms meets them.

    Returns
    -------
    pair, species : (C,) int32
    met : (C,) int64
        When the candidate was met: by pair, then as `by_atom` says.
    position : (C, 3) float64
        Midpoint of closest approach of the two rays, Å. Candidates are sorted by species
        and along the generic direction.
    height : (C,) float64
        Coordinate along that direction, Å.
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
    met_pair = np.empty(total, np.int32)
    met_first = np.empty(total, np.int32)
    met_second = np.empty(total, np.int32)
    met_height = np.empty(total)
    begin = np.zeros(n_species + 1, np.int64)
    for s in range(n_species):
        begin[s + 1] = begin[s]
        for p in range(pair_views.shape[0]):
            begin[s + 1] += counts[p, s]

    # First pass, by pair: which rays meet, in the order in which they are met.
    c = 0
    met_species = np.empty(total, np.int32)
    for p in range(pair_views.shape[0]):
        v, w = pair_views[p, 0], pair_views[p, 1]
        for s in range(n_species):
            size = counts[p, s]
            if size == 0:
                continue
            first = np.empty(size, np.int64)
            second = np.empty(size, np.int64)
            _window(
                normal_height[p, 0],
                normal_order[p, 0, view_starts[v, s] : view_starts[v, s + 1]],
                normal_height[p, 1],
                normal_order[p, 1, view_starts[w, s] : view_starts[w, s + 1]],
                reach,
                first,
                second,
            )
            if by_atom:
                key = np.empty(size)  # exact: far below 2^53
                for k in range(size):
                    key[k] = atom[v, first[k]] * atom.shape[1] + atom[w, second[k]]
                ranks = stable_order(key)
                first, second = first[ranks], second[ranks]
            for k in range(size):
                i, j = first[k], second[k]
                x, y, z = _midpoint(points, normal_height, v, w, i, j, p, normal, screen_side, dual)
                met_pair[c] = p
                met_species[c] = s
                met_first[c] = i
                met_second[c] = j
                met_height[c] = height3(x, y, z)
                c += 1

    # Second pass, sorted by species and height: where they meet and how well.
    met = np.empty(total, np.int64)
    cursor = begin.copy()
    for c in range(total):
        met[cursor[met_species[c]]] = c
        cursor[met_species[c]] += 1
    pair = np.empty(total, np.int32)
    species = np.empty(total, np.int32)
    position = np.empty((total, 3))
    height = np.empty(total)
    gap = np.empty(total)
    residual = np.empty((total, n_views))
    nearest = np.empty((total, n_views), np.int32)
    distance = np.empty(total)
    for s in range(n_species):
        own = met[begin[s] : begin[s + 1]].copy()
        ranks = stable_order(met_height[own])
        for c in range(begin[s], begin[s + 1]):
            source = own[ranks[c - begin[s]]]
            met[c] = source
            p = met_pair[source]
            v, w = pair_views[p, 0], pair_views[p, 1]
            i, j = met_first[source], met_second[source]
            x, y, z = _midpoint(points, normal_height, v, w, i, j, p, normal, screen_side, dual)
            pair[c] = p
            species[c] = s
            position[c, 0], position[c, 1], position[c, 2] = x, y, z
            height[c] = met_height[source]
            gap[c] = abs(normal_height[p, 0, i] - normal_height[p, 1, j])
        for u in range(n_views):
            own_heights, own_points = heights[u], points[u]
            low, high = view_starts[u, s], view_starts[u, s + 1]
            for c in range(begin[s], begin[s + 1]):
                x, y, z = position[c, 0], position[c, 1], position[c, 2]
                sx = x * rotations[u, 0, 0] + y * rotations[u, 1, 0] + z * rotations[u, 2, 0]
                sy = x * rotations[u, 0, 1] + y * rotations[u, 1, 1] + z * rotations[u, 2, 1]
                if pair_views[pair[c], 0] == u:  # half a gap away
                    near = met_first[met[c]]
                elif pair_views[pair[c], 1] == u:
                    near = met_second[met[c]]
                else:
                    near = lower_bound(own_heights, low, high, height2(sx, sy))
                nearest[c, u], residual[c, u] = nearest2_from(
                    own_heights, own_points, low, high, near, sx, sy, reach
                )
        fill_distances(
            position[begin[s] : begin[s + 1]],
            atom_heights,
            atoms,
            starts[s],
            starts[s + 1],
            distance[begin[s] : begin[s + 1]],
        )
    return pair, species, met, position, height, gap, residual, nearest, distance
