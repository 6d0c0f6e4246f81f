"""What a reader of pictures is given, what its detector marks, and what it has read.

Nothing but a `Knowledge` and the pictures reach the reader: no file, no id, no truth.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rc_hpc.core.constants import TAU
from rc_hpc.core.vocabulary import LEVELS, ReadStatus
from rc_hpc.reader.convention import Convention

#: How a reading may end.
STATUSES = tuple(ReadStatus.__members__)
#: Tolerances of the labels of a reading, Å.
SYMPRECS = (0.01, 0.02, 0.03, 0.05, 0.1)


class NotReadError(Exception):
    """Pictures cannot be read: `status` is one of `STATUSES`, the message says why."""

    def __init__(self, status: str, message: str):
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[type, tuple[str, str]]:  # to another process
        return type(self), (self.status, str(self))


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What is known beside the pictures.

    Attributes
    ----------
    level
        K0: the cameras and how pictures are drawn; K1: the lattice, the scale and the place of
        each picture too; K2: the elements too.
    rotations : (V, 3, 3) float64
        Screen x, y and depth are the columns of ``position @ rotation``.
    size_px
        Width and height of every picture.
    convention
        How pictures are drawn.
    lattice_A : (3, 3) float64 or None
        K1 and K2: vectors of the cell that is tiled, rows, Å.
    pixels_per_A : (V,) float64 or None
        K1 and K2: scales.
    origins_px : (V, 2) float64 or None
        K1 and K2: where the origin of the cell lies, as `rc_hpc.images.view.View.origin`.
    species : tuple of int or None
        K2: atomic number of each atom of the cell that is tiled, ascending.
    """

    level: str
    rotations: np.ndarray
    size_px: int
    convention: Convention
    lattice_A: np.ndarray | None = None
    pixels_per_A: np.ndarray | None = None
    origins_px: np.ndarray | None = None
    species: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ValueError(f"level {self.level!r}: one of {', '.join(LEVELS)}")
        geometry = (self.lattice_A, self.pixels_per_A, self.origins_px)
        if any((one is not None) != (self.level != "K0") for one in geometry):
            raise ValueError("lattice, scales and origins are known from level K1 on, together")
        if (self.species is not None) != (self.level == "K2"):
            raise ValueError("species are known at level K2")


@dataclass(frozen=True, eq=False)
class Marks:
    """Discs found in one picture.

    Attributes
    ----------
    species : (n,) int64
        Atomic numbers, from the fill.
    centres_px : (n, 2) float64
        Right from the left edge, down from the upper; pixel i reaches from i to i + 1.
    covariance_px2 : (n, 2, 2) float64
        Of the centres, at the scale `scale_px_per_A`.
    radius_px : (n,) float64
        To the middle of the outline.
    arc_px : (n,) int64
        Edge pixels that tell the centre.
    visible : (n,) float64
        Share of the outline that is seen, 0 to 1.
    scale_px_per_A : float
        Scale of the picture.
    scale_sigma : float
        Its standard error; 0 where it was known.
    """

    species: np.ndarray
    centres_px: np.ndarray
    covariance_px2: np.ndarray
    radius_px: np.ndarray
    arc_px: np.ndarray
    visible: np.ndarray
    scale_px_per_A: float
    scale_sigma: float

    def __len__(self) -> int:
        return len(self.species)


@dataclass(frozen=True)
class Limits:
    """How far a reader goes.

    Attributes
    ----------
    max_tries
        Searches, each with wider tolerances than the last.
    tau
        Tolerance of the label, Å: a certificate bounds every error well below it.
    max_pixels
        Pixels of all pictures together that may differ in a certified reading.
    levels
        A pixel differs where some colour does by more than this, of 255.
    symprecs
        Tolerances at which labels are told, Å.
    """

    max_tries: int = 4
    tau: float = TAU
    max_pixels: int = 100
    levels: int = 8
    symprecs: tuple[float, ...] = SYMPRECS


@dataclass(frozen=True, eq=False)
class Reading:
    """What the pictures say.

    Attributes
    ----------
    status
        One of `STATUSES`: `read` where it is certified.
    message
        Why it is not; empty where it is.
    lattice_A : (3, 3) float64
        Vectors, rows, Å; NaN where none was found.
    species : (n,) int64
        Atomic numbers.
    fractional : (n, 3) float64
        Positions in units of the vectors.
    sigma_A : (n,) float64
        Standard error of each position along its worst direction, Å.
    frame_covariance : (9, 9) float64
        Of the lattice vectors, row by row, but for the scale of all of them, Å^2.
    differing_pixels
        Pixels of all pictures that differ when the reading is drawn; -1 where none was drawn.
    certified
        The pictures, drawn again, differ in too few pixels for any error that the label feels.
    number_by_pictures
        Space group of highest order whose symmetrised cell draws the pictures as well; 0: none.
    numbers : (len(symprecs),) int64
        Space group at each of `Limits.symprecs`; 0 where there is none.
    tries
        Searches made.
    """

    status: str
    message: str = ""
    lattice_A: np.ndarray = field(default_factory=lambda: np.full((3, 3), np.nan))
    species: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    fractional: np.ndarray = field(default_factory=lambda: np.empty((0, 3)))
    sigma_A: np.ndarray = field(default_factory=lambda: np.empty(0))
    frame_covariance: np.ndarray = field(default_factory=lambda: np.full((9, 9), np.nan))
    differing_pixels: int = -1
    certified: bool = False
    number_by_pictures: int = 0
    numbers: np.ndarray = field(default_factory=lambda: np.zeros(len(SYMPRECS), np.int64))
    tries: int = 0
