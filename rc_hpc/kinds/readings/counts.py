"""A readings file, as the tables take it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.kinds.common.counting import Counts
from rc_hpc.store.batch import Batch
from rc_hpc.store.reader import open_ours, read_table

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
    about = read_table(path, [f"structures/{name}" for name in ("id", "status", "message")])
    rows = read_table(path, [f"readings/{name}" for name in _ROWS])
    discs = read_table(path, [f"discs/{name}" for name in _DISCS])
    static = read_table(path, ("protocol/view", "reading/symprec"))
    with open_ours(path, "readings") as h5:
        attrs = dict(h5.attrs)
    code = about["structures/status"]
    return ReadingCounts(
        json.loads(attrs["options"]),
        attrs,
        by_status(code, about["structures/id"], about["structures/message"]),
        about["structures/id"],
        code == Status.ok,
        {name: rows[f"readings/{name}"] for name in _ROWS},
        {name: discs[f"discs/{name}"] for name in _DISCS},
        tuple(static["protocol/view"]),
        static["reading/symprec"],
    )


def by_status(
    code: np.ndarray, ids: np.ndarray, messages: np.ndarray
) -> dict[str, tuple[int, str, str]]:
    """Rows by the name of their status, with id and message of the first."""
    counts = Counter(code.tolist())
    found = {}
    for one in sorted(counts):
        first = int(np.argmax(code == one))
        found[Status(one).name] = (counts[one], str(ids[first]), str(messages[first]))
    return found
