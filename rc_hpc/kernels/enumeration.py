"""One cell to all its candidates in one call: on small cells calls cost as much as work."""

import numpy as np
from numba import njit

from rc_hpc.kernels.candidates import (
    count_candidates,
    fill_candidates,
    image_points,
    normal_heights,
    project,
)
from rc_hpc.kernels.search import sort_in_space


@njit(cache=True)
def species_ranges(numbers, as_listed):
    """Order of the atoms by species, and the species' ranges in it.

    Parameters
    ----------
    numbers : (n,) int64
        Atomic numbers.
    as_listed : bool
        Species in the order in which `numbers` lists them, not ascending.

    Returns
    -------
    order : (n,) int64
        Stable within a species.
    starts : (S + 1,) int64
    kinds : (S,) int64
        Atomic number of each species.
    """
    found = np.empty(numbers.size, np.int64)
    n_species = 0
    for k in range(numbers.size):
        known = False
        for s in range(n_species):
            if found[s] == numbers[k]:
                known = True
                break
        if not known:
            found[n_species] = numbers[k]
            n_species += 1
    kinds = found[:n_species].copy()
    if not as_listed:
        kinds.sort()
    order = np.empty(numbers.size, np.int64)
    starts = np.zeros(n_species + 1, np.int64)
    filled = 0
    for s in range(n_species):
        for k in range(numbers.size):
            if numbers[k] == kinds[s]:
                order[filled] = k
                filled += 1
        starts[s + 1] = filled
    return order, starts, kinds


@njit(cache=True)
def enumerate_cell(
    positions,
    numbers,
    by_atom,
    rotations,
    pair_views,
    normal,
    screen_normal,
    screen_side,
    dual,
    zero,
    reach_min,
    reach_max,
    many,
    too_many,
):
    """Project a cell, forget the correspondence, and list all candidates.

    Parameters
    ----------
    positions : (n, 3) float64
        Cartesian, Å.
    numbers : (n,) int64
        Atomic numbers.
    by_atom : bool
        Images one by one, and candidates in the order of a double loop over the atoms;
        otherwise coincident image points (within `zero`, Å) count once.
    reach_min, reach_max : float
        Gap that must be covered, and the one that is covered up to `many` candidates, Å.
    too_many : int
        Number of candidates above which none is listed.

    Returns
    -------
    total : int
        Number of candidates within `reach`.
    reach : float
        Gap covered, Å.
    kinds, starts
        Species, see `species_ranges`.
    points : (V, n, 2)
        See `image_points`.
    atoms, atom_heights, atom_order
        See `sort_in_space`.
    candidates : tuple
        See `fill_candidates`.
    """
    order, starts, kinds = species_ranges(numbers, by_atom)
    positions = positions[order]
    points, heights, view_starts, atom = image_points(
        project(positions, rotations), starts, not by_atom, zero
    )
    normal_height, normal_order = normal_heights(points, view_starts, pair_views, screen_normal)
    atoms, atom_heights, atom_order = sort_in_space(positions, starts)
    reach = reach_max
    counts = count_candidates(normal_height, normal_order, view_starts, pair_views, reach)
    total = counts.sum()
    while total > many and reach > reach_min:
        reach = max(reach_min, 0.5 * reach)
        counts = count_candidates(normal_height, normal_order, view_starts, pair_views, reach)
        total = counts.sum()
    if total > too_many:
        counts[:] = 0
    candidates = fill_candidates(
        points,
        heights,
        view_starts,
        atom,
        normal_height,
        normal_order,
        rotations,
        pair_views,
        normal,
        screen_side,
        dual,
        atoms,
        atom_heights,
        starts,
        counts,
        reach,
        by_atom,
    )
    return total, reach, kinds, starts, points, atoms, atom_heights, atom_order, candidates
