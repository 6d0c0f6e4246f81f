"""Phantoms of view subsets: which there are at a tolerance, and from which tolerance on."""

import numpy as np

from rc_hpc.kernels.compiled import inner, kernel
from rc_hpc.kernels.records import Acceptance, Certificates

#: Stands for an acceptance that is yet to be made.
UNDECIDED = Acceptance(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))


@kernel
def views_of(mask, buffer):
    """Views of a subset's bit mask, ascending, in the front of a buffer of one int64 a view."""
    size = 0
    for u in range(buffer.size):
        if mask >> u & 1:
            buffer[size] = u
            size += 1
    return buffer[:size]


@kernel
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


@inner
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


@kernel
def accepted_on(mask, allowed, own, blind, rows, live):
    """List the candidates that a subset accepts, `rows` of them; returns how many.

    Without a branch: of a pair of views most candidates fail, of all views few, in no order that
    a processor could foresee.

    Parameters
    ----------
    mask, allowed : int
        Bit mask of the subset's views, and of those whose pairs count.
    own, blind : (A,) int64
        Bit masks of the views of each candidate's pair, and of those that do not accept it.
    rows : (A,) int64
        What is listed of each.
    live : (A,) int64
        Buffer.
    """
    size = 0
    for k in range(own.size):
        live[size] = rows[k]
        size += ((own[k] & ~allowed) | (mask & blind[k])) == 0
    return size


@kernel
def smallest_phantom_deltas(suspects, own, blind, candidates, pairs, exact_gap, views):
    """Smallest deltas at which a subset has a phantom, any and one whose rays meet; else inf.

    A candidate is a phantom for every delta from its acceptance up to, not including,
    its distance from the nearest true atom.

    Parameters
    ----------
    suspects : (F,) int64
        Candidates that are looked at.
    own, blind : (F,) int64
        Bit masks of the views of each suspect's pair, and of those that accept it nowhere below
        that distance.
    candidates : Candidates
    pairs : (P, 2) int64
    exact_gap : float
        Rays meet within it, Å.
    views : (M,) int64
    """
    pair, gap, residual = candidates.pair, candidates.gap, candidates.residual
    mask = 0
    for u in views:
        mask |= 1 << u
    smallest, smallest_exact = np.inf, np.inf
    for k in range(suspects.size):
        if ((own[k] & ~mask) | (mask & blind[k])) == 0:
            c = suspects[k]
            needed = acceptance_delta(c, pair, gap, residual, pairs, views)
            smallest = min(smallest, needed)
            if gap[c] <= exact_gap:
                smallest_exact = min(smallest_exact, needed)
    return smallest, smallest_exact


@kernel
def views_beyond(chosen, limit, own, residual):
    """Views other than the pair's own whose residual is not below each candidate's limit.

    Parameters
    ----------
    chosen : (F,) int64
    limit : (F,) float64
        Å.
    own : (C,) int64
    residual : (C, V) float64

    Returns
    -------
    (F,) int64
        Bit masks.
    """
    beyond = np.zeros(chosen.size, np.int64)
    for k in range(chosen.size):
        c = chosen[k]
        for u in range(residual.shape[1]):
            if not residual[c, u] < limit[k]:
                beyond[k] |= 1 << u
        beyond[k] &= ~own[c]
    return beyond


@kernel
def count_distinct(chosen, species, position, height, radius):
    """Number of distinct points among candidates (ascending): those within `radius` are one.

    As `rc_hpc.kernels.merge.clusters` counts its leaders, taken in this order.
    """
    n = chosen.size
    if n < 2:
        return n
    leads = np.empty(n, np.bool_)
    count = 0
    slack = radius + 1e-12
    for k in range(n):
        c = chosen[k]
        m = k - 1
        alone = True
        while (
            alone
            and m >= 0
            and species[chosen[m]] == species[c]
            and height[c] - height[chosen[m]] <= slack
        ):
            if leads[m]:
                o = chosen[m]
                dx = position[o, 0] - position[c, 0]
                dy = position[o, 1] - position[c, 1]
                dz = position[o, 2] - position[c, 2]
                alone = dx * dx + dy * dy + dz * dz > radius * radius
            m -= 1
        leads[k] = alone
        count += alone
    return count


@inner
def certificates_of(accept, masks, candidates, distance, pairs, scales, delta):
    """`certify`, where the acceptance at delta is at hand."""
    n_subsets, n_views = masks.size, candidates.residual.shape[1]
    own, seen, accepted = accept
    exact_gap = scales.exact
    gap, residual = candidates.gap, candidates.residual
    species, position, height = candidates.species, candidates.position, candidates.height
    n_phantoms = np.zeros(n_subsets, np.int64)
    n_exact = np.zeros(n_subsets, np.int64)
    n_strict = np.zeros(n_subsets, np.int64)
    phantom_delta = np.full(n_subsets, np.inf)
    phantom_delta_exact = np.full(n_subsets, np.inf)

    # Only a candidate farther from every atom than its gap can ever be a phantom; those of
    # Definition 7 are the ones whose rays intersect. Where acceptance and distance are one but
    # for rounding, as an atom's own candidates', there is no such delta.
    suspects = np.flatnonzero(distance > gap + scales.zero)
    phantoms = accepted[distance[accepted] > delta]
    strict = suspects[(gap[suspects] <= exact_gap) & (distance[suspects] > exact_gap)]
    suspects = suspects[gap[suspects] < distance[suspects] - scales.zero]
    suspect_own, suspect_blind = (
        own[suspects],
        views_beyond(suspects, distance[suspects] - scales.zero, own, residual),
    )
    phantom_own, phantom_blind = own[phantoms], ~seen[phantoms]
    strict_own, strict_blind = (
        own[strict],
        views_beyond(strict, np.full(strict.size, np.nextafter(exact_gap, np.inf)), own, residual),
    )
    buffer = np.empty(n_views, np.int64)
    live = np.empty(max(phantoms.size, strict.size), np.int64)
    for k in range(n_subsets):
        mask = masks[k]
        views = views_of(mask, buffer)
        size = accepted_on(mask, mask, phantom_own, phantom_blind, phantoms, live)
        n_phantoms[k] = count_distinct(live[:size], species, position, height, exact_gap)
        exact = 0
        for m in range(size):
            live[exact] = live[m]
            exact += gap[live[m]] <= exact_gap
        n_exact[k] = n_phantoms[k]
        if exact < size:
            n_exact[k] = count_distinct(live[:exact], species, position, height, exact_gap)
        size = accepted_on(mask, mask, strict_own, strict_blind, strict, live)
        n_strict[k] = count_distinct(live[:size], species, position, height, exact_gap)
        phantom_delta[k], phantom_delta_exact[k] = smallest_phantom_deltas(
            suspects, suspect_own, suspect_blind, candidates, pairs, exact_gap, views
        )
    return Certificates(n_phantoms, n_exact, n_strict, phantom_delta, phantom_delta_exact, phantoms)


@kernel
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
