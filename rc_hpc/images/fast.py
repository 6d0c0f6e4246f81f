"""The fast way to a picture: matplotlib's Agg renderer, without figure, axes and artists."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from rc_hpc.images.glyphs import outlines
from rc_hpc.images.scene import BLACK, DPI, Scene, Texts
from rc_hpc.images.view import View


class FastRenderer:
    """Draws pictures one after the other, those of one size on one canvas.

    Draws the same circles, lines and glyphs as the artists of `AseRenderer` would.
    """

    def __init__(self) -> None:
        from matplotlib.backend_bases import RendererBase
        from matplotlib.backends.backend_agg import RendererAgg
        from matplotlib.path import Path
        from matplotlib.transforms import IdentityTransform

        self._canvas = RendererAgg
        self._agg: Any = None
        self._as_it_is = IdentityTransform()
        # Agg wants it from matplotlib 3.11 on, and knows no such argument before.
        wanted = "hatchcolors" in inspect.signature(RendererBase.draw_path_collection).parameters
        self._more = {"hatchcolors": np.empty((0, 4))} if wanted else {}
        self._circle = Path.unit_circle()
        self._segment = Path([[1.0, 0.0], [-1.0, 0.0]])

    def draw(self, scene: Scene, view: View) -> np.ndarray:
        """The picture, (height, width, 3) uint8 RGB, rows from the top."""
        discs, segments, order = scene.discs, scene.segments, view.order
        width, height = view.size
        if self._agg is None or (self._agg.width, self._agg.height) != view.size:
            self._agg = self._canvas(width, height, DPI)
        agg = self._agg
        rgba = np.asarray(agg.buffer_rgba())
        rgba[...] = 255  # white; a fifth of what clearing and painting a square takes
        faces = np.zeros((len(view.depth), 4))  # segments have none
        faces[: len(discs.radii), :3] = discs.colours
        faces[: len(discs.radii), 3] = 1.0
        edges = np.ones((len(view.depth), 4))
        edges[:, :3] = np.concatenate((discs.edge_colours, segments.colours))
        widths = np.concatenate((discs.edge_widths, segments.widths))
        transforms = _transforms(view)
        written = list(outlines(scene.texts, view)) if scene.texts.words else []
        for part, texts in pieces(order, scene.texts):
            is_disc = part < len(discs.radii)
            agg.draw_path_collection(
                self._pen(view.frame),
                self._as_it_is,
                [self._circle if disc else self._segment for disc in is_disc],
                transforms[part],
                np.empty((0, 2)),
                self._as_it_is,
                faces[part],
                edges[part],
                widths[part],
                [(0, None)],
                np.array([True]),
                [None],
                "screen",
                **self._more,
            )
            for text in texts:
                path, onto, colour = written[text]
                agg.draw_path(self._pen(), path, onto, colour)
        pixels = np.empty((height, width, 3), np.uint8)
        for channel in range(3):  # four times faster than a copy of all three
            pixels[..., channel] = rgba[..., channel]
        return pixels

    def _pen(self, frame=None):
        """A pen without a line of its own, which draws within the frame."""
        from matplotlib.transforms import Bbox

        pen = self._agg.new_gc()
        pen.set_linewidth(0.0)
        pen.set_capstyle("butt")
        pen.set_joinstyle("miter")
        pen.set_foreground((*BLACK, 1.0), isRGBA=True)
        if frame is not None:
            pen.set_clip_rectangle(Bbox([frame[:2], frame[2:]]))
        return pen


def pieces(order: np.ndarray, texts: Texts) -> list[tuple[np.ndarray, list[int]]]:
    """What is painted, cut after each disc on which something is written, with those texts."""
    after = np.array(texts.discs or (-1,) * len(texts.words), np.int64)
    place = {int(item): k for k, item in enumerate(order)} if np.any(after >= 0) else {}
    found, start = [], 0
    for disc in sorted(set(after[after >= 0].tolist()), key=place.__getitem__):
        end = place[disc] + 1
        found.append((order[start:end], np.flatnonzero(after == disc).tolist()))
        start = end
    return [*found, (order[start:], np.flatnonzero(after < 0).tolist())]


def _transforms(view: View) -> np.ndarray:
    """What takes the unit circle to each disc and the unit segment to each, (n + m, 3, 3)."""
    n = len(view.radii)
    matrices = np.zeros((len(view.depth), 3, 3))
    matrices[:n, 0, 0] = matrices[:n, 1, 1] = view.radii
    matrices[n:, :2, 0] = view.halves * (1, -1)
    matrices[:, 0, 2] = np.concatenate((view.centres[:, 0], view.middles[:, 0]))
    matrices[:, 1, 2] = view.size[1] - np.concatenate((view.centres[:, 1], view.middles[:, 1]))
    matrices[:, 2, 2] = 1.0
    return matrices
