"""Texts of a picture as outlines to fill, the same for every renderer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rc_hpc.images.scene import DPI, Texts
from rc_hpc.images.view import View


def outlines(texts: Texts, view: View) -> Iterator[tuple]:
    """Of each text its matplotlib path, what takes that onto the picture, and its colour.

    The transforms, (3, 3), lead to pixels from the lower left corner. The font is the one that
    comes with matplotlib, whatever a user's style says.
    """
    import matplotlib
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    file = Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
    font = FontProperties(fname=file)
    for k, word in enumerate(texts.words):
        path = TextPath((0, 0), word, texts.sizes[k] * DPI / 72, font)
        onto = np.eye(3)
        onto[:2, 2] = view.texts[k] * (1, -1) + (0, view.size[1])
        onto[:2, 2] -= path.get_extents().get_points().mean(0)
        yield path, onto, (*texts.colours[k], 1.0)
