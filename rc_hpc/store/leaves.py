"""Hashes of the pieces of a file: which rows of which dataset are damaged.

A *leaf* is some rows of one dataset, as many as its type and the shape of a row say. The SHA-256 of
all leaves stand in the file, and the content hash of the file is the root of this tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import h5py
import numpy as np

from rc_hpc.store import layout
from rc_hpc.store.content import CHECKSUMS, datasets, leaf_hash, leaf_rows
from rc_hpc.store.opening import DAMAGE
from rc_hpc.store.schema import TEXT, Column

_COLUMNS = {
    "path": Column("path", TEXT, "1", "Path of the dataset.", ("dataset",)),
    "first": Column("first", "i8", "1", "First of its leaves among all.", ("dataset",)),
    "rows": Column("rows", "i8", "1", "Rows of each leaf but the last.", ("dataset",)),
    "sha256": Column("sha256", "u1", "1", "SHA-256 of each leaf.", ("leaf", "byte")),
}


def write_leaves(
    h5: h5py.File, scales: layout.Dimensions, leaves: Mapping[str, Sequence[bytes]]
) -> None:
    """Write the hashes of the leaves of all datasets."""
    paths = sorted(leaves)
    sizes = [len(leaves[path]) for path in paths]
    joined = b"".join(digest for path in paths for digest in leaves[path])
    values = {
        "path": np.array(paths, object),
        "first": np.cumsum([0, *sizes[:-1]]) if sizes else np.empty(0, np.int64),
        "rows": np.array([leaf_rows(h5[path]) for path in paths], np.int64),
        "sha256": np.frombuffer(joined, np.uint8).reshape(-1, 32),
    }
    for name, column in _COLUMNS.items():
        path = f"{CHECKSUMS}/{name}"
        dataset = layout.create(h5, path, column, values[name].shape)
        scales.attach(dataset, tuple(f"{CHECKSUMS}/{dim}" for dim in column.dims))
        layout.write_rows(dataset, 0, values[name])


def damaged_leaves(h5: h5py.File) -> Iterator[str]:
    """Datasets and rows whose values are not those that were written; all are read."""
    if CHECKSUMS not in h5:
        return
    group = h5[CHECKSUMS]
    paths = layout.read_rows(group["path"]).tolist()
    first = [*group["first"][()].tolist(), len(group["sha256"])]
    wanted = group["sha256"][()]
    if missing := sorted(set(datasets(h5)).symmetric_difference(paths)):
        yield from (f"{path}: has no checksums, or is not there" for path in missing)
    for number, path in enumerate(paths):
        if path in h5:
            yield from _damaged(h5[path], path, wanted[first[number] : first[number + 1]])


def _damaged(dataset: h5py.Dataset, path: str, wanted: np.ndarray) -> Iterator[str]:
    rows = leaf_rows(dataset)
    whole = dataset.shape[0] if dataset.shape else 1
    for leaf, digest in enumerate(wanted):
        start, stop = leaf * rows, min((leaf + 1) * rows, whole)
        try:
            values = dataset[start:stop] if dataset.shape else dataset[()]
            same = leaf_hash(values, dataset.dtype) == digest.tobytes()
        except DAMAGE:
            same = False
        if not same:
            yield f"{path}: rows {start} to {stop - 1} are damaged"
