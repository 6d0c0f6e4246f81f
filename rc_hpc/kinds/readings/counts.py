"""A readings file, as the tables take it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.kinds.common.counting import Counts, read_head
from rc_hpc.store.batch import Batch
from rc_hpc.store.reader import read_table

_ROWS = (
    *("status", "message", "certified", "differing_pixels", "tries", "n_sites", "largest_sigma"),
    *("space_group_by_pictures", "space_group", "scale", "scale_sigma", "n_discs"),
)
_DISCS = ("structure", "view", "variance_u", "variance_v", "edge_pixels", "visible")


@dataclass(frozen=True)
class ReadingCounts(Counts):
    """The rows of a file.

    Attributes
    ----------
    ids : (n,) str
    ok : (n,) bool
        Rows whose pictures could be opened.
    rows
        Columns below ``readings/`` by name.
    discs
        Columns of the table of discs by name.
    views
        Names of the cameras.
    symprecs : (s,) float64
        Å.
    """

    ids: np.ndarray
    ok: np.ndarray
    rows: Batch
    discs: Batch
    views: tuple[str, ...]
    symprecs: np.ndarray


def count_readings(path: str | Path) -> ReadingCounts:
    """Read a file.

    Raises
    ------
    RcError
        Not such a file.
    """
    head, ids, ok = read_head(path, "readings")
    rows = read_table(path, [f"readings/{name}" for name in _ROWS])
    discs = read_table(path, [f"discs/{name}" for name in _DISCS])
    static = read_table(path, ("protocol/view", "reading/symprec"))
    return ReadingCounts(
        head.options,
        head.attrs,
        head.status,
        ids,
        ok,
        {name: rows[f"readings/{name}"] for name in _ROWS},
        {name: discs[f"discs/{name}"] for name in _DISCS},
        tuple(static["protocol/view"]),
        static["reading/symprec"],
    )
