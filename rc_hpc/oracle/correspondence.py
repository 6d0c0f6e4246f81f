"""Which image points belong to one atom: the all-view least-squares reading of noisy pictures."""

from __future__ import annotations

import numpy as np

from rc_hpc.kernels.noise import best_tuples, fit_tuples, reassignment_costs


def correspond(points, rotations, inverse, frames, reach):
    """Group the image points of one species into atoms, every point used exactly once.

    The number of atoms is the number of points in a view, so no phantom can survive. The
    total misfit (sum of squared screen distances of the all-view least-squares fits) is
    lowered one view at a time by an optimal assignment, until no view can lower it.

    Parameters
    ----------
    points : (V, n, 2) float64
        Å.
    rotations : (V, 3, 3) float64
    inverse : (3, 3) float64
        See `rc_hpc.geometry.pairs.least_squares_inverse`.
    frames : PairFrames
        Pairs that candidates are drawn from.
    reach : float
        Gap of two rays up to which they are thought to be one atom's at first, Å.

    Returns
    -------
    positions : (n, 3), misfits : (n,), tuples : (n, V) int64
        Å and Å^2.
    """
    from scipy.optimize import linear_sum_assignment

    tuples = best_tuples(
        points, rotations, inverse, frames.views, frames.screen_normal, frames.screen_side,
        frames.normal, frames.dual, reach,
    )
    n_views, unchanged, v = len(points), 0, 0
    while unchanged < n_views and len(tuples) > 1:
        unchanged += 1
        costs, settled = reassignment_costs(points, rotations, inverse, tuples, v)
        if not settled:
            chosen = linear_sum_assignment(costs)[1]
            before = costs[np.arange(len(tuples)), tuples[:, v]].sum()
            # Rounding alone must not keep two equal assignments changing places.
            if costs[np.arange(len(tuples)), chosen].sum() < before * (1 - 1e-12):
                tuples[:, v] = chosen
                unchanged = 1
        v = (v + 1) % n_views
    return *fit_tuples(points, rotations, inverse, tuples), tuples
