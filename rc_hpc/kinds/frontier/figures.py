"""Figures of a tolerance frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.core.vocabulary import MERGE_RULES
from rc_hpc.report import style
from rc_hpc.report.plot import Given, NothingToDraw, Plot
from rc_hpc.store.schema import of_molecules

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Numbers of views that get a row of panels; more leave none of them legible.
MOST_SIZES = 5
#: Readings that get a panel of the grid.
MOST_READINGS = 12
_SYMPREC = "symprec_angstrom"


def frontier(given: Given) -> Figure:
    """R1 over delta: a column per enumeration, a row per number of views, a line per merge rule."""
    frame = _at_one_symprec(given)
    enumerations, rules = _distinct(frame, "enumeration"), _distinct(frame, "merge")
    sizes = sorted(set(frame["views"]), reverse=True)[:MOST_SIZES]
    wide = len(enumerations) > 1
    made, axes = style.figure(
        style.PAGE_IN if wide else style.COLUMN_IN,
        1.0 + (2.2 if len(sizes) == 1 else 1.75) * len(sizes),
        len(sizes),
        len(enumerations),
        sharex=True,
        sharey="row",
    )
    for row, size in enumerate(sizes):
        of_size = frame[frame["views"] == size]
        for column, enumeration in enumerate(enumerations):
            ax = axes[row, column]
            shown = of_size[of_size["enumeration"] == enumeration]
            _lines(ax, shown, rules)
            _recorded(ax, given, shown, enumeration, size)
            ax.set_title(f"{enumeration}, {_sets(shown)}")
        style.share_limits(axes[row, 0], of_size["R1"])
        axes[row, 0].set_ylabel("R1, share of structures")
    for ax in axes[-1]:
        ax.set_xlabel("delta (Å)")
    legend = max(axes.flat, key=lambda ax: len(ax.get_legend_handles_labels()[0]))
    style.below(made, 6 if wide else 2, legend)
    return made


def _at_one_symprec(given: Given) -> pd.DataFrame:
    """The rows labelled at the file's own tolerance, or at the one nearest to it."""
    frame, pack = given.frame, given.options["pack"]
    column = _tolerance(frame)
    own = pack["tau"] if column == _SYMPREC else pack["group_tolerance"]
    nearest = min(set(frame[column]), key=lambda one: abs(one - own))
    return frame[frame[column] == nearest]


def _tolerance(frame: pd.DataFrame) -> str:
    """The column of the labels' tolerance: of space groups, or of molecules' point groups."""
    return _SYMPREC if _SYMPREC in frame else "group_tolerance_angstrom"


def _lines(ax: Axes, shown: pd.DataFrame, rules: list[str]) -> None:
    """One line a rule; where lines coincide, the later, thinner ones lie within the earlier."""
    for number, rule in enumerate(rules):
        line = shown[shown["merge"] == rule]
        width = 0.9 + 0.5 * (len(rules) - 1 - number)
        ax.plot(
            line["delta_angstrom"],
            line["R1"],
            label=rule,
            linewidth=width,
            markevery=(number % 2, 2),
            **style.series(MERGE_RULES.index(rule)),
        )
    style.log_lengths(ax)
    ax.grid(axis="y", **style.GRID)


def _recorded(ax: Axes, given: Given, shown: pd.DataFrame, enumeration: str, size: int) -> None:
    for entry in given.recorded:
        holds = (enumeration, size) == (entry["enumeration"], entry["views"]) and entry[
            "symprec_angstrom"
        ] in set(shown["symprec_angstrom"])
        if holds and entry["merge"] in set(shown["merge"]):
            ax.plot(
                entry["delta_angstrom"],
                np.array(entry["R1_count"]) / shown["n"].iloc[0],
                label=f"{style.RECORDED_LABEL}, {entry['merge']}",
                **style.RECORDED,
            )


def _sets(shown: pd.DataFrame) -> str:
    subsets = int(shown["subsets"].iloc[0])
    views = f"{shown['views'].iloc[0]} views"
    return views if subsets == 1 else f"{views}, mean of {subsets}"


