"""A reading drawn again, and how far it is from the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rc_hpc.images.fast import FastRenderer
from rc_hpc.images.scene import Scene
from rc_hpc.images.view import View
from rc_hpc.kernels.registration import differing
from rc_hpc.reader.records import Knowledge


@dataclass(frozen=True, eq=False)
class Drawn:
    """A crystal drawn by the rules: its scene, views, pixels, and pixels that differ by view."""

    scene: Scene
    views: list[View]
    pixels: list[np.ndarray]
    differing: np.ndarray

    @property
    def total(self) -> int:
        """Pixels of all pictures that differ."""
        return int(self.differing.sum())


class Redrawing:
    """Draws crystals as the pictures were drawn, and compares.

    Parameters
    ----------
    pictures : sequence of (H, W, 3) uint8
    levels
        A pixel differs where some colour does by more than this, of 255.
    """

    def __init__(self, pictures: Sequence[np.ndarray], knowledge: Knowledge, levels: int):
        self.pictures, self.knowledge, self.levels = pictures, knowledge, levels
        self._renderer = FastRenderer()

    def draw(self, lattice, numbers, positions) -> Drawn:
        """Draw a crystal: lattice (3, 3), atomic numbers (n,), positions (n, 3), Å."""
        convention = self.knowledge.convention
        scene = convention.scene(lattice, numbers, positions)
        views, pixels = [], []
        for rotation in self.knowledge.rotations:
            view = convention.view(scene, rotation, self.knowledge.size_px)
            views.append(view)
            pixels.append(self._renderer.draw(scene, view))
        return Drawn(scene, views, pixels, self.compare(pixels))

    def draw_view(self, scene: Scene, view: View) -> np.ndarray:
        """Pixels of one view, (H, W, 3) uint8."""
        return self._renderer.draw(scene, view)

    def compare(self, pixels: Sequence[np.ndarray]) -> np.ndarray:
        """Pixels of each picture that differ, (V,) int64."""
        return np.array(
            [
                differing(np.asarray(picture), one, self.levels)
                for picture, one in zip(self.pictures, pixels, strict=True)
            ]
        )
