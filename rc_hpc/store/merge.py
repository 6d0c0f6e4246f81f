"""Parts to one file: rows in order, bounded memory, equal content for equal work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import RcError
from rc_hpc.core.files import clean_leftovers
from rc_hpc.store import layout
from rc_hpc.store.attributes import root_attributes
from rc_hpc.store.batch import filled, shape_of
from rc_hpc.store.content import content_hash
from rc_hpc.store.files import NewFile, new_h5
from rc_hpc.store.parts import PartStore
from rc_hpc.store.rows import Resolve, RowMap, map_rows
from rc_hpc.store.schema import TEXT, Column, Schema

#: Bytes that the buffers of one pass over the parts may take.
MEMORY = 256 << 20
#: Guess of what one text takes in memory, bytes.
_TEXT_BYTES = 128

#: Path to (array, unit, description, dimension names).
Static = dict[str, tuple[object, str, str, tuple[str, ...]]]


def merge(
    folder: str | Path,
    output: str | Path,
    schema: Schema,
    dims: dict[str, int],
    static: Static | None = None,
    attrs: dict[str, Any] | None = None,
    *,
    resolve: Resolve | None = None,
    checked: list[str] | None = None,
    memory: int = MEMORY,
) -> str:
    """Merge a parts folder into one HDF5 file; returns its content hash.

    Rows are sorted by (id, duplicate, sha256); rows done more than once count once. Each
    pass over the parts fills whole columns, as many as fit into `memory`, so that every
    column is read once and every part is opened once a pass. Only one process may call this.

    Parameters
    ----------
    folder, output
        The file is written beside `output` and renamed.
    schema, dims
        As the parts were written with.
    static
        Datasets that belong to the file, not to its rows, e.g. ``protocol/rotation``.
    attrs
        Further root attributes, over those of `root_attributes`.
    resolve
        Settles rows with the same id, e.g. `resolve_duplicates`; by default they all stay as they
        are.
    checked
        Names of the parts, where the caller has just scanned them.
    memory
        Bytes for the buffers of a pass.

    Raises
    ------
    RcError
        A part was damaged (its rows are missing now), or the disk is full.
    """
    output = Path(output)
    store = PartStore.open(folder, schema)
    if store.dims != dims:
        raise RcError(
            f"{folder}: written for {store.dims}, not for {dims}: merge with the options of the run"
        )
    parts = store.scan() if checked is None else checked
    if store.set_aside:
        raise RcError(
            f"{folder}: rows of {', '.join(store.set_aside)} must be done again: run with --resume"
        )
    clean_leftovers(output.parent, output.name)
    rows = map_rows(store, parts, resolve)
    with new_h5(output) as h5:
        jobs = _create(h5, schema, dims, rows, static or {})
        for group in _passes(jobs, memory):
            _run_pass(h5, store, rows, group)
            h5.check_disk()
        for name, value in root_attributes(schema, store.identity, rows.hosts, attrs or {}).items():
            h5.attrs[name] = value
        h5.attrs["content_hash"] = digest = content_hash(h5)
    return digest


@dataclass(frozen=True)
class _Job:
    """Rows `start` to `stop` of one column; `table` is '' for a main column."""

    table: str
    column: Column
    dims: dict[str, int]
    start: int
    stop: int

    @property
    def path(self) -> str:
        return f"{self.table}/{self.column.path}" if self.table else self.column.path

    @property
    def row_bytes(self) -> int:
        values = int(np.prod(shape_of(self.column, 1, self.dims)))
        return values * (
            _TEXT_BYTES if self.column.dtype == TEXT else self.column.numpy_dtype.itemsize
        )


def _create(
    h5: NewFile, schema: Schema, dims: dict[str, int], rows: RowMap, static: Static
) -> list[_Job]:
    """Create all datasets, write the static ones, return what is left to fill."""
    scales = layout.Dimensions(h5)
    jobs = []
    tables = [("", schema.main, rows.n, layout.MAIN_DIM)]
    for table, columns in schema.children.items():
        tables.append((table, columns, int(rows.offsets[table][-1]), f"{table}/row"))
    for table, columns, n, dim in tables:
        for column in columns:
            job = _Job(table, column, dims, 0, n)
            dataset = layout.create(h5, job.path, column, shape_of(column, n, dims))
            scales.attach(dataset, (dim, *column.dims))
            jobs.append(job)
    for path, (values, unit, description, names) in static.items():
        array = np.asarray(values)
        if array.dtype.kind in "OUT":
            array, dtype = array.astype(object), TEXT
        else:
            dtype = array.dtype.str
        dataset = layout.create(
            h5, path, Column(path, dtype, unit, description, tuple(names)), array.shape
        )
        scales.attach(dataset, tuple(names))
        dataset[...] = array
    return jobs


def _passes(jobs: Iterable[_Job], memory: int) -> Iterable[list[_Job]]:
    """Cut jobs that alone exceed `memory` by rows, and group the pieces so that each group fits."""
    group: list[_Job] = []
    used = 0
    for job in jobs:
        step = max(1, memory // job.row_bytes // layout.CHUNK_ROWS) * layout.CHUNK_ROWS
        for start in range(0, job.stop, step):
            piece = _Job(job.table, job.column, job.dims, start, min(start + step, job.stop))
            size = (piece.stop - piece.start) * piece.row_bytes
            if group and used + size > memory:
                yield group
                group, used = [], 0
            group.append(piece)
            used += size
    if group:
        yield group


def _run_pass(h5: NewFile, store: PartStore, rows: RowMap, jobs: list[_Job]) -> None:
    """Gather the jobs' rows from all parts, then write them."""
    buffers = [filled(job.column, job.stop - job.start, job.dims) for job in jobs]
    known: dict[str, str] = {}  # equal texts (sources, readers) are kept once
    for number, part in enumerate(rows.parts):
        with store.open_part(part) as source:
            targets = {"": rows.targets(number)}
            for job, buffer in zip(jobs, buffers, strict=True):
                if job.path in rows.provisional:
                    continue
                if job.table not in targets:
                    structure = source[f"{job.table}/structure"]
                    targets[job.table] = rows.child_targets(number, job.table, structure)
                target = targets[job.table]
                inside = (target >= job.start) & (target < job.stop)
                if not inside.any():
                    continue
                values = source[job.path][inside]
                if job.column.dtype == TEXT and job.column.path not in (
                    "structures/id",
                    "structures/sha256",
                ):
                    texts = values.reshape(-1)  # a view: what was chosen by a mask is contiguous
                    texts[:] = [known.setdefault(text, text) for text in texts]
                elif job.table and job.column.path == "structure":
                    values = targets[""][values]
                buffer[target[inside] - job.start] = values
    for job, buffer in zip(jobs, buffers, strict=True):
        for row, value in rows.patches.get(job.path, {}).items():
            if job.start <= row < job.stop:
                buffer[row - job.start] = value
        dataset = h5[job.path]
        for start in range(0, len(buffer), layout.CHUNK_ROWS):
            layout.write_rows(dataset, job.start + start, buffer[start : start + layout.CHUNK_ROWS])
