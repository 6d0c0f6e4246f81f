"""Before a native symmetry call: refuse what spglib does not survive.

spglib ends the whole process on NaN or infinite positions and has crashed on other cells. The
checks here refuse the first; the recorder notes which structure was in flight for the rest.
"""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

from rc_hpc.core.constants import MIN_DISTANCE
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.symmetry.distances import closest_pair, min_distances
from rc_hpc.symmetry.recorder import NULL_RECORDER, FlightRecorder, NullRecorder, crashed_ids

__all__ = [
    "NULL_RECORDER",
    "FlightRecorder",
    "NullRecorder",
    "check_arrays",
    "check_cell",
    "crashed_ids",
    "min_distances",
    "spglib_raises",
]

#: Cells whose volume is below this part of the product of their edges are singular: far below
#: any real cell (0.1 is already very oblique), far above rounding.
FLATTEST = 1e-8


@contextmanager
def spglib_raises():
    """Let spglib raise its errors, which alone carry the reason, where its version can.

    The environment variable SPGLIB_OLD_ERROR_HANDLING overrules it, and older versions return
    None: callers handle both.
    """
    import spglib

    switch = getattr(spglib, "error", None)
    before = getattr(switch, "OLD_ERROR_HANDLING", None)
    if before is None:
        yield
        return
    switch.OLD_ERROR_HANDLING = False
    try:
        yield
    finally:
        switch.OLD_ERROR_HANDLING = before


def check_arrays(lattice, frac, numbers) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Refuse what spglib does not survive; all that precedes the distances in `check_cell`.

    Returns
    -------
    lattice (3, 3) float64, frac (n, 3) float64, numbers (n,) int32

    Raises
    ------
    StructureError
        read_error (shapes), empty, non_finite or singular_cell.
    """
    lattice, frac = np.asarray(lattice, float), np.asarray(frac, float)
    numbers = np.asarray(numbers, np.int32)
    if numbers.size == 0:
        raise StructureError(Status.empty, "no atoms in the cell: check the source")
    if lattice.shape != (3, 3) or frac.shape != (numbers.size, 3) or numbers.ndim != 1:
        raise StructureError(
            Status.read_error,
            f"shapes do not fit: lattice {lattice.shape}, positions {frac.shape}, "
            f"species {numbers.shape}; expected (3, 3), (n, 3), (n,)",
        )
    if not np.isfinite(lattice).all():
        raise StructureError(Status.non_finite, "the lattice holds NaN or infinity")
    broken = np.flatnonzero(~np.isfinite(frac).all(axis=1))
    if broken.size:
        raise StructureError(
            Status.non_finite,
            f"the position of {_name(broken[0], numbers)} holds NaN or infinity",
        )
    with np.errstate(all="ignore"):
        edges = np.linalg.norm(lattice, axis=1)
        volume = abs(np.linalg.det(lattice))
        flat = not np.isfinite(volume) or not volume > FLATTEST * edges.prod()
    if flat:
        raise StructureError(
            Status.singular_cell,
            f"the cell has no usable volume ({volume:.3g} Å^3 from edges of "
            f"{edges[0]:.3g}, {edges[1]:.3g} and {edges[2]:.3g} Å): check the lattice",
        )
    return lattice, frac, numbers


def check_cell(lattice, frac, numbers, *, min_distance: float = MIN_DISTANCE) -> None:
    """Refuse a cell that cannot be a crystal structure.

    Parameters
    ----------
    lattice : (3, 3)
        Lattice vectors as rows, Å.
    frac : (n, 3)
        Fractional coordinates.
    numbers : (n,)
        Atomic numbers.
    min_distance
        Atoms closer than this are taken for a broken file, Å. Periodic images count, an
        atom's own included.

    Raises
    ------
    StructureError
        As `check_arrays`, or close_atoms, naming both atoms and their distance.
    """
    lattice, frac, numbers = check_arrays(lattice, frac, numbers)
    distance, i, j = closest_pair(lattice, frac, limit=min_distance, own_images=True)
    if distance < min_distance:
        other = "its own periodic image" if i == j else _name(j, numbers)
        raise StructureError(
            Status.close_atoms,
            f"{_name(i, numbers)} and {other} are {distance:.4g} Å apart (at least "
            f"{min_distance:g} Å is required): duplicate atoms or wrong units?",
        )


def _name(index: int, numbers: np.ndarray) -> str:
    from ase.data import chemical_symbols

    number = int(numbers[index])
    symbol = chemical_symbols[number] if 0 < number < len(chemical_symbols) else f"Z={number}"
    return f"atom {index + 1} ({symbol})"
