"""Which accepted candidates become atoms: the merge rules, each on one view subset.

Every function gets the accepted candidates of the subset as `live`: indices into the
candidate arrays, ascending, hence sorted by species and along the generic direction.
"""

import numpy as np
from numba import njit

from rc_hpc.kernels.search import stable_order


@njit(cache=True)
def worst_residuals(live, residual, views):
    """Largest residual of each live candidate over the subset's views."""
    worst = np.empty(live.size)
    for k in range(live.size):
        largest = 0.0
        for u in views:
            largest = max(largest, residual[live[k], u])
        worst[k] = largest
    return worst


@njit(cache=True)
def steps_of(worst, tie):
    """Residuals in whole steps of `tie`, the first about zero: those of one step are equal."""
    return np.floor(worst / tie + 0.5)


@njit(cache=True)
def _better(worst_a, kappa_a, a, worst_b, kappa_b, b, tie):
    """Whether candidate a represents a point better than b: residual, conditioning, order."""
    step_a, step_b = steps_of(worst_a, tie), steps_of(worst_b, tie)
    if step_a != step_b:
        return step_a < step_b
    if kappa_a != kappa_b:
        return kappa_a < kappa_b
    return a < b


@njit(cache=True)
def undominated(live, worst, nearest, views, n_points, tie):
    """Live candidates that no better candidate explains away.

    A candidate is dropped when, in every view of the subset, the image point nearest to
    it is also nearest to a candidate whose worst-view residual is smaller by more than
    `tie`. The decision is made against all live candidates at once, so it does not
    depend on their order, and exact ties all stay.
    """
    best = np.full((views.size, n_points), np.inf)
    for k in range(live.size):
        for m in range(views.size):
            point = nearest[live[k], views[m]]
            best[m, point] = min(best[m, point], worst[k])
    keep = np.empty(live.size, np.bool_)
    for k in range(live.size):
        keep[k] = False
        for m in range(views.size):
            if best[m, nearest[live[k], views[m]]] >= worst[k] - tie:
                keep[k] = True
                break
    return keep


@njit(cache=True)
def merge_by_image_points(live, worst, keep, nearest, views, pair, kappa, tie):
    """One candidate per combination of image points: the best of those that share all of them.

    No length enters: two candidates are the same atom when every view shows both at the
    same point. Returns positions in `live`, ascending.

    Parameters
    ----------
    live, worst, keep : (L,)
        Accepted candidates, ascending, their worst residuals, and which of them take part.
    nearest, pair
        See `rc_hpc.kernels.records.Candidates`.
    views : (M,) int64
        Two or more.
    kappa : (P,) float64
    tie : float
        See `steps_of`, Å.
    """
    size = 1
    while size < 2 * live.size:
        size *= 2
    head = np.full(size, -1, np.int64)
    after = np.empty(live.size, np.int64)
    chosen = np.empty(live.size, np.int64)
    count = 0
    for k in range(live.size):
        if not keep[k]:
            continue
        c = live[k]
        code = np.int64(nearest[c, views[0]]) * 1000003 + np.int64(nearest[c, views[1]])
        slot = (code ^ (code >> 15)) & (size - 1)
        m = head[slot]
        while m >= 0:
            same = True
            for u in views:
                if nearest[live[chosen[m]], u] != nearest[c, u]:
                    same = False
                    break
            if same:
                break
            m = after[m]
        if m < 0:
            chosen[count] = k
            after[count] = head[slot]
            head[slot] = count
            count += 1
        else:
            old = chosen[m]
            other = live[old]
            if _better(worst[k], kappa[pair[c]], c, worst[old], kappa[pair[other]], other, tie):
                chosen[m] = k
    taken = np.zeros(live.size, np.bool_)
    for m in range(count):
        taken[chosen[m]] = True
    count = 0
    for k in range(live.size):
        if taken[k]:
            chosen[count] = k
            count += 1
    return chosen[:count]


@njit(cache=True)
def best_first(worst, kappas, tie):
    """Order of the live candidates by worst residual, then pair conditioning, species and height.

    Residuals are compared in steps of `tie`, so that what is below it, rounding where points
    are exact, does not decide between them.
    """
    order = stable_order(kappas)
    return order[stable_order(steps_of(worst[order], tie))]


@njit(cache=True)
def clusters(live, order, species, position, height, radius, strict):
    """Leader clustering: in the given order, join the first leader within `radius` or become one.

    Parameters
    ----------
    order : (L,) int64
        Positions in `live`, in the order in which they are taken.
    strict : bool
        Join below `radius` only, not at it.

    Returns
    -------
    leader : (L,) int64
        For each live candidate the position in `live` of its leader.
    leaders : (M,) int64
        The leaders' positions in `live`, ascending.
    """
    n = live.size
    turn = np.full(n, -1, np.int64)  # when a candidate became a leader
    leader = np.empty(n, np.int64)
    count = 0
    slack = radius + 1e-12
    for k in order:
        c = live[k]
        first = -1
        for step in (1, -1):
            m = k + step
            while 0 <= m < n:
                o = live[m]
                if species[o] != species[c] or abs(height[o] - height[c]) > slack:
                    break
                if turn[m] >= 0:
                    dx = position[o, 0] - position[c, 0]
                    dy = position[o, 1] - position[c, 1]
                    dz = position[o, 2] - position[c, 2]
                    d2 = dx * dx + dy * dy + dz * dz
                    near = d2 < radius * radius if strict else d2 <= radius * radius
                    if near and (first < 0 or turn[m] < turn[first]):
                        first = m
                m += step
        if first < 0:
            turn[k] = count
            count += 1
            first = k
        leader[k] = first
    return leader, np.flatnonzero(turn >= 0)


@njit(cache=True)
def cluster_means(live, leader, leaders, position):
    """Mean position of each cluster, (M, 3)."""
    slot = np.full(live.size, -1, np.int64)
    for m in range(leaders.size):
        slot[leaders[m]] = m
    total = np.zeros((leaders.size, 3))
    size = np.zeros(leaders.size)
    for k in range(live.size):
        m = slot[leader[k]]
        size[m] += 1.0
        for axis in range(3):
            total[m, axis] += position[live[k], axis]
    for m in range(leaders.size):
        for axis in range(3):
            total[m, axis] /= size[m]
    return total


@njit(cache=True)
def least_squares(chosen, nearest, views, screen, rotations, inverse):
    """Least-squares position over the subset's views of each chosen candidate's image points.

    Solves (sum of 1 - d d^T) x = sum of M^T u; `inverse` is the inverse of the left side.
    """
    result = np.empty((chosen.size, 3))
    for k in range(chosen.size):
        right = np.zeros(3)
        for u in views:
            point = nearest[chosen[k], u]
            for axis in range(3):
                right[axis] += (
                    rotations[u, axis, 0] * screen[u, point, 0]
                    + rotations[u, axis, 1] * screen[u, point, 1]
                )
        for axis in range(3):
            result[k, axis] = (
                inverse[axis, 0] * right[0]
                + inverse[axis, 1] * right[1]
                + inverse[axis, 2] * right[2]
            )
    return result
