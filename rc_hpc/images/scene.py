"""The geometry of a picture: where every disc and dash lies, without drawing anything.

The arithmetic is that of ASE's plotting (`ase.io.utils.PlottingVariables`), step by step and
in its order, so that a picture drawn from it can equal ASE's bit for bit. What does not
depend on the camera is computed once per structure; ASE repeats it for every view.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

#: White space around the bounding box of discs and cell, as a factor.
PADDING = 1.05
#: Length of a dash and the gap after it, about, Å.
DASH_PERIOD = 0.3
#: Things whose depths follow each other this closely are at one depth, Å: far above the noise
#: of coordinates with eight decimals, far below any structural detail.
SAME_DEPTH = 1e-6


@dataclass(frozen=True)
class Scene:
    """A tiled structure with the dashed edges of its supercell, before any camera.

    Attributes
    ----------
    numbers : (n,) int64
        Atomic numbers of the drawn atoms, cell after cell, each in the order of the conventional cell.
    site : (n,) int64
        Index of the conventional cell's atom of which each is a copy.
    positions : (n, 3) float64
        Å.
    radii : (n,) float64
        Disc radii, Å.
    radii_factor
        These in units of the covalent radius.
    cell : (3, 3) float64
        Vectors of the supercell, rows, Å.
    dashes : (m, 3) float64
        Middles of the dashes, Å.
    half_dashes : (m, 3) float64
        From the middle to the end of each dash, Å.
    hidden : (m,) bool
        Dashes that lie inside an atom, which are not drawn.
    """

    numbers: np.ndarray
    site: np.ndarray
    positions: np.ndarray
    radii: np.ndarray
    radii_factor: float
    cell: np.ndarray
    dashes: np.ndarray
    half_dashes: np.ndarray
    hidden: np.ndarray


@dataclass(frozen=True)
class View:
    """A scene on the screen of one camera.

    Pixel coordinates run right (u) and down (v) from the upper left corner of the picture;
    edges between pixels have whole numbers, so that a point lies in pixel (floor(u), floor(v)).

    Attributes
    ----------
    rotation : (3, 3) float64
        Screen x, y and depth are the columns of ``position @ rotation``.
    size
        Width and height of the picture, px.
    px_per_angstrom
        Scale.
    origin : (2,) float64
        Where the origin of the structure's frame lies, px: a position's u is
        ``origin[0] + px_per_angstrom * x``, its v ``origin[1] - px_per_angstrom * y``.
    centres : (n, 2) float64
        Disc centres, px.
    radii : (n,) float64
        Disc radii, px, without the outline.
    depth : (n + m,) float64
        Depths of the discs, then of the dashes, Å along the view direction; larger is nearer.
    dashes, half_dashes : (m, 2) float64
        Middles of the dashes, and from there to their ends, px.
    frame : (4,) float64
        Left, lower, right and upper edge of the drawing area from the picture's lower left
        corner, px; nothing is drawn outside.
    width
        Width of the drawing area, Å.
    """

    rotation: np.ndarray
    size: int
    px_per_angstrom: float
    origin: np.ndarray
    centres: np.ndarray
    radii: np.ndarray
    depth: np.ndarray
    dashes: np.ndarray
    half_dashes: np.ndarray
    frame: np.ndarray
    width: float


def build_scene(lattice, numbers, positions, tiling=(2, 2, 2), radii_factor: float = 0.5) -> Scene:
    """Tile a cell, size its discs and dash the edges of the supercell.

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
    from ase.data import covalent_radii

    lattice, positions = np.asarray(lattice, float), np.asarray(positions, float)
    tiles = list(itertools.product(*(range(count) for count in tiling)))
    numbers = np.tile(np.asarray(numbers, np.int64), len(tiles))
    # Tile by tile: one product of all of them may round otherwise than ASE's.
    copies = np.concatenate([positions + np.dot(tile, lattice) for tile in tiles])
    radii = covalent_radii[numbers] * radii_factor
    cell = np.array([count * vector for count, vector in zip(tiling, lattice, strict=True)])
    dashes, half_dashes = _dashed_edges(cell)
    return Scene(
        numbers,
        np.tile(np.arange(len(positions)), len(tiles)),
        copies,
        radii,
        float(radii_factor),
        cell,
        dashes,
        half_dashes,
        _inside_an_atom(dashes, half_dashes, copies, radii),
    )


