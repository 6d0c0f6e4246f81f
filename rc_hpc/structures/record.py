"""The plain record of one crystal structure, and of one thing not yet read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Structure:
    """A crystal structure as it was read, before any standardisation.

    Attributes
    ----------
    id
        Identifier, never changed or truncated.
    lattice : (3, 3) float64
        Lattice vectors as rows, Å.
    frac : (n, 3) float64
        Fractional coordinates exactly as read (not wrapped).
    numbers : (n,) int32
        Atomic numbers, in file order.
    source
        Where it came from, as shown in messages: a file name, `prototypes`, ...
    reader
        Program and version that read it, e.g. ``pymatgen 2026.10.24 CifParser``.
    sha256
        Hex digest of the bytes it was read from.
    source_space_group
        Space-group number claimed by the source (0: none claimed).
    """

    id: str
    lattice: np.ndarray
    frac: np.ndarray
    numbers: np.ndarray
    source: str
    reader: str
    sha256: str
    source_space_group: int = 0

    @property
    def positions(self) -> np.ndarray:
        """Cartesian positions, (n, 3), Å."""
        return self.frac @ self.lattice


@dataclass(frozen=True, slots=True)
class Molecule:
    """A molecule as it was read: atoms without a lattice.

    Attributes
    ----------
    id, numbers, source, reader, sha256
        As in `Structure`.
    positions : (n, 3) float64
        Å, in the frame of the file.
    """

    id: str
    positions: np.ndarray
    numbers: np.ndarray
    source: str
    reader: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Item:
    """One structure of a source, not yet read: cheap to list, read only where it is needed.

    Attributes
    ----------
    id, source
        As in `Structure`.
    blob
        Returns the bytes that define it (the file, the JSON text); raises OSError.
    read
        Turns (item, those bytes) into a `Structure` or a `Molecule`; raises `StructureError`.
    """

    id: str
    source: str
    blob: Callable[[], bytes]
    read: Callable[[Item, bytes], Any]
