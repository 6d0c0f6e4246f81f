"""Figures of scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.report import style
from rc_hpc.report.plot import Given, NothingToDraw, Plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def scores(given: Given) -> Figure:
    """R2 and the certified share by set of crystals."""
    frame = given.frame
    if not len(frame):
        raise NothingToDraw("has no reading that was scored")
    made, ((ax,),) = style.figure(style.COLUMN_IN, 0.24 * len(frame) + 1.2)
    style.categories(
        ax, [f"{name} ({n})" for name, n in zip(frame["crystals"], frame["n"], strict=True)]
    )
    rows = np.arange(len(frame))
    share = frame["R2"].to_numpy(float)
    low, high = (frame[f"R2_{end}95"].to_numpy(float) for end in ("low", "high"))
    ax.errorbar(
        share, rows + style.dodge(0, 2, 0.4), xerr=np.clip((share - low, high - share), 0, None),
        label="right", **style.points(0),
    )  # fmt: skip
    ax.plot(
        (frame["right_and_certified"] / frame["n"]).to_numpy(float),
        rows + style.dodge(1, 2, 0.4),
        label="right and certified",
        **style.points(1, filled=False),
    )
    ax.set_xlim(-0.03, 1.03)
    ax.set_xlabel("share of crystals")
    style.below(made, 2, ax)
    return made


PLOTS = (Plot("scores", "scores", scores),)
