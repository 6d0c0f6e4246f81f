"""Which accepted candidates become atoms: the merge rules, each on one view subset.

Every function gets the accepted candidates of the subset as `live`: indices into the
candidate arrays, ascending, hence sorted by species and along the generic direction.
"""

import numpy as np
from numba import njit

from rc_hpc.kernels.compiled import inner, kernel
from rc_hpc.kernels.search import stable_order


@inner
def fill_worst(live, residual, views, worst):
    """`worst_residuals`, into a buffer."""
    for k in range(live.size):
        largest = 0.0
        for u in views:
            largest = max(largest, residual[live[k], u])
        worst[k] = largest


@inner
def runs_of(nearest):
    """Number of the run of neighbours of equal rows that each candidate is in, (C,) int64.

    Those of one atom are neighbours, since they are at one height, and every view has them at the
    same image point.
    """
    run = np.zeros(nearest.shape[0], np.int64)
    for c in range(1, run.size):
        same = True
        for u in range(nearest.shape[1]):
            same &= nearest[c, u] == nearest[c - 1, u]
        run[c] = run[c - 1] + (not same)
    return run


@inner
def fill_near(live, run, nearest, views, near, head):
    """Image points nearest to live candidates in the subset's views, once for those of one run.

    Parameters
    ----------
    near : (L, M) int32
        Buffer; gets the rows of the first of each run.
    head : (L,) int64
        Buffer; gets the row that is each candidate's.
    """
    before, row = np.int64(-1), np.int64(0)
    for k in range(live.size):
        c = live[k]
        if run[c] != before:
            before, row = run[c], k
            for m in range(views.size):
                near[k, m] = nearest[c, views[m]]
        head[k] = row


@inner
def near_of(live, nearest, views):
    """As `fill_near`, into new arrays."""
    near, head = np.empty((live.size, views.size), np.int32), np.empty(live.size, np.int64)
    fill_near(live, np.arange(nearest.shape[0]), nearest, views, near, head)
    return near, head


@inner
def worst_residuals(live, residual, views):
    """Largest residual of each live candidate over the subset's views."""
    worst = np.empty(live.size)
    fill_worst(live, residual, views, worst)
    return worst


@inner
def steps_of(worst, tie):
    """Residuals in whole steps of `tie`, the first about zero: those of one step are equal."""
    return np.floor(worst / tie + 0.5)


@njit(cache=True, inline="always")
def _better(step_a, kappa_a, a, step_b, kappa_b, b):
    """Whether candidate a represents a point better than b: residual, conditioning, order."""
    return step_a < step_b or (
        step_a == step_b and (kappa_a < kappa_b or (kappa_a == kappa_b and a < b))
    )


@inner
def fill_undominated(worst, near, head, tie, best, least, keep):
    """`undominated`, into a buffer.

    Parameters
    ----------
    near, head
        From `fill_near`.
    best : (M, n) float64
        Buffer, inf throughout, and so again afterwards.
    least : (L,) float64
        Buffer.
    """
    for k in range(worst.size):
        least[k] = worst[k]
        least[head[k]] = min(least[head[k]], worst[k])
    for k in range(worst.size):
        if head[k] == k:
            for m in range(near.shape[1]):
                best[m, near[k, m]] = min(best[m, near[k, m]], least[k])
    for k in range(worst.size):
        if head[k] == k:
            weakest = -np.inf
            for m in range(near.shape[1]):
                weakest = max(weakest, best[m, near[k, m]])
            least[k] = weakest
        keep[k] = least[head[k]] >= worst[k] - tie
    for k in range(worst.size):
        if head[k] == k:
            for m in range(near.shape[1]):
                best[m, near[k, m]] = np.inf


@kernel
def undominated(live, worst, nearest, views, n_points, tie):
    """Live candidates that no better candidate explains away.

    A candidate is dropped when, in every view of the subset, the image point nearest to
    it is also nearest to a candidate whose worst-view residual is smaller by more than
    `tie`. The decision is made against all live candidates at once, so it does not
    depend on their order, and exact ties all stay.
    """
    keep = np.empty(live.size, np.bool_)
    best = np.full((views.size, n_points), np.inf)
    near, head = near_of(live, nearest, views)
    fill_undominated(worst, near, head, tie, best, np.empty(live.size), keep)
    return keep


@inner
def slots(n):
    """Length of the hash table of so many candidates: a power of two, at least twice as many."""
    size = 1
    while size < 2 * n:
        size *= 2
    return size


@inner
def fill_by_image_points(live, steps, keep, near, head, pair, kappa, table, after, chosen, taken):
    """`merge_by_image_points`, into the front of `chosen`; returns how many.

    Parameters
    ----------
    near, head
        From `fill_near`.
    steps : (L,) float64
        `steps_of` the worst residuals.
    table : (slots(L),) int64
    after, chosen : (L,) int64
    taken : (L,) bool
        Buffers.
    """
    size = slots(live.size)
    table[:size] = -1
    count = 0
    group = -1
    for k in range(live.size):
        taken[k] = False
        if keep[k]:
            c, row = live[k], head[k]
            same = group >= 0 and head[chosen[group]] == row
            if not same:
                code = np.int64(near[row, 0]) * 1000003 + np.int64(near[row, 1])
                slot = (code ^ (code >> 15)) & (size - 1)
                group = table[slot]
                while group >= 0 and not same:
                    other = head[chosen[group]]
                    same = True
                    for m in range(near.shape[1]):
                        same &= near[other, m] == near[row, m]
                    if not same:
                        group = after[group]
                if group < 0:
                    group = count
                    chosen[count] = k
                    after[count] = table[slot]
                    table[slot] = count
                    count += 1
            if same:
                old = chosen[group]
                other = live[old]
                if _better(steps[k], kappa[pair[c]], c, steps[old], kappa[pair[other]], other):
                    chosen[group] = k
    for m in range(count):
        taken[chosen[m]] = True
    count = 0
    for k in range(live.size):
        chosen[count] = k
        count += taken[k]
    return count


@kernel
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
    table, after = np.empty(slots(live.size), np.int64), np.empty(live.size, np.int64)
    chosen, taken = np.empty(live.size, np.int64), np.empty(live.size, np.bool_)
    steps = steps_of(worst, tie)
    near, head = near_of(live, nearest, views)
    count = fill_by_image_points(
        live, steps, keep, near, head, pair, kappa, table, after, chosen, taken
    )
    return chosen[:count]


@kernel
def best_first(worst, kappas, tie):
    """Order of the live candidates by worst residual, then pair conditioning, species and height.

    Residuals are compared in steps of `tie`, so that what is below it, rounding where points
    are exact, does not decide between them.
    """
    order = stable_order(kappas)
    return order[stable_order(steps_of(worst[order], tie))]


@kernel
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


@kernel
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


@kernel
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
