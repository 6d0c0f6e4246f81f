"""Parts to one file: rows in order, bounded memory, equal content for equal work.

All ranks make chunks, see `rc_hpc.store.fold`, and write them, see `rc_hpc.store.shared`; one
writes all else. The file depends on the rows alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import RcError
from rc_hpc.core.files import clean_leftovers
from rc_hpc.store import layout
from rc_hpc.store.attributes import root_attributes
from rc_hpc.store.batch import shape_of
from rc_hpc.store.content import datasets, leaves_of, root_hash
from rc_hpc.store.files import NewFile, new_h5
from rc_hpc.store.fold import Folder, Made, blocks_of
from rc_hpc.store.leaves import write_leaves
from rc_hpc.store.part_file import Part
from rc_hpc.store.parts import PartStore
from rc_hpc.store.rows import Resolve, RowMap, map_rows
from rc_hpc.store.schema import TEXT, Column, Schema
from rc_hpc.store.shared import ALONE, Ranks, together, write_together

#: Bytes of rows that a rank gathers at once.
MEMORY = 256 << 20

#: Path to (array, unit, description, dimension names).
Static = dict[str, tuple[object, str, str, tuple[str, ...]]]


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

    rows = together(ranks, plan)
    blocks = blocks_of(store, rows)
    folder = Folder(store, rows, memory)

    def fill(h5: NewFile, made: Iterable[list[Made]]) -> str:
        return _Assembly(h5, store, rows, static or {}, attrs or {}).fill(made)

    if ranks.size > 1:
        return write_together(output, folder, blocks, fill, ranks)
    with new_h5(output) as h5:
        return fill(h5, folder.make(blocks))


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

    def fill(self, made: Iterable[list[Made]]) -> str:
        """Write all chunks and what stands beside them; the content hash."""
        # Datasets, and the first place of a chunk beyond its rows.
        opened: dict[str, tuple[Any, tuple[int, ...]]] = {}
        for columns in made:
            if columns[0].path not in opened:
                opened = {}
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
