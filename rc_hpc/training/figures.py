"""Figures of a training run: learning curves, confusion matrices, reliability."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.answers.task import SEVEN_SYSTEMS
from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.report import style
from rc_hpc.report.plot import Given, Origin, Plot, draw
from rc_hpc.training import tables
from rc_hpc.training.outcome import Done

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_figures(folder: Path, done: Done, origin: Origin) -> None:
    """Draw all figures of a finished run into a folder, each with its data."""
    made = (table(done) for table in (tables.epochs, tables.steps, tables.confusion, tables.bins))
    draw(PLOTS, made, origin, lambda _: (), folder)


def learning(given: Given) -> Figure:
    """Loss and share right over the epochs, and the loss of every step behind them."""
    figure, ((loss, accuracy),) = style.figure(style.PAGE_IN, 2.9, 1, 2)
    steps = given.others["training-steps"]
    for number, (seed, rows) in enumerate(given.frame.groupby("seed", sort=False)):
        epoch, trained, held = rows["epoch"], style.series(number), style.series(number, False)
        each = steps[steps["seed"] == seed]
        loss.plot(each["epoch"], each["loss"], color=trained["color"], linewidth=0.4, alpha=0.4)
        loss.plot(epoch, rows["train_loss"], label=f"seed {seed}, training views", **trained)
        accuracy.plot(epoch, rows["train_accuracy"], **trained)
        if rows["holdout_loss"].notna().any():
            loss.plot(epoch, rows["holdout_loss"], label=f"seed {seed}, held-out views", **held)
            accuracy.plot(epoch, rows["holdout_view_accuracy"], **held)
            accuracy.plot(
                epoch,
                rows["holdout_accuracy"],
                label=f"seed {seed}, held-out structures",
                **held | {"linestyle": ":"},
            )
    loss.set(xlabel="epoch", ylabel="cross entropy (nat)", ylim=(0, None))
    accuracy.set(xlabel="epoch", ylabel="share right", ylim=(0, 1.02))
    accuracy.axhline(SEVEN_SYSTEMS.chance, label="chance", **style.GUIDE)
    for axes in (loss, accuracy):
        axes.xaxis.get_major_locator().set_params(integer=True)
    style.below(figure, 3, loss, accuracy)
    return figure


def confusion(given: Given) -> Figure:
    """How often each crystal system was read as each, by the rule that joins the views."""
    rules = list(given.frame.groupby("rule", sort=False))
    figure, (panels,) = style.figure(style.PAGE_IN, 3.6, 1, len(rules), sharey=True)
    ticks, n = range(len(CRYSTAL_SYSTEMS)), len(CRYSTAL_SYSTEMS)
    for axes, (rule, rows) in zip(panels, rules, strict=True):
        counts = rows["count"].to_numpy().reshape(n, n)
        share = counts / np.maximum(counts.sum(1, keepdims=True), 1)
        axes.imshow(share, cmap="Greys", vmin=0, vmax=1)
        for (true, said), count in np.ndenumerate(counts):
            color = "white" if share[true, said] > 0.5 else "black"
            axes.text(said, true, str(count), ha="center", va="center", fontsize=7, color=color)
        axes.set_xticks(ticks, CRYSTAL_SYSTEMS, rotation=45, ha="right")
        axes.set_yticks(ticks, CRYSTAL_SYSTEMS)
        axes.set_title(f"{rule}: {np.trace(counts)} of {counts.sum()} right", loc="left")
        axes.set_xlabel("answered")
    panels[0].set_ylabel("true")
    return figure


def reliability(given: Given) -> Figure:
    """Share right against the stated confidence; the size of a point tells how many they are."""
    figure, ((axes,),) = style.figure(style.COLUMN_IN, 3.6)
    axes.plot([0, 1], [0, 1], **style.GUIDE)
    for number, (seed, rows) in enumerate(given.frame.groupby("seed", sort=False)):
        look = style.series(number)
        error = rows["calibration_error"].iloc[0]
        axes.plot(
            rows["confidence"],
            rows["accuracy"],
            label=f"seed {seed}: calibration error {error:.3f}",
            **look | {"marker": ""},
        )
        axes.scatter(
            rows["confidence"],
            rows["accuracy"],
            s=4 + 2 * rows["count"],
            color=look["color"],
            marker=look["marker"],
            alpha=0.7,
            clip_on=False,
        )
    axes.set(xlabel="stated confidence", xlim=(0, 1), ylim=(0, 1))
    axes.set_ylabel("share right (size of a point: how many)")
    style.below(figure, 1, axes)
    return figure


PLOTS = (
    Plot("learning", "training-epochs", learning, ("training-steps",)),
    Plot("confusion", "training-confusion", confusion),
    Plot("reliability", "training-reliability", reliability),
)
