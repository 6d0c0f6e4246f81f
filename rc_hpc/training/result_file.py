"""The HDF5 file of a training run."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.store.arrays import ArrayFile, new_arrays
from rc_hpc.store.attributes import package_versions
from rc_hpc.training import scores
from rc_hpc.training.loop import EPOCH
from rc_hpc.training.outcome import Done, Scored

KIND = "training"
TITLE = "Networks trained to read the crystal system off pictures: logits, learning curves, scores."


def write_file(output: Path, done: Done, identity: dict, views: tuple[str, ...]) -> None:
    """Write the file of a finished run."""
    attrs = {
        "package_versions": package_versions(),
        "environment": done.environment,
        "start_sha256": {str(r.seed): r.start for r in done.seeds},
        "leakage": done.leakage.to_dict(),
        "diverged": json.dumps([asdict(lost) for lost in done.diverged]),
    }
    with new_arrays(output, KIND, TITLE, identity, attrs) as file:
        file.add(
            "seed",
            np.array([r.seed for r in done.seeds]),
            "1",
            "Seed of each training.",
            ("training",),
        )
        file.add("class", CRYSTAL_SYSTEMS, "1", "Crystal system of each class.", ("class_index",))
        file.add(
            "rule",
            scores.RULES,
            "1",
            "How the views of a structure become one answer: largest mean logit, or most views "
            "(a tie goes to the earliest view).",
            ("rule_index",),
        )
        file.add("protocol/view", views, "1", "Name of each camera.", ("view",))
        file.add(
            "train/id",
            done.train_ids,
            "1",
            "Structures that were trained on.",
            ("train_structure",),
        )
        _add_curves(file, done)
        for name, side in done.sides.items():
            _add_side(file, name, side, np.stack([r.logits[name] for r in done.seeds]))


def _add_curves(file: ArrayFile, done: Done) -> None:
    curves = [r.curves for r in done.seeds]
    file.add("learning/rate", curves[0].rate, "1", "Learning rate of each step.", ("step",))
    file.add(
        "learning/loss",
        np.stack([c.loss for c in curves]),
        "nat",
        "Mean cross entropy of each step's pictures, before the step.",
        ("training", "step"),
    )
    told = {
        "train_loss": (
            "nat",
            "Mean cross entropy of an epoch's training pictures, each before its step.",
        ),
        "train_accuracy": ("1", "Share of them whose class was right."),
        "holdout_loss": ("nat", "Mean cross entropy of the held-out pictures after the epoch."),
        "holdout_view_accuracy": (
            "1",
            "Share of the held-out pictures whose class was right after the epoch.",
        ),
        "holdout_accuracy": (
            "1",
            "Share of the held-out structures that were right by mean logit after the epoch.",
        ),
    }
    for column, name in enumerate(EPOCH):
        unit, text = told[name]
        file.add(
            f"learning/{name}",
            np.stack([c.epochs[:, column] for c in curves]),
            unit,
            f"{text} NaN: nothing held out." if "holdout" in name else text,
            ("training", "epoch"),
        )


def _add_side(file: ArrayFile, name: str, side: Scored, logits: np.ndarray) -> None:
    row = f"{name}_structure"
    file.add(
        f"{name}/id",
        np.array(side.ids, object),
        "1",
        "Structures, in the order of the split.",
        (row,),
    )
    file.add(f"{name}/truth", side.truth, "1", "True class: index into /class.", (row,))
    file.add(
        f"{name}/logits",
        logits,
        "1",
        "Logits of each view.",
        ("training", row, "view", "class_index"),
    )
    file.add(
        f"{name}/mean_logits",
        logits.mean(2, dtype=np.float64),
        "1",
        "Mean logits of each structure.",
        ("training", row, "class_index"),
    )
    answer = np.stack([scores.answers(logits, rule) for rule in scores.RULES], 1)
    file.add(
        f"{name}/answer",
        answer,
        "1",
        "Class answered: index into /class.",
        ("training", "rule_index", row),
    )
    file.add(
        f"{name}/n_correct",
        (answer == side.truth).sum(-1),
        "1",
        "Structures that were right.",
        ("training", "rule_index"),
    )
    counts = np.array(
        [
            [scores.confusion(side.truth, one, len(CRYSTAL_SYSTEMS)) for one in rules]
            for rules in answer
        ]
    )
    file.add(
        f"{name}/confusion",
        counts,
        "1",
        "Structures by true class (rows) and answered class (columns).",
        ("training", "rule_index", "true_class", "answered_class"),
    )
    calibrations = [scores.calibration(scores.probabilities(one), side.truth) for one in logits]
    file.add(
        f"{name}/calibration_error",
        np.array([c.error for c in calibrations]),
        "1",
        "Expected calibration error of the softmax of the mean logits.",
        ("training",),
    )
    edges = np.linspace(0, 1, scores.BINS + 1)
    file.add(
        f"{name}/calibration_edge",
        edges,
        "1",
        "Edges of the bins of confidence; upper ends are included.",
        ("bin_edge",),
    )
    file.add(
        f"{name}/calibration_count",
        np.stack([c.count for c in calibrations]),
        "1",
        "Structures by confidence.",
        ("training", "bin"),
    )
    file.add(
        f"{name}/calibration_confidence",
        np.stack([c.confidence for c in calibrations]),
        "1",
        "Mean confidence of each bin; NaN where empty.",
        ("training", "bin"),
    )
    file.add(
        f"{name}/calibration_accuracy",
        np.stack([c.accuracy for c in calibrations]),
        "1",
        "Share of right answers of each bin; NaN where empty.",
        ("training", "bin"),
    )
