"""What a training leaves: HDF5, weights, prediction files, figures, tables."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.answers.predictions import Prediction, PredictionFile, to_json
from rc_hpc.answers.votes import count_votes, winner
from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.files import disk_errors, write_whole
from rc_hpc.report.tables import DIGITS, Table
from rc_hpc.stats.frames import frame_of
from rc_hpc.stats.intervals import wilson
from rc_hpc.store.arrays import ArrayFile, new_arrays
from rc_hpc.store.attributes import package_versions
from rc_hpc.training import figures as training_figures
from rc_hpc.training import scores as scores
from rc_hpc.training.loop import EPOCH, Curves

KIND, TITLE = (
    "training",
    "Networks trained to read the crystal system off pictures: logits, learning curves, scores.",
)
N_CLASSES = len(CRYSTAL_SYSTEMS)
_HEX, _TRI = CRYSTAL_SYSTEMS.index("hexagonal"), CRYSTAL_SYSTEMS.index("trigonal")


@dataclass(frozen=True)
class Side:
    """Structures that were scored.

    Attributes
    ----------
    ids
    truth : (n,) int64
        Index into `CRYSTAL_SYSTEMS`.
    """

    ids: tuple[str, ...]
    truth: np.ndarray


@dataclass(frozen=True)
class SeedResult:
    """One trained network.

    Attributes
    ----------
    seed
    curves
    logits
        By side: (n, v, classes) float32.
    weights
        State dictionary.
    start
        SHA-256 of the tensors it started from, the new head included.
    seconds
        Time it took, checkpoints and measuring included, s.
    """

    seed: int
    curves: Curves
    logits: Mapping[str, np.ndarray]
    weights: dict
    start: str
    seconds: float


@dataclass(frozen=True)
class Done:
    """All seeds of a run.

    Attributes
    ----------
    seeds
    train_ids
        Structures that were trained on.
    sides
        ``holdout`` and ``evaluation``.
    environment
        Where and how fast it ran; no part of the result.
    """

    seeds: list[SeedResult]
    train_ids: tuple[str, ...]
    sides: Mapping[str, Side]
    environment: dict


def write(
    output: Path, folder: Path, done: Done, task, identity: dict, views: tuple[str, ...]
) -> list[Table]:
    """Write everything, the HDF5 file last; returns the tables."""
    with disk_errors(folder):
        (folder / "predictions").mkdir(parents=True, exist_ok=True)
        for result in done.seeds:
            write_whole(folder / f"seed-{result.seed}.pt", _weights(result))
            for rule in scores.RULES:
                text = to_json(_predictions(result, rule, done.sides["evaluation"], task, identity))
                write_whole(
                    folder / "predictions" / f"seed-{result.seed}-{rule}.json", text.encode()
                )
        training_figures.write(folder, done)
    _write_h5(output, done, task, identity, views)
    return [accuracies(done), classes(done)]


def _weights(result: SeedResult) -> bytes:
    import torch

    buffer = io.BytesIO()
    torch.save(result.weights, buffer)
    return buffer.getvalue()


def _predictions(result: SeedResult, rule: str, side: Side, task, identity: dict) -> PredictionFile:
    """One seed's answers; each view is a sample of the vote, the mean logit a single one."""
    logits = result.logits["evaluation"]
    samples = (
        scores.view_answers(logits) if rule == "votes" else scores.answers(logits, rule)[:, None]
    )
    rows = []
    for id_, truth, codes in zip(side.ids, side.truth, samples, strict=True):
        votes = count_votes([CRYSTAL_SYSTEMS[code] for code in codes])
        rows.append(Prediction(id_, CRYSTAL_SYSTEMS[truth], winner(votes), votes))
    details = {
        "cell": "conventional",
        "rule": rule,
        "seed": result.seed,
        "recipe": json.loads(identity["options"]),
        "pixels_content_hash": identity["input_hash"],
        "split_sha256": identity["split"],
        "start_sha256": result.start,
    }
    name = f"{task.recipe.model} ({task.recipe.weights} weights), seed {result.seed}, {rule}"
    return PredictionFile(
        name,
        name,
        "pixels",
        samples.shape[1],
        tuple(rows),
        unparseable=0,
        api_errors=0,
        details=details,
    )


