"""Phantoms of one view subset, and from which delta on they exist."""

import numpy as np
from numba import njit

from rc_hpc.kernels.merge import clusters


@njit(cache=True)
def acceptance_delta(c, gap, residual, pair_views, pair, views):
    """Smallest delta at which candidate c is accepted on `views`.

    The gap counts for the two views of its own pair, the residual for every other.
    """
    a, b = pair_views[pair[c], 0], pair_views[pair[c], 1]
    needed = gap[c]
    for u in views:
        if u != a and u != b:
            needed = max(needed, residual[c, u])
    return needed


@njit(cache=True)
def smallest_phantom_delta(
    candidates, gap, residual, distance, pair_views, pair, mask, pair_mask, views, exact_gap, zero
):
    """Smallest delta at which the subset has a phantom; inf where there is none.

    A candidate is a phantom for every delta from its acceptance up to, not including,
    its distance from the nearest true atom. Where the two differ by no more than `zero`
    there is no such delta: an atom's own candidates lie within rounding of it. With a
    finite `exact_gap` only candidates whose rays meet within it count (Definition 7).
    """
    smallest = np.inf
    for c in candidates:
        if (pair_mask[c] & ~mask) != 0 or gap[c] > exact_gap:
            continue
        needed = acceptance_delta(c, gap, residual, pair_views, pair, views)
        if needed < distance[c] - zero and needed < smallest:
            smallest = needed
    return smallest


@njit(cache=True)
def count_distinct(chosen, species, position, height, radius):
    """Number of distinct points among candidates (ascending): those within `radius` are one."""
    if chosen.size < 2:
        return chosen.size
    _, leaders = clusters(chosen, np.arange(chosen.size), species, position, height, radius, False)
    return leaders.size
