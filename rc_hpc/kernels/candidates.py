"""Candidates of all independent pairs of orthographic cameras at once.

What enters the search is, per view and species, a set of screen points. Two rays of one
species can meet within `reach` only if their heights along the pair's common normal agree
within it, so sorting by that height replaces the loop over all pairs of points.
"""

import numpy as np
from numba import njit

from rc_hpc.kernels.compiled import inner, kernel
from rc_hpc.kernels.grid import GRID_POINTS, make_grid, nearest_in_grid
from rc_hpc.kernels.records import Candidates
from rc_hpc.kernels.search import (
    MANY,
    bound_from,
    bounds_table,
    first_as_near,
    height2,
    height3,
    height_scale,
    lower_bound,
    nearest2_from,
    nearest3,
    stable_order,
)


@kernel
def normal_heights(points, pairs, screen_normal):
    """Heights of the image points along each pair's common normal, and their sorted order.

    Parameters
    ----------
    points : SortedPoints
    pairs, screen_normal
        See `rc_hpc.kernels.records.Cameras` and `PairFrames`.

    Returns
    -------
    heights : (P, 2, n) float64
    order : (P, 2, n) int64
        Within each species the view's image points by ascending height.
    """
    screen, view_starts = points.screen, points.starts
    n_pairs = pairs.shape[0]
    heights = np.empty((n_pairs, 2, screen.shape[1]))
    order = np.empty((n_pairs, 2, screen.shape[1]), np.int64)
    for p in range(n_pairs):
        for side in range(2):
            v = pairs[p, side]
            for k in range(view_starts[v, -1]):
                heights[p, side, k] = (
                    screen[v, k, 0] * screen_normal[p, side, 0]
                    + screen[v, k, 1] * screen_normal[p, side, 1]
                )
            for s in range(view_starts.shape[1] - 1):
                low, high = view_starts[v, s], view_starts[v, s + 1]
                ranks = stable_order(heights[p, side, low:high])
                for k in range(high - low):
                    order[p, side, low + k] = low + ranks[k]
    return heights, order


@inner
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


@kernel
def count_candidates(along, order, view_starts, pairs, reach):
    """Candidates per pair and species, (P, S) int64, with a gap of at most `reach` Å.

    Parameters
    ----------
    along, order
        From `normal_heights`.
    view_starts, pairs
        See `rc_hpc.kernels.records.SortedPoints` and `Cameras`.
    """
    n_species = view_starts.shape[1] - 1
    counts = np.zeros((pairs.shape[0], n_species), np.int64)
    nothing = np.empty(0, np.int64)
    for p in range(pairs.shape[0]):
        v, w = pairs[p, 0], pairs[p, 1]
        for s in range(n_species):
            counts[p, s] = _window(
                along[p, 0],
                order[p, 0, view_starts[v, s] : view_starts[v, s + 1]],
                along[p, 1],
                order[p, 1, view_starts[w, s] : view_starts[w, s + 1]],
                reach,
                nothing,
                nothing,
            )
    return counts


@njit(cache=True, inline="always")
def _midpoint(screen, along, pairs, frames, p, i, j):
    """Midpoint of closest approach of the rays of points i and j of the two views of pair p."""
    v, w = pairs[p, 0], pairs[p, 1]
    normal, side, dual = frames.normal, frames.screen_side, frames.dual
    middle = 0.5 * (along[p, 0, i] + along[p, 1, j])
    a = screen[v, i, 0] * side[p, 0, 0] + screen[v, i, 1] * side[p, 0, 1]
    b = screen[w, j, 0] * side[p, 1, 0] + screen[w, j, 1] * side[p, 1, 1]
    return (
        middle * normal[p, 0] + a * dual[p, 0, 0] + b * dual[p, 1, 0],
        middle * normal[p, 1] + a * dual[p, 0, 1] + b * dual[p, 1, 1],
        middle * normal[p, 2] + a * dual[p, 0, 2] + b * dual[p, 1, 2],
    )


@kernel
def fill_distances(places, atoms, s, distance):
    """Distance of each place (m, 3) to the nearest atom of species s, into `distance`."""
    low, high = atoms.starts[s], atoms.starts[s + 1]
    positions, heights = atoms.positions, atoms.heights
    if high - low < GRID_POINTS:
        for k in range(places.shape[0]):
            distance[k] = nearest3(
                heights, positions, low, high, places[k, 0], places[k, 1], places[k, 2]
            )
        return
    grid = make_grid(positions[low:high])
    for k in range(places.shape[0]):
        distance[k] = nearest_in_grid(grid, places[k, 0], places[k, 1], places[k, 2])


@kernel
def candidate_distances(candidates, atoms):
    """Distance of each candidate to the nearest true atom of its species, (C,) float64, Å."""
    species = candidates.species
    distance = np.empty(species.size)
    begin = 0
    for s in range(atoms.starts.size - 1):
        end = begin
        while end < species.size and species[end] == s:
            end += 1
        fill_distances(candidates.position[begin:end], atoms, s, distance[begin:end])
        begin = end
    return distance


