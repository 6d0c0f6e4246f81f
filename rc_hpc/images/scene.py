"""What is drawn, as data: discs, strokes and texts, before any camera.

Crystals, molecules and the scenes of a benchmark differ in these arrays only. Renderers know
a scene and its `rc_hpc.images.view.View`, and nothing else; `rc_hpc.images.build` makes scenes.
Fog is other colours, a highlight another outline, a dashed line its dashes, a legend a scene
of its own in a strip of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: What widths of lines and sizes of texts refer to, pixels an inch; a point is 1/72 inch.
DPI = 100
#: Width of outlines and dashes unless told otherwise, points.
LINE_WIDTH = 1.0
BLACK = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Discs:
    """Filled circles with an outline: what atoms look like.

    Attributes
    ----------
    positions : (n, 3) float64
        Å.
    radii : (n,) float64
        To the middle of the outline, Å.
    numbers : (n,) int64
        Atomic numbers.
    site : (n,) int64
        Index of the atom of which each is a copy.
    colours, edge_colours : (n, 3) float64
        Of the area and of the outline; red, green, blue, 0 to 1.
    edge_widths : (n,) float64
        Of the outline, points.
    """

    positions: np.ndarray
    radii: np.ndarray
    numbers: np.ndarray
    site: np.ndarray
    colours: np.ndarray
    edge_colours: np.ndarray
    edge_widths: np.ndarray


@dataclass(frozen=True)
class Segments:
    """Straight strokes with blunt ends: edges of a cell, bonds.

    Each lies as a whole at the depth of its middle, which alone orders it among discs and
    other strokes: a long line that passes behind one thing and before another is several.

    Attributes
    ----------
    middles : (m, 3) float64
        Å.
    halves : (m, 3) float64
        From the middle to one end, Å.
    colours : (m, 3) float64
        Red, green, blue, 0 to 1.
    widths : (m,) float64
        Points.
    hidden : (m,) bool
        Those that are not drawn, since both ends lie inside the sphere of one disc.
    """

    middles: np.ndarray
    halves: np.ndarray
    colours: np.ndarray
    widths: np.ndarray
    hidden: np.ndarray


@dataclass(frozen=True)
class Texts:
    """Words centred at points.

    Attributes
    ----------
    words : tuple of str
    positions : (k, 3) float64
        Å.
    colours : (k, 3) float64
        Red, green, blue, 0 to 1.
    sizes : (k,) float64
        Of the font, points.
    discs : tuple of int
        The disc right after which each is written, -1: after everything else; empty: all of them
        after everything else, in their own order.
    """

    words: tuple[str, ...]
    positions: np.ndarray
    colours: np.ndarray
    sizes: np.ndarray
    discs: tuple[int, ...] = ()


NO_SEGMENTS = Segments(
    np.empty((0, 3)), np.empty((0, 3)), np.empty((0, 3)), np.empty(0), np.empty(0, bool)
)
NO_TEXTS = Texts((), np.empty((0, 3)), np.empty((0, 3)), np.empty(0))


@dataclass(frozen=True)
class Scene:
    """Everything that a picture shows.

    Attributes
    ----------
    discs, segments, texts
        At least one disc.
    cell : (3, 3) float64 or None
        Vectors, rows, Å, of the cell at the origin whose dashed edges are the first of the
        segments (see `rc_hpc.images.build.dashed_edges`), and which a picture has room for;
        None: no cell is shown.
    """

    discs: Discs
    segments: Segments = NO_SEGMENTS
    texts: Texts = NO_TEXTS
    cell: np.ndarray | None = None
