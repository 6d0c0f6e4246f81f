"""Point groups of molecules in Schoenflies' notation, by pymatgen's analyzer."""

from __future__ import annotations

import numpy as np

from rc_hpc.core.constants import GROUP_TOLERANCE

#: Order of the highest rotation axis that has a code.
HIGHEST_AXIS = 12
#: Groups of linear molecules: an axis of any order.
LINEAR = ("C*v", "D*h")
_ORDERS = range(2, HIGHEST_AXIS + 1)
#: All groups; index + 1 is the stored code, 0 is none. `Kh` is that of a single atom.
SCHOENFLIES = (
    *("C1", "Cs", "Ci"),
    *(f"C{n}" for n in _ORDERS),
    *(f"C{n}v" for n in _ORDERS),
    *(f"C{n}h" for n in _ORDERS),
    *(f"S{2 * n}" for n in _ORDERS),
    *(f"D{n}" for n in _ORDERS),
    *(f"D{n}h" for n in _ORDERS),
    *(f"D{n}d" for n in _ORDERS),
    *("T", "Td", "Th", "O", "Oh", "I", "Ih"),
    *LINEAR,
    "Kh",
)
#: Principal moments of inertia, over their half sum, that differ by less are equal.
_EQUAL_MOMENTS = 0.01
#: Down to where that is lowered: rounding makes moments differ by less.
_LEAST = 1e-9


def point_group(numbers, positions, tolerance: float = GROUP_TOLERANCE) -> str | None:
    """Point group of a molecule, None where the analyzer finds none.

    Parameters
    ----------
    numbers : (n,)
        Atomic numbers, one atom or more.
    positions : (n, 3)
        Å, in any frame.
    tolerance
        Distance within which an operation must bring every atom to one of its element, Å.
    """
    from pymatgen.core import Molecule
    from pymatgen.symmetry.analyzer import PointGroupAnalyzer

    positions = np.asarray(positions, float)
    if not np.isfinite(positions).all():
        return None
    molecule = Molecule([int(number) for number in numbers], positions)
    straight = _off_line(positions) <= tolerance
    equal = _EQUAL_MOMENTS
    while True:
        try:
            symbol = PointGroupAnalyzer(molecule, tolerance, equal).sch_symbol
        except Exception:  # noqa: BLE001 - third-party code on arbitrary points: any may come
            return None
        # It takes for linear whose smallest moment is small: HOI, whose hydrogen weighs little.
        if straight or symbol not in LINEAR or equal < _LEAST:
            return symbol
        equal /= 10


def _off_line(positions) -> float:
    """Largest distance of the points from the line that fits them best, Å."""
    centred = positions - positions.mean(axis=0)
    along = np.linalg.svd(centred)[2][0]
    return float(np.linalg.norm(centred - np.outer(centred @ along, along), axis=1).max())
