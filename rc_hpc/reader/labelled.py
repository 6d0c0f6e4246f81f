"""Labels of a reading: by tolerance, and by what the pictures bear out."""

from __future__ import annotations

from typing import Any

import numpy as np

from rc_hpc.core.constants import ANGLE_TOLERANCE
from rc_hpc.reader.drawn import Drawn, Redrawing
from rc_hpc.reader.exact import Crystal, symmetrised
from rc_hpc.reader.records import Limits
from rc_hpc.symmetry.conventional import canonical_order
from rc_hpc.symmetry.guard import spglib_raises
from rc_hpc.symmetry.labels import label_cell

#: By how many pixels a symmetrised cell may draw the pictures worse and still be as good.
AS_GOOD = 30


def labels(lattice, fractional, numbers, symprecs) -> np.ndarray:
    """Space group at each tolerance (Å), (len(symprecs),) int64; 0 where spglib finds none."""
    order = canonical_order(fractional @ lattice, numbers)
    found = [label_cell(lattice, fractional[order], numbers[order], one)[0] for one in symprecs]
    return np.array([0 if one is None else one.number for one in found], np.int64)


def by_pictures(crystal: Crystal, drawn: Drawn, limits: Limits, redrawing: Redrawing) -> int:
    """Space group of highest order whose symmetrised cell draws the pictures as well; 0: none."""
    known = redrawing.knowledge.level != "K0"
    best, order, seen = 0, 0, set()
    for symprec in sorted({*limits.symprecs, limits.tau}):
        data = dataset(crystal, symprec)
        if data is None or (int(data.number), len(data.rotations)) in seen:
            continue
        seen.add((int(data.number), len(data.rotations)))
        if best and len(data.rotations) <= order:
            continue
        if best and symprec > limits.tau:
            whole = symmetrised(crystal, data.rotations, data.translations, known)
            if whole is None or whole.draw(redrawing).total > drawn.total + AS_GOOD:
                continue
        best, order = int(data.number), len(data.rotations)
    return best


def dataset(crystal: Crystal, symprec: float) -> Any:
    """What spglib finds at a tolerance, Å; None where it finds nothing."""
    import spglib

    cell = crystal.lattice, crystal.fractional, crystal.numbers
    try:
        with spglib_raises():
            return spglib.get_symmetry_dataset(cell, symprec, ANGLE_TOLERANCE)
    except getattr(spglib, "SpglibError", ()):
        return None
