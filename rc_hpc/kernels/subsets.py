"""All view subsets of one structure from its one enumeration of candidates."""

import numpy as np
from numba import njit

from rc_hpc.kernels.certificate import count_distinct, smallest_phantom_delta
from rc_hpc.kernels.merge import (
    best_first,
    cluster_means,
    clusters,
    least_squares,
    merge_by_image_points,
    undominated,
    worst_residuals,
)
from rc_hpc.kernels.search import nearest3, sort_in_space, stable_order, worst_partner

DOMINANCE, BEST_RESIDUAL, LEAST_SQUARES, MEAN, FIRST = range(5)


@njit(cache=True)
def candidate_masks(delta, gap, residual, pair, pair_views):
    """Bit masks of each candidate: the views of its pair, and the views that accept it at delta.

    The pair's own two views accept it when its gap does (their residual is half of that).
    """
    pair_mask = np.empty(pair.size, np.int64)
    view_mask = np.empty(pair.size, np.int64)
    for c in range(pair.size):
        a, b = pair_views[pair[c], 0], pair_views[pair[c], 1]
        own = (1 << a) | (1 << b)
        seen = own if gap[c] <= delta else 0
        for u in range(residual.shape[1]):
            if u != a and u != b and residual[c, u] <= delta:
                seen |= 1 << u
        pair_mask[c] = own
        view_mask[c] = seen
    return pair_mask, view_mask


@njit(cache=True)
def reconstruct(
    live,
    rule,
    views,
    pair,
    kappa,
    species,
    met,
    position,
    height,
    residual,
    nearest,
    points,
    rotations,
    inverse,
    delta,
    zero,
    n_species,
):
    """Atoms that a merge rule makes of the accepted candidates.

    Returns
    -------
    positions (M, 3), heights (M,), met (M,), starts (n_species + 1,)
        Sorted as by `sort_in_space`; `met` says when each was met.
    """
    worst = worst_residuals(live, residual, views)
    if rule == DOMINANCE:
        keep = undominated(live, worst, nearest, views, points.shape[1], zero)
        leader = leaders = merge_by_image_points(
            live, worst, keep, nearest, views, pair, kappa, zero
        )
    else:
        if rule == MEAN or rule == FIRST:
            order = stable_order(met[live].astype(np.float64))
        else:
            order = best_first(worst, kappa[pair[live]], zero)
        leader, leaders = clusters(live, order, species, position, height, delta, rule == FIRST)
    chosen = np.empty(leaders.size, np.int64)
    moved, heights, when = (
        np.empty((leaders.size, 3)),
        np.empty(leaders.size),
        np.empty(leaders.size, np.int64),
    )
    for m in range(leaders.size):
        c = live[leaders[m]]
        chosen[m], heights[m], when[m] = c, height[c], met[c]
        moved[m, 0], moved[m, 1], moved[m, 2] = position[c, 0], position[c, 1], position[c, 2]
    starts = species_starts(species, chosen, n_species)
    if rule == MEAN or rule == LEAST_SQUARES:
        if rule == MEAN:
            moved = cluster_means(live, leader, leaders, position)
        else:
            moved = least_squares(chosen, nearest, views, points, rotations, inverse)
        moved, heights, order = sort_in_space(moved, starts)
        when = when[order]
    return moved, heights, when, starts


@njit(cache=True)
def species_starts(species, chosen, n_species):
    """Species ranges (n_species + 1,) of the chosen candidates, sorted by species."""
    starts = np.zeros(n_species + 1, np.int64)
    for c in chosen:
        starts[species[c] + 1] += 1
    for s in range(n_species):
        starts[s + 1] += starts[s]
    return starts


@njit(cache=True)
def largest_distance(points, starts, others, other_heights, other_starts):
    """Largest distance from a point to the nearest other point of its species; inf where there is none."""
    largest = 0.0
    for s in range(starts.size - 1):
        for k in range(starts[s], starts[s + 1]):
            largest = max(
                largest,
                nearest3(
                    other_heights,
                    others,
                    other_starts[s],
                    other_starts[s + 1],
                    points[k, 0],
                    points[k, 1],
                    points[k, 2],
                ),
            )
    return largest


