"""Candidates of pinhole cameras, alone or together with orthographic ones.

An image point is a ray: from the camera's centre, or for an orthographic camera along its
direction. All lengths are taken in space, in Å, so that they mean the same for both kinds:
the gap of two rays is the distance of their lines, the residual of a place in a view its
distance from the ray of the nearest image point. Every pair of image points of a species is
looked at; what rejects it first is the epipolar residual, one triple product.
"""

import math

import numpy as np

from rc_hpc.kernels.compiled import inner, kernel
from rc_hpc.kernels.points import shown_by_all, sort_points, species_ranges
from rc_hpc.kernels.records import Candidates, Enumerated, Projection, Rays
from rc_hpc.kernels.search import height2, height3, lower_bound, sort_in_space, stable_order

#: Sine of the angle below which two rays fix no point: the atom lies on the line of both cameras.
PARALLEL_RAYS = 1e-6


@kernel
def project_pinhole(positions, rotations, pinholes):
    """Images of positions (n, 3).

    Parameters
    ----------
    rotations : (V, 3, 3) float64
    pinholes : Pinholes

    Returns
    -------
    screen : (V, n, 2), depth : (V, n)
        Å; depth is how far in front of a pinhole camera, inf for the others.
    """
    n_views, n = rotations.shape[0], positions.shape[0]
    screen = np.empty((n_views, n, 2))
    depth = np.full((n_views, n), np.inf)
    for v in range(n_views):
        for k in range(n):
            screen[v, k, 0], screen[v, k, 1], depth[v, k] = _image(
                positions[k, 0],
                positions[k, 1],
                positions[k, 2],
                rotations[v],
                pinholes.centres[v],
                pinholes.pinhole[v],
                pinholes.focal[v],
            )
    return screen, depth


@inner
def _image(x, y, z, rotation, centre, pinhole, focal):
    """Screen coordinates and depth of one place."""
    if pinhole:
        x, y, z = x - centre[0], y - centre[1], z - centre[2]
    right = x * rotation[0, 0] + y * rotation[1, 0] + z * rotation[2, 0]
    up = x * rotation[0, 1] + y * rotation[1, 1] + z * rotation[2, 1]
    if not pinhole:
        return right, up, np.inf
    depth = -(x * rotation[0, 2] + y * rotation[1, 2] + z * rotation[2, 2])
    scale = focal / depth if depth != 0.0 else np.inf
    return right * scale, up * scale, depth


@inner
def rays_of(points, rotations, pinholes):
    """Rays of image points.

    Parameters
    ----------
    points : SortedPoints
    rotations : (V, 3, 3) float64
    pinholes : Pinholes

    Returns
    -------
    Rays
    """
    screen, (centres, pinhole, focal) = points.screen, pinholes
    n_views, n = screen.shape[0], screen.shape[1]
    origin, direction = np.zeros((n_views, n, 3)), np.zeros((n_views, n, 3))
    for v in range(n_views):
        for k in range(points.starts[v, -1]):
            length = 1.0
            if pinhole[v]:
                length = math.sqrt(focal[v] ** 2 + screen[v, k, 0] ** 2 + screen[v, k, 1] ** 2)
            for axis in range(3):
                side = (
                    screen[v, k, 0] * rotations[v, axis, 0]
                    + screen[v, k, 1] * rotations[v, axis, 1]
                )
                if pinhole[v]:
                    origin[v, k, axis] = centres[v, axis]
                    direction[v, k, axis] = (side - focal[v] * rotations[v, axis, 2]) / length
                else:
                    origin[v, k, axis] = side
                    direction[v, k, axis] = -rotations[v, axis, 2]
    return Rays(origin, direction, pinhole)


