"""How far located atoms lie from the truth, and how far the misfits say that they do."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rc_hpc.core.constants import MAX_VIEWS


def spread_of(misfits, sigma: float, n_views: int) -> float:
    """By what the variance of all-view positions exceeds that of centroids whose atoms are known.

    A camera along a lattice vector shows atoms that differ by it at one place. Which of their
    centroids belongs to which atom is then chosen by the misfit, which this lowers. The choice
    only deals the same errors out anew: what the misfits lack, of the 2 n_views - 3 times
    sigma^2 an atom that they would be, is in the positions' errors on the screens, beside the
    three times sigma^2 that are there anyway.

    Parameters
    ----------
    misfits : (n,)
        Å^2.

    Returns
    -------
    float
        At least 1.
    """
    if sigma == 0:
        return 1.0
    return max(1.0, (2 * n_views - float(np.mean(misfits)) / sigma**2) / 3)


@lru_cache(maxsize=MAX_VIEWS)
def misfit_bound(freedom: int) -> float:
    """Misfit of an atom per sigma^2 that is exceeded once in 10^7 atoms."""
    from scipy.special import chdtri  # scipy.stats takes ten times as long to import

    return float(chdtri(freedom, 1e-7))


def distance_to_truth(kinds, points, numbers, positions):
    """Distance (m,) of each point to the nearest true atom of its species, Å."""
    from scipy.spatial import cKDTree

    distance = np.empty(len(points))
    for kind in np.unique(kinds):
        own = kinds == kind
        distance[own] = cKDTree(positions[numbers == kind]).query(points[own])[0]
    return distance
