"""Figures of a census."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO
from rc_hpc.report import style
from rc_hpc.report.plot import Given, NothingToDraw, Plot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Subsets of which each can still have a line of its own.
MOST_SUBSETS = 64


def view_curve(given: Given) -> Figure:
    """R1 by number of views, mean and extremes over the subsets, above the phantom excess."""
    frame = given.frame
    made, ((upper,), (lower,)) = style.figure(
        style.COLUMN_IN, 3.9, 2, sharex=True, height_ratios=(3, 2)
    )
    x, mean = frame["views"], frame["R1"]
    upper.errorbar(
        x,
        mean,
        style.interval(mean, frame["R1_min"], frame["R1_max"]),
        label="mean, least and largest",
        **style.series(0, filled=not given.recorded),
    )
    lower.plot(
        x,
        frame["mean_excess"],
        label="mean",
        clip_on=False,
        **style.series(0, filled=not given.recorded),
    )
    for entry in given.recorded:
        upper.plot(entry["views"], entry["R1"], label=style.RECORDED_LABEL, **style.RECORDED)
        for name in ("R1_min", "R1_max"):
            upper.plot(
                entry["views"],
                entry.get(name, [np.nan] * len(entry["views"])),
                **style.RECORDED | {"markersize": 4},
            )
        if "mean_excess" in entry:
            lower.plot(
                entry["views"],
                entry["mean_excess"],
                label=style.RECORDED_LABEL,
                clip_on=False,
                **style.RECORDED,
            )
    style.share_limits(upper, np.append(frame["R1_min"], 1))
    upper.set_ylabel("R1, share of structures\n(one value each subset)")
    upper.legend(**style.legend_entries(upper), loc="lower right")
    lower.set_yscale("symlog", linthresh=0.01)
    lower.set_ylim(
        0 if frame["mean_excess"].min() >= 0 else None, max(0.02, 2 * frame["mean_excess"].max())
    )
    lower.set_ylabel("phantom excess,\natoms per structure")
    lower.set_xlabel("views of a subset (number of subsets)")
    lower.set_xticks(
        x, [f"{views}\n({subsets})" for views, subsets in zip(x, frame["subsets"], strict=True)]
    )
    lower.set_xlim(x.min() - 0.4, x.max() + 0.4)
    return made


def subsets(given: Given) -> Figure:
    """Every subset: its cameras, R1, and the share of structures with phantoms."""
    frame = given.frame
    if len(frame) > MOST_SUBSETS:
        raise NothingToDraw(
            f"has a line for each subset, and {len(frame)} are too many to read: see the "
            "table subsets"
        )
    cameras = list(dict.fromkeys(camera for name in frame["subset"] for camera in name.split("+")))
    width = 1 + 0.16 * len(cameras)
    made, ((members, ceiling, rate),) = style.figure(
        style.PAGE_IN * 0.75,
        1.5 + 0.17 * len(frame),
        columns=3,
        sharey=True,
        width_ratios=(width, 2.6, 2.6),
    )
    rows = np.arange(len(frame))
    _members(members, frame["subset"], cameras)
    ceiling.errorbar(
        frame["R1"],
        rows,
        xerr=style.interval(frame["R1"], frame["R1_low95"], frame["R1_high95"]),
        label="R1, Wilson 95 %",
        **style.points(0, filled=not given.recorded),
    )
    for entry in given.recorded:
        place = {name: row for row, name in enumerate(frame["subset"])}
        ceiling.plot(
            np.array(entry["R1_count"]) / frame["n"].iloc[0],
            [place[name] for name in entry["subset"]],
            label=style.RECORDED_LABEL,
            **style.RECORDED,
        )
    style.share_limits(ceiling, frame["R1_low95"], "x")
    ceiling.set_xlabel("R1, share of structures")
    for number, (name, label) in enumerate(
        (("with_phantoms", "by acceptance"), ("with_meeting_phantoms", "rays meet (1e-6 Å)"))
    ):
        rate.plot(
            frame[name] / frame["n"], rows, label=label, **style.points(number, filled=number == 0)
        )
    rate.set_xlim(left=-0.02 * max(rate.get_xlim()[1], 0.05))
    rate.set_xlabel("share of structures\nwith phantoms")
    for ax in (ceiling, rate):
        for row in rows:
            ax.axhline(row, **style.GRID)
        ax.tick_params(axis="y", length=0)
        ax.legend(**style.legend_entries(ax), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return made


def _members(ax: Axes, names: Sequence[str], cameras: list[str]) -> None:
    """The cameras of each subset as dots on lines."""
    for row, name in enumerate(names):
        at = sorted(cameras.index(camera) for camera in name.split("+"))
        ax.plot(
            range(len(cameras)),
            [row] * len(cameras),
            linestyle="none",
            marker="o",
            markersize=3,
            color="0.85",
            zorder=1,
        )
        ax.plot(
            at, [row] * len(at), color="black", marker="o", markersize=4, linewidth=0.9, zorder=2
        )
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlim(-0.5, len(cameras) - 0.5)
    ax.set_yticks([])
    ax.set_xticks(range(len(cameras)), cameras, rotation=90)
    ax.tick_params(axis="x", length=0)
    ax.set_xlabel("cameras of the subset")
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)


def granularity(given: Given) -> Figure:
    """R0 and R1 by granularity of the label, by number of views."""
    frame = given.frame
    made, ((ax,),) = style.figure(style.COLUMN_IN, 2.9)
    places = np.arange(len(frame))
    marks = _ceilings(ax, frame, places, "x")
    if "R0" in frame:
        _mark(
            ax,
            "x",
            places + style.dodge(marks, marks + 1),
            frame["R0"],
            None,
            "R0, both cells' labels",
            style.points(marks, filled=False),
        )
    for entry in given.recorded:
        at = [list(frame["label"]).index(label) for label in entry["label"]]
        ax.plot(
            np.array(at) + style.dodge(marks - 1, marks + 1),
            np.array(entry["R1_count"]) / frame["n"].iloc[0],
            label=style.RECORDED_LABEL,
            **style.RECORDED,
        )
    ax.set_xticks(
        places,
        [
            f"{label.replace(' ', chr(10), 1)}\n({classes})"
            for label, classes in zip(frame["label"], frame["classes"], strict=True)
        ],
    )
    for border in places[:-1] + 0.5:
        ax.axvline(border, **style.GRID)
    ax.set_xlabel("label (classes in the sample)")
    style.share_limits(ax, _lowest(frame))
    ax.set_ylabel("share of structures")
    style.below(made, 2, ax)
    return made


def systems(given: Given) -> Figure:
    """R1 by true crystal system (of molecules by point group), by number of views."""
    frame = given.frame
    made, ((ax,),) = style.figure(style.COLUMN_IN, max(3.6, 1.2 + 0.32 * len(frame)))
    style.categories(
        ax,
        [f"{system} ({n})" for system, n in zip(_classes(frame), frame["n"], strict=True)],
    )
    _ceilings(ax, frame, np.arange(len(frame)), "y")
    style.share_limits(ax, _lowest(frame), "x")
    ax.set_xlabel("R1, share of structures")
    style.below(made, 2, ax)
    return made


def _classes(frame: pd.DataFrame) -> pd.Series:
    return frame["crystal_system" if "crystal_system" in frame else "point_group"]


def _ceilings(ax: Axes, frame: pd.DataFrame, places: np.ndarray, along: str) -> int:
    """R1 by number of views beside each category; the full protocol with intervals.

    Returns the number of series.
    """
    means = _mean_columns(frame)
    full = "R1" in frame
    count = len(means) + full
    for number, (views, column) in enumerate(means.items()):
        _mark(
            ax,
            along,
            places + style.dodge(number, count + (along == "x")),
            frame[column],
            None,
            f"R1, mean of {views} views",
            style.points(number),
        )
    if full:
        errors = style.interval(frame["R1"], frame["R1_low95"], frame["R1_high95"])
        _mark(
            ax,
            along,
            places + style.dodge(count - 1, count + (along == "x")),
            frame["R1"],
            errors,
            "R1, full, Wilson 95 %",
            style.points(count - 1),
        )
    return count


def _mark(
    ax: Axes,
    along: str,
    places: np.ndarray,
    values: np.ndarray,
    errors: Any,
    label: str,
    look: dict[str, Any],
) -> None:
    x, y, which = (places, values, "yerr") if along == "x" else (values, places, "xerr")
    ax.errorbar(x, y, **{which: errors}, label=label, **look)


def _mean_columns(frame: pd.DataFrame) -> dict[int, str]:
    found = {column: re.fullmatch(r"R1_mean_(\d+)_views", column) for column in frame}
    return {int(match[1]): column for column, match in found.items() if match}


def _lowest(frame: pd.DataFrame) -> np.ndarray:
    return np.concatenate(
        [
            frame[name].to_numpy(float)
            for name in (*_mean_columns(frame).values(), "R1", "R1_low95", "R0")
            if name in frame
        ]
    )


def phantom_deltas(given: Given) -> Figure:
    """How many structures have a phantom at some tolerance up to delta, by number of views."""
    frame = given.frame
    made, ((ax,),) = style.figure(style.COLUMN_IN, 2.9)
    columns = {int(column.split("_")[1]): column for column in frame if column.startswith("share_")}
    horizon = given.options.get("delta_max", float(frame["delta_angstrom"].max()))
    # The left end stands for everything down to 0, the right one is the end of what was followed.
    x = np.append(np.maximum(frame["delta_angstrom"], CENSUS_ZERO), horizon)
    shares = frame[list(columns.values())].to_numpy(float)
    if not (shares > 0).any():
        raise NothingToDraw("has no structure with a phantom at any tolerance followed")
    marks = np.geomspace(CENSUS_ZERO, horizon, 4 * len(columns) + 1)
    for number, (views, column) in enumerate(columns.items()):
        own = np.searchsorted(x, marks[number :: len(columns)])
        ax.plot(
            x,
            np.append(frame[column], frame[column].iloc[-1]),
            label=f"{views} views",
            drawstyle="steps-post",
            markevery=np.unique(np.minimum(own, len(x) - 1)).tolist(),
            clip_on=False,
            **style.series(number),
        )
    for entry in given.recorded:
        ax.plot(
            entry["delta_angstrom"], entry["share"], label=style.RECORDED_LABEL, **style.RECORDED
        )
    if (delta := given.options.get("delta")) is not None:
        ax.axvline(delta, label="delta of the census", **style.GUIDE)
    style.log_lengths(ax)
    # Logarithmic down to the smallest share there is, linear from there to zero.
    least = shares[shares > 0].min()
    ax.set_yscale("symlog", linthresh=least, linscale=0.4)
    decades = 10.0 ** np.arange(np.ceil(np.log10(least)), 1)
    ax.set_yticks([0, *decades], ["0", *(f"{decade:g}" for decade in decades)])
    ax.set_ylim(0, min(1.0, 1.6 * shares.max()))
    ax.set_xlabel("delta (Å; the left end stands for all below)")
    ax.set_ylabel(
        "share of structures × subsets\nwith a phantom at some tolerance\nup to delta (cumulative)"
    )
    style.below(made, 3, ax)
    return made


PLOTS = (
    Plot("view-curve", "views", view_curve),
    Plot("subsets", "subsets", subsets),
    Plot("granularity", "granularity", granularity),
    Plot("systems", "systems", systems),
    Plot("phantom-deltas", "phantom-steps", phantom_deltas),
)
