"""Whether a reading depends on the scale at which ties are judged."""

from __future__ import annotations

import numpy as np

from rc_hpc.core.constants import SAME_RECONSTRUCTION
from rc_hpc.kernels.doors import read_at_other_ties
from rc_hpc.kernels.records import UNKNOWN
from rc_hpc.kernels.subsets import other_sets
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.oracle.reading import Reading


def at_other_ties(
    oracle: GeometricOracle, positions, numbers, reading: Reading, delta: float, factors
) -> tuple[np.ndarray, np.ndarray]:
    """On which subsets a cell reads otherwise with ties judged at other scales, (K,) bool each.

    Parameters
    ----------
    oracle
        Not one that takes atoms one by one.
    positions, numbers
        See `GeometricOracle.project`.
    reading
        What `GeometricOracle.run` gave at this delta.
    delta : float
        Å.
    factors : (F,) array_like
        The scales, in units of the oracle's.

    Returns
    -------
    counts, points
        Where another number of points is recovered at any of them, and where other points are.
    """
    first = reading.reconstructed()
    if not oracle.pinhole:
        return read_at_other_ties(
            *oracle.atoms(positions, numbers),
            oracle.cameras,
            oracle.optics,
            oracle.limits(delta, delta, oracle.tie),
            oracle.readout(delta),
            first,
            np.asarray(factors, np.float64),
            UNKNOWN,
        )
    counts = np.zeros(len(first.entry), dtype=bool)
    points = counts.copy()
    images, _ = oracle.project(positions, numbers)
    for factor in factors:
        found = oracle.enumerate(images, delta, delta, factor * oracle.tie)
        again = oracle.reconstruct(found, delta)
        counts |= again.n_recovered != first.n_recovered
        points |= other_sets(first, again.reconstructed(), SAME_RECONSTRUCTION)
    return counts, points
