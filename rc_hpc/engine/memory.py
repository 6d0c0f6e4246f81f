"""The work of a run without one: structures are packed and computed in memory, nothing is written.

The rows are those of the files that the commands write.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.kind import Kind
from rc_hpc.core.text import storable
from rc_hpc.engine.packing import pack_item, packed_children, packed_schema
from rc_hpc.engine.rows import compute_row, joined, same_pack
from rc_hpc.kinds.common.given import Given
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.packed.reader import PackedReader, packed_cell
from rc_hpc.kinds.packed.schema import PACKED
from rc_hpc.kinds.packed.work import dims
from rc_hpc.store.batch import Batch, Rows, empty_batch
from rc_hpc.store.duplicates import Twin, resolve_duplicates
from rc_hpc.structures.record import Item


def pack(items: Iterable[Item], options: PackOptions) -> Rows:
    """Read and pack items, in their order; whatever is wrong with one is in its row."""
    listed = [replace(item, id=storable(item.id)) for item in items]
    batch = empty_batch(packed_schema(options), len(listed), dims(options))
    atoms = [pack_item(batch, row, item, options) for row, item in enumerate(listed)]
    _settle_duplicates(batch)
    return Rows(batch, packed_children(atoms, options))


def read_packed(path: Path, options: PackOptions, places: Sequence[int] | None = None) -> Rows:
    """Structures of a packed file: those of these rows, ascending, by default all.

    Raises
    ------
    RcError
        Not a packed file, or packed under other options.
    """
    with PackedReader(path) as reader:
        same_pack(reader, options)
        rows = Rows(*reader.rows(0, len(reader), ("atoms",)))
    return rows if places is None else chosen_rows(rows, np.asarray(places))


def chosen_rows(rows: Rows, places: np.ndarray) -> Rows:
    """Some rows, ascending, with their child rows."""
    number = np.full(len(rows), -1)
    number[places] = np.arange(len(places))
    children = {}
    for table, columns in rows.children.items():
        kept = number[columns["structure"]] >= 0
        children[table] = {name: values[kept] for name, values in columns.items()}
        children[table]["structure"] = number[children[table]["structure"]]
    return Rows({path: values[places] for path, values in rows.batch.items()}, children)


def compute(kind: Kind, options: Any, packed: Rows) -> Rows:
    """Compute packed structures as a kind does whose work needs no plan."""
    record = options.to_dict()
    schema, lengths = kind.load("schema").of(record), kind.load("dims")(options)
    work = kind.load("oracle")(options, Given())
    batch = empty_batch(schema, len(packed), lengths)
    for column in PACKED.of(record).main:
        batch[column.path][:] = packed.batch[column.path]
    drop = options.quarantine == "drop" and not options.pack.molecules
    tables = []
    for row in range(len(packed)):
        cell = functools.partial(packed_cell, batch, row, packed.child("atoms", row))
        tables.append(compute_row(batch, row, cell, work, drop=drop))
    return Rows(batch, joined(schema, lengths, tables))


def _settle_duplicates(batch: Batch) -> None:
    """Say which row owns an id that several have, as the merge of a run does."""
    rows_of = defaultdict(list)
    for row, id_ in enumerate(batch["structures/id"]):
        rows_of[id_].append(row)
    told = ("sha256", "source", "status", "message")
    for id_, rows in rows_of.items():
        if len(rows) > 1:
            twins = [
                Twin(row, row, *(batch[f"structures/{name}"][row] for name in told)) for row in rows
            ]
            for twin in resolve_duplicates(id_, twins):
                for name in ("duplicate", "status", "message"):
                    batch[f"structures/{name}"][twin.at] = getattr(twin, name)
