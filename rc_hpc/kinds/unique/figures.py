"""Figures of a uniqueness sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.kinds.unique.pairs import Pair
from rc_hpc.kinds.unique.picture import draw_pair
from rc_hpc.report import style
from rc_hpc.report.plot import Given, NothingToDraw, Plot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Parts of a bar, from below: column, label, grey, hatch. Those of luck come from the other table.
_PARTS = (
    ("unique", "unique", "0.35", ""),
    ("determined", "determined", "0.6", ""),
    ("luck", "undetermined, maximal right (luck)", "0.85", "////"),
    ("bad", "undetermined, maximal wrong", "white", "...."),
    ("unknown", "unknown", "white", "xxxx"),
    ("inadmissible", "inadmissible", "0.95", "----"),
)
#: R1 of readers under the bars: column, label, marker, whether it is an interval's end.
_READERS = (
    ("R1_guaranteed", "guaranteed", "_"),
    ("R1_maximal", "maximal", "D"),
    ("R1_most_symmetric", "most symmetric", "^"),
    ("R1_random", "random with counts", "v"),
)


def statuses(given: Given) -> Figure:
    """Cells that are not forced by status, and R1 over all cells.

    A column of panels per number of views that has such cells, a bar per policy.
    """
    frame = given.frame.merge(given.others["readers"], on=["structures", "views", "policy", "n"])
    if not frame["n"].any():
        raise NothingToDraw("has no computed structure")
    frame = frame[frame["forced"] < frame["n"]]
    if not len(frame):
        raise NothingToDraw("has no cell that is not forced: all are unique")
    sizes = sorted(set(frame["views"]))
    made, axes = style.figure(style.PAGE_IN, 5.4, 2, len(sizes), sharey="row", sharex="col")
    for column, size in zip(axes.T, sizes, strict=True):
        rows = frame[frame["views"] == size]
        _bars(column[0], rows)
        _readers(column[1], rows)
        n, forced = int(rows["n"].iloc[0]), int(rows["forced"].iloc[0])
        column[0].set_title(f"{size} views: {n - forced} of {n} cells")
    axes[0, 0].set_ylabel("share of cells that\nare not forced")
    axes[1, 0].set_ylabel("R1, all cells\n(axis does not start at 0)")
    style.share_limits(
        axes[1, 0], frame[[column for column, *_ in _READERS]].to_numpy(float).ravel()
    )
    style.below(made, 3, axes[0, 0], axes[1, 0])
    return made


def _bars(ax: Axes, rows: pd.DataFrame) -> None:
    at, n = np.arange(len(rows)), (rows["n"] - rows["forced"]).to_numpy(float)
    heights = {
        "unique": rows["unique"],
        "determined": rows["determined"],
        "luck": rows["luck"],
        "bad": rows["undetermined"] - rows["luck"],
        "unknown": rows["unknown"],
        "inadmissible": rows["inadmissible"],
    }
    bottom = np.zeros(len(rows))
    for name, label, color, hatch in _PARTS:
        share = heights[name].to_numpy(float) / n
        ax.bar(
            at,
            share,
            0.7,
            bottom,
            color=color,
            hatch=hatch,
            edgecolor="black",
            linewidth=0.6,
            label=label,
        )
        bottom += share
    ax.set_ylim(0, 1)


def _readers(ax: Axes, rows: pd.DataFrame) -> None:
    at = np.arange(len(rows))
    for number, (column, label, marker) in enumerate(_READERS):
        guaranteed = marker == "_"
        ax.plot(
            at,
            rows[column],
            linestyle="none",
            marker=marker,
            markersize=22 if guaranteed else 5,
            markeredgewidth=1.5 if guaranteed else 0.6,
            **({"color": "black"} if guaranteed else _filled(number)),
            label=f"R1, {label}",
        )
    ax.set_xticks(at, rows["policy"], rotation=35, ha="right")
    ax.grid(axis="y", color="0.88", linewidth=0.5)
    ax.set_axisbelow(True)


def _filled(number: int) -> dict[str, str]:
    color = style.series(number)["color"]
    return {"markerfacecolor": color, "markeredgecolor": "black"}


def witness(given: Given) -> Figure:
    """A structure above the other crystal: see `draw_pair`."""
    frame = given.frame
    if not given.options:
        raise NothingToDraw("has no options to take the cameras from")
    if not len(frame):
        raise NothingToDraw("has no witness")
    first = frame.iloc[0]
    lattice = np.full(9, np.nan)  # of molecules
    if "a_x" in frame:
        lattice = frame[[f"{a}_{n}" for a in "abc" for n in "xyz"]].iloc[0].to_numpy(float)
    pair = Pair(
        first["structure"],
        first["subset"],
        tuple(first["policies"].split(", ")),
        (first["label"], first["other_label"]),
        lattice.reshape(3, 3),
        frame["number"].to_numpy(int),
        frame[["x", "y", "z"]].to_numpy(float),
        frame["atom"].to_numpy(bool),
        frame["witness"].to_numpy(bool),
    )
    return draw_pair(pair, given.options["protocol"])


PLOTS = (
    Plot("unique", "unique", statuses, ("readers",)),
    Plot("witness", "witness", witness),
)
