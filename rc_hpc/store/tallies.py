"""A census file as counts, read in one pass with bounded memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from rc_hpc.analysis.ceilings import (
    CELL_COLUMNS,
    STRUCTURE_COLUMNS,
    Subsets,
    Tally,
    tally,
)
from rc_hpc.errors import RcError, Status
from rc_hpc.store import layout
from rc_hpc.store.reader import open_ours, read_table
from rc_hpc.store.schema import LabelStatus

#: Bytes of the widest column of a block of rows; the columns of a block take about ten times that.
BLOCK_BYTES = 1 << 23

_STATIC = ("subsets/mask", "subsets/name", "subsets/size", "subsets/kappa", "protocol/view")
_STRUCTURES = ("id", "message", "status", "quarantine", *STRUCTURE_COLUMNS)
_CELLS = ("label_status", *(name for name in CELL_COLUMNS if name != "labelled"))


@dataclass(frozen=True)
class CensusCounts:
    """What a census file says in sum.

    Attributes
    ----------
    options
        Those of the file, as `CensusOptions.to_dict` gives them.
    attrs
        Root attributes.
    n_views
        Views of the protocol.
    subsets
    kept, quarantined
        Tallies of the computed structures (status ok) without and with quarantine bits.
    status
        By status, in the order of the codes: rows, and the id and message of the first.
    """

    options: dict
    attrs: dict
    n_views: int
    subsets: Subsets
    kept: Tally
    quarantined: Tally
    status: dict[str, tuple[int, str, str]]

    @property
    def n_rows(self) -> int:
        """Rows of the file."""
        return sum(rows for rows, *_ in self.status.values())

    @property
    def n_dropped(self) -> int:
        """Structures that were not computed because they are quarantined."""
        return self.status.get(Status.quarantined.name, (0,))[0]

    def sets(self) -> dict[str, Tally]:
        """Tallies by the name of their set of structures; the first is the headline.

        The quarantine policy of the file decides; `mark` gives both, unless they are equal.
        """
        if self.options["quarantine"] == "keep":
            return {"all": self.kept + self.quarantined}
        sets = {"without quarantined": self.kept}
        if self.quarantined.n:
            sets["with quarantined"] = self.kept + self.quarantined
        return sets


def count_census(path: str | Path, block_bytes: int = BLOCK_BYTES) -> CensusCounts:
    """Count a census file.

    The rows are streamed in blocks and only their counts are kept, so memory does not
    grow with the number of structures.

    Raises
    ------
    RcError
        Not a census file of ours, or one without results for rows that should have them.
    """
    static = read_table(path, _STATIC)
    with open_ours(path, "census") as h5:
        columns = {name: _dataset(h5, path, f"structures/{name}") for name in _STRUCTURES}
        columns |= {name: _dataset(h5, path, f"cells/{name}") for name in _CELLS}
        attrs = dict(h5.attrs)
        options = json.loads(attrs["options"])
        tiling = int(np.prod(options["protocol"]["tiling"]))
        status: dict[str, tuple[int, str, str]] = {}
        kept = quarantined = None
        for block in [slice(0, 0), *layout.row_blocks(columns["atom_error"], block_bytes)]:
            rows = {name: layout.read_rows(column, block) for name, column in columns.items() if name not in ("id", "message")}
            codes, flags = rows.pop("status"), rows.pop("quarantine")
            _count_status(status, codes, columns, block.start)
            unfinished = (codes == Status.ok) & (rows["n_recovered"] < 0).any(axis=1)
            if unfinished.any():
                id_ = layout.read_rows(columns["id"], block.start + int(unfinished.argmax()))
                raise RcError(f"{path}: structure {id_!r} has status ok but no result for some subset: compute the census again")
            rows["labelled"] = rows.pop("label_status") == LabelStatus.labelled
            for_policy = ((codes == Status.ok) & (flags == 0), (codes == Status.ok) & (flags != 0))
            first, second = (tally({name: values[chosen] for name, values in rows.items()}, options["truth"], tiling) for chosen in for_policy)
            kept, quarantined = (first, second) if kept is None else (kept + first, quarantined + second)
    n_views = len(static["protocol/view"])
    full = np.flatnonzero(static["subsets/mask"] == (1 << n_views) - 1)
    subsets = Subsets(
        tuple(static["subsets/name"]), static["subsets/size"], static["subsets/kappa"], int(full[0]) if len(full) else None
    )
    in_order = {name: status[name] for name in Status.__members__ if name in status}
    return CensusCounts(options, attrs, n_views, subsets, kept, quarantined, in_order)


def _dataset(h5: h5py.File, path, name: str) -> h5py.Dataset:
    if name not in h5:
        raise RcError(f"{path}: has no dataset {name!r}: compute the census again")
    return h5[name]


def _count_status(status: dict, codes: np.ndarray, columns: dict, start: int) -> None:
    """Add the status codes of a block that starts at row `start`."""
    for code, first, count in zip(*np.unique(codes, return_index=True, return_counts=True), strict=True):
        name, row = Status(code).name, start + int(first)
        if name not in status:
            status[name] = (0, *(layout.read_rows(columns[text], row) for text in ("id", "message")))
        rows, *example = status[name]
        status[name] = (rows + int(count), *example)
