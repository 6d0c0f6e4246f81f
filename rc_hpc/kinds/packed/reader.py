"""Rows of a file by ranges, and the packed structures as cells."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import h5py
import numpy as np

from rc_hpc.core.constants import SWEEP
from rc_hpc.kinds.packed.schema import PACKED
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.store import layout
from rc_hpc.store.batch import Batch, Children, filled
from rc_hpc.store.reader import dataset_of, open_ours
from rc_hpc.store.schema import Column, Schema, of_molecules

SWEEP_PATH = "structures/sweep"
#: Number at a setting of the sweep that a file was packed without.
NOT_TRIED = -1


class RowReader:
    """Rows of a file with a row for each structure, any range at a time.

    Use as a context manager. `len` is the number of rows.

    Parameters
    ----------
    path
    schema
        Its columns; the file must be of this kind.
    """

    def __init__(self, path: str | Path, schema: Schema):
        self.path = Path(path)
        self._h5 = open_ours(path, schema.kind)
        options = json.loads(str(self._h5.attrs.get("options", "{}")))
        #: Whether its rows are molecules.
        self.molecules = of_molecules(options)
        #: Its columns.
        self.schema = schema.of(options)
        self._offsets: dict[str, np.ndarray] = {}
        # Kept open: finding a dataset takes as long as reading some rows of it.
        self._datasets: dict[str, h5py.Dataset] = {}
        #: By table, the structure of the first row of some chunks.
        self._starts: dict[str, dict[int, int]] = {}
        #: Root attributes.
        self.attrs = dict(self._h5.attrs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._datasets.clear()
        self._h5.close()

    def __len__(self) -> int:
        return len(self._dataset("structures/id"))

    def _dataset(self, name: str) -> h5py.Dataset:
        if name not in self._datasets:
            self._datasets[name] = dataset_of(self._h5, self.path, name)
        return self._datasets[name]

    @cached_property
    def ids(self) -> list[str]:
        """All ids, in row order."""
        return list(map(str, self.read("structures/id")))

    def read(self, name: str, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Rows `start` to `stop` of one dataset."""
        return layout.read_rows(self._dataset(name), slice(start, stop))

    def offsets(self, table: str) -> np.ndarray:
        """First child row of every main row, (n + 1,) int64.

        The rows of main row i are offsets[i] to offsets[i + 1].
        """
        if table not in self._offsets:
            structure = self._dataset(f"{table}/structure")
            counts = np.zeros(len(self) + 1, dtype=np.int64)
            for block in layout.row_blocks(structure):
                counts[1:] += np.bincount(structure[block], minlength=len(self))
            self._offsets[table] = np.cumsum(counts)
        return self._offsets[table]

    def _first(self, table: str, row: int) -> int:
        """First child row of a main row, or where it would be; few chunks are read for it."""
        if table in self._offsets:
            return int(self._offsets[table][row])
        structure = self._dataset(f"{table}/structure")
        step = structure.chunks[0] if structure.chunks else max(1, len(structure))
        starts = self._starts.setdefault(table, {})

        def begins(chunk: int) -> int:
            if chunk not in starts:
                starts[chunk] = int(structure[chunk * step])
            return starts[chunk]

        # The last chunk that begins before the row.
        chunk = bisect_left(range(-(-len(structure) // step)), row, key=begins) - 1
        if chunk < 0:
            return 0
        values = structure[chunk * step : (chunk + 1) * step]
        return chunk * step + int(np.searchsorted(values, row))

    def rows(
        self, start: int, stop: int, tables: Iterable[str] | None = None
    ) -> tuple[Batch, Children]:
        """Rows `start` to `stop` as a batch, with their child rows.

        `structure` counts from `start`.

        `tables` names the child tables to read; by default all.
        """
        start, stop, _ = slice(start, stop).indices(len(self))
        stop = max(start, stop)
        batch = {column.path: self._column(column, start, stop) for column in self.schema.main}
        children = {}
        for table in self.schema.children if tables is None else tables:
            columns = self.schema.children[table]
            first, last = self._first(table, start), self._first(table, stop)
            children[table] = {
                column.path: self.read(f"{table}/{column.path}", first, last) for column in columns
            }
            children[table]["structure"] -= start
        return batch, children

    def _column(self, column: Column, start: int, stop: int) -> np.ndarray:
        """Rows of a column; of one that older files lack, its fill value."""
        if column.later and column.path not in self._h5:
            dims = {name: len(self._h5[name]) for name in column.dims}
            return filled(column, stop - start, dims)
        values = self.read(column.path, start, stop)
        if column.path == SWEEP_PATH and values.shape[1] < len(SWEEP):
            before, values = values, np.full((len(values), len(SWEEP)), NOT_TRIED, values.dtype)
            values[:, : before.shape[1]] = before
        return values


class PackedReader(RowReader):
    """Rows of a packed file, also as the oracle takes them."""

    def __init__(self, path: str | Path):
        super().__init__(path, PACKED)

    def cell(self, row: int) -> PackedCell:
        """One structure as the oracle takes it."""
        batch, children = self.rows(int(row), int(row) + 1, ("atoms",))
        return packed_cell(batch, 0, children["atoms"])

    def cells(self, rows: Iterable[int]) -> Iterator[PackedCell]:
        """Many structures as the oracle takes them, in this order; the file is read once."""
        batch, children = self.rows(0, len(self), ("atoms",))
        offsets = self.offsets("atoms")
        for row in rows:
            its = slice(offsets[row], offsets[row + 1])
            atoms = {name: column[its] for name, column in children["atoms"].items()}
            yield packed_cell(batch, row, atoms)


def packed_cell(batch: Batch, row: int, atoms: Batch) -> PackedCell:
    """A row of a batch, with its atoms, as the oracle takes it."""

    def value(name: str) -> Any:
        return batch[f"structures/{name}"][row]

    if "structures/lattice" not in batch:
        return PackedCell(
            value("id"),
            np.full((3, 3), np.nan),
            atoms["position"],
            atoms["number"],
            0,
            0,
            float(value("min_same_species")),
            int(value("point_group")),
        )
    return PackedCell(
        value("id"),
        value("lattice"),
        atoms["position"],
        atoms["number"],
        int(value("space_group")),
        int(value("space_group_conventional")),
        float(value("min_same_species")),
    )
