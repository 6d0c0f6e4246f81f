"""Pictures as training input: decoded, reduced to a network's size, in one block of bytes."""

from __future__ import annotations

import io

import numpy as np

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.vocabulary import FILTERS


def decode(data: bytes, size: int, filter_: str, name: str) -> np.ndarray:
    """One picture as RGB of `size` by `size` pixels.

    Parameters
    ----------
    data
        Bytes of an image file; transparent pixels are laid on white.
    filter_
        One of `FILTERS`.
    name
        Shown in messages.

    Returns
    -------
    (size, size, 3) uint8

    Raises
    ------
    RcError
        It is no picture, or not a square one.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data)) as opened:
            image: Image.Image = opened
            if image.width != image.height:
                raise RcError(
                    f"{name}: {image.width} x {image.height} pixels are not square: render it again"
                )
            if image.has_transparency_data:
                image = image.convert("RGBA")
                image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
            image = image.convert("RGB")
            if image.width != size:
                image = image.resize((size, size), Image.Resampling[filter_.upper()])
            return np.asarray(image)
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise RcError(f"{name}: no picture that can be read ({error}): render it again") from error


def check_reduction(size: int, filter_: str) -> None:
    """Refuse a size or filter that does not exist."""
    if not 8 <= size <= 4096:
        raise UsageError(f"--size must be between 8 and 4096 px, not {size}")
    if filter_ not in FILTERS:
        raise UsageError(f"--filter {filter_!r}: one of {', '.join(FILTERS)}")
