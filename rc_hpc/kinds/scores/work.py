"""How readings are scored: what it takes besides scoring one."""

from __future__ import annotations

from typing import Any

import numpy as np

from rc_hpc.kinds.common.costs import Rows
from rc_hpc.kinds.scores.options import ScoreOptions
from rc_hpc.reader.records import SYMPRECS

#: Predicted time of a reading, ms.
EACH_MS = 5.0


def dims(_options: ScoreOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return {"symprec": len(SYMPRECS)}


def statics(_options: ScoreOptions) -> dict[str, Any]:
    """Datasets that belong to no crystal."""
    return {
        "reading/symprec": (
            np.array(SYMPRECS),
            "angstrom",
            "Tolerance of each label.",
            ("symprec",),
        )
    }


def costs(_options: ScoreOptions, _shared: None, rows: Rows) -> np.ndarray:
    """Predicted time of each reading, (n,), ms."""
    return np.full(len(rows("status")), EACH_MS)


def facts(_options: ScoreOptions) -> tuple[dict[str, Any], float]:
    """What a dry run tells, and seconds for a reading."""
    return {}, EACH_MS / 1000


def warm(_options: ScoreOptions) -> None:
    """Nothing is compiled."""
