"""Which image points each candidate explains, and which candidates nothing else can stand for.

Candidates and image points alone decide whether other atoms have the same pictures; the
statements are in `rc_hpc.oracle.explanations`.
"""

import math
from typing import NamedTuple

import numpy as np

from rc_hpc.kernels.certificate import acceptance, views_of
from rc_hpc.kernels.compiled import inner, kernel

#: Columns from which on a level's matrices without an empty line are all matrices, to rounding.
MANY_COLUMNS = 64


class Coverage(NamedTuple):
    """How the candidates of K view subsets explain the image points.

    Attributes
    ----------
    n_forced : (K,) int64
        Candidates that alone explain some image point; -1 where candidates do not explain all.
    n_redundant : (K,) int64
        The others: all that each of them explains, others explain, too.
    log10_explanations : (K,) float64
        Two views: log10 of the number of sets of candidates that explain all; NaN elsewhere.
    """

    n_forced: np.ndarray
    n_redundant: np.ndarray
    log10_explanations: np.ndarray


@inner
def first_of_equal(points, zero):
    """For each image point the row of the first within `zero` of it, (V, n) int64.

    A picture shows points that near as one.

    Parameters
    ----------
    points : SortedPoints
    zero : float
        Å.
    """
    screen, heights, starts = points.screen, points.heights, points.starts
    first = np.empty(heights.shape, np.int64)
    for v in range(starts.shape[0]):
        for s in range(starts.shape[1] - 1):
            low = starts[v, s]
            for k in range(low, starts[v, s + 1]):
                first[v, k] = k
                m = k - 1
                while m >= low and heights[v, k] - heights[v, m] <= zero:
                    dx = screen[v, k, 0] - screen[v, m, 0]
                    dy = screen[v, k, 1] - screen[v, m, 1]
                    if first[v, m] == m and dx * dx + dy * dy <= zero * zero:
                        first[v, k] = m
                    m -= 1
    return first


@kernel
def log10_covers(rows, columns):
    """log10 of the number of 0-1 matrices of this shape without an empty row or column.

    They are the edge sets of the complete bipartite graph K(rows, columns) that leave no vertex
    alone. Row after row: of the columns that have a 1 so far, any may have another; no term is
    subtracted but that of the empty row.
    """
    p, q = max(rows, columns), min(rows, columns)
    if q >= MANY_COLUMNS:
        return p * q * math.log10(2.0)
    choose = np.zeros((q + 1, q + 1))
    for n in range(q + 1):
        choose[n, 0] = 1.0
        for k in range(1, n + 1):
            choose[n, k] = choose[n - 1, k - 1] + choose[n - 1, k]
    ways = np.zeros(q + 1)
    ways[0] = 1.0
    log10 = 0.0
    for _ in range(p):
        after = np.zeros(q + 1)
        for j in range(q + 1):
            for new in range(q - j + 1):
                of_row = choose[q - j, new] * 2.0**j
                if new == 0:
                    of_row -= 1.0
                after[j + new] += ways[j] * of_row
        total = after.sum()
        ways = after / total
        log10 += math.log10(total)
    return log10 + math.log10(ways[q])


@inner
def distinct_candidates(live, nearest, first, views):
    """One candidate per combination of image points, the first of each; positions in `live`."""
    size = 1
    while size < 2 * live.size:
        size *= 2
    head = np.full(size, -1, np.int64)
    after = np.empty(live.size, np.int64)
    chosen = np.empty(live.size, np.int64)
    count = 0
    for k in range(live.size):
        c = live[k]
        code = np.int64(0)
        for u in views:
            code = code * 1000003 + first[u, nearest[c, u]]
        slot = (code ^ (code >> 15)) & (size - 1)
        m = head[slot]
        while m >= 0:
            same = True
            for u in views:
                if first[u, nearest[live[chosen[m]], u]] != first[u, nearest[c, u]]:
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
    return chosen[:count]


@inner
def _root(parent, k):
    while parent[k] != k:
        parent[k] = parent[parent[k]]
        k = parent[k]
    return k


@inner
def log10_two_views(tuples, n_points):
    """log10 of the number of explanations of two views; NaN where a level is not complete.

    Parameters
    ----------
    tuples : (C, 2) int64
        Image point of each candidate in the one view and in the other.
    n_points : int
        Rows of a view.
    """
    parent = np.arange(2 * n_points)
    for c in range(tuples.shape[0]):
        a, b = _root(parent, tuples[c, 0]), _root(parent, n_points + tuples[c, 1])
        parent[b] = a
    edges = np.zeros(2 * n_points, np.int64)
    seen = np.zeros(2 * n_points, np.bool_)
    sides = np.zeros((2 * n_points, 2), np.int64)
    for c in range(tuples.shape[0]):
        root = _root(parent, tuples[c, 0])
        edges[root] += 1
        for side in range(2):
            vertex = side * n_points + tuples[c, side]
            if not seen[vertex]:
                seen[vertex] = True
                sides[root, side] += 1
    total = 0.0
    for root in range(2 * n_points):
        if edges[root] != sides[root, 0] * sides[root, 1]:
            return np.nan
        if edges[root] > 1:
            total += log10_covers(sides[root, 0], sides[root, 1])
    return total


@kernel
def cover_subsets(masks, enumerated, pairs, zero):
    """Coverage of the image points by the candidates of every view subset.

    Parameters
    ----------
    masks : (K,) int64
        View subsets as bit masks.
    enumerated : Enumerated
    pairs : (P, 2) int64
    zero : float
        Up to which gaps and residuals are nothing, and points one, Å.

    Returns
    -------
    Coverage
    """
    candidates, points = enumerated.candidates, enumerated.points
    own, seen, accepted = acceptance(candidates, pairs, zero)
    first = first_of_equal(points, zero)
    nearest, starts = candidates.nearest, points.starts
    n_subsets, n_points = masks.size, points.heights.shape[1]
    n_forced = np.full(n_subsets, -1, np.int64)
    n_redundant = np.full(n_subsets, -1, np.int64)
    log10_explanations = np.full(n_subsets, np.nan)
    buffer = np.empty(starts.shape[0], np.int64)
    live_buffer = np.empty(accepted.size, np.int64)
    for k in range(n_subsets):
        mask = masks[k]
        views = views_of(mask, buffer)
        size = 0
        for c in accepted:
            if (own[c] & ~mask) == 0 and (mask & ~seen[c]) == 0:
                live_buffer[size] = c
                size += 1
        live = live_buffer[:size]
        chosen = distinct_candidates(live, nearest, first, views)
        covering = np.zeros((views.size, n_points), np.int64)
        tuples = np.empty((chosen.size, views.size), np.int64)
        for m in range(chosen.size):
            for i in range(views.size):
                point = first[views[i], nearest[live[chosen[m]], views[i]]]
                tuples[m, i] = point
                covering[i, point] += 1
        whole = True
        for i in range(views.size):
            for point in range(starts[views[i], -1]):
                if first[views[i], point] == point and covering[i, point] == 0:
                    whole = False
        if not whole:
            continue
        forced = 0
        for m in range(chosen.size):
            for i in range(views.size):
                if covering[i, tuples[m, i]] == 1:
                    forced += 1
                    break
        n_forced[k], n_redundant[k] = forced, chosen.size - forced
        if views.size == 2:
            log10_explanations[k] = log10_two_views(tuples, n_points)
    return Coverage(n_forced, n_redundant, log10_explanations)
