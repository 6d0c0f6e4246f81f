"""The released study's rung R2, repeated: blobs of colour, registered on the truth, triangulated.

Kept to repeat that study, not to read pictures: the registration takes the true centres of the
cell's atoms, the elements are those of the structure, the lattice is the true one, and what is
found of 2x2x2 cells is neither folded into one nor counted as such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kernels.records import ImagePoints
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.reader.blobs import Blobs, blobs
from rc_hpc.reader.convention import Convention
from rc_hpc.reader.records import Marks, Reading
from rc_hpc.symmetry.labels import label_cell

#: Acceptance and merge tolerance of the study, Å.
DELTA = 0.15
#: Candidates beyond which a structure is refused.
MOST_CANDIDATES = 100_000_000
MESSAGE = "read as the released study did, with the truth at hand: nothing to certify"


@dataclass(frozen=True, eq=False)
class Told:
    """What the experiment takes from the truth, beside the cameras and the palette.

    Attributes
    ----------
    rotations : (V, 3, 3) float64
    convention
    lattice_A : (3, 3) float64
        Of the conventional cell.
    numbers : (n,) int64
        Atomic number of each of its atoms.
    places_A : (V, n, 2) float64
        Where its atoms are seen, Å.
    centres_px : (V, T n, 2) float64
        True centres of all discs, the first `n` those of the cell's atoms.
    oracle_species : bool
        Elements are those of the nearest true centres, not of the nearest colours.
    """

    rotations: np.ndarray
    convention: Convention
    lattice_A: np.ndarray
    numbers: np.ndarray
    places_A: np.ndarray
    centres_px: np.ndarray
    oracle_species: bool = False


def read_released(
    pictures: Sequence[np.ndarray], told: Told, symprecs: Sequence[float]
) -> tuple[list[Marks], Reading]:
    """Blobs as marks, and what the study makes of them.

    Parameters
    ----------
    pictures : sequence of (H, W, 3) uint8
        In the order of the cameras.
    symprecs
        Tolerances of the labels, Å.
    """
    return read_blobs([blobs(picture) for picture in pictures], told, symprecs)


def read_blobs(
    found: Sequence[Blobs], told: Told, symprecs: Sequence[float]
) -> tuple[list[Marks], Reading]:
    """The same of the blobs of each picture."""
    species = [_species(one, told, view) for view, one in enumerate(found)]
    seen = [
        registration(told.centres_px[view, : len(told.numbers)], places)(one.centres_px)
        for view, (one, places) in enumerate(zip(found, told.places_A, strict=True))
    ]
    numbers, points = triangulated(anchored(told.rotations), seen, species)
    fractional = np.mod(points @ np.linalg.inv(told.lattice_A), 1.0)
    reading = Reading(
        "uncertified",
        MESSAGE,
        told.lattice_A,
        numbers,
        fractional,
        np.full(len(numbers), np.nan),
        numbers=labelled(told.lattice_A, numbers, fractional, symprecs),
        tries=1,
    )
    return [_marks(*pair) for pair in zip(found, species, strict=True)], reading


def registration(
    centres_px: np.ndarray, places_A: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """What takes pixels to lengths: the affine map of least squares (of least norm, if several).

    Parameters
    ----------
    centres_px, places_A : (n, 2)
        The same atoms.
    """
    change, *_ = np.linalg.lstsq(_homogeneous(centres_px), places_A, rcond=None)

    def place(points_px: np.ndarray) -> np.ndarray:
        made: np.ndarray = _homogeneous(points_px) @ change
        return made

    return place


def _homogeneous(points: np.ndarray) -> np.ndarray:
    return np.column_stack((points, np.ones(len(points))))


def anchored(rotations: np.ndarray, enumeration: str = "anchor") -> GeometricOracle:
    """The study's oracle for these cameras (V, 3, 3): the first two start, the others confirm."""
    names = tuple(f"v{view}" for view in range(len(rotations)))
    protocol = Protocol("released", names, np.asarray(rotations))
    return GeometricOracle(
        protocol, [tuple(range(len(names)))], enumeration, "first", MOST_CANDIDATES
    )


def triangulated(
    oracle: GeometricOracle,
    seen: Sequence[np.ndarray],
    species: Sequence[np.ndarray],
    delta: float = DELTA,
) -> tuple[np.ndarray, np.ndarray]:
    """Points that the oracle makes of image points: numbers (m,) and positions (m, 3), Å.

    Parameters
    ----------
    seen : sequence of (n_v, 2)
        Of each view, Å, in the order in which they are met.
    species : sequence of (n_v,)
        Atomic number of each.
    delta
        Å.
    """
    kinds = np.unique(np.concatenate([np.empty(0, np.int64), *species])).astype(np.int64)
    screen = np.zeros((len(seen), max(1, *map(len, seen)), 2))
    starts = np.zeros((len(seen), len(kinds) + 1), np.int64)
    for view, (places, own) in enumerate(zip(seen, species, strict=True)):
        order = np.argsort(own, kind="stable")
        screen[view, : len(own)] = places[order]
        starts[view, 1:] = np.searchsorted(own[order], kinds, side="right")
    listed = oracle.enumerate(ImagePoints(screen, starts, kinds), delta, delta)
    numbers, points = oracle.reconstruct(listed, delta).cells[0]
    return numbers.astype(np.int64), points


def labelled(lattice, numbers, fractional, symprecs: Sequence[float]) -> np.ndarray:
    """Space group at each tolerance as the study has it, (s,); 0 where spglib finds none.

    Atoms that coincide in the cell, as copies of one do here, are not merged: spglib fails on
    them.
    """
    if not len(numbers):
        return np.zeros(len(symprecs), np.int64)
    made = [label_cell(lattice, fractional, numbers, one)[0] for one in symprecs]
    return np.array([0 if one is None else one.number for one in made], np.int64)


def _species(found: Blobs, told: Told, view: int) -> np.ndarray:
    """Atomic number of each blob."""
    if not len(found):
        return np.empty(0, np.int64)
    if told.oracle_species:
        apart = np.linalg.norm(found.centres_px[:, None] - told.centres_px[view], axis=2)
        copies = len(told.centres_px[view]) // len(told.numbers)
        nearest: np.ndarray = np.tile(told.numbers, copies)[apart.argmin(1)]
        return nearest
    kinds = np.array(list(dict.fromkeys(told.numbers.tolist())))
    fills = 255 * told.convention.palette[kinds]
    likely: np.ndarray = kinds[((found.colours[:, None] - fills) ** 2).sum(2).argmin(1)]
    return likely


def _marks(found: Blobs, species: np.ndarray) -> Marks:
    n = len(found)
    return Marks(
        species, found.centres_px + 0.5, np.full((n, 2, 2), np.nan), np.full(n, np.nan),
        np.zeros(n, np.int64), np.full(n, np.nan), np.nan, np.nan,
    )  # fmt: skip
