"""Pictures and the discs marked in them, as the kernels take them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rc_hpc.kernels.copies import Blanks, MarkSet, blanks_before
from rc_hpc.reader.convention import Convention
from rc_hpc.reader.records import Marks

#: Least standard error of a centre, px: below it the renderer's own grid decides.
LEAST_SIGMA = 0.003
#: Covariances are larger than errors are by no more than this.
LEAST_FACTOR = 0.04
#: Of a disc's fill the outermost pixels may be the outline's, px.
RIM = 1.5
#: Blank pixels within a disc that do not yet contradict it.
MOST_BLANK = 2


@dataclass(frozen=True, eq=False)
class Marked:
    """Discs marked in all pictures, and where the pictures are blank.

    Attributes
    ----------
    species : (S,) int64
        Atomic numbers, ascending.
    marks : MarkSet
    strong : (n,) bool
        Marks that every reading must explain.
    blank : (V, H, W) bool
        Pixels that nothing is painted on.
    before : (V, H, W + 1) int32
        See `rc_hpc.kernels.copies.Blanks`.
    radii : (S,) float64
        Å.
    line : float
        Width of outlines, px.
    white : (S,) bool
        Whose fill is white: no blank pixel contradicts them.
    """

    species: np.ndarray
    marks: MarkSet
    strong: np.ndarray
    blank: np.ndarray
    before: np.ndarray
    radii: np.ndarray
    line: float
    white: np.ndarray

    def view_of(self) -> np.ndarray:
        """View of each mark, (n,)."""
        return np.repeat(np.arange(len(self.blank)), np.diff(self.marks.starts[:, [0, -1]]).ravel())

    def calibrated(self, factor: float) -> Marked:
        """The same with covariances of the marks times a factor; see `LEAST_FACTOR`."""
        factor = min(1.0, max(LEAST_FACTOR, factor))
        marks = self.marks._replace(
            covariance=self.marks.covariance * factor, reach=self.marks.reach * factor**0.5
        )
        return dataclasses.replace(self, marks=marks)

    def blanks(self, scales: np.ndarray) -> Blanks:
        """Blank pixels at the scales (V,) of the pictures, px/Å."""
        radii = self.radii[None, :] * np.asarray(scales)[:, None] - self.line / 2 - RIM
        radii = np.where(self.white[None, :], 0.0, radii)
        return Blanks(self.before, np.maximum(radii, 0.0), MOST_BLANK)


def marked(
    pictures: Sequence[np.ndarray], marks: Sequence[Marks], convention: Convention, strong_arc: int
) -> Marked:
    """Join the marks of all pictures.

    Parameters
    ----------
    pictures : sequence of (H, W, 3) uint8
    marks
        Of each picture.
    strong_arc
        Edge pixels from which on a mark cannot be a mistake.
    """
    species = np.unique(np.concatenate([one.species for one in marks])).astype(np.int64)
    starts = np.zeros((len(marks), len(species) + 1), np.int64)
    centres, covariance, strong, reach = [], [], [], []
    begin = 0
    for view, one in enumerate(marks):
        order = np.lexsort((one.centres_px[:, 0], one.species))
        starts[view] = begin + np.searchsorted(one.species[order], [*species, 1000])
        begin += len(order)
        spread = np.asarray(one.covariance_px2, float)[order]
        spread = np.stack((spread[:, 0, 0], spread[:, 0, 1], spread[:, 1, 1]), axis=1)
        spread[:, [0, 2]] += LEAST_SIGMA**2
        centres.append(np.asarray(one.centres_px, float)[order])
        covariance.append(spread)
        strong.append(one.arc_px[order] >= strong_arc)
        reach.append(np.sqrt(spread[:, [0, 2]].max(initial=0.0)))
    # What is white may be a disc whose fill is white.
    white = np.all(convention.fills[species] == 255, axis=1)
    blank = np.stack([np.all(picture == 255, axis=2) for picture in pictures])
    for view, one in enumerate(marks):
        for number in species[white]:
            mine = one.species == number
            for (u, v), radius in zip(one.centres_px[mine], one.radius_px[mine], strict=True):
                _unblank(blank[view], u, v, radius)
    return Marked(
        species,
        MarkSet(np.concatenate(centres), np.concatenate(covariance), starts, np.array(reach)),
        np.concatenate(strong),
        blank,
        np.stack([blanks_before(one) for one in blank]),
        convention.radii_A[species],
        convention.line_px,
        white,
    )


def _unblank(blank: np.ndarray, u: float, v: float, radius: float) -> None:
    """Take the pixels of a disc for painted."""
    height, width = blank.shape
    rows = slice(max(0, int(v - radius)), min(height, int(v + radius) + 2))
    columns = slice(max(0, int(u - radius)), min(width, int(u + radius) + 2))
    y, x = np.mgrid[rows, columns]
    blank[rows, columns] &= np.hypot(x + 0.5 - u, y + 0.5 - v) > radius
