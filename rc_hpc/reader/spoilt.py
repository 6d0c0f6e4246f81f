"""Whether pictures were compressed, resampled or made noisy after they were drawn.

A drawn picture has areas of one colour, exactly. Compression and noise leave areas that are nearly
of one colour instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: Largest difference within 3 x 3 pixels that are nearly of one colour, of 255.
NEARLY = 6
#: Share of such patches that are not exactly of one colour, from which on pictures are spoilt: of
#: large pictures, and more where the rims of discs are much of them, px. White proves neither.
SPOILT, RIMS = 0.1, 115.0


def spoilt(pictures: Sequence[np.ndarray]) -> str:
    """What is wrong with the colours of pictures; empty where they are as a renderer makes them."""
    shares = [inexact(pixels) for pixels in pictures]
    worst = int(np.argmax(shares))
    if shares[worst] < least_share(len(pictures[worst])):
        return ""
    return (
        f"picture {worst + 1} was changed after it was drawn ({100 * shares[worst]:.0f} % of its "
        "areas are nearly of one colour and not exactly): compressed, resampled or noisy; fills "
        "must be exact"
    )


def least_share(size_px: int) -> float:
    """Share of inexact patches from which on a picture of this size is spoilt."""
    return SPOILT + RIMS / size_px


def inexact(pixels: np.ndarray) -> float:
    """Share of the patches nearly of one colour that are not of exactly one; 0 without any.

    Parameters
    ----------
    pixels : (h, w, 3) uint8
    """
    low, high = pixels, pixels
    for axis in (0, 1):
        low = _of_three(np.minimum, low, axis)
        high = _of_three(np.maximum, high, axis)
    spread = (high - low).max(axis=2)
    near = spread <= NEARLY
    flat = (spread == 0) & (low < 255).any(axis=2)
    strange = near & (spread > 0)
    count = int(strange.sum() + flat.sum())
    return float(strange.sum() / count) if count else 0.0


def _of_three(function: np.ufunc, values: np.ndarray, axis: int) -> np.ndarray:
    values = np.moveaxis(values, axis, 0)
    found = function(function(values[:-2], values[1:-1]), values[2:])
    return np.moveaxis(found, 0, axis)
