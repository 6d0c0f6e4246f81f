"""Figures of an occlusion sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.report import style
from rc_hpc.report.plot import Given, Plot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What each condition takes away, for the axis.
TAKEN = {"O0": "nothing", "O1": "informative", "O2": "all occluded", "O3": "redundant"}
#: Numbers of views that get a row of panels.
MOST_SIZES = 4
#: Fillings of the bars of a group: greys and hatches.
_BARS = (
    ("0.5", ""),
    ("0.88", "////"),
    ("white", "...."),
    ("0.72", "\\\\\\\\"),
    ("white", ""),
    ("0.88", "xxxx"),
    ("0.72", "----"),
)


def occlusion(given: Given) -> Figure:
    """R1 by condition, a bar per verification rule.

    A column of panels per enumeration and merge rule, a row per number of views.
    """
    frame = given.frame
    readings = list(dict.fromkeys(zip(frame["enumeration"], frame["merge"], strict=True)))
    rules = list(dict.fromkeys(frame["verification"]))
    sizes = sorted(set(frame["views"]), reverse=True)[:MOST_SIZES]
    wide = len(readings) > 1
    made, axes = style.figure(
        style.PAGE_IN if wide else style.COLUMN_IN,
        1.0 + 2.0 * len(sizes),
        len(sizes),
        len(readings),
        sharex=True,
        sharey=True,
    )
    for row, size in enumerate(sizes):
        for column, (enumeration, merge) in enumerate(readings):
            ax = axes[row, column]
            shown = frame[
                (frame["views"] == size)
                & (frame["enumeration"] == enumeration)
                & (frame["merge"] == merge)
            ]
            _bars(
                ax,
                shown,
                rules,
                [
                    entry
                    for entry in given.recorded
                    if (entry["enumeration"], entry["merge"], entry["views"])
                    == (enumeration, merge, size)
                ],
            )
            subsets = int(shown["subsets"].iloc[0])
            ax.set_title(
                f"{enumeration}, {merge}, {size} views"
                + (f", mean of {subsets}" if subsets > 1 else "")
            )
        axes[row, 0].set_ylabel("R1, share of structures")
    for ax in axes[-1]:
        ax.set_xlabel("condition: whose centres are taken away")
    style.below(made, 4 if wide else 2, axes[0, 0])
    return made


def _bars(ax: Axes, shown: pd.DataFrame, rules: list[str], recorded: list[dict[str, Any]]) -> None:
    conditions = list(dict.fromkeys(shown["condition"]))
    width = 0.8 / len(rules)
    for number, rule in enumerate(rules):
        rows = shown[shown["verification"] == rule].set_index("condition").loc[conditions]
        at = np.arange(len(conditions)) + style.dodge(number, len(rules), 0.8)
        color, hatch = _BARS[number % len(_BARS)]
        ax.bar(
            at,
            rows["R1"],
            width,
            color=color,
            hatch=hatch,
            edgecolor="black",
            linewidth=0.6,
            label=rule,
        )
        ax.errorbar(
            at,
            rows["R1"],
            style.interval(rows["R1"], rows["R1_low95"], rows["R1_high95"]),
            linestyle="none",
            color="black",
            elinewidth=0.7,
            capsize=1.5,
        )
        for entry in recorded:
            if entry["verification"] == rule:
                place = dict(zip(conditions, at, strict=True))
                known = [
                    (place[name], count / rows["n"].iloc[0])
                    for name, count in zip(entry["condition"], entry["R1_count"], strict=True)
                    if name in place
                ]
                ax.plot(
                    *zip(*known, strict=True),
                    label=style.RECORDED_LABEL,
                    **style.RECORDED | {"color": "#D55E00", "markersize": 6},
                )
    ax.set_xticks(range(len(conditions)), [f"{name}\n{TAKEN.get(name, '')}" for name in conditions])
    ax.tick_params(axis="x", length=0)
    ax.set_ylim(0, 1.08)


PLOTS = (Plot("occlusion", "occlusion", occlusion),)
