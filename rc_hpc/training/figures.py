"""Figures of a training run: learning curves, confusion matrices, reliability; PNG and PDF."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.training import scores

#: Dots per inch of the PNGs.
DPI = 150
#: No dates in the files: equal runs give equal figures.
_METADATA = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
}


def write(folder: Path, done) -> list[Path]:
    """Write all figures of a finished run (`training_results.Done`) into a folder; returns their paths."""
    from matplotlib.figure import Figure

    paths = []
    for name, draw, size in (
        ("learning", _learning, (9, 3.6)),
        ("confusion", _confusion, (10, 4.8)),
        ("reliability", _reliability, (4.4, 4.2)),
    ):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure, done)
        for ending, metadata in _METADATA.items():
            paths.append(folder / f"{name}.{ending}")
            figure.savefig(paths[-1], dpi=DPI, metadata=metadata)
    return paths


def _learning(figure, done) -> None:
    loss, accuracy = figure.subplots(1, 2)
    held = len(done.sides["holdout"].truth) > 0
    for result in done.seeds:
        curves, label = result.curves, f"seed {result.seed}"
        epochs = np.arange(1, len(curves.epochs) + 1)
        steps = (np.arange(len(curves.loss)) + 0.5) / len(curves.loss) * len(epochs)
        (line,) = loss.plot(steps, curves.loss, lw=0.5, alpha=0.4)
        colour = line.get_color()
        loss.plot(epochs, curves.epochs[:, 0], "o-", ms=3, color=colour, label=f"{label}, training")
        accuracy.plot(
            epochs, curves.epochs[:, 1], "o-", ms=3, color=colour, label=f"{label}, training views"
        )
        if held:
            loss.plot(
                epochs, curves.epochs[:, 2], "s--", ms=3, color=colour, label=f"{label}, held-out"
            )
            accuracy.plot(
                epochs,
                curves.epochs[:, 3],
                "s--",
                ms=3,
                color=colour,
                label=f"{label}, held-out views",
            )
            accuracy.plot(
                epochs,
                curves.epochs[:, 4],
                "^:",
                ms=4,
                color=colour,
                label=f"{label}, held-out structures",
            )
    loss.set(xlabel="epoch", ylabel="cross entropy (nat)", ylim=(0, None))
    accuracy.set(xlabel="epoch", ylabel="share right", ylim=(0, 1))
    accuracy.axhline(1 / len(CRYSTAL_SYSTEMS), color="0.6", lw=0.8)
    for axes in (loss, accuracy):
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend(fontsize=7)
        axes.grid(alpha=0.2)


def _confusion(figure, done) -> None:
    side = done.sides["evaluation"]
    names = CRYSTAL_SYSTEMS
    for axes, rule in zip(figure.subplots(1, len(scores.RULES)), scores.RULES, strict=True):
        counts = sum(
            scores.confusion(side.truth, scores.answers(r.logits["evaluation"], rule), len(names))
            for r in done.seeds
        )
        share = counts / np.maximum(counts.sum(1, keepdims=True), 1)
        axes.imshow(share, cmap="Blues", vmin=0, vmax=1)
        for (true, said), count in np.ndenumerate(counts):
            axes.text(
                said,
                true,
                str(count),
                ha="center",
                va="center",
                fontsize=8,
                color="white" if share[true, said] > 0.5 else "black",
            )
        ticks = range(len(names))
        axes.set(
            xticks=ticks,
            yticks=ticks,
            xlabel="answered",
            ylabel="true",
            title=f"{rule}: {np.trace(counts)} of {counts.sum()} right",
        )
        axes.set_xticklabels(names, rotation=45, ha="right")
        axes.set_yticklabels(names)


def _reliability(figure, done) -> None:
    axes, side = figure.subplots(), done.sides["evaluation"]
    axes.plot([0, 1], [0, 1], color="0.6", lw=0.8)
    for result in done.seeds:
        found = scores.calibration(scores.probabilities(result.logits["evaluation"]), side.truth)
        (line,) = axes.plot(
            found.confidence,
            found.accuracy,
            "-",
            lw=1,
            label=f"seed {result.seed}: calibration error {found.error:.3f}",
        )
        axes.scatter(
            found.confidence,
            found.accuracy,
            s=4 + 2 * found.count,
            color=line.get_color(),
            alpha=0.7,
        )
    axes.set(
        xlabel="stated confidence (softmax of the mean logits)",
        ylabel="share right",
        xlim=(0, 1),
        ylim=(0, 1),
    )
    axes.legend(fontsize=7, loc="upper left")
    axes.grid(alpha=0.2)