@kernel
def fill_candidates(points, heights_and_order, cameras, frames, counts, reach, by_atom, tie):
    """Enumerate the counted candidates with their residuals.

    Parameters
    ----------
    points : SortedPoints
    heights_and_order
        From `normal_heights`.
    cameras : Cameras
    frames : PairFrames
    counts : (P, S) int64
        From `count_candidates` at the same `reach`.
    reach : float
        Gap up to which candidates are listed and residuals are measured, Å.
    by_atom : bool
        Number the candidates of a pair by the first view's image point, then the second's.
    tie : float
        Of image points that are equally near within it the first is the nearest, Å.

    Returns
    -------
    Candidates
    """
    along, order = heights_and_order
    pairs, rotations = cameras.pairs, cameras.rotations
    screen, heights, view_starts, source = points
    n_views = screen.shape[0]
    n_species = view_starts.shape[1] - 1
    total = counts.sum()
    rays = np.empty((total, 3), np.int32)  # pair, first, second: together, since read together
    met_height = np.empty(total)
    begin = np.zeros(n_species + 1, np.int64)
    for s in range(n_species):
        begin[s + 1] = begin[s]
        for p in range(pairs.shape[0]):
            begin[s + 1] += counts[p, s]

    # First pass, by pair: which rays meet, in the order in which they are met.
    c = 0
    met_species = np.empty(total, np.int32)
    for p in range(pairs.shape[0]):
        v, w = pairs[p, 0], pairs[p, 1]
        for s in range(n_species):
            size = counts[p, s]
            if size == 0:
                continue
            first = np.empty(size, np.int64)
            second = np.empty(size, np.int64)
            _window(
                along[p, 0],
                order[p, 0, view_starts[v, s] : view_starts[v, s + 1]],
                along[p, 1],
                order[p, 1, view_starts[w, s] : view_starts[w, s + 1]],
                reach,
                first,
                second,
            )
            if by_atom:
                key = np.empty(size)  # exact: far below 2^53
                for k in range(size):
                    key[k] = source[v, first[k]] * source.shape[1] + source[w, second[k]]
                ranks = stable_order(key)
                first, second = first[ranks], second[ranks]
            for k in range(size):
                i, j = first[k], second[k]
                x, y, z = _midpoint(screen, along, pairs, frames, p, i, j)
                met_species[c] = s
                rays[c, 0], rays[c, 1], rays[c, 2] = p, i, j
                met_height[c] = height3(x, y, z)
                c += 1

    # Second pass, sorted by species and height: where they meet and how well.
    met = np.empty(total, np.int64)
    cursor = begin.copy()
    for c in range(total):
        met[cursor[met_species[c]]] = c
        cursor[met_species[c]] += 1
    pair = np.empty(total, np.int32)
    own_points = np.empty((total, 2), np.int32)
    species = np.empty(total, np.int32)
    position = np.empty((total, 3))
    height = np.empty(total)
    gap = np.empty(total)
    nothing = np.empty(0, np.int64)
    residual = np.empty((total, n_views))
    nearest = np.empty((total, n_views), np.int32)
    for s in range(n_species):
        own = met[begin[s] : begin[s + 1]].copy()
        ranks = stable_order(met_height[own])
        for c in range(begin[s], begin[s + 1]):
            m = own[ranks[c - begin[s]]]
            met[c] = m
            p, i, j = rays[m, 0], rays[m, 1], rays[m, 2]
            x, y, z = _midpoint(screen, along, pairs, frames, p, i, j)
            pair[c], own_points[c, 0], own_points[c, 1] = p, i, j
            species[c] = s
            position[c, 0], position[c, 1], position[c, 2] = x, y, z
            height[c] = met_height[m]
            gap[c] = abs(along[p, 0, i] - along[p, 1, j])
        for u in range(n_views):
            view_heights, view_points = heights[u], screen[u]
            low, high = view_starts[u, s], view_starts[u, s + 1]
            tabled = high - low >= MANY
            table, scale = nothing, 0.0
            if tabled:
                table = bounds_table(view_heights, low, high)
                scale = height_scale(view_heights, low, high)
            for c in range(begin[s], begin[s + 1]):
                x, y, z = position[c, 0], position[c, 1], position[c, 2]
                sx = x * rotations[u, 0, 0] + y * rotations[u, 1, 0] + z * rotations[u, 2, 0]
                sy = x * rotations[u, 0, 1] + y * rotations[u, 1, 1] + z * rotations[u, 2, 1]
                if pairs[pair[c], 0] == u:  # half a gap away
                    near = own_points[c, 0]
                elif pairs[pair[c], 1] == u:
                    near = own_points[c, 1]
                elif tabled:
                    near = bound_from(table, scale, view_heights, low, high, height2(sx, sy))
                else:
                    near = lower_bound(view_heights, low, high, height2(sx, sy))
                nearest[c, u], residual[c, u] = nearest2_from(
                    view_heights, view_points, low, high, near, sx, sy, reach
                )
                if nearest[c, u] > low:
                    limit = residual[c, u] + tie
                    nearest[c, u] = first_as_near(
                        view_heights, view_points, low, nearest[c, u], sx, sy, limit
                    )
    return Candidates(pair, species, met, position, height, gap, residual, nearest)
