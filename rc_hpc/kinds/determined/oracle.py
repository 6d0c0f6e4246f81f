"""One question to the options that remain, under every sight and number of views."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rc_hpc.benchmark.reading.reader import COUNTS, Asked, Outcome, Reach, read_question
from rc_hpc.benchmark.reading.sights import sights
from rc_hpc.benchmark.records import LETTERS
from rc_hpc.core.errors import RcError, Status, StructureError
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.determined.options import DeterminedOptions


def reach_of(options: DeterminedOptions) -> Reach:
    """Tolerances of a reader."""
    return Reach(
        options.delta,
        options.delta_pixels,
        options.symprec,
        options.max_candidates,
    )


def oracle(options: DeterminedOptions, given: Given) -> Compute:
    """What reads one question."""
    ways, reach = sights(options.thetas), reach_of(options)

    def compute(asked: Asked) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        given.recorder.about(asked.question.id)
        try:
            found = read_question(asked, ways, reach)
        except RcError as error:
            raise StructureError(Status.read_error, str(error)) from error
        right = LETTERS.index(asked.question.answer)
        rows = [[_columns(found[sight.name, n], right) for n in COUNTS] for sight in ways]
        names = rows[0][0]
        return {
            f"determined/{name}": np.array([[cell[name] for cell in row] for row in rows])
            for name in names
        }, {}

    return compute


def _columns(outcome: Outcome, right: int) -> dict[str, Any]:
    """Values of one sight and number of views."""
    remain, known = np.array(outcome.remain), outcome.known
    count = int(remain.sum())
    left = remain if count else np.ones(4, bool)
    return {
        "known": known,
        "remain": _bits(remain) if known else 0,
        "n_remain": count if known else 0,
        "determined": bool(known and count == 1 and remain[right]),
        "misled": bool(known and not remain[right]),
        "score": float(left[right]) / int(left.sum()) if known else np.nan,
        "n_points": outcome.atoms,
        "n_phantoms": outcome.phantoms,
        "n_missed": outcome.missed,
        "remain_by_distance": 0 if outcome.by_distance is None else _bits(outcome.by_distance),
    }


def _bits(remain: Iterable[bool]) -> int:
    return sum(1 << k for k, one in enumerate(remain) if one)
