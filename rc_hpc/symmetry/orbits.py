"""Symmetry orbits of the atoms of a cell."""

from __future__ import annotations

import numpy as np

from rc_hpc.core.errors import Status, StructureError
from rc_hpc.symmetry.conventional import canonical_order
from rc_hpc.symmetry.guard import NULL_RECORDER, check_arrays, spglib_raises


def orbits(lattice, positions, numbers, symprec: float, recorder=NULL_RECORDER) -> np.ndarray:
    """Orbit of each atom, (n,) int64.

    Atoms have one number where a symmetry operation maps one to the other.

    Parameters
    ----------
    lattice : (3, 3), positions : (n, 3)
        Å.
    numbers : (n,)
        Atomic numbers.
    symprec
        Å, at spglib's own angle tolerance.
    recorder
        Notes the structure in flight.

    Raises
    ------
    StructureError
        spglib finds no symmetry at all.
    """
    import spglib

    lattice, frac, numbers = check_arrays(lattice, positions @ np.linalg.inv(lattice), numbers)
    order = canonical_order(positions, numbers)
    try:
        with spglib_raises():
            dataset = recorder.call(
                spglib.get_symmetry_dataset,
                (lattice, np.mod(frac[order], 1.0), numbers[order]),
                symprec,
            )
    except getattr(spglib, "SpglibError", ()) as error:
        raise StructureError(
            Status.label_failed, f"spglib finds no orbits at symprec {symprec:g} Å: {error}"
        ) from error
    if dataset is None:
        raise StructureError(
            Status.label_failed, f"spglib finds no orbits at symprec {symprec:g} Å"
        )
    found = np.empty(len(order), np.int64)
    found[order] = dataset.equivalent_atoms
    return found
