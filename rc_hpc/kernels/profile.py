"""The delta profile: all tolerances at which a view subset has a phantom, exactly."""

import numpy as np
from numba import njit

from rc_hpc.kernels.certificate import acceptance_delta, views_of


@njit(cache=True)
def union(lower, upper, zero):
    """Disjoint ascending union of half-open intervals.

    Parameters
    ----------
    lower, upper : (n,) float64
        Intervals ``lower <= delta < upper``, in any order.
    zero : float
        Intervals that touch, or are apart by no more than this, become one.

    Returns
    -------
    lower, upper : (m,) float64
    """
    order = np.argsort(lower)
    low, high = np.empty(order.size), np.empty(order.size)
    count = 0
    for k in order:
        if count > 0 and lower[k] <= high[count - 1] + zero:
            high[count - 1] = max(high[count - 1], upper[k])
        else:
            low[count], high[count] = lower[k], upper[k]
            count += 1
    return low[:count].copy(), high[:count].copy()


@njit(cache=True)
def delta_profile(masks, candidates, distance, pairs, exact_gap, zero):
    """Tolerances at which each view subset has a phantom.

    A candidate is a phantom from the tolerance at which all views accept it up to, not
    including, its distance from the nearest true atom; the profile of a subset is the
    union over the candidates of its pairs. It is complete up to the reach the candidates
    were enumerated with.

    Parameters
    ----------
    masks : (K,) int64
        View subsets as bit masks.
    candidates : Candidates
    distance : (C,) float64
        From the nearest true atom, Å.
    pairs : (P, 2) int64
    exact_gap : float
        Only rays that meet within it count (Definition 7), Å; inf for phantoms by acceptance.
    zero : float
        Numerical zero, Å: an interval no wider is none, a hole no wider is closed.

    Returns
    -------
    starts : (K + 1,) int64
        Subset k owns the intervals starts[k] to starts[k + 1].
    lower, upper : (T,) float64
        Disjoint and ascending within a subset, Å.
    """
    pair, gap, residual = candidates.pair, candidates.gap, candidates.residual
    suspects = np.flatnonzero((distance > gap + zero) & (gap <= exact_gap))
    starts = np.zeros(masks.size + 1, np.int64)
    lower, upper = np.empty(suspects.size), np.empty(suspects.size)
    lows, highs = [np.empty(0)], [np.empty(0)]
    buffer = np.empty(residual.shape[1], np.int64)
    for k in range(masks.size):
        views = views_of(masks[k], buffer)
        count = 0
        for c in suspects:
            own = (1 << pairs[pair[c], 0]) | (1 << pairs[pair[c], 1])
            if own & ~masks[k]:
                continue
            needed = acceptance_delta(c, pair, gap, residual, pairs, views)
            if needed < distance[c] - zero:
                lower[count], upper[count] = needed, distance[c]
                count += 1
        low, high = union(lower[:count], upper[:count], zero)
        lows.append(low)
        highs.append(high)
        starts[k + 1] = starts[k] + low.size
    lower, upper = np.empty(starts[-1]), np.empty(starts[-1])
    for k in range(masks.size):
        lower[starts[k] : starts[k + 1]] = lows[k + 1]
        upper[starts[k] : starts[k + 1]] = highs[k + 1]
    return starts, lower, upper
