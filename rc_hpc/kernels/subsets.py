"""All view subsets of one structure from its one enumeration of candidates."""

import numpy as np
from numba import njit

from rc_hpc.kernels.certificate import acceptance, certificates_of, views_of
from rc_hpc.kernels.merge import (
    best_first,
    cluster_means,
    clusters,
    least_squares,
    merge_by_image_points,
    undominated,
    worst_residuals,
)
from rc_hpc.kernels.records import PointSet, Reconstructed
from rc_hpc.kernels.search import largest_distance, sort_in_space, stable_order, worst_partner

DOMINANCE, BEST_RESIDUAL, LEAST_SQUARES, MEAN, FIRST = range(5)


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
def _reconstructions(accept, subsets, merging, same, enumerated, cameras, truth, keep_all):
    """`reconstruct_subsets`, where the acceptance at delta is at hand."""
    # Records are taken apart here, once: to hand one on costs a count of references for each
    # of its arrays, and what follows is done for every subset.
    masks, inverses, anchors = subsets
    rule, delta, tie = merging
    own, seen, accepted = accept
    pair, species, met, position, height, _, residual, nearest = enumerated.candidates
    screen, kappa, rotations = enumerated.points.screen, cameras.kappa, cameras.rotations
    n_subsets, n_species = masks.size, enumerated.points.starts.shape[1] - 1

    known = truth.starts.size > 0
    n_recovered = np.zeros(n_subsets, np.int64)
    reconstruction = np.zeros(n_subsets, np.int64)
    entry = np.zeros(n_subsets, np.int64)
    point_error = np.full(n_subsets, np.inf if known else np.nan)
    atom_error = np.full(n_subsets, np.inf if known else np.nan)
    sets = [truth]  # the true cell is set 0
    n_distinct = 1
    if not known:
        sets.pop()
        n_distinct = 0
    set_numbers = np.zeros(n_subsets + 1, np.int64)
    buffer = np.empty(residual.shape[1], np.int64)
    live_buffer = np.empty(accepted.size, np.int64)
    for k in range(n_subsets):
        mask, anchor = masks[k], anchors[k]
        views = views_of(mask, buffer)
        size = 0
        for c in accepted:
            if anchor != -1 and pair[c] != anchor:
                continue
            if (own[c] & ~mask) == 0 and (mask & ~seen[c]) == 0:
                live_buffer[size] = c
                size += 1
        live = live_buffer[:size]

        worst = worst_residuals(live, residual, views)
        if rule == DOMINANCE:
            keep = undominated(live, worst, nearest, views, screen.shape[1], tie)
            leader = leaders = merge_by_image_points(
                live, worst, keep, nearest, views, pair, kappa, tie
            )
        else:
            if rule == MEAN or rule == FIRST:
                order = stable_order(met[live].astype(np.float64))
            else:
                order = best_first(worst, kappa[pair[live]], tie)
            leader, leaders = clusters(live, order, species, position, height, delta, rule == FIRST)
        n = leaders.size
        chosen, when = np.empty(n, np.int64), np.empty(n, np.int64)
        places, heights = np.empty((n, 3)), np.empty(n)
        for m in range(n):
            c = live[leaders[m]]
            chosen[m], heights[m], when[m] = c, height[c], met[c]
            places[m, 0], places[m, 1], places[m, 2] = (
                position[c, 0],
                position[c, 1],
                position[c, 2],
            )
        starts = species_starts(species, chosen, n_species)
        merged = PointSet(places, heights, when, starts)
        if rule == MEAN or rule == LEAST_SQUARES:
            if rule == MEAN:
                moved = cluster_means(live, leader, leaders, position)
            else:
                moved = least_squares(chosen, nearest, views, screen, rotations, inverses[k])
            again = sort_in_space(moved, starts)
            merged = PointSet(again.positions, again.heights, when[again.order], starts)
        n_recovered[k] = n

        equal = -1
        for e in range(len(sets)):
            worst_of_all = worst_partner(merged, sets[e], same)
            if worst_of_all < np.inf:
                equal = e
                if known and e == 0:
                    point_error[k] = worst_of_all
                    atom_error[k] = worst_of_all
                break
        if known and equal != 0 and n > 0:
            point_error[k] = largest_distance(merged, truth)
            atom_error[k] = largest_distance(truth, merged)
        reconstruction[k] = set_numbers[equal] if equal >= 0 else n_distinct
        if equal < 0 or keep_all:
            entry[k] = len(sets)
            set_numbers[entry[k]] = reconstruction[k]
            sets.append(merged)
            if equal < 0:
                n_distinct += 1
        else:
            entry[k] = equal
    return Reconstructed(
        n_recovered,
        reconstruction,
        entry,
        point_error,
        atom_error,
        *joined(sets, n_species),
        set_numbers[: len(sets)],
    )


@njit(cache=True)
def reconstruct_subsets(subsets, merging, same, enumerated, cameras, truth, keep_all):
    """Reconstruction of every view subset.

    Parameters
    ----------
    subsets : Subsets
    merging : Merging
    same : float
        Distance within which two reconstructions are one, Å.
    enumerated : Enumerated
    cameras : Cameras
    truth : PointSet
        True atoms; `rc_hpc.kernels.records.UNKNOWN` where nobody knows them.
    keep_all : bool
        Return every subset's reconstruction, not the distinct ones only.

    Returns
    -------
    Reconstructed
    """
    accept = acceptance(enumerated.candidates, cameras.pairs, merging.delta)
    return _reconstructions(accept, subsets, merging, same, enumerated, cameras, truth, keep_all)


@njit(cache=True)
def all_subsets(readout, enumerated, distance, cameras, truth):
    """`reconstruct_subsets` and `rc_hpc.kernels.certificate.certify` from one acceptance.

    Parameters
    ----------
    readout : Readout
    enumerated, distance, cameras, truth
        As there.

    Returns
    -------
    Reconstructed, Certificates
    """
    subsets, merging, scales, keep_all = readout
    candidates, delta = enumerated.candidates, merging.delta
    accept = acceptance(candidates, cameras.pairs, delta)
    certificates = certificates_of(
        accept, subsets.masks, candidates, distance, cameras.pairs, scales, delta
    )
    reconstructed = _reconstructions(
        accept, subsets, merging, scales.same, enumerated, cameras, truth, keep_all
    )
    return reconstructed, certificates


@njit(cache=True)
def joined(sets, n_species):
    """Species ranges (E, n_species + 1), positions and order of point sets, one after the other."""
    starts = np.empty((len(sets), n_species + 1), np.int64)
    filled = 0
    for e in range(len(sets)):
        for s in range(n_species + 1):
            starts[e, s] = filled + sets[e].starts[s]
        filled += sets[e].positions.shape[0]
    positions = np.empty((filled, 3))
    order = np.empty(filled, np.int64)
    for e in range(len(sets)):
        begin = starts[e, 0]
        for k in range(sets[e].positions.shape[0]):
            order[begin + k] = sets[e].order[k]
            for axis in range(3):
                positions[begin + k, axis] = sets[e].positions[k, axis]
    return starts, positions, order
