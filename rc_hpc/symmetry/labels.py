"""Labels of a cell at four granularities: one spglib call gives the number, a table the rest.

The cheapest public call is `get_symmetry_dataset`: spglib computes the whole dataset
whichever of its functions is asked, so `get_spacegroup` only adds a table look-up.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from rc_hpc.core.constants import ANGLE_TOLERANCE, CRYSTAL_SYSTEMS, LAST_NUMBER, TAU
from rc_hpc.core.errors import StructureError
from rc_hpc.symmetry.guard import NULL_RECORDER, check_arrays, spglib_raises

#: The 32 point groups by first space-group number; index + 1 is the stored code, 0 is none.
POINT_GROUPS = (
    "1",
    "-1",
    "2",
    "m",
    "2/m",
    "222",
    "mm2",
    "mmm",
    "4",
    "-4",
    "4/m",
    "422",
    "4mm",
    "-42m",
    "4/mmm",
    "3",
    "-3",
    "32",
    "3m",
    "-3m",
    "6",
    "-6",
    "6/m",
    "622",
    "6mm",
    "-6m2",
    "6/mmm",
    "23",
    "m-3",
    "432",
    "-43m",
    "m-3m",
)
#: The 14 Bravais lattices; index + 1 is the stored code, 0 is none.
BRAVAIS_LATTICES = (
    "aP",
    "mP",
    "mC",
    "oP",
    "oC",
    "oF",
    "oI",
    "tP",
    "tI",
    "hP",
    "hR",
    "cP",
    "cF",
    "cI",
)
#: Family letter of each crystal system; trigonal is filed under h.
FAMILIES = "amothhc"
#: Settings (Hall numbers) that spglib knows.
_N_HALL = 530


@dataclass(frozen=True, slots=True)
class Label:
    """A space group and what follows from its number alone.

    Attributes
    ----------
    number
        Space-group number, 1 to 230.
    symbol
        Short international symbol of the standard setting, e.g. ``Fm-3m``.
    point_group, bravais, crystal_system
        Entries of `POINT_GROUPS`, `BRAVAIS_LATTICES`, `constants.CRYSTAL_SYSTEMS`.
    """

    number: int
    symbol: str
    point_group: str
    bravais: str
    crystal_system: str

    @property
    def codes(self) -> tuple[int, int, int]:
        """Stored codes of (crystal system, point group, Bravais lattice), each from 1."""
        return (
            CRYSTAL_SYSTEMS.index(self.crystal_system) + 1,
            POINT_GROUPS.index(self.point_group) + 1,
            BRAVAIS_LATTICES.index(self.bravais) + 1,
        )


@lru_cache(maxsize=1)
def _types() -> tuple:
    """spglib's space-group types 1 to 230, each in its first (standard) setting."""
    import spglib

    types: dict = {}
    with spglib_raises():
        for hall in range(1, _N_HALL + 1):
            entry = spglib.get_spacegroup_type(hall)
            types.setdefault(entry.number, entry)
    return tuple(types[number] for number in range(1, 231))


@lru_cache(maxsize=231)
def label(number: int) -> Label:
    """The label that belongs to a space-group number (1 to 230)."""
    if not 1 <= number <= 230:
        raise ValueError(f"{number} is no space-group number (1 to 230)")
    entry = _types()[number - 1]
    return Label(
        number=int(number),
        symbol=entry.international_short,
        point_group=entry.pointgroup_international,
        bravais=bravais(number),
        crystal_system=crystal_system(number),
    )


def crystal_system(number: int) -> str:
    """Crystal system of a space-group number (1 to 230)."""
    return CRYSTAL_SYSTEMS[bisect_left(LAST_NUMBER, number)]


def bravais(number: int, as_in_symbol: bool = False) -> str:
    """Bravais lattice of a space-group number (1 to 230).

    Parameters
    ----------
    as_in_symbol
        Keep the letter of the international symbol. It names A-centred groups ``oA`` as the
        released records do, although they are the base-centred lattice ``oC`` in another
        setting: there are 14 lattices, and ``oA`` is none of them.
    """
    letter = _types()[number - 1].international_short[0]
    if letter in "AB" and not as_in_symbol:
        letter = "C"
    return FAMILIES[bisect_left(LAST_NUMBER, number)] + letter


@lru_cache(maxsize=1)
def code_table() -> np.ndarray:
    """Stored codes by space-group number.

    Returns
    -------
    (231, 3) uint8
        Crystal system, point group, Bravais lattice; row 0 (no label) is 0, 0, 0. Read-only.
    """
    table = np.array([(0, 0, 0), *(label(number).codes for number in range(1, 231))], np.uint8)
    table.flags.writeable = False
    return table


def label_cell(
    lattice: np.ndarray,
    frac: np.ndarray,
    numbers: np.ndarray,
    symprec: float = TAU,
    angle_tolerance: float = ANGLE_TOLERANCE,
    *,
    recorder=NULL_RECORDER,
    checked: bool = False,
) -> tuple[Label | None, str]:
    """Label a cell with spglib.

    Parameters
    ----------
    lattice : (3, 3)
        Lattice vectors as rows, Å.
    frac : (n, 3)
        Fractional coordinates; wrapped modulo 1 here.
    numbers : (n,)
        Atomic numbers (any integer per species will do).
    symprec
        Distance tolerance, Å.
    angle_tolerance
        Degrees.
    recorder
        Notes the structure in flight (`guard.FlightRecorder`).
    checked
        The lattice is that of a cell that was labelled before, and the arrays have their shapes:
        only what may be wrong of the positions is looked at.

    Returns
    -------
    label
        None where there is none: non-finite input, a singular cell, or spglib gave up.
    message
        Why there is none, else empty.
    """
    dataset, message = symmetry_of(
        lattice, frac, numbers, symprec, angle_tolerance, recorder, checked
    )
    return (None if dataset is None else label(int(dataset.number))), message


def symmetry_of(
    lattice: np.ndarray,
    frac: np.ndarray,
    numbers: np.ndarray,
    symprec: float,
    angle_tolerance: float,
    recorder=NULL_RECORDER,
    checked: bool = False,
) -> tuple[Any, str]:
    """spglib's dataset of a cell, or None and why there is none; see `label_cell`."""
    import spglib

    if not (checked and np.isfinite(frac).all()):
        try:
            lattice, frac, numbers = check_arrays(lattice, frac, numbers)
        except StructureError as error:
            return None, str(error)
    cell = (lattice, np.mod(frac, 1.0), numbers)
    try:
        with spglib_raises():
            dataset = recorder.call(spglib.get_symmetry_dataset, cell, symprec, angle_tolerance)
    except getattr(spglib, "SpglibError", ()) as error:
        return None, _failure(symprec, str(error))
    if dataset is None:
        return None, _failure(symprec, "")
    return dataset, ""


def _failure(symprec: float, reason: str) -> str:
    reason = reason.strip() or "no reason given"
    return f"spglib finds no space group at symprec {symprec:g} Å: {reason}"
