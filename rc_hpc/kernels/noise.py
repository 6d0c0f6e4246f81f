"""Correspondence of noisy image points: one point per view for every atom, each used once.

All functions work on the `Centroids` of one species. The fit of a tuple is the all-view
least-squares position; its misfit is the sum of the squared distances on the screens, Å^2.
"""

import numpy as np
from numba import njit


@njit(cache=True)
def fit_tuple(centroids, chosen):
    """Least-squares position of one point per view and its misfit.

    Parameters
    ----------
    centroids : Centroids
    chosen : (V,) int64

    Returns
    -------
    x, y, z, misfit : float
    """
    points, rotations, inverse = centroids
    a = b = c = square = 0.0
    for v in range(points.shape[0]):
        s, t = points[v, chosen[v], 0], points[v, chosen[v], 1]
        a += rotations[v, 0, 0] * s + rotations[v, 0, 1] * t
        b += rotations[v, 1, 0] * s + rotations[v, 1, 1] * t
        c += rotations[v, 2, 0] * s + rotations[v, 2, 1] * t
    x = inverse[0, 0] * a + inverse[0, 1] * b + inverse[0, 2] * c
    y = inverse[1, 0] * a + inverse[1, 1] * b + inverse[1, 2] * c
    z = inverse[2, 0] * a + inverse[2, 1] * b + inverse[2, 2] * c
    for v in range(points.shape[0]):
        s = (
            x * rotations[v, 0, 0]
            + y * rotations[v, 1, 0]
            + z * rotations[v, 2, 0]
            - points[v, chosen[v], 0]
        )
        t = (
            x * rotations[v, 0, 1]
            + y * rotations[v, 1, 1]
            + z * rotations[v, 2, 1]
            - points[v, chosen[v], 1]
        )
        square += s * s + t * t
    return x, y, z, square


@njit(cache=True)
def _nearest_free(points, free, v, x, y):
    """Nearest unused image point of view v."""
    best, nearest = np.inf, -1
    for k in range(points.shape[1]):
        if free[v, k]:
            dx, dy = points[v, k, 0] - x, points[v, k, 1] - y
            d2 = dx * dx + dy * dy
            if d2 < best:
                best, nearest = d2, k
    return nearest


@njit(cache=True)
def _complete(centroids, free, one, other, place, chosen, better):
    """Complete a pair of image points to a tuple, `chosen`; returns its misfit.

    The other views give the point nearest to the pair's position, then every view the
    point nearest to the fit, as long as that lowers the misfit.

    Parameters
    ----------
    one, other : (int, int)
        View and point of each of the two.
    place : (float, float, float)
        Where their rays meet, Å.
    chosen, better : (V,) int64
        The latter is a buffer.
    """
    points, rotations = centroids.screen, centroids.rotations
    x, y, z = place
    for u in range(points.shape[0]):
        if u == one[0]:
            chosen[u] = one[1]
        elif u == other[0]:
            chosen[u] = other[1]
        else:
            chosen[u] = _nearest_free(
                points,
                free,
                u,
                x * rotations[u, 0, 0] + y * rotations[u, 1, 0] + z * rotations[u, 2, 0],
                x * rotations[u, 0, 1] + y * rotations[u, 1, 1] + z * rotations[u, 2, 1],
            )
    x, y, z, misfit = fit_tuple(centroids, chosen)
    improving = True
    while improving:
        for u in range(points.shape[0]):
            better[u] = _nearest_free(
                points,
                free,
                u,
                x * rotations[u, 0, 0] + y * rotations[u, 1, 0] + z * rotations[u, 2, 0],
                x * rotations[u, 0, 1] + y * rotations[u, 1, 1] + z * rotations[u, 2, 1],
            )
        x, y, z, lower = fit_tuple(centroids, better)
        improving = lower < misfit
        if improving:
            misfit = lower
            for u in range(points.shape[0]):
                chosen[u] = better[u]
    return misfit


