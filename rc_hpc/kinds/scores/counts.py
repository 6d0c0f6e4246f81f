"""A file of scores, as the tables take it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.kinds.common.counting import Counts, read_head
from rc_hpc.kinds.scores.schema import SCORED
from rc_hpc.store.batch import Batch
from rc_hpc.store.reader import read_table


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
    head, ids, ok = read_head(path, "scores")
    rows = read_table(path, [column.path for column in SCORED])
    symprecs = read_table(path, ("reading/symprec",))["reading/symprec"]
    return ScoreCounts(
        head.options,
        head.attrs,
        head.status,
        ids,
        ok,
        {name.partition("/")[2]: values for name, values in rows.items()},
        symprecs,
    )
