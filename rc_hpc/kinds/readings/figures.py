"""Figures of readings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.report import style
from rc_hpc.report.plot import Given, NothingToDraw, Plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def pixels(given: Given) -> Figure:
    """How many crystals differ in how many pixels where they are drawn again."""
    frame = given.frame
    if not frame["n"].sum():
        raise NothingToDraw("has no reading that was drawn")
    made, ((ax,),) = style.figure(style.COLUMN_IN, 2.6)
    at = np.arange(len(frame))
    n, certified = frame["n"].to_numpy(float), frame["certified"].to_numpy(float)
    ax.bar(at, certified, color="0.45", label="certified")
    ax.bar(
        at, n - certified, bottom=certified, color="white", edgecolor="0.3", label="not certified"
    )
    names = frame["pixels"].replace({"at most 0": "none"})
    ax.set_xticks(at, names, rotation=35, ha="right")
    ax.set_xlabel("pixels that differ")
    ax.set_ylabel("crystals")
    style.below(made, 2, ax)
    return made


PLOTS = (Plot("pixels", "pixels", pixels),)
