"""A file of what pictures determine, as the tables take it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rc_hpc.benchmark.determined_file import Determined, read_determined
from rc_hpc.kinds.common.counting import Counts, counted_status
from rc_hpc.store.reader import open_ours


@dataclass(frozen=True)
class DeterminedCounts(Counts):
    """The rows of a file.

    Attributes
    ----------
    rows
        All of them: some thousand questions are small.
    """

    rows: Determined


def count_determined(path: str | Path) -> DeterminedCounts:
    """Read a file.

    Raises
    ------
    RcError
        Not such a file.
    """
    rows = read_determined(path)
    with open_ours(path, "determined") as h5:
        attrs = dict(h5.attrs)
    status = counted_status(rows.status, rows.ids, rows.message)
    return DeterminedCounts(json.loads(attrs["options"]), attrs, status, rows)
