"""The fast way to a picture: matplotlib's Agg renderer, without figure, axes and artists."""

from __future__ import annotations

import inspect

import numpy as np

from rc_hpc.images.scene import Scene, View, paint_order

#: Resolution that the width of lines refers to.
DPI = 100
#: Width of outlines and dashes, points.
LINE_WIDTH = 1.0
#: The same, px.
LINE_PX = LINE_WIDTH * DPI / 72
BLACK, WHITE = (0.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0, 1.0)


class FastRenderer:
    """Draws pictures of one size, one after the other on one canvas.

    Draws the same circles and lines as ASE's artists would, in the order of `paint_order`.
    """

    def __init__(self, size: int = 768):
        from matplotlib.backend_bases import RendererBase
        from matplotlib.backends.backend_agg import RendererAgg
        from matplotlib.path import Path
        from matplotlib.transforms import IdentityTransform

        self.size = size
        self._agg = RendererAgg(size, size, DPI)
        self._as_it_is = IdentityTransform()
        # Agg wants it from matplotlib 3.11 on, and knows no such argument before.
        wanted = "hatchcolors" in inspect.signature(RendererBase.draw_path_collection).parameters
        self._more = {"hatchcolors": np.empty((0, 4))} if wanted else {}
        self._circle = Path.unit_circle()
        self._segment = Path([[1.0, 0.0], [-1.0, 0.0]])
        self._square = Path.unit_rectangle()

    def draw(self, scene: Scene, view: View, order=None) -> np.ndarray:
        """The picture, (size, size, 3) uint8 RGB, rows from the top.

        Parameters
        ----------
        order : (n + m,) array_like of int, optional
            Order of painting, discs before dashes; default: `paint_order`.
        """
        from ase.data.colors import jmol_colors

        n_atoms = len(scene.numbers)
        order = paint_order(view.depth) if order is None else np.asarray(order)
        order = order[~np.concatenate((np.zeros(n_atoms, bool), scene.hidden))[order]]
        discs = order < n_atoms
        faces = np.zeros((len(order), 4))
        faces[discs, :3] = jmol_colors[scene.numbers[order[discs]].clip(max=len(jmol_colors) - 1)]
        faces[discs, 3] = 1.0
        agg = self._agg
        agg.clear()
        agg.draw_path(
            self._pen(0.0, None), self._square, np.diag((self.size, self.size, 1.0)), WHITE
        )
        agg.draw_path_collection(
            self._pen(LINE_WIDTH, view.frame),
            self._as_it_is,
            [self._circle if disc else self._segment for disc in discs],
            self._transforms(view)[order],
            np.empty((0, 2)),
            self._as_it_is,
            faces,
            np.array([BLACK]),
            np.array([LINE_WIDTH]),
            [(0, None)],
            np.array([True]),
            [None],
            "screen",
            **self._more,
        )
        rgba = np.asarray(agg.buffer_rgba())
        pixels = np.empty((self.size, self.size, 3), np.uint8)
        for channel in range(3):  # four times faster than a copy of all three
            pixels[..., channel] = rgba[..., channel]
        return pixels

    def _pen(self, width: float, frame):
        from matplotlib.transforms import Bbox

        pen = self._agg.new_gc()
        pen.set_linewidth(width)
        pen.set_capstyle("butt")
        pen.set_joinstyle("miter")
        pen.set_foreground(BLACK, isRGBA=True)
        if frame is not None:
            pen.set_clip_rectangle(Bbox([frame[:2], frame[2:]]))
        return pen

    def _transforms(self, view: View) -> np.ndarray:
        """What takes the unit circle to each disc and the unit segment to each dash, (n + m, 3, 3)."""
        n = len(view.radii)
        matrices = np.zeros((len(view.depth), 3, 3))
        matrices[:n, 0, 0] = matrices[:n, 1, 1] = view.radii
        matrices[n:, :2, 0] = view.half_dashes * (1, -1)
        matrices[:, 0, 2] = np.concatenate((view.centres[:, 0], view.dashes[:, 0]))
        matrices[:, 1, 2] = self.size - np.concatenate((view.centres[:, 1], view.dashes[:, 1]))
        matrices[:, 2, 2] = 1.0
        return matrices