@inner
def _meeting(origin_a, direction_a, origin_b, direction_b, ahead_a, ahead_b, reach):
    """Gap of two rays and the middle between them, (gap, x, y, z); a gap beyond `reach` is inf.

    `ahead_a`, `ahead_b` say that the middle must lie in front of that ray's origin.
    """
    ax, ay, az = direction_a[0], direction_a[1], direction_a[2]
    bx, by, bz = direction_b[0], direction_b[1], direction_b[2]
    ox, oy, oz = origin_b[0] - origin_a[0], origin_b[1] - origin_a[1], origin_b[2] - origin_a[2]
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    sine2 = nx * nx + ny * ny + nz * nz
    triple = ox * nx + oy * ny + oz * nz
    if sine2 < PARALLEL_RAYS * PARALLEL_RAYS or triple * triple > reach * reach * sine2 * (
        1.0 + 1e-12
    ):
        return np.inf, 0.0, 0.0, 0.0
    gap = abs(triple) / math.sqrt(sine2)
    # s = (o x b) . n / n^2 along a, t = (o x a) . n / n^2 along b
    s = ((oy * bz - oz * by) * nx + (oz * bx - ox * bz) * ny + (ox * by - oy * bx) * nz) / sine2
    t = ((oy * az - oz * ay) * nx + (oz * ax - ox * az) * ny + (ox * ay - oy * ax) * nz) / sine2
    if gap > reach or (ahead_a and s <= 0.0) or (ahead_b and t <= 0.0):
        return np.inf, 0.0, 0.0, 0.0
    return (
        gap,
        0.5 * (origin_a[0] + s * ax + origin_b[0] + t * bx),
        0.5 * (origin_a[1] + s * ay + origin_b[1] + t * by),
        0.5 * (origin_a[2] + s * az + origin_b[2] + t * bz),
    )


@inner
def _meet(p, s, view_starts, pairs, rays, reach, first, second):
    """Count the pairs of points of a species whose rays meet; list them where there is room."""
    v, w = pairs[p, 0], pairs[p, 1]
    origin, direction, ahead = rays
    count = 0
    for i in range(view_starts[v, s], view_starts[v, s + 1]):
        for j in range(view_starts[w, s], view_starts[w, s + 1]):
            gap = _meeting(
                origin[v, i],
                direction[v, i],
                origin[w, j],
                direction[w, j],
                ahead[v],
                ahead[w],
                reach,
            )[0]
            if gap <= reach:
                if count < first.size:
                    first[count], second[count] = i, j
                count += 1
    return count


@inner
def count_meetings(view_starts, pairs, rays, reach):
    """Candidates per pair and species, (P, S) int64, with a gap of at most `reach` Å."""
    n_species = view_starts.shape[1] - 1
    counts = np.zeros((pairs.shape[0], n_species), np.int64)
    nothing = np.empty(0, np.int64)
    for p in range(pairs.shape[0]):
        for s in range(n_species):
            counts[p, s] = _meet(p, s, view_starts, pairs, rays, reach, nothing, nothing)
    return counts


@inner
def nearest_ray(place, u, s, rotation, pinholes, points, rays, reach, tie):
    """Nearest ray of the image points of a species in view u within `reach` of a place (x, y, z).

    Returns
    -------
    (row, distance)
        (-1, inf) where none is that near, or the place is not in front of the camera. Of
        those that are equally near within `tie` (Å) the first.
    """
    x, y, z = place
    centre, focal = pinholes.centres[u], pinholes.focal[u]
    screen_x, screen_y, depth = _image(x, y, z, rotation, centre, pinholes.pinhole[u], focal)
    if depth <= 0.0:
        return -1, np.inf
    window = reach
    # A ray this near deviates by an angle, and on the screen by most where it moves outwards.
    if pinholes.pinhole[u]:
        away = math.sqrt((x - centre[0]) ** 2 + (y - centre[1]) ** 2 + (z - centre[2]) ** 2)
        widest = math.acos(min(1.0, depth / away)) + math.asin(min(1.0, reach / away))
        window = np.inf
        if reach < away and widest < 1.57:
            window = focal * (
                math.tan(widest) - math.sqrt(max(0.0, away * away - depth * depth)) / depth
            )
    window = window * (1.0 + 1e-9) + 1e-9 * focal
    h = height2(screen_x, screen_y)
    heights, origin, direction = points.heights[u], rays.origin[u], rays.direction[u]
    low, high = points.starts[u, s], points.starts[u, s + 1]
    best, nearest = np.inf, -1
    begin = lower_bound(heights, low, high, h - window)
    for k in range(begin, high):
        if heights[k] > h + window:
            break
        d2 = _ray_distance2(x, y, z, origin[k], direction[k])
        if d2 < best:
            best, nearest = d2, k
    distance = math.sqrt(best)
    if distance > reach:
        return -1, np.inf
    for k in range(begin, nearest):
        if _ray_distance2(x, y, z, origin[k], direction[k]) <= (distance + tie) ** 2:
            return k, distance
    return nearest, distance


