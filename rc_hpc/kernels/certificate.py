"""Phantoms of view subsets: which there are at a tolerance, and from which tolerance on."""

import numpy as np
from numba import njit

from rc_hpc.kernels.merge import clusters
from rc_hpc.kernels.records import Acceptance, Certificates


@njit(cache=True)
def views_of(mask, buffer):
    """Views of a subset's bit mask, ascending, in the front of a buffer of one int64 a view."""
    size = 0
    for u in range(buffer.size):
        if mask >> u & 1:
            buffer[size] = u
            size += 1
    return buffer[:size]


@njit(cache=True)
def acceptance(candidates, pairs, delta):
    """Which views accept which candidates at delta.

    The pair's own two views accept a candidate when its gap does (their residual is half of
    that).

    Parameters
    ----------
    candidates : Candidates
    pairs : (P, 2) int64
    delta : float
        Å.

    Returns
    -------
    Acceptance
    """
    pair, gap, residual = candidates.pair, candidates.gap, candidates.residual
    own = np.empty(pair.size, np.int64)
    seen = np.empty(pair.size, np.int64)
    for c in range(pair.size):
        a, b = pairs[pair[c], 0], pairs[pair[c], 1]
        mask = (1 << a) | (1 << b)
        accepting = mask if gap[c] <= delta else 0
        for u in range(residual.shape[1]):
            if u != a and u != b and residual[c, u] <= delta:
                accepting |= 1 << u
        own[c] = mask
        seen[c] = accepting
    return Acceptance(own, seen, np.flatnonzero(gap <= delta))


@njit(cache=True)
def acceptance_delta(c, pair, gap, residual, pairs, views):
    """Smallest delta at which candidate c is accepted on `views`.

    The gap counts for the two views of its own pair, the residual for every other.
    """
    a, b = pairs[pair[c], 0], pairs[pair[c], 1]
    needed = gap[c]
    for u in views:
        if u != a and u != b:
            needed = max(needed, residual[c, u])
    return needed


@njit(cache=True)
def smallest_phantom_delta(suspects, pair, gap, residual, upper, pairs, own, views):
    """Smallest delta at which a subset has a phantom; inf where there is none.

    A candidate is a phantom for every delta from its acceptance up to, not including,
    its distance from the nearest true atom.

    Parameters
    ----------
    suspects : (F,) int64
        Candidates that are looked at.
    pair, gap, residual
        See `rc_hpc.kernels.records.Candidates`.
    upper : (C,) float64
        Distance from the nearest true atom less numerical zero, Å: where acceptance and
        distance are one but for rounding, as an atom's own candidates', there is no such delta.
    pairs : (P, 2) int64
    own : (C,) int64
        Bit mask of the two views of each candidate's pair.
    views : (M,) int64
    """
    mask = 0
    for u in views:
        mask |= 1 << u
    smallest = np.inf
    for c in suspects:
        if (own[c] & ~mask) != 0:
            continue
        needed = acceptance_delta(c, pair, gap, residual, pairs, views)
        if needed < upper[c] and needed < smallest:
            smallest = needed
    return smallest


@njit(cache=True)
def count_distinct(chosen, species, position, height, radius):
    """Number of distinct points among candidates (ascending): those within `radius` are one."""
    if chosen.size < 2:
        return chosen.size
    _, leaders = clusters(chosen, np.arange(chosen.size), species, position, height, radius, False)
    return leaders.size


@njit(cache=True)
def certificates_of(accept, masks, candidates, distance, pairs, scales, delta):
    """`certify`, where the acceptance at delta is at hand."""
    n_subsets, n_views = masks.size, candidates.residual.shape[1]
    own, seen, accepted = accept
    exact_gap = scales.exact
    pair, gap, residual = candidates.pair, candidates.gap, candidates.residual
    species, position, height = candidates.species, candidates.position, candidates.height
    n_phantoms = np.zeros(n_subsets, np.int64)
    n_exact = np.zeros(n_subsets, np.int64)
    n_strict = np.zeros(n_subsets, np.int64)
    phantom_delta = np.full(n_subsets, np.inf)
    phantom_delta_exact = np.full(n_subsets, np.inf)

    # Only a candidate farther from every atom than its gap can ever be a phantom; those of
    # Definition 7 are the ones whose rays intersect.
    suspects = np.flatnonzero(distance > gap + scales.zero)
    exact_suspects = suspects[gap[suspects] <= exact_gap]
    phantoms = accepted[distance[accepted] > delta]
    strict_suspects = exact_suspects[distance[exact_suspects] > exact_gap]
    upper = distance - scales.zero

    buffer = np.empty(n_views, np.int64)
    far_buffer = np.empty(phantoms.size, np.int64)
    strict_buffer = np.empty(strict_suspects.size, np.int64)
    for k in range(n_subsets):
        mask = masks[k]
        views = views_of(mask, buffer)
        size = 0
        for c in phantoms:
            if (own[c] & ~mask) == 0 and (mask & ~seen[c]) == 0:
                far_buffer[size] = c
                size += 1
        n_phantoms[k] = count_distinct(far_buffer[:size], species, position, height, exact_gap)
        exact = 0
        for m in range(size):
            if gap[far_buffer[m]] <= exact_gap:
                far_buffer[exact] = far_buffer[m]
                exact += 1
        n_exact[k] = count_distinct(far_buffer[:exact], species, position, height, exact_gap)
        size = 0
        for c in strict_suspects:
            if (own[c] & ~mask) == 0:
                needed = acceptance_delta(c, pair, gap, residual, pairs, views)
                if needed <= exact_gap:
                    strict_buffer[size] = c
                    size += 1
        n_strict[k] = count_distinct(strict_buffer[:size], species, position, height, exact_gap)
        phantom_delta[k] = smallest_phantom_delta(
            suspects, pair, gap, residual, upper, pairs, own, views
        )
        phantom_delta_exact[k] = smallest_phantom_delta(
            exact_suspects, pair, gap, residual, upper, pairs, own, views
        )
    return Certificates(n_phantoms, n_exact, n_strict, phantom_delta, phantom_delta_exact, phantoms)


@njit(cache=True)
def certify(masks, candidates, distance, pairs, scales, delta):
    """Phantoms of every view subset, at delta and from which tolerance on.

    Parameters
    ----------
    masks : (K,) int64
        View subsets as bit masks.
    candidates : Candidates
    distance : (C,) float64
        From the nearest true atom, Å.
    pairs : (P, 2) int64
    scales : Scales
    delta : float
        Å.

    Returns
    -------
    Certificates
    """
    accept = acceptance(candidates, pairs, delta)
    return certificates_of(accept, masks, candidates, distance, pairs, scales, delta)
