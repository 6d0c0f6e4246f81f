"""Whether pictures were compressed, resampled or made noisy after they were drawn.

A drawn picture has areas of one colour, exactly. Compression, noise and resampling leave areas that
are nearly of one colour instead. A line or a rim fades within a pixel or two, so that where it is
faint it is strong next to that: such places are no areas.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: Largest difference within 5 x 5 pixels that are nearly of one colour, of 255.
NEARLY = 12
#: Share of such areas whose middle 3 x 3 pixels are not exactly of one colour, from which on a
#: picture is spoilt. Drawn ones have none; white proves neither.
SPOILT = 0.05


def spoilt(pictures: Sequence[np.ndarray]) -> str:
    """What is wrong with the colours of pictures; empty where they are as a renderer makes them."""
    shares = [inexact(pixels) for pixels in pictures]
    worst = int(np.argmax(shares))
    if shares[worst] < SPOILT:
        return ""
    return (
        f"picture {worst + 1} was changed after it was drawn ({100 * shares[worst]:.0f} % of its "
        "areas are nearly of one colour and not exactly): compressed, resampled or noisy; fills "
        "must be exact"
    )


def inexact(pixels: np.ndarray) -> float:
    """Share of the areas nearly of one colour that are not of exactly one; 0 without any.

    Parameters
    ----------
    pixels : (h, w, 3) uint8
    """
    low, high = _extremes(pixels, pixels)
    exact = np.all(low == high, axis=2)[1:-1, 1:-1]
    coloured = np.any(low < 255, axis=2)[1:-1, 1:-1]
    low, high = _extremes(low, high)
    area = (high - low).max(axis=2) <= NEARLY
    strange = int((area & ~exact).sum())
    flat = int((area & exact & coloured).sum())
    return strange / (strange + flat) if strange + flat else 0.0


def _extremes(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest values around each pixel that has 3 x 3 of them."""
    for axis in (0, 1):
        low, high = _of_three(np.minimum, low, axis), _of_three(np.maximum, high, axis)
    return low, high


def _of_three(function: np.ufunc, values: np.ndarray, axis: int) -> np.ndarray:
    values = np.moveaxis(values, axis, 0)
    found = function(function(values[:-2], values[1:-1]), values[2:])
    return np.moveaxis(found, 0, axis)
