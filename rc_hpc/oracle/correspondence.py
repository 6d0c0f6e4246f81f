"""Which image points belong to one atom: the all-view least-squares reading of noisy pictures."""

from __future__ import annotations

import numpy as np

from rc_hpc.kernels.noise import best_tuples, consistent_tuples, fit_tuples, reassignment_costs

#: Tuples that are tried at most in search of a better correspondence, and branches of that search.
MANY_TUPLES, MANY_BRANCHES = 20_000, 100


def correspond(points, rotations, inverse, frames, reach, bound=np.inf):
    """Group the image points of one species into atoms, every point used exactly once.

    The number of atoms is the number of points in a view, so no phantom can survive. The
    total misfit (sum of squared screen distances of the all-view least-squares fits) is
    lowered one view at a time by an optimal assignment, until no view can lower it. Where an
    atom is left with a misfit beyond the bound, which the errors cannot explain, all tuples
    within it are searched for the best that use every point once.

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
    bound : float
        Misfit that errors alone do not exceed, Å^2.

    Returns
    -------
    positions : (n, 3), misfits : (n,), tuples : (n, V) int64
        Å and Å^2.
    """
    from scipy.optimize import linear_sum_assignment

    tuples = best_tuples(
        points,
        rotations,
        inverse,
        frames.views,
        frames.screen_normal,
        frames.screen_side,
        frames.normal,
        frames.dual,
        reach,
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
    positions, misfits = fit_tuples(points, rotations, inverse, tuples)
    if misfits.max() > bound:
        better = _exact_cover(points, rotations, inverse, frames, reach, bound)
        if better is not None:
            tuples = better
            positions, misfits = fit_tuples(points, rotations, inverse, tuples)
    return positions, misfits, tuples


def _exact_cover(points, rotations, inverse, frames, reach, bound):
    """Tuples (n, V) of least total misfit, each within the bound, that use every point once; None where none are found."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    n_views, n = points.shape[:2]
    best = int(np.argmin(frames.kappa))
    v, w = frames.views[best]
    tuples, misfits = consistent_tuples(
        points,
        rotations,
        inverse,
        v,
        w,
        frames.screen_normal[best],
        frames.screen_side[best],
        frames.normal[best],
        frames.dual[best],
        reach,
        bound,
        MANY_TUPLES,
    )
    if len(tuples) < n:
        return None
    rows = (tuples + n * np.arange(n_views)).ravel()
    uses = csr_array(
        (np.ones(rows.size), (rows, np.repeat(np.arange(len(tuples)), n_views))),
        shape=(n * n_views, len(tuples)),
    )
    found = milp(
        misfits / bound,
        constraints=LinearConstraint(uses, 1, 1),
        integrality=np.ones(len(tuples)),
        bounds=Bounds(0, 1),
        options={"node_limit": MANY_BRANCHES},
    )
    if found.x is None:
        return None
    chosen = tuples[found.x > 0.5]
    return chosen[np.argsort(chosen[:, 0])] if len(chosen) == n else None
