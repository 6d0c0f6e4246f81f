"""Figures of what pictures determine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.benchmark.records import STRATA
from rc_hpc.report import style
from rc_hpc.report.plot import Given, NothingToDraw, Plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _worded(stratum: str) -> str:
    return stratum.replace("_", " ")


def determined(given: Given) -> Figure:
    """Share determined by number of views, a panel a stratum, a series a sight."""
    frame = given.frame
    strata = [name for name in STRATA if name in set(frame["stratum"])]
    if not strata:
        raise NothingToDraw("has no question of which anything is known")
    columns = min(4, len(strata))
    rows = -(-len(strata) // columns)
    made, axes = style.figure(
        style.PAGE_IN, 1.9 * rows + 0.6, rows, columns, sharex=True, sharey=True
    )
    views = sorted(set(frame["views"].astype(int)))
    place = {number: k for k, number in enumerate(views)}
    for k, ax in enumerate(axes.flat):
        if k >= len(strata):
            ax.set_visible(False)
            continue
        own = frame[frame["stratum"] == strata[k]]
        for number, sight in enumerate(dict.fromkeys(frame["sight"])):
            of = own[own["sight"] == sight]
            x = np.array([place[n] for n in of["views"].astype(int)])
            x = x + style.dodge(number, len(set(frame["sight"])), 0.3)
            errors = style.interval(
                of["determined"], of["determined_lowboot95"], of["determined_highboot95"]
            )
            ax.errorbar(
                x, of["determined"].astype(float), errors, label=sight, **style.series(number)
            )
        ax.set_title(f"{_worded(strata[k])} ({int(own['n'].max())})")
        ax.set_xticks(range(len(views)), views)
        ax.set_ylim(-0.04, 1.04)
    for ax in axes[-1]:
        ax.set_xlabel("pictures of a scene")
    for ax in axes[:, 0]:
        ax.set_ylabel("share determined")
    style.below(made, 4, axes[0, 0])
    return made


def floors(given: Given) -> Figure:
    """What is determined beside what readers get who do not reconstruct."""
    frame = given.frame[given.frame["stratum"].isin(STRATA)]
    if not len(frame):
        raise NothingToDraw("has no question that was read")
    names = [name for name in frame if name not in ("stratum", "n")]
    made, ((ax,),) = style.figure(style.COLUMN_IN, 0.36 * len(frame) + 1.3)
    style.categories(
        ax, [f"{_worded(name)} ({n})" for name, n in zip(frame["stratum"], frame["n"], strict=True)]
    )
    rows = np.arange(len(frame))
    for number, name in enumerate(names):
        known = np.isfinite(frame[name].to_numpy(float))
        ax.plot(
            frame[name].to_numpy(float)[known],
            (rows + style.dodge(number, len(names), 0.6))[known],
            label=name,
            **style.points(number, filled=name == "determined"),
        )
    ax.set_xlim(-0.03, 1.03)
    ax.set_xlabel("share determined; expected score")
    style.below(made, 3, ax)
    return made


PLOTS = (Plot("determined", "determined", determined), Plot("floors", "floors", floors))