def project(scene: Scene, rotation, size: int = 768) -> View:
    """The scene on the screen of a camera, fitted into a square picture.

    Parameters
    ----------
    rotation : (3, 3) array_like
        Camera; see `rc_hpc.geometry.cameras`.
    size
        Width and height of the picture, px.
    """
    rotation = np.asarray(rotation, float)
    atoms = scene.positions @ rotation
    corners = (
        np.array([np.dot(corner, scene.cell) for corner in itertools.product((0, 1), repeat=3)])
        @ rotation
    )
    low = np.minimum((atoms - scene.radii[:, None]).min(0), corners.min(0))
    high = np.maximum((atoms + scene.radii[:, None]).max(0), corners.max(0))
    width, height = extent = PADDING * (high - low)[:2]
    offset = (low + high)[:2] / 2 - extent / 2
    # Discs and dashes in one product, as in ASE: the last digit of a depth can decide the order.
    points = np.concatenate((scene.positions, scene.dashes)) @ rotation
    scale = size / max(width, height)
    margin = (size - scale * extent) / 2
    origin = np.array([margin[0] - scale * offset[0], size - margin[1] + scale * offset[1]])
    screen = _to_pixels(points[:, :2] - offset, extent, margin, size)
    first_dash = len(scene.positions)
    return View(
        rotation,
        size,
        float(scale),
        origin,
        screen[:first_dash],
        scene.radii * scale,
        points[:, 2],
        screen[first_dash:],
        (scene.half_dashes @ rotation)[:, :2] * (scale, -scale),
        np.concatenate((margin, size - margin)),
        float(width),
    )


def depth_groups(depth) -> tuple[np.ndarray, np.ndarray]:
    """Things by rising depth, and the number of the depth that each has.

    In rising order a new depth begins where the step is larger than `SAME_DEPTH`.

    Returns
    -------
    order, group : (n,) int64
        Indices, and the depth's number of ``order[k]``.
    """
    order = np.argsort(depth, kind="stable")
    steps = np.diff(depth[order], prepend=depth[order[:1]])
    return order, np.cumsum(steps > SAME_DEPTH)


def paint_order(depth) -> np.ndarray:
    """Indices of discs and dashes in the order in which they are painted, (n,) int64.

    From the farthest to the nearest; at one depth (see `depth_groups`) by index, so that
    rounding noise has no say. ASE leaves the order there to that noise.
    """
    order, group = depth_groups(depth)
    return order[np.lexsort((order, group))]


def _to_pixels(points: np.ndarray, extent: np.ndarray, margin: np.ndarray, size: int) -> np.ndarray:
    inside = points / extent * (size - 2 * margin) + margin
    return np.column_stack((inside[:, 0], size - inside[:, 1]))


def _dashed_edges(cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middles and half lengths of the dashes of the twelve edges."""
    middles, halves = [], []
    for axis, edge in enumerate(cell):
        count = max(2, int(np.sqrt((edge**2).sum()) / DASH_PERIOD))
        half = edge / (4 * count - 2)
        along = np.arange(1, 4 * count + 1, 4)[:, None] * half
        for i, j in itertools.product((0, 1), repeat=2):
            middles.append(along + i * cell[axis - 2] + j * cell[axis - 1])
        halves.append(np.tile(half, (4 * count, 1)))
    return np.concatenate(middles), np.concatenate(halves)


def _inside_an_atom(dashes, half_dashes, positions, radii) -> np.ndarray:
    """Which dashes have both ends within the sphere of one atom."""
    from scipy.spatial import KDTree

    # A dash with both ends in a sphere has its middle there too.
    near = KDTree(dashes).sparse_distance_matrix(
        KDTree(positions), 1.001 * radii.max(), output_type="ndarray"
    )
    dash, atom = near["i"], near["j"]
    away = positions[atom] - dashes[dash]
    limit = radii[atom] ** 2
    inside = (((away - half_dashes[dash]) ** 2).sum(1) < limit) & (
        ((away + half_dashes[dash]) ** 2).sum(1) < limit
    )
    return np.bincount(dash[inside], minlength=len(dashes)) > 0
