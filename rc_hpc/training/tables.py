"""Tables of a training run."""

from __future__ import annotations

import numpy as np

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.report.tables import DIGITS, Table
from rc_hpc.stats.frames import frame_of
from rc_hpc.stats.intervals import wilson
from rc_hpc.training import scores
from rc_hpc.training.outcome import Done, Side

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
            scores.confusion(
                side.truth, scores.answers(r.logits["evaluation"], rule), len(CRYSTAL_SYSTEMS)
            )
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
