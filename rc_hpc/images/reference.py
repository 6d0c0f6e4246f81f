"""The reference way to a picture: ASE's own plotting on a matplotlib figure."""

from __future__ import annotations

import math

import numpy as np

from rc_hpc.images.fast import pieces
from rc_hpc.images.glyphs import outlines
from rc_hpc.images.scene import DPI, Scene
from rc_hpc.images.view import View

#: Wider drawings than this are rescaled by ASE, Å.
ASE_WIDTH = 500.0
#: Settings of matplotlib that show in a picture.
DRAWN = ("agg.", "axes.", "figure.", "lines.", "patch.", "path.")


class AseRenderer:
    """Draws as `ase.visualize.plot.plot_atoms` does, some twenty times slower than `FastRenderer`.

    What `plot_atoms` itself adds is the import of pyplot and an axis switched off. ASE places
    atoms and the edges of the cell itself, also on the screen; it knows no other segments and
    no texts, which are added to its list of what to draw, in its order of depth.
    """

    def draw(self, scene: Scene, view: View) -> np.ndarray:
        """The picture, (height, width, 3) uint8 RGB, rows from the top.

        The order is that of ASE's depths, at equal depths too, and not the view's.
        """
        import matplotlib
        from ase import Atoms
        from ase.visualize.plot import Matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        discs = scene.discs
        atoms = Atoms(discs.numbers, positions=discs.positions, cell=scene.cell)
        # A user's style file must not change the pictures.
        defaults = {
            name: value
            for name, value in matplotlib.rcParamsDefault.items()
            if name.startswith(DRAWN)
        }
        with matplotlib.rc_context(defaults):
            width, height = view.size
            figure = Figure(figsize=(_inches(width), _inches(height)), dpi=DPI)
            canvas = FigureCanvasAgg(figure)
            axes = figure.add_axes((0, 0, 1, 1))
            plot = Matplotlib(
                atoms,
                axes,
                rotation=view.rotation,
                radii=discs.radii,
                colors=discs.colours,
                show_unit_cell=0 if scene.cell is None else 2,
                bbox=view.window,
            )
            _add_segments(plot, scene)
            plot.write()
            _style(plot, scene)
            axes.set_axis_off()
            if scene.texts.words:
                _write(plot, scene, view)
            canvas.draw()
            return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _inches(size: int) -> float:
    inches = size / DPI
    # matplotlib would cut a pixel off
    return math.nextafter(inches, math.inf) if inches * DPI < size else inches


def _add_segments(plot, scene: Scene) -> None:
    """Put the segments that ASE does not know behind its own, as if they were its own."""
    if scene.cell is None:
        plot.T, plot.D = np.empty(0, int), np.empty((0, 2))
    segments, known = scene.segments, len(plot.T)
    middles, halves = segments.middles[known:], segments.halves[known:]
    line = np.where(segments.hidden[known:], -1, len(plot.D) + np.arange(len(halves)))
    plot.T = np.concatenate((plot.T, line))
    plot.D = np.concatenate((plot.D, plot.scale * (halves @ plot.rotation)[:, :2]))
    plot.positions = np.concatenate((plot.positions, plot.to_image_plane_positions(middles)))


def _write(plot, scene: Scene, view: View) -> None:
    """Put the texts into the list of what is painted, each after its disc."""
    from matplotlib.patches import PathPatch
    from matplotlib.transforms import Affine2D

    painted = list(plot.ax.patches)
    for patch in painted:
        patch.remove()
    written = [
        PathPatch(path, fc=colour, lw=0, transform=Affine2D(onto))
        for path, onto, colour in outlines(scene.texts, view)
    ]
    for part, texts in pieces(_drawn_order(plot, scene), scene.texts):
        for _ in part:
            plot.ax.add_patch(painted.pop(0))
        for text in texts:
            plot.ax.add_artist(written[text]).set_clip_on(False)  # words may leave the axes


def _drawn_order(plot, scene: Scene) -> np.ndarray:
    """Discs and segments in the order of ASE's list, without what is hidden."""
    order = plot.positions[:, 2].argsort()  # as ASE has it
    return order[np.concatenate((np.ones(len(scene.discs.radii), bool), plot.T != -1))[order]]


def _style(plot, scene: Scene) -> None:
    """Give outlines and segments their colours and widths."""
    discs, segments = scene.discs, scene.segments
    order = _drawn_order(plot, scene)
    colours = np.concatenate((discs.edge_colours, segments.colours))[order]
    widths = np.concatenate((discs.edge_widths, segments.widths))[order]
    for patch, colour, width in zip(plot.ax.patches, colours, widths, strict=True):
        patch.set_edgecolor(colour)
        patch.set_linewidth(width)
