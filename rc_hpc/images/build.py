"""Scenes from atoms: discs in their elements' colours, dashed edges of a cell, bonds."""

from __future__ import annotations

import itertools

import numpy as np

from rc_hpc.images.scene import BLACK, LINE_WIDTH, Discs, Scene, Segments

#: Length of a dash and the gap after it, about, Å.
DASH_PERIOD = 0.3
#: Longest piece of a bond, Å.
BOND_PIECE = 0.3
#: Pieces of a bond reach into one another by this factor, lest light shine through the seams.
BOND_OVERLAP = 1.1
#: Width of bonds, points.
BOND_WIDTH = 3.0


def crystal_scene(
    lattice, numbers, positions, tiling=(2, 2, 2), radii_factor: float = 0.5
) -> Scene:
    """Tile a cell, size its discs and dash the edges of the supercell.

    The discs come cell after cell, each in the order of the conventional cell.

    Parameters
    ----------
    lattice : (3, 3) array_like
        Vectors of the conventional cell, rows, Å.
    numbers : (k,) array_like
        Atomic numbers.
    positions : (k, 3) array_like
        Å.
    tiling
        Repetitions along the three vectors.
    radii_factor
        Disc radius in units of ASE's covalent radius.
    """
    lattice, positions = np.asarray(lattice, float), np.asarray(positions, float)
    tiles = list(itertools.product(*(range(count) for count in tiling)))
    # Tile by tile: one product of all of them may round otherwise than ASE's.
    copies = np.concatenate([positions + np.dot(tile, lattice) for tile in tiles])
    site = np.tile(np.arange(len(positions)), len(tiles))
    discs = atom_discs(np.tile(numbers, len(tiles)), copies, radii_factor, site)
    cell = np.array([count * vector for count, vector in zip(tiling, lattice, strict=True)])
    return Scene(discs, dashed_edges(cell, discs), cell=cell)


def atom_discs(numbers, positions, radii_factor: float, site=None) -> Discs:
    """Discs of atoms, in Jmol's colours with a black outline.

    Parameters
    ----------
    numbers : (n,) array_like
        Atomic numbers.
    positions : (n, 3) array_like
        Å.
    radii_factor
        Disc radius in units of ASE's covalent radius.
    site : (n,) array_like of int, optional
        Index of the atom of which each is a copy; default: every atom is its own.
    """
    from ase.data import covalent_radii
    from ase.data.colors import jmol_colors

    numbers = np.asarray(numbers, np.int64)
    return Discs(
        np.asarray(positions, float),
        covalent_radii[numbers] * radii_factor,
        numbers,
        np.arange(len(numbers)) if site is None else np.asarray(site),
        jmol_colors[numbers.clip(max=len(jmol_colors) - 1)],
        np.tile(BLACK, (len(numbers), 1)),
        np.full(len(numbers), LINE_WIDTH),
    )


def dashed_edges(cell: np.ndarray, discs: Discs, period: float = DASH_PERIOD) -> Segments:
    """The twelve edges of a cell as dashes; those inside an atom are hidden.

    Parameters
    ----------
    cell : (3, 3) float64
        Vectors, rows, Å.
    period
        Length of a dash and the gap after it, about, Å.
    """
    middles, halves = [], []
    for axis, edge in enumerate(cell):
        count = max(2, int(np.sqrt((edge**2).sum()) / period))
        half = edge / (4 * count - 2)
        along = np.arange(1, 4 * count + 1, 4)[:, None] * half
        for i, j in itertools.product((0, 1), repeat=2):
            middles.append(along + i * cell[axis - 2] + j * cell[axis - 1])
        halves.append(np.tile(half, (4 * count, 1)))
    return _segments(np.concatenate(middles), np.concatenate(halves), LINE_WIDTH, discs)


def bonds(discs: Discs, pairs, width: float = BOND_WIDTH) -> Segments:
    """Bonds from surface to surface of the atoms' spheres, in short pieces.

    In pieces a bond keeps the order of depth along its way: it comes out from under the farther
    atom and goes over the nearer, and whatever lies between them covers a part of it or is covered.

    Parameters
    ----------
    pairs : (b, 2) array_like of int
        Discs that each bond joins; atoms whose spheres meet have no bond between them to draw.
    width
        Points.
    """
    first, second = np.asarray(pairs, np.int64).reshape(-1, 2).T
    between = discs.positions[second] - discs.positions[first]
    length = np.linalg.norm(between, axis=1)
    bare = length - discs.radii[first] - discs.radii[second]
    pieces = np.ceil(np.maximum(bare, 0.0) / BOND_PIECE).astype(np.int64)
    bond = np.repeat(np.arange(len(pieces)), pieces)
    place = np.arange(len(bond)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    step = (between * (bare / length / np.maximum(pieces, 1))[:, None])[bond]
    start = discs.positions[first] + between * (discs.radii[first] / length)[:, None]
    middles = start[bond] + step * (place + 0.5)[:, None]
    return _segments(middles, step / 2 * BOND_OVERLAP, width, discs)


def _segments(middles: np.ndarray, halves: np.ndarray, width: float, discs: Discs) -> Segments:
    return Segments(
        middles,
        halves,
        np.tile(BLACK, (len(middles), 1)),
        np.full(len(middles), width),
        _inside_an_atom(middles, halves, discs),
    )


def _inside_an_atom(middles: np.ndarray, halves: np.ndarray, discs: Discs) -> np.ndarray:
    """Which segments have both ends within the sphere of one atom."""
    from scipy.spatial import KDTree

    # A segment with both ends in a sphere has its middle there too.
    near = KDTree(middles).sparse_distance_matrix(
        KDTree(discs.positions), 1.001 * discs.radii.max(), output_type="ndarray"
    )
    segment, atom = near["i"], near["j"]
    away = discs.positions[atom] - middles[segment]
    limit = discs.radii[atom] ** 2
    inside = (((away - halves[segment]) ** 2).sum(1) < limit) & (
        ((away + halves[segment]) ** 2).sum(1) < limit
    )
    return np.bincount(segment[inside], minlength=len(middles)) > 0
