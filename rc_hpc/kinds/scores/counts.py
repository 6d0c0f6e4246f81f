"""A file of scores, as the tables take it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.kinds.common.counting import Counts
from rc_hpc.kinds.readings.counts import by_status
from rc_hpc.kinds.scores.schema import SCORED
from rc_hpc.store.batch import Batch
from rc_hpc.store.reader import open_ours, read_table


@dataclass(frozen=True)
class ScoreCounts(Counts):
    """The rows of a file.

    Attributes
    ----------
    ids : (n,) str
    ok : (n,) bool
        Rows that were scored.
    rows
        Columns below ``score/`` by name.
    symprecs : (s,) float64
        Å.
    """

    ids: np.ndarray
    ok: np.ndarray
    rows: Batch
    symprecs: np.ndarray


def count_scores(path: str | Path) -> ScoreCounts:
    """Read a file.

    Raises
    ------
    RcError
        Not such a file.
    """
    about = read_table(path, [f"structures/{name}" for name in ("id", "status", "message")])
    rows = read_table(path, [column.path for column in SCORED])
    symprecs = read_table(path, ("reading/symprec",))["reading/symprec"]
    with open_ours(path, "scores") as h5:
        attrs = dict(h5.attrs)
    code = about["structures/status"]
    return ScoreCounts(
        json.loads(attrs["options"]),
        attrs,
        by_status(code, about["structures/id"], about["structures/message"]),
        about["structures/id"],
        code == Status.ok,
        {name.partition("/")[2]: values for name, values in rows.items()},
        symprecs,
    )
