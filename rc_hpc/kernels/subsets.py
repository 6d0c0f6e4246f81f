"""All view subsets of one structure from its one enumeration of candidates."""

import numpy as np

from rc_hpc.kernels.certificate import acceptance, accepted_on, views_of
from rc_hpc.kernels.compiled import inner, kernel
from rc_hpc.kernels.merge import (
    best_first,
    cluster_means,
    clusters,
    fill_by_image_points,
    fill_near,
    fill_undominated,
    fill_worst,
    least_squares,
    runs_of,
    slots,
)
from rc_hpc.kernels.records import Reconstructed
from rc_hpc.kernels.search import (
    farthest_from,
    farthest_partner,
    heights_of,
    sort_in_space,
    stable_order,
)

DOMINANCE, BEST_RESIDUAL, LEAST_SQUARES, MEAN, FIRST = range(5)


@inner
def _longer(points, heights, order, filled, needed):
    """The arrays up to `filled` rows in new ones, with room for at least so many more."""
    size = max(filled + needed, 2 * heights.size)
    places, along, when = np.empty((size, 3)), np.empty(size), np.empty(size, np.int64)
    for k in range(filled):
        along[k], when[k] = heights[k], order[k]
        for axis in range(3):
            places[k, axis] = points[k, axis]
    return places, along, when


