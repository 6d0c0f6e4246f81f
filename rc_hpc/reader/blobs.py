"""The released study's detector of atoms: blobs of colour, cut into pieces as wide as they.

It is kept to repeat that study; `rc_hpc.reader.detector` is the one to read pictures with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: Least saturation (of 255) of a coloured pixel, and the brightness of a grey one, both exclusive.
SATURATED, DARKEST, BRIGHTEST = 18, 60, 245
#: Pixels of the least blob and piece, and of the least blob that is cut.
LEAST, LEAST_CUT = 12, 24
#: Passes of moving the pieces' centres.
PASSES = 3


@dataclass(frozen=True, eq=False)
class Blobs:
    """What the detector finds in one picture.

    Attributes
    ----------
    centres_px : (n, 2) float64
        Column and row; the middle of the first pixel is (0, 0).
    colours : (n, 3) int64
        Of the pixel that holds the centre.
    areas_px : (n,) int64
    """

    centres_px: np.ndarray
    colours: np.ndarray
    areas_px: np.ndarray

    def __len__(self) -> int:
        return len(self.areas_px)


def blobs(picture: np.ndarray) -> Blobs:
    """Blobs of a picture (H, W, 3) uint8.

    Pixels that are neither white, grey-white nor black are joined over their edges; what is much
    larger than a disc of its least extent is cut by Lloyd's iteration from a grid of seeds.
    """
    from scipy import ndimage

    red, green, blue = picture.astype(np.int16).transpose(2, 0, 1)
    three_bright = red + green + blue
    saturation = np.maximum(np.maximum(red, green), blue) - np.minimum(np.minimum(red, green), blue)
    grey = (three_bright > 3 * DARKEST) & (three_bright < 3 * BRIGHTEST)
    inside = (saturation > SATURATED) | grey
    labels, count = ndimage.label(inside)
    areas = np.bincount(labels.ravel(), minlength=count + 1)
    windows = ndimage.find_objects(labels)
    found: list[tuple[np.ndarray, int]] = []
    for number in 1 + np.flatnonzero(areas[1:] >= LEAST):
        window = windows[number - 1]
        rows, columns = np.nonzero(labels[window] == number)
        points = np.column_stack((columns + window[1].start, rows + window[0].start)).astype(float)
        found += _cut(points)
    centres = np.array([centre for centre, _ in found]).reshape(-1, 2)
    at = centres.astype(np.int64)
    return Blobs(
        centres, picture[at[:, 1], at[:, 0]].astype(int), np.array([area for _, area in found], int)
    )


def _cut(points: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """Centres and areas of the pieces of a blob of these pixels (n, 2)."""
    low = points.min(0)
    width, height = points.max(0) - low + 1
    across = min(width, height)
    count = max(1, round(len(points) / (math.pi / 4 * across**2)))
    if count == 1 or len(points) < LEAST_CUT:
        return [(points.mean(0), len(points))]
    n_columns = math.ceil(math.sqrt(count * width / height))
    n_rows = math.ceil(count / n_columns)
    grid = np.array([(i, j) for j in range(n_rows) for i in range(n_columns)], float)
    seeds = low + (grid + 0.5) * (width / n_columns, height / n_rows) - 0.5
    own = np.zeros(len(points), np.int64)
    for _ in range(PASSES):
        own = ((points[:, None] - seeds) ** 2).sum(2).argmin(1)
        for k in np.unique(own):
            seeds[k] = points[own == k].mean(0)
    pieces = [piece for k in range(len(seeds)) if len(piece := points[own == k]) >= LEAST]
    return [(piece.mean(0), len(piece)) for piece in pieces or [points]]
