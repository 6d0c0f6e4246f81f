"""A file as counts: the rows streamed in blocks, so that memory does not grow with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, Self

import h5py
import numpy as np

from rc_hpc.core.errors import RcError, Status
from rc_hpc.kinds.common.subsets import Subsets
from rc_hpc.store import layout
from rc_hpc.store.reader import dataset_of, open_ours, read_table
from rc_hpc.store.schema import of_molecules

#: Bytes of the widest column of a block of rows; all columns of a block take about ten times that.
BLOCK_BYTES = 1 << 23
#: Datasets of every file over view subsets.
STATIC = ("subsets/mask", "subsets/name", "subsets/size", "subsets/kappa", "protocol/view")
#: Rows by the name of their status, and the id and message of the first.
ByStatus = dict[str, tuple[int, str, str]]
Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Counts:
    """What the counts of every kind hold beside their own.

    Attributes
    ----------
    options
        Those of the file, as they are recorded.
    attrs
        Root attributes.
    status
        By status, in the order of the codes: rows, and the id and message of the first.
    """

    options: dict[str, Any]
    attrs: dict[str, Any]
    status: ByStatus

    @property
    def n_rows(self) -> int:
        """Rows of the file."""
        return sum(rows for rows, *_ in self.status.values())

    @property
    def n_dropped(self) -> int:
        """Structures that were not computed because they are quarantined."""
        return self.status.get(Status.quarantined.name, (0,))[0]

    def sets(self) -> dict[str, Any]:
        """Tallies by the name of their set of structures; the first is the headline."""
        own: Any = self  # with a tally `kept` and one `quarantined`
        return self.by_policy(own.kept, own.quarantined)

    def by_policy(self, kept: Any, quarantined: Any) -> dict[str, Any]:
        """Results of both sets of structures as the file's quarantine policy wants them."""
        return sets_of(self.options, kept, quarantined, self.n_quarantined)

    @property
    def n_quarantined(self) -> int:
        """Computed structures with a quarantine bit."""
        own: Any = self
        return int(own.quarantined.n)


def sets_of(
    options: Mapping[str, Any], kept: Any, quarantined: Any, n_quarantined: int
) -> dict[str, Any]:
    """What was counted without and with quarantine bits, by sets of structures.

    The first is the headline; `mark` gives both, unless they are equal.
    """
    if options["quarantine"] == "keep" or of_molecules(options):
        return {"all": kept + quarantined}
    sets = {"without quarantined": kept}
    if n_quarantined:
        sets["with quarantined"] = kept + quarantined
    return sets


def subsets_of(static: Mapping[str, np.ndarray]) -> Subsets:
    """The view subsets of a file, from its datasets `STATIC`."""
    every = (1 << len(static["protocol/view"])) - 1
    full = np.flatnonzero(static["subsets/mask"] == every)
    return Subsets(
        tuple(static["subsets/name"]),
        static["subsets/size"],
        static["subsets/kappa"],
        int(full[0]) if len(full) else None,
    )


@dataclass(frozen=True)
class Block:
    """Some rows of a file.

    Attributes
    ----------
    start, stop
        Their numbers.
    rows
        Columns by name.
    computed, flagged : (n,) bool
        Status ok, and quarantine bits set.
    """

    start: int
    stop: int
    rows: Columns
    computed: np.ndarray
    flagged: np.ndarray

    def policies(self) -> tuple[np.ndarray, np.ndarray]:
        """Computed rows without and with quarantine bits."""
        return self.computed & ~self.flagged, self.computed & self.flagged