@njit(cache=True)
def all_subsets(
    masks,
    inverses,
    anchors,
    rule,
    keep_all,
    delta,
    zero,
    census_zero,
    same,
    pair,
    species,
    met,
    position,
    height,
    gap,
    residual,
    nearest,
    distance,
    pair_views,
    kappa,
    points,
    rotations,
    atoms,
    atom_heights,
    atom_order,
    starts,
):
    """Reconstruction and certificate of every view subset.

    Parameters
    ----------
    masks : (K,) int64
        View subsets as bit masks.
    inverses : (K, 3, 3) float64
        Inverse normal matrices of all-view least squares.
    anchors : (K,) int64
        Pair index the reconstruction is restricted to, -1 for all pairs of the subset,
        -2 for none (the anchor views are parallel). The certificate always uses all pairs.
    rule : int
        Merge rule.
    keep_all : bool
        Return every subset's reconstruction, not the distinct ones only.
    delta, zero, census_zero, same : float
        Tolerance; numerical zero of residuals and of the phantom census; distance within
        which two reconstructions are one. Å.

    Returns
    -------
    n_recovered, n_phantoms, n_exact, reconstruction, entry : (K,) int64
        `reconstruction` numbers the distinct reconstructions, 0 being the true cell;
        `entry` is where the subset's points lie in the returned sets.
    phantom_delta, phantom_delta_exact, point_error, atom_error : (K,) float64
    set_starts : (E + 1, S + 1) int64
        Per returned set the species ranges, as absolute rows of `set_points`.
    set_points : (T, 3) float64
    set_met : (T,) int64
        When each point was met among the candidates; the atom's index in set 0.
    set_numbers : (E,) int64
        Number of the distinct reconstruction each set is.
    phantoms : (F,) int64
        Candidates that are a phantom at delta for at least their own pair.
    """
    n_subsets, n_views, n_species = masks.size, residual.shape[1], starts.size - 1
    n_recovered = np.zeros(n_subsets, np.int64)
    n_phantoms = np.zeros(n_subsets, np.int64)
    n_exact = np.zeros(n_subsets, np.int64)
    reconstruction = np.zeros(n_subsets, np.int64)
    entry = np.zeros(n_subsets, np.int64)
    phantom_delta = np.full(n_subsets, np.inf)
    phantom_delta_exact = np.full(n_subsets, np.inf)
    point_error = np.full(n_subsets, np.inf)
    atom_error = np.full(n_subsets, np.inf)

    pair_mask, view_mask = candidate_masks(delta, gap, residual, pair, pair_views)
    accepted = np.flatnonzero(gap <= delta)
    # Only a candidate farther from every atom than its gap can ever be a phantom.
    suspects = np.flatnonzero(distance > gap + zero)
    exact_suspects = suspects[gap[suspects] <= census_zero]
    phantoms = accepted[distance[accepted] > delta]

    sets = [(atoms, atom_heights, atom_order, starts)]  # the true cell is set 0
    set_numbers = np.zeros(n_subsets + 1, np.int64)
    n_distinct = 1

    views_buffer = np.empty(n_views, np.int64)
    live_buffer = np.empty(accepted.size, np.int64)
    far_buffer = np.empty(phantoms.size, np.int64)
    for k in range(n_subsets):
        mask = masks[k]
        size = 0
        for u in range(n_views):
            if mask >> u & 1:
                views_buffer[size] = u
                size += 1
        views = views_buffer[:size]

        size = 0
        for c in phantoms:
            if (pair_mask[c] & ~mask) == 0 and (mask & ~view_mask[c]) == 0:
                far_buffer[size] = c
                size += 1
        n_phantoms[k] = count_distinct(far_buffer[:size], species, position, height, census_zero)
        exact = 0
        for m in range(size):
            if gap[far_buffer[m]] <= census_zero:
                far_buffer[exact] = far_buffer[m]
                exact += 1
        n_exact[k] = count_distinct(far_buffer[:exact], species, position, height, census_zero)
        phantom_delta[k] = smallest_phantom_delta(
            suspects,
            gap,
            residual,
            distance,
            pair_views,
            pair,
            mask,
            pair_mask,
            views,
            np.inf,
            zero,
        )
        phantom_delta_exact[k] = smallest_phantom_delta(
            exact_suspects,
            gap,
            residual,
            distance,
            pair_views,
            pair,
            mask,
            pair_mask,
            views,
            census_zero,
            zero,
        )

        size = 0
        for c in accepted:
            if anchors[k] != -1 and pair[c] != anchors[k]:
                continue
            if (pair_mask[c] & ~mask) == 0 and (mask & ~view_mask[c]) == 0:
                live_buffer[size] = c
                size += 1
        live = live_buffer[:size]
        made, made_heights, made_met, made_starts = reconstruct(
            live,
            rule,
            views,
            pair,
            kappa,
            species,
            met,
            position,
            height,
            residual,
            nearest,
            points,
            rotations,
            inverses[k],
            delta,
            zero,
            n_species,
        )
        n = made.shape[0]
        n_recovered[k] = n

        found = -1
        for e in range(len(sets)):
            other, other_heights, _, other_starts = sets[e]
            worst = worst_partner(
                made, made_heights, made_starts, other, other_heights, other_starts, same
            )
            if worst < np.inf:
                found = e
                if e == 0:
                    point_error[k] = worst
                    atom_error[k] = worst
                break
        if found != 0 and n > 0:
            point_error[k] = largest_distance(made, made_starts, atoms, atom_heights, starts)
            atom_error[k] = largest_distance(atoms, starts, made, made_heights, made_starts)
        reconstruction[k] = set_numbers[found] if found >= 0 else n_distinct
        if found < 0 or keep_all:
            entry[k] = len(sets)
            set_numbers[entry[k]] = reconstruction[k]
            sets.append((made, made_heights, made_met, made_starts))
            if found < 0:
                n_distinct += 1
        else:
            entry[k] = found
    set_starts, set_points, set_met = joined(sets, n_species)
    return (
        n_recovered,
        n_phantoms,
        n_exact,
        reconstruction,
        entry,
        phantom_delta,
        phantom_delta_exact,
        point_error,
        atom_error,
        set_starts,
        set_points,
        set_met,
        set_numbers[: len(sets)],
        phantoms,
    )


@njit(cache=True)
def joined(sets, n_species):
    """Point sets one after the other: species ranges (E, n_species + 1), points (T, 3), met (T,)."""
    starts = np.empty((len(sets), n_species + 1), np.int64)
    filled = 0
    for e in range(len(sets)):
        for s in range(n_species + 1):
            starts[e, s] = filled + sets[e][3][s]
        filled += sets[e][0].shape[0]
    points = np.empty((filled, 3))
    met = np.empty(filled, np.int64)
    for e in range(len(sets)):
        begin = starts[e, 0]
        for k in range(sets[e][0].shape[0]):
            met[begin + k] = sets[e][2][k]
            for axis in range(3):
                points[begin + k, axis] = sets[e][0][k, axis]
    return starts, points, met
