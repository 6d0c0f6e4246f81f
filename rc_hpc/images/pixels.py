"""Pictures as training input: decoded, reduced to a network's size, in one block of bytes."""

from __future__ import annotations

import io
import warnings

import numpy as np

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.vocabulary import FILTERS

#: Longest side of a picture that is decoded, px.
LARGEST_SIDE = 8192


def decode(data: bytes, size: int, filter_: str, name: str) -> np.ndarray:
    """One picture as RGB of `size` by `size` pixels.

    Parameters
    ----------
    filter_
        One of `FILTERS`.
    data, name
        See `rgb_of`.

    Returns
    -------
    (size, size, 3) uint8

    Raises
    ------
    RcError
        It is no picture, or not a square one.
    """
    from PIL import Image

    pixels = rgb_of(data, name)
    if pixels.shape[0] == size:
        return pixels
    image = Image.fromarray(pixels)
    return np.asarray(image.resize((size, size), Image.Resampling[filter_.upper()]))


def rgb_of(data: bytes, name: str) -> np.ndarray:
    """One square picture as RGB, (n, n, 3) uint8.

    Parameters
    ----------
    data
        Bytes of a PNG file, no other format is decoded; transparent pixels are laid on white.
    name
        Shown in messages.

    Raises
    ------
    RcError
        It is no picture, or not a square one.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # bounded below
            opened = Image.open(io.BytesIO(data), formats=("PNG",))
        with opened:
            image: Image.Image = opened
            if max(image.size) > LARGEST_SIDE:  # known before anything is decoded
                raise RcError(
                    f"{name}: {image.width} x {image.height} pixels, more than {LARGEST_SIDE} "
                    "along a side: render it smaller"
                )
            if image.width != image.height:
                raise RcError(
                    f"{name}: {image.width} x {image.height} pixels are not square: render it again"
                )
            if image.has_transparency_data:
                image = image.convert("RGBA")
                image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
            return np.asarray(image.convert("RGB"))
    except RcError:
        raise
    except Exception as error:  # whatever a decoder throws
        what = "no PNG" if isinstance(error, UnidentifiedImageError) else error
        raise RcError(f"{name}: no picture that can be read ({what}): render it again") from error


def check_reduction(size: int, filter_: str) -> None:
    """Refuse a size or filter that does not exist."""
    if not 8 <= size <= 4096:
        raise UsageError(f"--size must be between 8 and 4096 px, not {size}")
    if filter_ not in FILTERS:
        raise UsageError(f"--filter {filter_!r}: one of {', '.join(FILTERS)}")