class RowFile:
    """A file of one kind, open, its rows to be counted block by block.

    Parameters
    ----------
    path
        The file.
    kind
        Its kind.
    columns : dict of str to str
        Datasets by the names under which their rows are wanted.
    widest
        The name among them whose rows are the largest.
    axis
        What a row may lack a result for, for messages.
    static
        Datasets that belong to no structure.
    result
        The name among the columns that shows whether a row has a result: it holds numbers, and
        one below 0, or NaN, where there is none.
    later
        Fill values of the columns that older files lack, shaped as the widest.

    Raises
    ------
    RcError
        Not such a file, or a dataset is missing.
    """

    def __init__(
        self,
        path: str | Path,
        kind: str,
        columns: Mapping[str, str],
        widest: str,
        axis: str,
        static: tuple[str, ...] = (),
        result: str = "n_recovered",
        later: Mapping[str, Any] | None = None,
    ):
        self.path, self._widest, self._axis, self._result = path, widest, axis, result
        self.static = read_table(path, static)
        self.h5 = open_ours(path, kind)
        self.attrs = dict(self.h5.attrs)
        self.options = json.loads(self.attrs["options"])
        lacking = {name for name in later or {} if columns[name] not in self.h5}
        self._lacking = {name: (later or {})[name] for name in lacking}
        self._columns = {
            name: dataset_of(self.h5, path, at)
            for name, at in columns.items()
            if name not in lacking
        }
        self._about = {
            name: dataset_of(self.h5, path, f"structures/{name}")
            for name in ("id", "message", "status")
        }
        self._flags = None
        if not of_molecules(self.options):  # which are not quarantined
            self._flags = dataset_of(self.h5, path, "structures/quarantine")
        self._status: ByStatus = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.h5.close()

    def dataset(self, name: str) -> h5py.Dataset:
        """A further dataset."""
        return dataset_of(self.h5, self.path, name)

    @property
    def status(self) -> ByStatus:
        """Rows by status, in the order of the codes, of the blocks so far."""
        return {name: self._status[name] for name in Status.__members__ if name in self._status}

    def blocks(
        self,
        block_bytes: int = BLOCK_BYTES,
        computed: Callable[[Columns], np.ndarray] | None = None,
    ) -> Iterator[Block]:
        """All rows, an empty block first, so that a file without rows has counts too.

        Parameters
        ----------
        computed
            Which rows with status ok must have a result; by default all.

        Raises
        ------
        RcError
            A row that should have a result has none.
        """
        widest = self._columns[self._widest]
        for block in (slice(0, 0), *layout.row_blocks(widest, block_bytes)):
            rows = {name: layout.read_rows(one, block) for name, one in self._columns.items()}
            shape = rows[self._widest].shape
            rows |= {name: np.full(shape, fill) for name, fill in self._lacking.items()}
            codes = layout.read_rows(self._about["status"], block)
            self._count(codes, block.start)
            ok = codes == Status.ok
            if computed is not None:
                ok = ok & computed(rows)
            results = rows[self._result]
            lacking = ~(results >= 0).all(axis=tuple(range(1, results.ndim)))
            if (ok & lacking).any():
                row = block.start + int((ok & lacking).argmax())
                id_ = layout.read_rows(self._about["id"], row)
                raise RcError(
                    f"{self.path}: structure {id_!r} has status ok but no result for some "
                    f"{self._axis}: compute it again"
                )
            flagged = np.zeros(len(ok), bool)
            if self._flags is not None:
                flagged = layout.read_rows(self._flags, block) != 0
            yield Block(block.start, block.stop, rows, ok, flagged)

    def tallied(
        self, tally: Callable[[Columns], Any], block_bytes: int = BLOCK_BYTES
    ) -> tuple[Any, Any]:
        """Tallies of the computed rows without and with quarantine bits; those of blocks add up."""
        of_blocks = []
        for block in self.blocks(block_bytes):
            of_blocks.append([tally(chosen(block.rows, own)) for own in block.policies()])
        kept, quarantined = (reduce(add, of_set) for of_set in zip(*of_blocks, strict=True))
        return kept, quarantined

    def _count(self, codes: np.ndarray, start: int) -> None:
        """Add the status codes of a block that starts at row `start`."""
        each = np.unique(codes, return_index=True, return_counts=True)
        for code, first, count in zip(*each, strict=True):
            name, row = Status(code).name, start + int(first)
            if name not in self._status:
                id_, message = (layout.read_rows(self._about[t], row) for t in ("id", "message"))
                self._status[name] = (0, str(id_), str(message))
            rows, *example = self._status[name]
            self._status[name] = (rows + int(count), example[0], example[1])


def counted_status(codes: np.ndarray, ids: np.ndarray, messages: np.ndarray) -> ByStatus:
    """Rows in memory by status, in the order of the codes."""
    each = np.unique(codes, return_index=True, return_counts=True)
    return {
        Status(code).name: (int(count), str(ids[first]), str(messages[first]))
        for code, first, count in zip(*each, strict=True)
    }


def read_head(path: str | Path, kind: str) -> tuple[Counts, np.ndarray, np.ndarray]:
    """Of a file that is small enough to be read whole: what all counts hold, ids, usable rows.

    Raises
    ------
    RcError
        Not a file of this kind.
    """
    names = ("status", "id", "message")
    about = read_table(path, [f"structures/{name}" for name in names])
    codes, ids, messages = (about[f"structures/{name}"] for name in names)
    with open_ours(path, kind) as h5:
        attrs = dict(h5.attrs)
    head = Counts(json.loads(attrs["options"]), attrs, counted_status(codes, ids, messages))
    return head, ids, codes == Status.ok


def chosen(rows: Columns, own: np.ndarray) -> Columns:
    """Some rows of all columns."""
    return {name: values[own] for name, values in rows.items()}
