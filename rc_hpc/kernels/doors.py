"""A cell to all that its view subsets give, in one call.

On small cells a call from Python costs as much as the work in it. What is returned are the
arrays of the records as plain tuples, which cross over to Python faster than the records do.
Flags go through as variables: of a constant the compiler makes a copy of all that it reaches.
"""

import numpy as np

from rc_hpc.kernels.candidates import candidate_distances
from rc_hpc.kernels.certificate import acceptance, certificates_of
from rc_hpc.kernels.compiled import inner, kernel
from rc_hpc.kernels.enumeration import enumerate_points, project_cell
from rc_hpc.kernels.perspective import enumerate_pinhole_points, project_pinhole_cell
from rc_hpc.kernels.records import Acceptance, Limits, Merging, PointSet
from rc_hpc.kernels.subsets import other_sets, reconstruct_subsets
from rc_hpc.kernels.ties import ties_may_matter


@kernel
def read_cell(positions, numbers, by_atom, cameras, frames, limits, readout, factors):
    """Project a cell, forget the correspondence, list all candidates, and read every subset.

    Parameters
    ----------
    positions, numbers, by_atom
        See `rc_hpc.kernels.enumeration.project_cell`.
    cameras, frames, limits
        See `rc_hpc.kernels.enumeration.enumerate_points`.
    readout : Readout
    factors : (F,) float64
        Other scales of ties, in units of that of `limits`, at which the cell is read again to see
        whether they matter.

    Returns
    -------
    found : tuple
        Arrays of `SortedPoints` and of `Candidates`; total, reach.
    compared : tuple
        Species; arrays of the true `PointSet`; distances of the candidates.
    reconstructed, certificates : tuple
        Arrays of `Reconstructed` and of `Certificates`.
    other_counts, other_points : (K,) bool
        Subsets on which there are so at any other scale: another number of points, or other points.
    """
    images, truth = project_cell(positions, numbers, by_atom, cameras.rotations)
    enumerated, total, reach = enumerate_points(images, by_atom, cameras, frames, limits)
    points, candidates = enumerated
    distance = candidate_distances(candidates, truth)
    subsets, merging, scales, keep_all = readout
    accept = acceptance(candidates, cameras.pairs, merging.delta)
    certificates = certificates_of(
        accept, subsets.masks, candidates, distance, cameras.pairs, scales, merging.delta
    )
    first = reconstruct_subsets(
        accept, subsets, merging, scales.same, enumerated, distance, cameras, truth, keep_all
    )
    other_counts, other_points = _none(first), _none(first)
    rule, delta, tie = merging
    if not ties_may_matter(images, not by_atom, accept, candidates.residual, tie, factors):
        factors = factors[:0]
    for factor in factors:
        other = Limits(factor * tie, delta, delta, limits.many, limits.too_many)
        enumerated, _, _ = enumerate_points(images, by_atom, cameras, frames, other)
        again = reconstruct_subsets(
            _undecided(accept),
            subsets,
            Merging(rule, delta, factor * tie),
            scales.same,
            enumerated,
            distance[:0],
            cameras,
            _unknown(truth),
            keep_all,
        )
        other_counts |= again.n_recovered != first.n_recovered
        other_points |= other_sets(first, again, scales.same)
    return (
        (points[:], candidates[:], total, reach),
        (images.species, truth[:], distance),
        first[:],
        certificates[:],
        (other_counts, other_points),
    )


@kernel
def read_pinhole_cell(positions, numbers, by_atom, cameras, pinholes, limits, readout, factors):
    """As `read_cell`."""
    images, truth = project_pinhole_cell(positions, numbers, by_atom, cameras.rotations, pinholes)
    enumerated, total, reach = enumerate_pinhole_points(images, by_atom, cameras, pinholes, limits)
    points, candidates = enumerated
    distance = candidate_distances(candidates, truth)
    subsets, merging, scales, keep_all = readout
    accept = acceptance(candidates, cameras.pairs, merging.delta)
    certificates = certificates_of(
        accept, subsets.masks, candidates, distance, cameras.pairs, scales, merging.delta
    )
    first = reconstruct_subsets(
        accept, subsets, merging, scales.same, enumerated, distance, cameras, truth, keep_all
    )
    other_counts, other_points = _none(first), _none(first)
    for factor in factors:
        rule, delta, tie = merging
        other = Limits(factor * tie, delta, delta, limits.many, limits.too_many)
        enumerated, _, _ = enumerate_pinhole_points(images, by_atom, cameras, pinholes, other)
        again = reconstruct_subsets(
            _undecided(accept),
            subsets,
            Merging(rule, delta, factor * tie),
            scales.same,
            enumerated,
            distance[:0],
            cameras,
            _unknown(truth),
            keep_all,
        )
        other_counts |= again.n_recovered != first.n_recovered
        other_points |= other_sets(first, again, scales.same)
    return (
        (points[:], candidates[:], total, reach),
        (images.species, truth[:], distance),
        first[:],
        certificates[:],
        (other_counts, other_points),
    )


@inner
def _none(reconstructed):
    """No subset, (K,) bool."""
    return np.zeros(reconstructed.entry.size, np.bool_)


@inner
def _unknown(truth):
    """`rc_hpc.kernels.records.UNKNOWN`, without an allocation."""
    return PointSet(truth.positions[:0], truth.heights[:0], truth.order[:0], truth.starts[:0])


@inner
def _undecided(accept):
    """`rc_hpc.kernels.certificate.UNDECIDED`, without an allocation."""
    return Acceptance(accept.own[:0], accept.seen[:0], accept.accepted[:0])