@njit(cache=True)
def best_tuples(centroids, pairs, frames, reach):
    """A first correspondence: tuples by ascending misfit, each image point used once.

    Candidates come from pairs of rays that meet within `reach`; what is left over is
    matched again with ten times that reach, and so on, until every point is used.

    Parameters
    ----------
    centroids : Centroids
    pairs : (P, 2) int64
        Pairs of views to start from.
    frames : PairFrames
    reach : float
        Å.

    Returns
    -------
    (n, V) int64
        The tuples in ascending order of their first view's point.
    """
    points = centroids.screen
    normal, screen_normal, screen_side, dual = frames
    n_views, n = points.shape[0], points.shape[1]
    free = np.ones((n_views, n), np.bool_)
    result = np.empty((n, n_views), np.int64)
    heights = np.empty((2, n))
    chosen, better = np.empty(n_views, np.int64), np.empty(n_views, np.int64)
    left = n
    while left > 0:
        capacity = 4 * left
        tuples = np.empty((capacity, n_views), np.int64)
        misfits = np.empty(capacity)
        count = 0
        for p in range(pairs.shape[0]):
            v, w = pairs[p, 0], pairs[p, 1]
            for k in range(n):
                heights[0, k] = (
                    points[v, k, 0] * screen_normal[p, 0, 0]
                    + points[v, k, 1] * screen_normal[p, 0, 1]
                )
                heights[1, k] = (
                    points[w, k, 0] * screen_normal[p, 1, 0]
                    + points[w, k, 1] * screen_normal[p, 1, 1]
                )
            for i in range(n):
                if not free[v, i]:
                    continue
                a = points[v, i, 0] * screen_side[p, 0, 0] + points[v, i, 1] * screen_side[p, 0, 1]
                for j in range(n):
                    if not free[w, j] or abs(heights[0, i] - heights[1, j]) > reach:
                        continue
                    b = (
                        points[w, j, 0] * screen_side[p, 1, 0]
                        + points[w, j, 1] * screen_side[p, 1, 1]
                    )
                    middle = 0.5 * (heights[0, i] + heights[1, j])
                    place = (
                        middle * normal[p, 0] + a * dual[p, 0, 0] + b * dual[p, 1, 0],
                        middle * normal[p, 1] + a * dual[p, 0, 1] + b * dual[p, 1, 1],
                        middle * normal[p, 2] + a * dual[p, 0, 2] + b * dual[p, 1, 2],
                    )
                    misfit = _complete(centroids, free, (v, i), (w, j), place, chosen, better)
                    if count == capacity:
                        capacity *= 2
                        more, more_misfits = (
                            np.empty((capacity, n_views), np.int64),
                            np.empty(capacity),
                        )
                        more[:count], more_misfits[:count] = tuples, misfits
                        tuples, misfits = more, more_misfits
                    tuples[count] = chosen
                    misfits[count] = misfit
                    count += 1
        for k in np.argsort(misfits[:count], kind="mergesort"):
            usable = True
            for v in range(n_views):
                usable = usable and free[v, tuples[k, v]]
            if usable:
                for v in range(n_views):
                    free[v, tuples[k, v]] = False
                result[n - left] = tuples[k]
                left -= 1
        reach *= 10.0
    return result[np.argsort(result[:, 0])]


