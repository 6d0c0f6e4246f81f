"""Tables of a training run."""

from __future__ import annotations

from itertools import product

import numpy as np

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.report.tables import DIGITS, Table
from rc_hpc.stats.frames import frame_of
from rc_hpc.stats.intervals import wilson
from rc_hpc.training import scores
from rc_hpc.training.loop import EPOCH
from rc_hpc.training.outcome import Done, Scored

_HEX, _TRI = CRYSTAL_SYSTEMS.index("hexagonal"), CRYSTAL_SYSTEMS.index("trigonal")


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
        "; ".join(
            (
                "Structures read rightly from pictures, by seed and by how the views are joined",
                *_warnings(done),
                DIGITS,
            )
        ),
        frame_of(records, list(records[0]), ("hexagonal_as_trigonal", "trigonal_as_hexagonal")),
    )


def _warnings(done: Done) -> list[str]:
    """What a reader must know of the scores."""
    told = list(map(str, done.diverged))
    leakage = done.leakage
    if leakage.formulas:
        n = len(leakage.formulas)
        told.append(f"LEAKAGE: {n} formulas are on both sides of the split (--allow-leakage)")
    if leakage.unknown:
        told.append(
            f"leakage is not known of the {leakage.unknown} structures whose formula the split "
            "does not tell"
        )
    return told


def _record(side_name: str, seed: str, rule: str, count: int, side: Scored, answer) -> dict:
    n = len(side.truth)
    low, high = wilson(count, n)
    record = {
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
        record[name] = (
            None if answer is None else int(np.sum((side.truth == true) & (answer == said)))
        )
    return record


def classes(done: Done) -> Table:
    """Right answers of each crystal system on the evaluation structures, summed over the seeds."""
    import pandas as pd

    records = []
    counts = {rule: _confusion(done, rule) for rule in scores.RULES}
    for code, name in enumerate(CRYSTAL_SYSTEMS):
        record = {"crystal system": name}
        for rule, matrix in counts.items():
            others = matrix[code].copy()
            others[code] = 0
            n = int(matrix[code].sum())
            record[rule] = f"{matrix[code, code]}/{n}"
            record[f"{rule}, most often read as"] = (
                f"{CRYSTAL_SYSTEMS[others.argmax()]} ({others.max()})" if others.any() else ""
            )
        records.append(record)
    return Table(
        "training-classes",
        f"Evaluation structures by crystal system, all {len(done.seeds)} seeds",
        pd.DataFrame(records),
    )


def epochs(done: Done) -> Table:
    """Learning curves by epoch."""
    import pandas as pd

    rows = [
        {"seed": result.seed, "epoch": number, **dict(zip(EPOCH, values, strict=True))}
        for result in done.seeds
        for number, values in enumerate(result.curves.epochs.tolist(), 1)
    ]
    return Table(
        "training-epochs", "Loss (nat) and share right after each epoch", pd.DataFrame(rows)
    )


def steps(done: Done) -> Table:
    """Learning curves by step; its epoch tells where among the epochs it lies."""
    import pandas as pd

    frames = []
    for result in done.seeds:
        curves = result.curves
        at = (np.arange(len(curves.loss)) + 0.5) / len(curves.loss) * len(curves.epochs)
        columns = {"seed": result.seed, "epoch": at, "rate": curves.rate, "loss": curves.loss}
        frames.append(pd.DataFrame(columns))
    caption = "Learning rate and loss (nat) of each step, before it"
    return Table("training-steps", caption, pd.concat(frames, ignore_index=True))


def confusion(done: Done) -> Table:
    """Evaluation structures by true and answered crystal system, summed over the seeds."""
    import pandas as pd

    rows = []
    for rule in scores.RULES:
        counts = _confusion(done, rule)
        rows += [
            {"rule": rule, "true": true, "answered": said, "count": int(counts[at])}
            for at, (true, said) in zip(
                np.ndindex(counts.shape), product(CRYSTAL_SYSTEMS, repeat=2), strict=True
            )
        ]
    caption = f"Evaluation structures by true and answered crystal system, {len(done.seeds)} seeds"
    return Table("training-confusion", caption, pd.DataFrame(rows))


def _confusion(done: Done, rule: str) -> np.ndarray:
    side, n = done.sides["evaluation"], len(CRYSTAL_SYSTEMS)
    answers = (scores.answers(result.logits["evaluation"], rule) for result in done.seeds)
    return np.sum([scores.confusion(side.truth, answer, n) for answer in answers], axis=0)


def bins(done: Done) -> Table:
    """Reliability: evaluation structures by stated confidence."""
    import pandas as pd

    frames = []
    for result in done.seeds:
        stated = scores.probabilities(result.logits["evaluation"])
        calibration = scores.calibration(stated, done.sides["evaluation"].truth)
        frames.append(
            pd.DataFrame(
                {
                    "seed": result.seed,
                    "confidence": calibration.confidence,
                    "accuracy": calibration.accuracy,
                    "count": calibration.count,
                    "calibration_error": calibration.error,
                }
            )
        )
    caption = "Share right by stated confidence (softmax of the mean logits), evaluation structures"
    return Table("training-reliability", caption, pd.concat(frames, ignore_index=True))
