"""Parts to one file: rows in order, bounded memory, equal content for equal work.

All ranks make chunks, see `rc_hpc.store.fold`; one writes them. The file depends on the rows alone.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rc_hpc.core.errors import RcError
from rc_hpc.core.files import clean_leftovers, disk_errors
from rc_hpc.store import layout
from rc_hpc.store.attributes import root_attributes
from rc_hpc.store.batch import shape_of
from rc_hpc.store.content import datasets, leaves_of, root_hash
from rc_hpc.store.files import NewFile, new_h5
from rc_hpc.store.fold import Block, Folder, Made, Spill, blocks_of
from rc_hpc.store.leaves import write_leaves
from rc_hpc.store.part_file import Part
from rc_hpc.store.parts import PartStore
from rc_hpc.store.rows import Resolve, RowMap, map_rows
from rc_hpc.store.schema import TEXT, Column, Schema

#: Bytes of rows that a rank gathers at once.
MEMORY = 256 << 20

#: Path to (array, unit, description, dimension names).
Static = dict[str, tuple[object, str, str, tuple[str, ...]]]


class Ranks(Protocol):
    """The ranks that merge together; all of them call `merge`."""

    rank: int
    size: int

    def bcast(self, value: Any, root: int = 0) -> Any:
        """`value` of one rank, on all."""

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        """All ranks' values on one."""

    def allgather(self, value: Any) -> list[Any]:
        """All ranks' values on all."""


class _Alone:
    rank, size = 0, 1

    def bcast(self, value: Any, root: int = 0) -> Any:
        return value

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        return [value]

    def allgather(self, value: Any) -> list[Any]:
        return [value]


ALONE = _Alone()


def merge(
    store: PartStore,
    output: str | Path,
    static: Static | None = None,
    attrs: dict[str, Any] | None = None,
    *,
    resolve: Resolve | None = None,
    parts: Sequence[Part] | None = None,
    memory: int = MEMORY,
    ranks: Ranks = ALONE,
) -> str:
    """Merge parts into one HDF5 file; returns its content hash. All ranks call it together.

    Rows stand in the order of the source, or with `resolve` by (id, duplicate, sha256); rows done
    more than once count once.

    Parameters
    ----------
    store
        With the parts' folder, schema and dimensions.
    output
        The file is written beside it and renamed.
    static
        Datasets that belong to the file, not to its rows, e.g. ``protocol/rotation``.
    attrs
        Further root attributes, over those of `root_attributes`.
    resolve
        Settles rows with the same id, e.g. `resolve_duplicates`; None: the source has done so.
    parts
        All that count, on rank 0; by default all that a scan finds.
    memory
        Bytes of rows that a rank gathers at once.
    ranks
        Those that share the work.

    Raises
    ------
    RcError
        A part was damaged (its rows are missing now), or the disk is full.
    """
    output = Path(output)

    def plan() -> RowMap:
        chosen = store.scan() if parts is None else parts
        if parts is None and store.set_aside:
            raise RcError(
                f"{store.folder}: rows of {', '.join(store.set_aside)} must be done again: run "
                "with --resume"
            )
        store.clean()
        clean_leftovers(output.parent, output.name)
        return map_rows(store, chosen, resolve)

    rows = _together(ranks, plan)
    blocks = blocks_of(store, rows)
    folder = Folder(store, rows, memory)

    def write(made: Iterator[tuple[Block, list[Made]]]) -> str:
        with new_h5(output) as h5:
            return _Assembly(h5, store, rows, static or {}, attrs or {}).fill(made)

    if ranks.size == 1:
        return write(zip(blocks, folder.make(blocks), strict=True))
    owner = _owners([folder.bytes_of(block) for block in blocks], ranks.size)
    mine = [(k, block) for k, block in enumerate(blocks) if owner[k] == ranks.rank]
    spill = Spill(store.folder / f"{ranks.rank}.spill")
    try:
        begins = _each(ranks, lambda: _spilled(spill, folder, mine))
        told = ranks.gather((spill.path.name, begins))
        return str(_together(ranks, lambda: write(_gathered(store.folder, blocks, told or []))))
    finally:
        with contextlib.suppress(OSError):
            spill.path.unlink(missing_ok=True)


def _spilled(spill: Spill, folder: Folder, mine: list[tuple[int, Block]]) -> dict[int, int]:
    with disk_errors(spill.path):
        return spill.write(folder, mine)


