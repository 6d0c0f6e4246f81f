"""Figures of the scores: models against what the pictures determine, and the ladder by stratum.

All show expected scores. What is too much for one figure goes on in the next."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.answers.predictions import to_json
from rc_hpc.benchmark.letters import ARMS, FOUR_LETTERS
from rc_hpc.benchmark.scoring.evidence import Evidence
from rc_hpc.benchmark.scoring.frames import MEAN
from rc_hpc.report import style
from rc_hpc.report.plot import Drawn, Given, NothingToDraw, Origin, Plot, draw
from rc_hpc.report.tables import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Height of a row, in.
ROW_IN = 0.3
#: Series, and panels, in one figure: more could not be told apart.
MOST = 7


def models(given: Given, page: int = 0) -> Figure:
    """Expected score by stratum of every model and arm, against what the pictures determine."""
    frame = given.frame[given.frame["stratum"] != MEAN]
    strata = list(dict.fromkeys(frame["stratum"]))
    everyone = _series(frame)
    names = everyone[_of_page(page)]
    if not names:
        raise NothingToDraw("has no scored answers")
    short = dict(zip(everyone, style.short_names([model for model, _ in everyone]), strict=True))
    height = 0.9 + (ROW_IN + 0.05 * len(names)) * len(strata)
    figure, ((ax,),) = style.figure(style.COLUMN_IN, height)
    style.categories(ax, [_worded(name) for name in strata])
    _ceiling(ax, given.others.get("ceilings"), strata)
    for number, (model, arm) in enumerate(names):
        own = frame[(frame["model"] == model) & (frame["arm"] == arm)]
        rows = own.set_index("stratum").reindex(strata)
        places = np.arange(len(strata)) + style.dodge(number, len(names), 0.6)
        limits = (rows[f"expected_{which}boot95"] for which in ("low", "high"))
        ax.errorbar(
            rows["expected"],
            places,
            xerr=style.interval(rows["expected"], *limits),
            label=short[model, arm] + f", {arm}" * (arm != ARMS[0]),
            elinewidth=0.7,
            **style.points(number),
        )
    _chance(ax)
    ax.set_xlabel("expected score\n(of the arm image where no other is named)")
    style.below(figure, 2, ax)
    return figure


def _ceiling(ax: Axes, ceilings: pd.DataFrame | None, strata: Sequence[str]) -> None:
    """Share of questions that the pictures determine, as a bar behind the models."""
    if ceilings is None or ceilings.empty:
        return
    reading = _headline(ceilings)
    rows = ceilings[ceilings["reading"] == reading].set_index("stratum").reindex(strata)
    ax.plot(
        rows["expected"],
        range(len(strata)),
        linestyle="none",
        marker="|",
        markersize=13,
        color="0.35",
        zorder=0.4,
        label="honest reader of these",
    )
    ax.barh(
        range(len(strata)),
        rows["determined"],
        height=0.8,
        color="0.9",
        edgecolor="0.55",
        linewidth=0.6,
        zorder=0.2,
        label=f"determined: {reading}",
    )


def _headline(frame: pd.DataFrame) -> str:
    """The reading that figures show: of what is visible, where there is one."""
    readings = list(dict.fromkeys(frame["reading"]))
    return next((name for name in readings if name.startswith("visible")), readings[0])


def _chance(ax: Axes) -> None:
    told = f"chance, 1/{len(FOUR_LETTERS.labels)}"
    ax.axvline(FOUR_LETTERS.chance, label=told, color="black", linewidth=0.9, linestyle="--")
    ax.set_xlim(0, 1.03)


def ladder(given: Given, page: int = 0) -> Figure:
    """Determined, text and image by stratum, a panel a model."""
    frame = given.frame[given.frame["unscored"] == ""]
    frame = frame[(frame["stratum"] != MEAN)]
    names = list(dict.fromkeys(frame["model"]))[_of_page(page)]
    if not names:
        raise NothingToDraw("has no scored answers with pictures")
    reading = _headline(frame)
    frame = frame[frame["reading"] == reading]
    strata = list(dict.fromkeys(frame["stratum"]))
    columns = min(3, len(names))
    rows_of_panels = -(-len(names) // columns)
    figure, axes = style.figure(
        style.PAGE_IN if columns > 1 else style.COLUMN_IN,
        (0.9 if columns > 1 else 1.5) + rows_of_panels * (0.4 + 0.24 * len(strata)),
        rows_of_panels,
        columns,
        sharey=True,
        sharex=True,
    )
    for ax in axes.flat[len(names) :]:
        ax.remove()
    for ax, model, short in zip(axes.flat, names, style.short_names(names), strict=False):
        rows = frame[frame["model"] == model].set_index("stratum").reindex(strata)
        _rungs(ax, rows, strata, reading)
        ax.set_title(short, loc="left")
    for ax in axes[-1]:
        ax.set_xlabel("expected score")
    style.below(figure, 3, *axes.flat[: len(names)])
    return figure


def _rungs(ax: Axes, rows: pd.DataFrame, strata: Sequence[str], reading: str) -> None:
    """What is determined, read from text and seen, with the losses between them."""
    places = np.arange(len(strata))
    style.categories(ax, [_worded(name) for name in strata])
    for column, other, color, label in (
        ("expected", "text", "0.6", "lost in reasoning"),
        ("text", "image", "0.82", "lost in looking"),
    ):
        lost = (rows[column] > rows[other]).to_numpy()
        low, high = rows[other][lost], rows[column][lost]
        if lost.any():
            ax.hlines(places[lost], low, high, color=color, linewidth=4, label=label, zorder=0.5)
    shown = (("expected", f"honest reader: {reading}"), ("text", "text"), ("image", "image"))
    for number, (column, label) in enumerate(shown):
        if rows[column].notna().any():
            ax.plot(rows[column], places, label=label, **style.points(number))
    _chance(ax)


def _series(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Models and arms that have a score."""
    scored = frame[frame["unscored"] == ""]
    return list(dict.fromkeys(zip(scored["model"], scored["arm"], strict=True)))


def _of_page(page: int) -> slice:
    """As many as can be told apart."""
    return slice(page * MOST, (page + 1) * MOST)


def _worded(stratum: str) -> str:
    return stratum.replace("_", " ")


def _pages(
    name: str, table: str, drawn: Callable[..., Figure], count: int, *also: str
) -> Iterator[Plot]:
    """As many figures as so many series need."""
    for page in range(max(1, -(-count // MOST))):
        called = f"{name}-{page + 1}" if page else name
        yield Plot(called, table, partial(drawn, page=page), also)


def draw_scores(evidence: Evidence, tables: Iterable[Table], folder: Path) -> Drawn:
    """Draw what there is of the figures among these tables."""
    tables = list(tables)
    options = evidence.options
    origin = Origin(
        ", ".join(path.name for path in options.answers),
        hashlib.sha256(
            "".join(sorted(to_json(one.file) for one in evidence.answers)).encode()
        ).hexdigest(),
        {"set": evidence.package.set_name, "package": evidence.package.sha256},
    )
    found = {table.name: table.frame for table in tables}
    plots: list[Plot] = []
    if "accuracy" in found:
        also = [name for name in ("ceilings",) if name in found]
        count = len(_series(found["accuracy"]))
        plots += _pages("models" if also else "models-alone", "accuracy", models, count, *also)
    if "ladder" in found:
        scored = found["ladder"][found["ladder"]["unscored"] == ""]
        plots += _pages("benchmark-ladder", "ladder", ladder, scored["model"].nunique())
    return draw(plots, tables, origin, lambda name: (), folder)
