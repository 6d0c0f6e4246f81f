"""The geometry of a picture: where everything of a scene lies, and in what order it is painted.

The arithmetic is that of ASE's plotting (`ase.io.utils.PlottingVariables`), step by step and
in its order, so that a picture drawn from it can equal ASE's bit for bit. What does not
depend on the camera is in the scene, once per structure; ASE repeats it for every view.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from rc_hpc.images.scene import Scene

#: White space around the bounding box of discs and cell, as a factor.
PADDING = 1.05
#: Things whose depths follow each other this closely are at one depth, Å: far above the noise
#: of coordinates with eight decimals, far below any structural detail.
SAME_DEPTH = 1e-6


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
    frame : (4,) float64
        Left, lower, right and upper edge of the drawing area from the picture's lower left
        corner, px; discs and segments are not drawn outside.
    width
        Width of the drawing area, Å.
    centres : (n, 2) float64
        Disc centres, px.
    radii : (n,) float64
        Disc radii, px, without the outer half of the outline.
    middles, halves : (m, 2) float64
        Middles of the segments, and from there to one end, px.
    depth : (n + m,) float64
        Depths of the discs, then of the segments, Å along the view direction; larger is nearer.
    order : (d,) int64
        What is painted, the first first: indices of discs, then segments, as in `depth`.
    texts : (k, 2) float64
        Centres of the texts, px.
    window : (4,) float64 or None
        Left, lower, right and upper edge of what the picture shows, Å on the screen; None: what
        ASE takes by itself.
    """

    rotation: np.ndarray
    size: tuple[int, int]
    px_per_angstrom: float
    origin: np.ndarray
    frame: np.ndarray
    width: float
    centres: np.ndarray
    radii: np.ndarray
    middles: np.ndarray
    halves: np.ndarray
    depth: np.ndarray
    order: np.ndarray
    texts: np.ndarray
    window: np.ndarray | None = None


def project(scene: Scene, rotation, size: int | tuple[int, int] = 768, window=None) -> View:
    """The scene on the screen of a camera, its discs and cell fitted into the picture.

    Parameters
    ----------
    rotation : (3, 3) array_like
        Camera; see `rc_hpc.geometry.cameras`.
    size
        Width and height of the picture, px; one number for a square.
    window : (4,) array_like, optional
        Shown in place of what fits: left, lower, right and upper edge, Å on the screen.
    """
    discs, segments = scene.discs, scene.segments
    rotation = np.asarray(rotation, float)
    room = np.broadcast_to(size, 2)
    if window is None:
        low, high = bounds(scene, rotation)
        extent = PADDING * (high - low)[:2]
        offset = (low + high)[:2] / 2 - extent / 2
    else:
        window = np.asarray(window, float)
        extent, offset = window[2:] - window[:2], window[:2]
    # Discs and segments in one product, as in ASE: the last digit of a depth can decide the order.
    points = np.concatenate((discs.positions, segments.middles)) @ rotation
    scale = (room / extent).min()
    margin = (room - scale * extent) / 2

    def to_pixels(points: np.ndarray) -> np.ndarray:
        inside = (points[:, :2] - offset) / extent * (room - 2 * margin) + margin
        return np.column_stack((inside[:, 0], room[1] - inside[:, 1]))

    screen = to_pixels(points)
    n, order = len(discs.radii), paint_order(points[:, 2])
    drawn = np.concatenate((np.ones(n, bool), ~segments.hidden))
    return View(
        rotation,
        (int(room[0]), int(room[1])),
        float(scale),
        np.array([margin[0] - scale * offset[0], room[1] - margin[1] + scale * offset[1]]),
        np.concatenate((margin, room - margin)),
        float(extent[0]),
        screen[:n],
        discs.radii * scale,
        screen[n:],
        (segments.halves @ rotation)[:, :2] * (scale, -scale),
        points[:, 2],
        order[drawn[order]],
        to_pixels(scene.texts.positions @ rotation),
        window,
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
    """Indices of discs and segments in the order in which they are painted, (n,) int64.

    From the farthest to the nearest; at one depth (see `depth_groups`) by index, so that
    rounding noise has no say. ASE leaves the order there to that noise.
    """
    order, group = depth_groups(depth)
    return order[np.lexsort((order, group))]


def bounds(scene: Scene, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest screen coordinates and depth of discs and cell, Å."""
    centres, radii = scene.discs.positions @ rotation, scene.discs.radii[:, None]
    low, high = (centres - radii).min(0), (centres + radii).max(0)
    if scene.cell is None:
        return low, high
    corners = itertools.product((0, 1), repeat=3)
    corners = np.array([np.dot(corner, scene.cell) for corner in corners]) @ rotation
    return np.minimum(low, corners.min(0)), np.maximum(high, corners.max(0))
