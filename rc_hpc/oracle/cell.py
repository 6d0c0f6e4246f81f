"""One packed structure as the oracle sees it, and as it is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rc_hpc.symmetry.guard import min_distances


@dataclass(frozen=True)
class PackedCell:
    """What the oracle needs of a packed structure.

    Attributes
    ----------
    id
    lattice : (3, 3) float64
        Conventional cell, Å; NaN of a molecule, which has none.
    positions : (n, 3) float64
        Å.
    numbers : (n,) uint8
        Atomic numbers.
    space_group, space_group_conventional
        Labels of the stored and of the conventional cell.
    separation
        Smallest same-species distance within the drawn cell, Å.
    point_group
        Label of a molecule: a code of `rc_hpc.oracle.labels.PointGroupLabel`, 0 of a crystal.
    """

    id: str
    lattice: np.ndarray
    positions: np.ndarray
    numbers: np.ndarray
    space_group: int
    space_group_conventional: int
    separation: float
    point_group: int = 0


def drawn(cell: PackedCell, tiling):
    """The cell as it is drawn.

    Returns
    -------
    lattice (3, 3), positions (n, 3), numbers (n,), separation
        As in `PackedCell`, tiled.
    """
    lattice, positions, numbers = tile(cell.lattice, cell.positions, cell.numbers, tiling)
    if tuple(tiling) == (1, 1, 1):
        return lattice, positions, numbers, cell.separation
    return lattice, positions, numbers, min_distances(lattice, positions, numbers)[0]


def tile(
    lattice: np.ndarray, positions: np.ndarray, numbers: np.ndarray, tiling: tuple[int, int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Supercell in site-major order: all copies of an atom follow each other.

    Returns
    -------
    lattice (3, 3), positions (n, 3), numbers (n,)
    """
    if tuple(tiling) == (1, 1, 1):
        return lattice, positions, numbers
    shifts = np.stack(np.meshgrid(*(np.arange(t) for t in tiling), indexing="ij"), axis=-1).reshape(
        -1, 3
    )
    copies = (positions[:, None, :] + (shifts @ lattice)[None, :, :]).reshape(-1, 3)
    return lattice * np.array(tiling)[:, None], copies, np.repeat(numbers, len(shifts))