@kernel
def reconstruct_subsets(
    accept, subsets, merging, same, enumerated, distance, cameras, truth, keep_all
):
    """Reconstruction of every view subset.

    Parameters
    ----------
    accept : Acceptance
        At delta; `rc_hpc.kernels.certificate.UNDECIDED` where it is not at hand.
    subsets : Subsets
    merging : Merging
    same : float
        Distance within which two reconstructions are one, Å.
    enumerated : Enumerated
    distance : (C,) float64
        Of the candidates from the nearest true atom, Å; empty where it is not at hand.
    cameras : Cameras
    truth : PointSet
        True atoms; `rc_hpc.kernels.records.UNKNOWN` where nobody knows them.
    keep_all : bool
        Return every subset's reconstruction, not the distinct ones only.

    Returns
    -------
    Reconstructed
    """
    # Records are taken apart here, once: to hand one on costs a count of references for each
    # of its arrays, and what follows is done for every subset. For the same reason nothing is
    # allocated there: sets stand one behind the other in three arrays, and one that is not kept
    # is written over.
    masks, inverses, anchors = subsets
    rule, delta, tie = merging
    pair, species, met, position, height, _, residual, nearest = enumerated.candidates
    own, seen, accepted = accept
    if own.size < pair.size:
        own, seen, accepted = acceptance(enumerated.candidates, cameras.pairs, delta)
    screen, kappa, rotations = enumerated.points.screen, cameras.kappa, cameras.rotations
    n_subsets, n_species = masks.size, enumerated.points.starts.shape[1] - 1

    known = truth.starts.size > 0
    # Whether points stand where candidates do, whose distances are there.
    measured = distance.size == pair.size and rule != MEAN and rule != LEAST_SQUARES
    n_recovered = np.zeros(n_subsets, np.int64)
    reconstruction = np.zeros(n_subsets, np.int64)
    entry = np.zeros(n_subsets, np.int64)
    point_error = np.full(n_subsets, np.inf if known else np.nan)
    atom_error = np.full(n_subsets, np.inf if known else np.nan)
    set_numbers = np.zeros(n_subsets + 1, np.int64)
    set_starts = np.zeros((n_subsets + 1, n_species + 1), np.int64)
    n_sets, n_distinct = 0, 0
    atoms = truth.positions.shape[0]
    points = np.empty((16 + 4 * atoms, 3))
    heights, order = np.empty(points.shape[0]), np.empty(points.shape[0], np.int64)
    filled = 0
    if known:  # the true cell is set 0
        for k in range(atoms):
            heights[k], order[k] = truth.heights[k], truth.order[k]
            for axis in range(3):
                points[k, axis] = truth.positions[k, axis]
        for s in range(n_species + 1):
            set_starts[0, s] = truth.starts[s]
        filled, n_sets, n_distinct = atoms, 1, 1
    n_accepted = accepted.size
    own_of, blind_of = np.empty(n_accepted, np.int64), np.empty(n_accepted, np.int64)
    for k in range(n_accepted):
        own_of[k], blind_of[k] = own[accepted[k]], ~seen[accepted[k]]
    view_buffer = np.empty(residual.shape[1], np.int64)
    live_buffer = np.empty(n_accepted, np.int64)
    worst_buffer, steps = np.empty(n_accepted), np.empty(n_accepted)
    keep_buffer, taken_buffer = np.empty(n_accepted, np.bool_), np.empty(n_accepted, np.bool_)
    after, chosen_buffer = np.empty(n_accepted, np.int64), np.empty(n_accepted, np.int64)
    best, near_buffer = np.empty((0, 0)), np.empty(0, np.int32)
    run = head = table = np.empty(0, np.int64)
    if rule == DOMINANCE:
        best = np.full((residual.shape[1], screen.shape[1]), np.inf)
        near_buffer = np.empty(n_accepted * residual.shape[1], np.int32)
        run, head = runs_of(nearest), np.empty(n_accepted, np.int64)
        table = np.empty(slots(n_accepted), np.int64)
    for k in range(n_subsets):
        mask = masks[k]
        views = views_of(mask, view_buffer)
        allowed = mask
        if anchors[k] != -1:
            allowed = np.int64(0)
            if anchors[k] >= 0:
                first, second = cameras.pairs[anchors[k], 0], cameras.pairs[anchors[k], 1]
                allowed = (1 << first) | (1 << second)
        size = accepted_on(mask, allowed, own_of, blind_of, accepted, live_buffer)
        live, worst = live_buffer[:size], worst_buffer[:size]
        leader = leaders = chosen_buffer[:0]
        if rule == DOMINANCE:
            fill_worst(live, residual, views, worst)
            near = near_buffer[: size * views.size].reshape(size, views.size)
            fill_near(live, run, nearest, views, near, head)
            fill_undominated(worst, near, head, tie, best, steps, keep_buffer)
            for m in range(size):
                steps[m] = np.floor(worst[m] / tie + 0.5)  # `steps_of`
            count = fill_by_image_points(
                live,
                steps,
                keep_buffer,
                near,
                head,
                pair,
                kappa,
                table,
                after,
                chosen_buffer,
                taken_buffer,
            )
            leaders = chosen_buffer[:count]
        else:
            if rule == MEAN or rule == FIRST:
                turns = stable_order(met[live].astype(np.float64))
            else:
                fill_worst(live, residual, views, worst)
                turns = best_first(worst, kappa[pair[live]], tie)
            leader, leaders = clusters(live, turns, species, position, height, delta, rule == FIRST)
        n = leaders.size
        if filled + n > heights.size:
            points, heights, order = _longer(points, heights, order, filled, n)
        starts = set_starts[n_sets]
        starts[:] = 0
        for m in range(n):
            c = live[leaders[m]]
            starts[species[c] + 1] += 1
            heights[filled + m], order[filled + m] = height[c], met[c]
            points[filled + m, 0] = position[c, 0]
            points[filled + m, 1] = position[c, 1]
            points[filled + m, 2] = position[c, 2]
        starts[0] = filled
        for s in range(n_species):
            starts[s + 1] += starts[s]
        if rule == MEAN or rule == LEAST_SQUARES:
            if rule == MEAN:
                moved = cluster_means(live, leader, leaders, position)
            else:
                moved = least_squares(live[leaders], nearest, views, screen, rotations, inverses[k])
            again = sort_in_space(moved, starts - filled)
            when = order[filled : filled + n].copy()
            for m in range(n):
                heights[filled + m], order[filled + m] = again.heights[m], when[again.order[m]]
                for axis in range(3):
                    points[filled + m, axis] = again.positions[m, axis]
        n_recovered[k] = n

        equal = -1
        apart = np.inf
        e = 0
        while equal < 0 and e < n_sets:
            apart = farthest_partner(points, heights, starts, points, heights, set_starts[e], same)
            if apart < np.inf:
                equal = e
            e += 1
        if known and equal == 0:
            point_error[k] = atom_error[k] = apart
        elif known and n > 0:
            true = set_starts[0]
            if measured:
                largest = 0.0
                for m in range(n):
                    largest = max(largest, distance[live[leaders[m]]])
                point_error[k] = largest
            else:
                point_error[k] = farthest_from(points, starts, heights, points, true)
            atom_error[k] = farthest_from(points, true, heights, points, starts)
        reconstruction[k] = set_numbers[equal] if equal >= 0 else n_distinct
        if equal < 0 or keep_all:
            entry[k] = n_sets
            set_numbers[n_sets] = reconstruction[k]
            filled += n
            n_sets += 1
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
        set_starts[:n_sets],
        points[:filled],
        order[:filled],
        set_numbers[:n_sets],
    )


@inner
def other_sets(first, second, same):
    """On which subsets two readings of the same species give other points, (K,) bool.

    Parameters
    ----------
    first, second : Reconstructed
    same : float
        Distance within which two reconstructions are one, Å.
    """
    heights = heights_of(first.set_positions)
    others = heights_of(second.set_positions)
    unlike = np.empty(first.entry.size, np.bool_)
    for k in range(unlike.size):
        apart = farthest_partner(
            first.set_positions,
            heights,
            first.set_starts[first.entry[k]],
            second.set_positions,
            others,
            second.set_starts[second.entry[k]],
            same,
        )
        unlike[k] = apart == np.inf
    return unlike
