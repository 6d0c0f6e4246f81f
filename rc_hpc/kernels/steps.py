"""At which tolerances the reconstruction by dominance may change at all."""

import numpy as np
from numba import njit

from rc_hpc.kernels.certificate import acceptance_delta, views_of
from rc_hpc.kernels.search import lower_bound


@njit(cache=True)
def dominance_steps(subsets, deltas, candidates, pairs, n_points, tie):
    """Deltas whose reconstruction by dominance may differ from that of the delta before.

    Candidates that are dominated when they come in change nothing: they neither stay nor
    explain any image point better than one that is there. So only those deltas count at
    which an undominated candidate comes in, and the first.

    Parameters
    ----------
    subsets : Subsets
    deltas : (D,) float64
        Ascending, Å.
    candidates : Candidates
    pairs : (P, 2) int64
    n_points : int
        Image points of a view at most.
    tie : float
        Scale at which ties of residuals are judged, Å.

    Returns
    -------
    (K, D) bool
    """
    pair, gap = candidates.pair, candidates.gap
    residual, nearest = candidates.residual, candidates.nearest
    masks, anchors = subsets.masks, subsets.anchors
    changed = np.zeros((masks.size, deltas.size), np.bool_)
    changed[:, 0] = True
    near = np.flatnonzero(gap <= deltas[-1])
    buffer = np.empty(residual.shape[1], np.int64)
    chosen = np.empty(near.size, np.int64)
    step = np.empty(near.size, np.int64)
    worst = np.empty(near.size)
    for k in range(masks.size):
        views = views_of(masks[k], buffer)
        count = 0
        for c in near:
            own = (1 << pairs[pair[c], 0]) | (1 << pairs[pair[c], 1])
            if own & ~masks[k] or (anchors[k] != -1 and pair[c] != anchors[k]):
                continue
            needed = acceptance_delta(c, pair, gap, residual, pairs, views)
            if needed <= deltas[-1]:
                chosen[count] = c
                step[count] = lower_bound(deltas, 0, deltas.size, needed)
                largest = 0.0
                for u in views:
                    largest = max(largest, residual[c, u])
                worst[count] = largest
                count += 1
        best = np.full((views.size, n_points), np.inf)
        order = np.argsort(step[:count], kind="mergesort")
        begin = 0
        while begin < count:
            end = begin
            while end < count and step[order[end]] == step[order[begin]]:
                k_c = order[end]
                for m in range(views.size):
                    point = nearest[chosen[k_c], views[m]]
                    best[m, point] = min(best[m, point], worst[k_c])
                end += 1
            for e in range(begin, end):
                k_c = order[e]
                for m in range(views.size):
                    if best[m, nearest[chosen[k_c], views[m]]] >= worst[k_c] - tie:
                        changed[k, step[k_c]] = True
                        break
            begin = end
    return changed
