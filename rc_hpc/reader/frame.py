"""Where a tiled cell lies in pictures: lattice, scales, origins, and what follows from them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from rc_hpc.kernels.copies import Lens


@dataclass(frozen=True, eq=False)
class Frame:
    """A lattice and where its origin lies in every picture.

    Attributes
    ----------
    rotations : (V, 3, 3) float64
        Cameras.
    lattice : (3, 3) float64
        Vectors of the cell that is tiled, rows, Å.
    scales : (V,) float64
        px/Å.
    origins : (V, 2) float64
        px; see `rc_hpc.images.view.View.origin`.
    tiling
        Cells along each vector.
    """

    rotations: np.ndarray
    lattice: np.ndarray
    scales: np.ndarray
    origins: np.ndarray
    tiling: tuple[int, int, int]

    @property
    def tiles(self) -> np.ndarray:
        """Every tile in units of the vectors, (T, 3) int64, the cell at the origin first."""
        return np.array(list(itertools.product(*map(range, self.tiling))), np.int64)

    @property
    def rows(self) -> np.ndarray:
        """What takes a position to px from the origin: u and v of each view, (V, 2, 3)."""
        return rows_of(self.rotations, self.scales)

    @property
    def lens(self) -> Lens:
        """The same for the kernels."""
        rows = self.rows
        steps = np.einsum("vcx,ax->vac", rows, self.lattice)
        shifts = np.einsum("ta,vac->vtc", self.tiles.astype(float), steps)
        sides = np.zeros((len(rows), 3, 4))
        for view, vectors in enumerate(steps):
            for k, (x, y) in enumerate(vectors):
                length = np.hypot(x, y)
                if length > 1e-6 * self.scales[view]:
                    normal = np.array((-y, x)) / length
                    along = vectors @ normal
                    sides[view, k] = *normal, np.minimum(along, 0).sum(), np.maximum(along, 0).sum()
        return Lens(rows, np.ascontiguousarray(self.origins), np.ascontiguousarray(shifts), sides)

    def pixels(self, positions) -> np.ndarray:
        """Where positions (n, 3) in Å lie, (V, n, 2), px."""
        return self.origins[:, None] + np.einsum("vcx,nx->vnc", self.rows, positions)


def rows_of(rotations: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """What takes a position in Å to px right and down, (V, 2, 3), of cameras (V, 3, 3)."""
    rows = np.swapaxes(rotations[:, :, :2], 1, 2) * np.asarray(scales)[:, None, None]
    return np.ascontiguousarray(rows * np.array((1.0, -1.0))[None, :, None])
