"""Figures of the attribution ladder and its controls."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.answers.predictions import find_files
from rc_hpc.answers.task import SEVEN_SYSTEMS
from rc_hpc.ladder.evidence import Evidence
from rc_hpc.report import recorded, style
from rc_hpc.report.plot import Drawn, Given, NothingToDraw, Origin, Plot, draw
from rc_hpc.report.tables import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Mark of a model that is shown but not scored.
UNSCORED = "†"
CHANCE = SEVEN_SYSTEMS.chance
#: Height of a row, in.
ROW_IN = 0.19
#: Characters of a line of a title.
_TITLE = 88
_CEILING_LINES = ("-", "--", ":", "-.")


def ladder(given: Given) -> Figure:
    """R4, R3 and the ceilings of every model, and perception's share of the shortfall.

    A row of panels per R3 cell.
    """
    cells = list(given.frame.groupby("R3_cell", sort=False))
    figure, axes = style.figure(
        style.PAGE_IN,
        len(cells) * (0.9 + ROW_IN * max(len(rows) for _, rows in cells)) + 0.5,
        len(cells),
        2,
        width_ratios=(3, 2),
        sharex="col",
        sharey="row",
    )
    for (left, right), (cell, rows) in zip(axes, cells, strict=True):
        rows = rows.reset_index(drop=True)
        recorded = [entry for entry in given.recorded if entry["R3_cell"] == cell]
        _names(left, rows)
        _rungs(left, rows, recorded)
        _shares(right, rows, recorded)
        left.set_title(_cell_told(cell, given.options.get("cells_differ", ())), loc="left")
    axes[-1, 0].set_xlabel("share of structures")
    axes[-1, 1].set_xlabel("perception's share of the shortfall,\nP / (P + S), bootstrap 95 %")
    style.below(figure, 4, *axes[0])
    return figure


def _cell_told(cell: str, differ: Sequence[str]) -> str:
    """Title of the panels of one R3 cell; where the pictures show another, the split by cell."""
    told = next((one for one in differ if one.startswith(f"R3 lists the {cell} cell")), None)
    return f"R3 on the {cell} cell" if told is None else textwrap.fill(told, _TITLE)


def _names(ax: Axes, rows: pd.DataFrame) -> None:
    names = [
        name + UNSCORED * bool(reason)
        for name, reason in zip(style.short_names(rows["model"]), rows["unscored"], strict=True)
    ]
    style.categories(ax, names)
    if (rows["unscored"] != "").any():
        ax.plot([], [], linestyle="none", marker=f"${UNSCORED}$", color="black", label="not scored")


def _rungs(ax: Axes, rows: pd.DataFrame, recorded: list[dict]) -> None:
    places = np.arange(len(rows))
    ax.hlines(
        places, rows["R4"], rows["R3"], color="0.75", linewidth=3.5, label="P = R3 - R4", zorder=0.5
    )
    for number, (name, label) in enumerate((("R4", "R4, pictures"), ("R3", "R3, coordinates"))):
        errors = style.interval(rows[name], rows[f"{name}_low95"], rows[f"{name}_high95"])
        ax.errorbar(
            rows[name],
            places + (-0.14 if number else 0.14),
            xerr=errors,
            label=label,
            elinewidth=0.7,
            **style.points(number, filled=number == 0 and not recorded),
        )
    for ceiling, line in zip(_ceilings(rows), _CEILING_LINES, strict=False):
        share = (rows["R3_count"] + rows[f"S_{ceiling}"]).iloc[0] / rows["n"].iloc[0]
        ax.axvline(share, label=f"ceiling {ceiling}", color="black", linewidth=0.9, linestyle=line)
        if f"{ceiling}_certified_count" in rows:
            certified = rows[f"{ceiling}_certified_count"].iloc[0] / rows["n"].iloc[0]
            label = f"{ceiling}, right and certified"
            ax.axvline(certified, label=label, color="0.55", linewidth=0.9, linestyle=line)
    _marks(ax, rows, recorded, {"R4_count": 0.14, "R3_count": -0.14})
    ax.set_xlim(0, 1.03)


def _marks(
    ax: Axes,
    rows: pd.DataFrame,
    recorded,
    shifts: dict[str, float],
    of: dict[str, str] | None = None,
) -> None:
    """Recorded counts of models, as shares of the column in `of`, or of `n`."""
    place = {model: row for row, model in enumerate(rows["model"])}
    label = style.RECORDED_LABEL
    for entry in recorded:
        for name, shift in shifts.items():
            known = [
                (count, place[model])
                for model, count in zip(entry["model"], entry[name], strict=True)
                if model in place
            ]
            shares = [count / rows[(of or {}).get(name, "n")].iloc[row] for count, row in known]
            ax.plot(
                shares,
                [row + shift for _, row in known],
                label=label,
                **style.RECORDED | {"markersize": 4, "markeredgewidth": 0.8},
            )
            label = "_"


def _ceilings(rows: pd.DataFrame) -> list[str]:
    return [
        column.removeprefix("share_")
        for column in rows
        if column.startswith("share_") and not column.endswith("boot95")
    ]


def _shares(ax: Axes, rows: pd.DataFrame, recorded: list[dict]) -> None:
    places = np.arange(len(rows))
    ceilings = _ceilings(rows)
    for row in places:
        ax.axhline(row, **style.GRID)
    for number, ceiling in enumerate(ceilings):
        share = rows[f"share_{ceiling}"]
        limits = (rows[f"share_{ceiling}_{end}boot95"] for end in ("low", "high"))
        ax.errorbar(
            share,
            places + style.dodge(number, len(ceilings), 0.4),
            xerr=style.interval(share, *limits),
            label=f"share under {ceiling}",
            elinewidth=0.7,
            **style.points(number + 2, filled=number == 0),
        )
    ax.axvline(0.5, label="one half", **style.GUIDE)
    for entry in recorded:
        known = dict(zip(entry["ceiling"], entry["median_share"], strict=True))
        for ceiling, line in zip(ceilings, _CEILING_LINES, strict=False):
            if ceiling in known:
                ax.axvline(
                    known[ceiling],
                    color="black",
                    linewidth=0.8,
                    linestyle=line,
                    zorder=0,
                    label=f"median under {ceiling} (paper)",
                )
    ax.tick_params(axis="y", length=0)


def leaderboard(given: Given) -> Figure:
    """R4 of every model with its interval, against chance."""
    frame = given.frame
    figure, ((ax,),) = style.figure(style.COLUMN_IN, 0.8 + ROW_IN * len(frame))
    places, unscored = np.arange(len(frame)), (frame["unscored"] != "").to_numpy()
    _names(ax, frame)
    bars = ax.barh(places, frame["R4"], height=0.7, color="0.78", edgecolor="black", linewidth=0.6)
    for bar, out in zip(bars, unscored, strict=True):
        if out:
            bar.set(hatch="////", facecolor="white")
    ax.errorbar(
        frame["R4"],
        places,
        xerr=style.interval(frame["R4"], frame["R4_low95"], frame["R4_high95"]),
        linestyle="none",
        color="black",
        elinewidth=0.8,
        label="Wilson 95 %",
    )
    ax.axvline(
        CHANCE,
        label=f"chance, 1/{len(SEVEN_SYSTEMS.labels)}",
        color="black",
        linewidth=0.9,
        linestyle="--",
    )
    _marks(ax, frame, given.recorded, {"R4_count": 0})
    ax.set_xlim(0, 1)
    ax.set_xlabel(f"R4, share of {int(frame['n'].iloc[0])} structures")
    style.below(figure, 2, ax)
    return figure


def cue_sufficiency(given: Given) -> Figure:
    """Accuracy where the metric of the cell tells the system, and where it does not."""
    order = (
        (given.frame["sufficient"] + given.frame["ambiguous"])
        .sort_values(ascending=False, kind="stable")
        .index
    )
    frame = given.frame.loc[order].reset_index(drop=True)
    figure, ((ax,),) = style.figure(style.COLUMN_IN, 1.0 + ROW_IN * len(frame))
    strata = {
        f"cell metric sufficient ({int(frame['of_sufficient'].iloc[0])})": frame["sufficient"]
        / frame["of_sufficient"],
        f"ambiguous ({int(frame['of_ambiguous'].iloc[0])})": frame["ambiguous"]
        / frame["of_ambiguous"],
    }
    _pair(ax, frame, strata, bool(given.recorded))
    _marks(
        ax,
        frame,
        given.recorded,
        {"sufficient": 0, "ambiguous": 0},
        {"sufficient": "of_sufficient", "ambiguous": "of_ambiguous"},
    )
    ax.set_xlabel("R4, share right")
    style.below(figure, 2, ax)
    return figure


def question_only(given: Given) -> Figure:
    """The question with pictures against the question alone."""
    frame = given.frame
    figure, ((ax,),) = style.figure(style.COLUMN_IN, 1.0 + ROW_IN * len(frame))
    _pair(
        ax,
        frame,
        {
            "with pictures (R4)": frame["image"] / frame["n"],
            "question alone": frame["text"] / frame["n"],
        },
        bool(given.recorded),
    )
    ax.axvline(
        CHANCE,
        label=f"chance, 1/{len(SEVEN_SYSTEMS.labels)}",
        color="black",
        linewidth=0.9,
        linestyle="--",
        zorder=0,
    )
    _marks(ax, frame, given.recorded, {"text": 0})
    ax.set_xlabel(f"share of {int(frame['n'].iloc[0])} structures right")
    style.below(figure, 2, ax)
    return figure


def _pair(ax: Axes, frame: pd.DataFrame, arms: dict, hollow: bool) -> None:
    """Two shares of every model, joined; `hollow` leaves room for marks within."""
    places = np.arange(len(frame))
    _names(ax, frame if "unscored" in frame else frame.assign(unscored=""))
    first, second = shares = [values.to_numpy(float, na_value=np.nan) for values in arms.values()]
    if not (np.isfinite(first) | np.isfinite(second)).any():
        raise NothingToDraw("has a table without numbers")
    ax.hlines(places, first, second, color="0.75", linewidth=2.5, zorder=0.5)
    for number, (label, values) in enumerate(zip(arms, shares, strict=True)):
        ax.errorbar(
            values, places, label=label, **style.points(number, filled=number == 0 and not hollow)
        )
    ax.set_xlim(-0.02, 1.02)


def rungs(given: Given) -> Figure:
    """R1 to R4 below each other; what is also certified is dark."""
    frame = given.frame
    made, ((ax,),) = style.figure(style.COLUMN_IN, 0.9 + 2 * ROW_IN * len(frame))
    places = np.arange(len(frame))
    names = [
        f"{rung}, {textwrap.fill(by, 26)}"
        for rung, by in zip(frame["rung"], frame["by"], strict=True)
    ]
    style.categories(ax, names)
    bar = {"height": 0.7, "edgecolor": "black", "linewidth": 0.6}
    ax.barh(places, frame["share"], color="0.85", label="right", **bar)
    both = frame["right_and_certified_share"].to_numpy(float)
    ax.barh(places, np.nan_to_num(both), color="0.45", label="right and certified", **bar)
    limits = (frame[f"share_{end}95"].to_numpy(float) for end in ("low", "high"))
    told = frame["share_low95"].notna()
    error = style.interval(frame["share"], *limits)
    ax.errorbar(
        frame["share"][told], places[told], xerr=error[:, told], linestyle="none", color="black",
        elinewidth=0.8, label="Wilson 95 %",
    )  # fmt: skip
    ax.axvline(CHANCE, label=f"chance, 1/{len(SEVEN_SYSTEMS.labels)}", **style.GUIDE)
    ax.set_xlim(0, 1.03)
    ax.set_xlabel(f"share of {int(frame['n'].iloc[0])} structures")
    style.below(made, 2, ax)
    return made


PLOTS = (
    Plot("rungs", "rungs", rungs),
    Plot("ladder", "ladder", ladder),
    Plot("leaderboard", "leaderboard", leaderboard),
    Plot("cue-sufficiency", "cues", cue_sufficiency),
    Plot("question-only", "question-only", question_only),
)


def draw_ladder(evidence: Evidence, tables: Iterable[Table], folder: Path) -> Drawn:
    """Draw what there is of the figures of the ladder among these tables."""
    options = evidence.options
    origin = Origin(
        ", ".join(path.name for path in (*options.predictions, *options.census, *options.scores)),
        _hash_of(options.predictions),
        {
            "ceilings": {
                name: int(np.sum(determined)) for name, determined in evidence.ceilings.items()
            },
            "structures": len(evidence.ids),
            "cells_differ": evidence.cells_differ,
            "gate_samples": options.gate_samples,
        },
    )
    conditions = {"sample": recorded.sample_of(evidence.ids)}
    names = {table.name for table in tables}
    plots = [plot for plot in PLOTS if names.issuperset(plot.tables)]
    return draw(plots, tables, origin, lambda name: recorded.find(name, conditions), folder)


def _hash_of(predictions: Iterable[Path]) -> str:
    """SHA-256 of the contents of the prediction files, whatever their order and names."""
    hashes = (hashlib.sha256(path.read_bytes()).hexdigest() for path in find_files(predictions))
    return hashlib.sha256("\n".join(sorted(hashes)).encode()).hexdigest()
