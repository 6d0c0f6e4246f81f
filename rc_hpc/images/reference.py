"""The reference way to a picture: ASE's own plotting on a matplotlib figure."""

from __future__ import annotations

import math

import numpy as np

from rc_hpc.images.fast import DPI
from rc_hpc.images.scene import Scene, View

#: Wider drawings than this are rescaled by ASE, Å.
ASE_WIDTH = 500.0
#: Settings of matplotlib that show in a picture.
DRAWN = ("agg.", "axes.", "figure.", "lines.", "patch.", "path.")


class AseRenderer:
    """Draws pictures as `ase.visualize.plot.plot_atoms` does, some twenty times slower than `FastRenderer`.

    What `plot_atoms` itself adds is the import of pyplot and an axis switched off.
    """

    def __init__(self, size: int = 768):
        self.size = size

    def draw(self, scene: Scene, view: View) -> np.ndarray:
        """The picture, (size, size, 3) uint8 RGB, rows from the top; the order at equal depths is ASE's."""
        import matplotlib
        from ase import Atoms
        from ase.visualize.plot import Matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        atoms = Atoms(scene.numbers, positions=scene.positions, cell=scene.cell)
        inches = self.size / DPI
        if inches * DPI < self.size:  # matplotlib would cut a pixel off
            inches = math.nextafter(inches, math.inf)
        # A user's style file must not change the pictures.
        defaults = {
            name: value
            for name, value in matplotlib.rcParamsDefault.items()
            if name.startswith(DRAWN)
        }
        with matplotlib.rc_context(defaults):
            figure = Figure(figsize=(inches, inches), dpi=DPI)
            canvas = FigureCanvasAgg(figure)
            axes = figure.add_axes((0, 0, 1, 1))
            Matplotlib(
                atoms, axes, rotation=view.rotation, radii=scene.radii_factor, show_unit_cell=2
            ).write()
            axes.set_axis_off()
            canvas.draw()
            return np.asarray(canvas.buffer_rgba())[..., :3].copy()