def _write_h5(output: Path, done: Done, task, identity: dict, views: tuple[str, ...]) -> None:
    attrs = {
        "package_versions": package_versions(),
        "environment": done.environment,
        "start_sha256": {str(r.seed): r.start for r in done.seeds},
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
            "How the views of a structure become one answer: largest mean logit, or most views (a tie goes to the earliest view).",
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


def _add_side(file: ArrayFile, name: str, side: Side, logits: np.ndarray) -> None:
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
        [[scores.confusion(side.truth, one, N_CLASSES) for one in rules] for rules in answer]
    )
    file.add(
        f"{name}/confusion",
        counts,
        "1",
        "Structures by true class (rows) and answered class (columns).",
        ("training", "rule_index", "true_class", "answered_class"),
    )
    found = [scores.calibration(scores.probabilities(one), side.truth) for one in logits]
    file.add(
        f"{name}/calibration_error",
        np.array([c.error for c in found]),
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
        np.stack([c.count for c in found]),
        "1",
        "Structures by confidence.",
        ("training", "bin"),
    )
    file.add(
        f"{name}/calibration_confidence",
        np.stack([c.confidence for c in found]),
        "1",
        "Mean confidence of each bin; NaN where empty.",
        ("training", "bin"),
    )
    file.add(
        f"{name}/calibration_accuracy",
        np.stack([c.accuracy for c in found]),
        "1",
        "Share of right answers of each bin; NaN where empty.",
        ("training", "bin"),
    )


def accuracies(done: Done) -> Table:
    """Accuracy of every seed, side and rule, hexagonal-trigonal confusions, calibration."""
    records = []
    for side_name, side in done.sides.items():
        if not len(side.truth):
            continue
        majority = int(np.bincount(side.truth).max())
        for result in done.seeds:
            logits = result.logits[side_name]
            for rule in scores.RULES:
                answer = scores.answers(logits, rule)
                records.append(
                    _record(
                        side_name,
                        str(result.seed),
                        rule,
                        int(np.sum(answer == side.truth)),
                        side,
                        answer,
                    )
                    | {
                        "calibration_error": scores.calibration(
                            scores.probabilities(logits), side.truth
                        ).error
                        if rule == "mean-logit"
                        else float("nan")
                    }
                )
        records.append(
            _record(side_name, "none", "largest class", majority, side, None)
            | {"calibration_error": float("nan")}
        )
    return Table(
        "training",
        f"Structures read rightly from pictures, by seed and by how the views are joined; {DIGITS}",
        frame_of(records, list(records[0]), ("hexagonal_as_trigonal", "trigonal_as_hexagonal")),
    )


def _record(side_name: str, seed: str, rule: str, count: int, side: Side, answer) -> dict:
    n = len(side.truth)
    low, high = wilson(count, n)
    found = {
        "structures": side_name,
        "seed": seed,
        "rule": rule,
        "count": count,
        "n": n,
        "fraction": count / n,
        "low95": low,
        "high95": high,
    }
    for name, true, said in (
        ("hexagonal_as_trigonal", _HEX, _TRI),
        ("trigonal_as_hexagonal", _TRI, _HEX),
    ):
        found[name] = (
            None if answer is None else int(np.sum((side.truth == true) & (answer == said)))
        )
    return found


def classes(done: Done) -> Table:
    """Right answers of each crystal system on the evaluation structures, summed over the seeds."""
    import pandas as pd

    side, records = done.sides["evaluation"], []
    counts = {
        rule: sum(
            scores.confusion(side.truth, scores.answers(r.logits["evaluation"], rule), N_CLASSES)
            for r in done.seeds
        )
        for rule in scores.RULES
    }
    for code, name in enumerate(CRYSTAL_SYSTEMS):
        record = {"crystal system": name}
        for rule, found in counts.items():
            others = found[code].copy()
            others[code] = 0
            n = int(found[code].sum())
            record[rule] = f"{found[code, code]}/{n}"
            record[f"{rule}, most often read as"] = (
                f"{CRYSTAL_SYSTEMS[others.argmax()]} ({others.max()})" if others.any() else ""
            )
        records.append(record)
    return Table(
        "training-classes",
        f"Evaluation structures by crystal system, all {len(done.seeds)} seeds",
        pd.DataFrame(records),
    )