@inner
def _ray_distance2(x, y, z, origin, direction):
    """Square of the distance of a place from a ray."""
    px, py, pz = x - origin[0], y - origin[1], z - origin[2]
    dx, dy, dz = direction[0], direction[1], direction[2]
    cx, cy, cz = py * dz - pz * dy, pz * dx - px * dz, px * dy - py * dx
    return cx * cx + cy * cy + cz * cz


@inner
def fill_meetings(points, rays, cameras, pinholes, counts, reach, by_atom, tie):
    """Enumerate the counted candidates; see `rc_hpc.kernels.candidates.fill_candidates`."""
    pairs, view_starts, source = cameras.pairs, points.starts, points.source
    origin, direction, ahead = rays
    n_views, n_species, total = source.shape[0], view_starts.shape[1] - 1, counts.sum()
    pair_of, kinds = np.empty(total, np.int32), np.empty(total, np.int32)
    places, gaps, along = np.empty((total, 3)), np.empty(total), np.empty(total)
    c = 0
    for p in range(pairs.shape[0]):
        v, w = pairs[p, 0], pairs[p, 1]
        for s in range(n_species):
            first, second = np.empty(counts[p, s], np.int64), np.empty(counts[p, s], np.int64)
            _meet(p, s, view_starts, pairs, rays, reach, first, second)
            if by_atom:
                key = np.empty(first.size)  # exact: far below 2^53
                for k in range(first.size):
                    key[k] = source[v, first[k]] * source.shape[1] + source[w, second[k]]
                ranks = stable_order(key)
                first, second = first[ranks], second[ranks]
            for k in range(first.size):
                i, j = first[k], second[k]
                gaps[c], x, y, z = _meeting(
                    origin[v, i],
                    direction[v, i],
                    origin[w, j],
                    direction[w, j],
                    ahead[v],
                    ahead[w],
                    reach,
                )
                places[c, 0], places[c, 1], places[c, 2], along[c] = x, y, z, height3(x, y, z)
                pair_of[c], kinds[c] = p, s
                c += 1
    met = np.empty(total, np.int64)
    residual, nearest = np.empty((total, n_views)), np.empty((total, n_views), np.int32)
    begin = 0
    for s in range(n_species):
        own = np.flatnonzero(kinds == s)
        own = own[stable_order(along[own])]
        end = begin + own.size
        met[begin:end] = own
        for c in range(begin, end):
            place = (places[met[c], 0], places[met[c], 1], places[met[c], 2])
            for u in range(n_views):
                nearest[c, u], residual[c, u] = nearest_ray(
                    place, u, s, cameras.rotations[u], pinholes, points, rays, reach, tie
                )
        begin = end
    return Candidates(
        pair_of[met], kinds[met], met, places[met], along[met], gaps[met], residual, nearest
    )


@kernel
def project_pinhole_cell(positions, numbers, by_atom, rotations, pinholes):
    """As `rc_hpc.kernels.enumeration.project_cell`."""
    order, starts, species = species_ranges(numbers, by_atom)
    positions = positions[order]
    screen, _ = project_pinhole(positions, rotations, pinholes)
    return Projection(shown_by_all(screen, starts, species), sort_in_space(positions, starts))


@kernel
def enumerate_pinhole_points(images, by_atom, cameras, pinholes, limits):
    """As `rc_hpc.kernels.enumeration.enumerate_points`."""
    points = sort_points(images, not by_atom, limits.tie)
    rays = rays_of(points, cameras.rotations, pinholes)
    reach = limits.reach_max
    counts = count_meetings(points.starts, cameras.pairs, rays, reach)
    total = counts.sum()
    while total > limits.many and reach > limits.reach_min:
        reach = max(limits.reach_min, 0.5 * reach)
        counts = count_meetings(points.starts, cameras.pairs, rays, reach)
        total = counts.sum()
    if total > limits.too_many:
        counts[:] = 0
    candidates = fill_meetings(points, rays, cameras, pinholes, counts, reach, by_atom, limits.tie)
    return Enumerated(points, candidates), total, reach
