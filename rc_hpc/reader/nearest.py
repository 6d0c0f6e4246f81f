"""Pictures that were changed after they were drawn, with their areas in the colours of elements.

Compression and noise move the colours of an area by some levels. Where the mean of a patch lies
near a fill or the background, its pixels are taken to have that colour; others, those of outlines
above all, stay as they are. What is read from such pictures is never certified.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rc_hpc.reader.edges import WHITE, Fills

#: Largest difference within 3 x 3 pixels of an area, and of a pixel from the area's colour, of 255.
UNEVEN = 24
#: Largest distance of the mean colour of a patch from a fill, of 255.
OFF = 6.0
#: An element counts if this share of its patches lie among others of its own; at the rims of discs
#: patches have the colours of other elements by chance, and lie among others.
WITHIN = 0.2


def nearest(pictures: Sequence[np.ndarray], fills: Fills) -> list[np.ndarray]:
    """The pictures with areas in exactly the nearest of the colours.

    Parameters
    ----------
    pictures : sequence of (h, w, 3) uint8
    fills
        Colours of elements; white is the background's too.
    """
    from scipy.ndimage import maximum_filter, minimum_filter

    red, green, blue = fills.colours.astype(np.int64).T
    known = np.flatnonzero(fills.table[red << 16 | green << 8 | blue] == np.arange(256))
    palette = np.concatenate((fills.colours[known[known > 0]], [WHITE]))
    palette = np.unique(palette, axis=0)
    counts, within = np.zeros((2, len(palette)))
    for pixels in pictures:
        code = _patches(pixels, palette)
        own = code[code >= 0]
        alike = maximum_filter(code, 3) == minimum_filter(code, 3)
        counts += np.bincount(own, minlength=len(palette))
        within += np.bincount(code[alike & (code >= 0)], minlength=len(palette))
    kept = palette[(within > WITHIN * counts) | (palette == WHITE).all(axis=1)]
    return [_snapped(pixels, _patches(pixels, kept), kept) for pixels in pictures]


def _patches(pixels: np.ndarray, palette: np.ndarray) -> np.ndarray:
    """The colour of each even patch of 3 x 3 pixels by its middle, (h, w); -1: none."""
    from scipy.ndimage import maximum_filter, minimum_filter, uniform_filter
    from scipy.spatial import cKDTree

    patch = (3, 3, 1)
    spread = maximum_filter(pixels, patch).astype(int) - minimum_filter(pixels, patch)
    even = spread.max(axis=2) <= UNEVEN
    even[[0, -1]], even[:, [0, -1]] = False, False
    mean = uniform_filter(pixels.astype(float), patch)[even]
    far, index = cKDTree(palette).query(mean, distance_upper_bound=OFF)
    code = np.full(pixels.shape[:2], -1)
    code[even] = np.where(np.isfinite(far), index, -1)
    return code


def _snapped(pixels: np.ndarray, code: np.ndarray, palette: np.ndarray) -> np.ndarray:
    """Pixels of the patches in their colours, those at a patch's rim if they are near it."""
    made = pixels.copy()
    height, width = code.shape
    steps = sorted(
        ((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)),
        key=lambda step: -abs(step[0]) - abs(step[1]),
    )
    for i, j in steps:  # the patch that a pixel is the middle of decides last
        middle = code[1 : height - 1, 1 : width - 1]
        there = pixels[1 + i : height - 1 + i, 1 + j : width - 1 + j]
        colour = palette[middle]
        mine = (middle >= 0) & (np.abs(there - colour).max(axis=2) <= UNEVEN / 2)
        made[1 + i : height - 1 + i, 1 + j : width - 1 + j][mine] = colour[mine]
    return made