def certified(given: Given) -> Figure:
    """Structures certified with the full protocol, an exact step function of delta."""
    frame = given.frame
    delta, count, n = (
        frame[name].to_numpy(float) for name in ("delta_angstrom", "certified_count", "n")
    )
    horizon = given.options["delta_max"]
    made, ((ax,),) = style.figure(style.COLUMN_IN, 2.5)
    first = delta[1] if len(delta) > 1 else horizon
    start = min(1e-3, first / 2)
    # from `start`, which stands for everything down to 0, to the end of the profile
    ax.step(
        [start, *delta[1:], horizon],
        [*count, count[-1]] / n[0],
        where="post",
        **style.series(0) | {"marker": "none", "linewidth": 0.8},
    )
    if not of_molecules(given.options):
        ax.axvline(given.options["pack"]["tau"], label="tau", **style.GUIDE)
        ax.legend(loc="lower left")
    ax.set_xlim(start, horizon)
    style.log_lengths(ax)
    style.share_limits(ax, count / n)
    ax.grid(axis="y", **style.GRID)
    ax.set_xlabel("delta (Å)")
    ax.set_ylabel(f"certified, share of {int(n[0])} structures")
    return made


def grid(given: Given) -> Figure:
    """Structures with the right label over delta and symprec, full protocol, a panel a reading."""
    frame = given.frame[given.frame["views"] == given.frame["views"].max()]
    tolerance = _tolerance(frame)
    deltas, symprecs = sorted(set(frame["delta_angstrom"])), sorted(set(frame[tolerance]))
    if len(symprecs) < 2:
        raise NothingToDraw("needs more than one symprec: --symprecs of the sweep")
    readings = list(frame.groupby(["enumeration", "merge"], sort=False))[:MOST_READINGS]
    columns = min(2, len(readings))
    rows = -(-len(readings) // columns)
    across = max(style.COLUMN_IN, 0.9 + 0.45 * len(deltas))
    made, axes = style.figure(
        min(style.PAGE_IN, columns * across),
        0.5 + rows * (0.7 + 0.34 * len(symprecs)),
        rows,
        columns,
    )
    lowest = float(frame["R1"].min())
    for ax in list(axes.flat)[len(readings) :]:
        ax.remove()
    for ax, ((enumeration, rule), cells) in zip(axes.flat, readings, strict=False):
        table = cells.pivot(index=tolerance, columns="delta_angstrom", values=["R1", "R1_count"])
        share, count = table["R1"].to_numpy(float), table["R1_count"].to_numpy(int)
        old = {
            (symprec, delta): found
            for entry in given.recorded
            if (entry["enumeration"], entry["merge"]) == (enumeration, rule)
            for symprec, delta, found in zip(
                entry["symprec_angstrom"], entry["delta_angstrom"], entry["R1_count"], strict=True
            )
        }
        ax.imshow(
            share,
            cmap="gray",
            vmin=lowest - 1.5 * (1 - lowest) - 1e-9,
            vmax=1,
            aspect="auto",
            origin="lower",
        )
        for row, symprec in enumerate(symprecs):
            for column, delta in enumerate(deltas):
                known = f"\n({old[symprec, delta]})" if (symprec, delta) in old else ""
                ax.text(
                    column,
                    row,
                    f"{count[row, column]}{known}",
                    ha="center",
                    va="center",
                    color="black",
                    fontsize=7,
                )
        ax.set_xticks(
            range(len(deltas)),
            [f"{delta:g}" for delta in deltas],
            rotation=90 if len(deltas) > 8 else 0,
        )
        ax.set_yticks(range(len(symprecs)), [f"{symprec:g}" for symprec in symprecs])
        ax.tick_params(length=0)
        ax.set_title(f"{enumeration}, {rule}" + ("; in brackets: recorded" if old else ""))
        ax.set_xlabel("delta (Å)")
        ax.set_ylabel("symprec (Å)" if tolerance == _SYMPREC else "group tolerance (Å)")
    made.suptitle(
        f"structures of {int(frame['n'].iloc[0])} with the right "
        f"{'crystal system' if tolerance == _SYMPREC else 'point group'}, {_sets(frame)}",
        fontsize=8,
    )
    return made


def _distinct(frame: pd.DataFrame, column: str) -> list[str]:
    return list(dict.fromkeys(frame[column]))


PLOTS = (
    Plot("frontier", "frontier", frontier),
    Plot("certified", "steps", certified),
    Plot("grid", "frontier", grid),
)
