"""Atoms to image points, and image points to candidates: nothing else lies between the two."""

from rc_hpc.kernels.candidates import count_candidates, fill_candidates, normal_heights
from rc_hpc.kernels.compiled import kernel
from rc_hpc.kernels.points import project, shown_by_all, sort_points, species_ranges
from rc_hpc.kernels.records import Enumerated, Projection
from rc_hpc.kernels.search import sort_in_space


@kernel
def project_cell(positions, numbers, by_atom, rotations):
    """Images of a cell in every view; which belong together is not in them.

    Parameters
    ----------
    positions : (n, 3) float64
        Cartesian, Å.
    numbers : (n,) int64
        Atomic numbers.
    by_atom : bool
        Species in the order in which the cell lists them, not by atomic number.
    rotations : (V, 3, 3) float64

    Returns
    -------
    Projection
    """
    order, starts, species = species_ranges(numbers, by_atom)
    positions = positions[order]
    images = shown_by_all(project(positions, rotations), starts, species)
    return Projection(images, sort_in_space(positions, starts))


@kernel
def enumerate_points(images, by_atom, cameras, frames, limits):
    """List all candidates of image points, wherever these come from.

    Parameters
    ----------
    images : ImagePoints
    by_atom : bool
        Points one by one, and candidates in the order of a double loop over them; otherwise
        coincident points count once.
    cameras : Cameras
    frames : PairFrames
    limits : Limits

    Returns
    -------
    Enumerated
    total : int
        Number of candidates within the reach.
    reach : float
        Gap covered, Å.
    """
    points = sort_points(images, not by_atom, limits.tie)
    along, order = normal_heights(points, cameras.pairs, frames.screen_normal)
    reach = limits.reach_max
    counts = count_candidates(along, order, points.starts, cameras.pairs, reach)
    total = counts.sum()
    while total > limits.many and reach > limits.reach_min:
        reach = max(limits.reach_min, 0.5 * reach)
        counts = count_candidates(along, order, points.starts, cameras.pairs, reach)
        total = counts.sum()
    if total > limits.too_many:
        counts[:] = 0
    candidates = fill_candidates(
        points, (along, order), cameras, frames, counts, reach, by_atom, limits.tie
    )
    return Enumerated(points, candidates), total, reach