@njit(cache=True)
def consistent_tuples(centroids, pairs, frames, p, reach, bound, most):
    """Every tuple whose misfit is at most a bound, found from one pair of views.

    Parameters
    ----------
    centroids : Centroids
    pairs : (P, 2) int64
    frames : PairFrames
    p : int
        The pair.
    reach : float
        Gap of the two rays, and distance of the other views' points from where these meet, Å.
    bound : float
        Å^2.
    most : int
        Tuples that are tried at most; none are returned where there are more.

    Returns
    -------
    tuples : (T, V) int64, misfits : (T,) float64
    """
    points, rotations = centroids.screen, centroids.rotations
    screen_normal, screen_side = frames.screen_normal[p], frames.screen_side[p]
    normal, dual = frames.normal[p], frames.dual[p]
    v, w = pairs[p, 0], pairs[p, 1]
    n_views, n = points.shape[0], points.shape[1]
    tuples, misfits = np.empty((64, n_views), np.int64), np.empty(64)
    options, sizes, at = (
        np.empty((n_views, n), np.int64),
        np.empty(n_views, np.int64),
        np.empty(n_views, np.int64),
    )
    chosen = np.empty(n_views, np.int64)
    count = tried = 0
    for i in range(n):
        high = points[v, i, 0] * screen_normal[0, 0] + points[v, i, 1] * screen_normal[0, 1]
        a = points[v, i, 0] * screen_side[0, 0] + points[v, i, 1] * screen_side[0, 1]
        for j in range(n):
            low = points[w, j, 0] * screen_normal[1, 0] + points[w, j, 1] * screen_normal[1, 1]
            if abs(high - low) > reach:
                continue
            b = points[w, j, 0] * screen_side[1, 0] + points[w, j, 1] * screen_side[1, 1]
            middle = 0.5 * (high + low)
            x = middle * normal[0] + a * dual[0, 0] + b * dual[1, 0]
            y = middle * normal[1] + a * dual[0, 1] + b * dual[1, 1]
            z = middle * normal[2] + a * dual[0, 2] + b * dual[1, 2]
            possible = True
            for u in range(n_views):
                sizes[u] = at[u] = 0
                if u == v or u == w:
                    options[u, 0] = i if u == v else j
                    sizes[u] = 1
                    continue
                s = x * rotations[u, 0, 0] + y * rotations[u, 1, 0] + z * rotations[u, 2, 0]
                t = x * rotations[u, 0, 1] + y * rotations[u, 1, 1] + z * rotations[u, 2, 1]
                for k in range(n):
                    if (points[u, k, 0] - s) ** 2 + (points[u, k, 1] - t) ** 2 <= reach * reach:
                        options[u, sizes[u]] = k
                        sizes[u] += 1
                possible = possible and sizes[u] > 0
            while possible:
                tried += 1
                if tried > most:
                    return tuples[:0], misfits[:0]
                for u in range(n_views):
                    chosen[u] = options[u, at[u]]
                misfit = fit_tuple(centroids, chosen)[3]
                if misfit <= bound:
                    if count == misfits.size:
                        more, more_misfits = (
                            np.empty((2 * count, n_views), np.int64),
                            np.empty(2 * count),
                        )
                        more[:count], more_misfits[:count] = tuples, misfits
                        tuples, misfits = more, more_misfits
                    tuples[count] = chosen
                    misfits[count] = misfit
                    count += 1
                u = 0
                while u < n_views:  # the next combination
                    at[u] += 1
                    if at[u] < sizes[u]:
                        break
                    at[u] = 0
                    u += 1
                possible = u < n_views
    return tuples[:count], misfits[:count]


@njit(cache=True)
def fit_tuples(centroids, tuples):
    """Positions (n, 3) and misfits (n,) of tuples (n, V)."""
    positions = np.empty((tuples.shape[0], 3))
    misfits = np.empty(tuples.shape[0])
    for k in range(tuples.shape[0]):
        positions[k, 0], positions[k, 1], positions[k, 2], misfits[k] = fit_tuple(
            centroids, tuples[k]
        )
    return positions, misfits


@njit(cache=True)
def reassignment_costs(centroids, tuples, v):
    """What giving atom k the point m of view v makes of its misfit, all else kept, (n, n).

    Returns
    -------
    costs : (n, n) float64
    settled : bool
        Whether every atom's own point is already its cheapest.
    """
    n = tuples.shape[0]
    costs = np.empty((n, n))
    chosen = np.empty(tuples.shape[1], np.int64)
    settled = True
    for k in range(n):
        chosen[:] = tuples[k]
        for m in range(n):
            chosen[v] = m
            costs[k, m] = fit_tuple(centroids, chosen)[3]
        for m in range(n):
            settled = settled and costs[k, tuples[k, v]] <= costs[k, m]
    return costs, settled
