"""A cell to all that its view subsets give, in one call.

On small cells a call from Python costs as much as the work in it. What is returned are the
arrays of the records as plain tuples, which cross over to Python faster than the records do.
"""

import numpy as np
from numba import njit

from rc_hpc.kernels.candidates import candidate_distances
from rc_hpc.kernels.enumeration import enumerate_points, project_cell
from rc_hpc.kernels.perspective import enumerate_pinhole_points, project_pinhole_cell
from rc_hpc.kernels.records import Limits, Merging
from rc_hpc.kernels.subsets import all_subsets, other_sets, reconstruct_subsets


@njit(cache=True)
def read_cell(positions, numbers, by_atom, cameras, frames, limits, readout):
    """Project a cell, forget the correspondence, list all candidates, and read every subset.

    Parameters
    ----------
    positions, numbers, by_atom
        See `rc_hpc.kernels.enumeration.project_cell`.
    cameras, frames, limits
        See `rc_hpc.kernels.enumeration.enumerate_points`.
    readout : Readout

    Returns
    -------
    found : tuple
        Arrays of `SortedPoints` and of `Candidates`; total, reach.
    compared : tuple
        Species; arrays of the true `PointSet`; distances of the candidates.
    reconstructed, certificates : tuple
        Arrays of `Reconstructed` and of `Certificates`.
    """
    images, truth = project_cell(positions, numbers, by_atom, cameras.rotations)
    enumerated, total, reach = enumerate_points(images, by_atom, cameras, frames, limits)
    distance = candidate_distances(enumerated.candidates, truth)
    reconstructed, certificates = all_subsets(readout, enumerated, distance, cameras, truth)
    return (
        (enumerated.points[:], enumerated.candidates[:], total, reach),
        (images.species, truth[:], distance),
        reconstructed[:],
        certificates[:],
    )


@njit(cache=True)
def read_pinhole_cell(positions, numbers, by_atom, cameras, pinholes, limits, readout):
    """As `read_cell`."""
    images, truth = project_pinhole_cell(positions, numbers, by_atom, cameras.rotations, pinholes)
    enumerated, total, reach = enumerate_pinhole_points(images, by_atom, cameras, pinholes, limits)
    distance = candidate_distances(enumerated.candidates, truth)
    reconstructed, certificates = all_subsets(readout, enumerated, distance, cameras, truth)
    return (
        (enumerated.points[:], enumerated.candidates[:], total, reach),
        (images.species, truth[:], distance),
        reconstructed[:],
        certificates[:],
    )


@njit(cache=True)
def read_at_other_ties(
    positions, numbers, cameras, frames, limits, readout, reconstructed, factors, nothing
):
    """Read a cell again with ties judged at other scales, and say where that changes anything.

    Parameters
    ----------
    positions, numbers, cameras, frames
        As `read_cell`.
    limits : Limits
        With the tie of the first reading.
    readout : Readout
    reconstructed : Reconstructed
        What the first reading gave, points counted once.
    factors : (F,) float64
        The other scales, in units of that tie.
    nothing : PointSet
        `rc_hpc.kernels.records.UNKNOWN`.

    Returns
    -------
    more_or_less, elsewhere : (K,) bool
        Subsets on which there are so at any other scale: another number of points, or other points.
    """
    images, _ = project_cell(positions, numbers, False, cameras.rotations)
    more_or_less = np.zeros(reconstructed.entry.size, np.bool_)
    elsewhere = np.zeros(reconstructed.entry.size, np.bool_)
    rule, delta, tie = readout.merging
    for factor in factors:
        other = Limits(factor * tie, delta, delta, limits.many, limits.too_many)
        enumerated, _, _ = enumerate_points(images, False, cameras, frames, other)
        again = reconstruct_subsets(
            readout.subsets,
            Merging(rule, delta, factor * tie),
            readout.scales.same,
            enumerated,
            cameras,
            nothing,
            False,
        )
        more_or_less |= again.n_recovered != reconstructed.n_recovered
        elsewhere |= other_sets(reconstructed, again, readout.scales.same)
    return more_or_less, elsewhere