def _owners(weights: Sequence[int], size: int) -> list[int]:
    """Rank of each block: neighbours together, so that few parts are read by several."""
    before = np.cumsum([0, *weights])
    middle = before[:-1] + np.array(weights, np.int64) / 2
    return [int(rank) for rank in middle * size // max(1, before[-1])]


def _gathered(
    folder: Path, blocks: Sequence[Block], told: list[tuple[str, dict[int, int]]]
) -> Iterator[tuple[Block, list[Made]]]:
    where = {k: (name, begin) for name, begins in told for k, begin in begins.items()}
    name, file = "", None
    try:
        for k, block in enumerate(blocks):
            if file is None or where[k][0] != name:
                if file is not None:
                    file.close()
                name = where[k][0]
                file = open(folder / name, "rb")  # noqa: SIM115 - one of many, closed below
            yield block, Spill.read(file, where[k][1])
    finally:
        if file is not None:
            file.close()


def _together(ranks: Ranks, function: Callable[[], Any]) -> Any:
    """Result of `function` on rank 0, on all ranks; its RcError is raised on all of them."""
    result = None
    if ranks.rank == 0:
        try:
            result = function()
        except RcError as error:
            result = error
    result = ranks.bcast(result)
    if isinstance(result, RcError):
        raise result
    return result


def _each(ranks: Ranks, function: Callable[[], Any]) -> Any:
    """Result of `function` on each rank; an RcError of any of them is raised on all."""
    result, error = None, None
    try:
        result = function()
    except RcError as fault:
        error = fault
    errors = [one for one in ranks.allgather(error) if one is not None]
    if errors:
        raise errors[0]
    return result


class _Assembly:
    """The file being written."""

    def __init__(
        self, h5: NewFile, store: PartStore, rows: RowMap, static: Static, attrs: dict[str, Any]
    ):
        self.h5, self.store, self.rows, self.attrs = h5, store, rows, attrs
        self.scales = layout.Dimensions(h5)
        self.leaves: dict[str, list[bytes]] = {}
        schema: Schema = store.schema
        tables = [("", schema.main, rows.n, layout.MAIN_DIM)]
        for table, columns in schema.children.items():
            tables.append((table, columns, int(rows.offsets[table][-1]), f"{table}/row"))
        for table, columns, n, dim in tables:
            for column in columns:
                path = f"{table}/{column.path}" if table else column.path
                shape = shape_of(column, n, store.dims)
                length = rows.lengths.get(path, 1) if column.dtype == TEXT else 0
                dataset = layout.create(h5, path, column, shape, length)
                self.scales.attach(dataset, (dim, *column.dims))
                self.leaves[path] = []
        for path, entry in static.items():
            self._static(path, *entry)

    def _static(
        self, path: str, values: object, unit: str, description: str, names: tuple[str, ...]
    ) -> None:
        array = np.asarray(values)
        if array.dtype.kind in "OUT":
            array, dtype = array.astype(object), TEXT
        else:
            dtype = array.dtype.str
        column = Column(path, dtype, unit, description, tuple(names))
        dataset = layout.create(self.h5, path, column, array.shape)
        self.scales.attach(dataset, tuple(names))
        dataset[...] = array

    def fill(self, made: Iterator[tuple[Block, list[Made]]]) -> str:
        """Write all chunks and what stands beside them; the content hash."""
        # Datasets, and the first place of a chunk beyond its rows.
        opened: dict[str, tuple[Any, tuple[int, ...]]] = {}
        table = ""
        for block, columns in made:
            if block.table != table:
                opened, table = {}, block.table
            for one in columns:
                if one.path not in opened:  # looking one up takes longer than writing a chunk
                    dataset = self.h5[one.path]
                    opened[one.path] = dataset, (0,) * (dataset.ndim - 1)
                self._write(*opened[one.path], one)
            self.h5.check_disk()
        for path in datasets(self.h5):
            if path not in self.leaves:
                self.leaves[path] = list(leaves_of(self.h5[path]))
        write_leaves(self.h5, self.scales, self.leaves)
        digest = root_hash((path, self.h5[path], self.leaves[path]) for path in sorted(self.leaves))
        attributes = root_attributes(
            self.store.schema, self.store.identity, self.rows.hosts, self.attrs
        )
        if not attributes["input_hash"]:  # of a source that nothing has read before
            read = (b"".join(self.leaves[f"structures/{name}"]) for name in ("id", "sha256"))
            attributes["input_hash"] = hashlib.sha256(b"".join(read)).hexdigest()
        for name, value in attributes.items():
            self.h5.attrs[name] = value
        self.h5.attrs["content_hash"] = digest
        return digest

    def _write(self, dataset: Any, beyond: tuple[int, ...], made: Made) -> None:
        self.leaves[made.path] += made.leaves
        for row, data in made.chunks:
            dataset.id.write_direct_chunk((row, *beyond), data)
        if made.texts and made.texts[1]:
            row, texts = made.texts
            values = np.array([text.decode() for text in texts], object)
            shape = (-1, *dataset.shape[1:])
            layout.write_rows(dataset, row, values.reshape(shape))
