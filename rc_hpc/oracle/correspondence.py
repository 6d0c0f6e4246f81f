"""Which image points belong to one atom: the all-view least-squares reading of noisy pictures."""

from __future__ import annotations

import numpy as np

from rc_hpc.kernels.noise import best_tuples, consistent_tuples, fit_tuples, reassignment_costs
from rc_hpc.kernels.records import Cameras, Centroids, PairFrames

#: Tuples that are tried at most in search of a better correspondence, and branches of that search.
MANY_TUPLES, MANY_BRANCHES = 20_000, 100


def correspond(centroids: Centroids, cameras: Cameras, frames: PairFrames, reach, bound=np.inf):
    """Group the image points of one species into atoms, every point used exactly once.

    The number of atoms is the number of points in a view, so no phantom can survive. The
    total misfit (sum of squared screen distances of the all-view least-squares fits) is
    lowered one view at a time by an optimal assignment, until no view can lower it. Where an
    atom is left with a misfit beyond the bound, which the errors cannot explain, all tuples
    within it are searched for the best that use every point once.

    Parameters
    ----------
    centroids
    cameras, frames
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

    tuples = best_tuples(centroids, cameras.pairs, frames, reach)
    n_views, unchanged, v = len(centroids.screen), 0, 0
    while unchanged < n_views and len(tuples) > 1:
        unchanged += 1
        costs, settled = reassignment_costs(centroids, tuples, v)
        if not settled:
            chosen = linear_sum_assignment(costs)[1]
            before = costs[np.arange(len(tuples)), tuples[:, v]].sum()
            # Rounding alone must not keep two equal assignments changing places.
            if costs[np.arange(len(tuples)), chosen].sum() < before * (1 - 1e-12):
                tuples[:, v] = chosen
                unchanged = 1
        v = (v + 1) % n_views
    positions, misfits = fit_tuples(centroids, tuples)
    if misfits.max() > bound:
        better = _exact_cover(centroids, cameras, frames, reach, bound)
        if better is not None:
            tuples = better
            positions, misfits = fit_tuples(centroids, tuples)
    return positions, misfits, tuples


def _exact_cover(centroids, cameras, frames, reach, bound):
    """Tuples (n, V) of least total misfit that use every point once, each within the bound.

    None where none are found.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    n_views, n = centroids.screen.shape[:2]
    best = int(np.argmin(cameras.kappa))
    tuples, misfits = consistent_tuples(
        centroids, cameras.pairs, frames, best, reach, bound, MANY_TUPLES
    )
    if len(tuples) < n:
        return None
    rows = (tuples + n * np.arange(n_views)).ravel()
    uses = csr_array(
        (np.ones(rows.size), (rows, np.repeat(np.arange(len(tuples)), n_views))),
        shape=(n * n_views, len(tuples)),
    )
    solution = milp(
        misfits / bound,
        constraints=LinearConstraint(uses, 1, 1),
        integrality=np.ones(len(tuples)),
        bounds=Bounds(0, 1),
        options={"node_limit": MANY_BRANCHES},
    )
    if solution.x is None:
        return None
    chosen = tuples[solution.x > 0.5]
    return chosen[np.argsort(chosen[:, 0])] if len(chosen) == n else None
