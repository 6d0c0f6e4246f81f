"""Files of plain arrays, which no ranks share: pixels for training, training runs.

Like every file of ours they explain themselves: root attributes, units and a description on each
dataset, dimension scales, a content hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from rc_hpc.core.files import clean_leftovers, disk_errors
from rc_hpc.store import layout
from rc_hpc.store.attributes import root_attributes
from rc_hpc.store.content import content_hash
from rc_hpc.store.files import new_h5
from rc_hpc.store.reader import open_ours
from rc_hpc.store.schema import TEXT, Column, Schema


class ArrayFile:
    """A file being written; `add` whole arrays, or `reserve` room for large ones."""

    def __init__(self, h5: h5py.File):
        self.h5 = h5
        self._scales = layout.Dimensions(h5)

    def add(
        self, path: str, values: Any, unit: str, description: str, dims: tuple[str, ...] = ()
    ) -> None:
        """Write one dataset, compressed; text where the values are not numbers."""
        array = np.asarray(values)
        dtype = TEXT if array.dtype.kind in "OUT" else array.dtype.str
        dataset = layout.create(
            self.h5, path, Column(path, dtype, unit, description, dims), array.shape
        )
        self._scales.attach(dataset, dims)
        dataset[...] = array.astype(object) if dtype == TEXT else array

    def reserve(
        self,
        path: str,
        shape: tuple[int, ...],
        dtype: Any,
        unit: str,
        description: str,
        dims: tuple[str, ...],
    ) -> h5py.Dataset:
        """A dataset in one uncompressed piece, so that `mapped` can give it without reading it."""
        dataset = self.h5.create_dataset(path, shape=shape, dtype=dtype, track_times=False)
        dataset.attrs["units"], dataset.attrs["description"] = unit, description
        self._scales.attach(dataset, dims)
        return dataset


@contextmanager
def new_arrays(
    path: Path, kind: str, title: str, identity: dict[str, Any], attrs: dict[str, Any]
) -> Iterator[ArrayFile]:
    """A new file that appears when the block ends well.

    `identity` and `attrs` as in `root_attributes`.
    """
    with disk_errors(path):
        clean_leftovers(path.parent, path.name)
        with new_h5(path) as h5:
            file = ArrayFile(h5)
            yield file
            h5.check_disk()
            for name, value in root_attributes(
                Schema(kind, title, (), {}), identity, {""}, attrs
            ).items():
                h5.attrs[name] = value
            h5.attrs["content_hash"] = content_hash(h5)


def read_arrays(
    path: str | Path, kind: str, names: tuple[str, ...]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Some datasets of a file, and its root attributes.

    Raises
    ------
    RcError
        It is not a file of ours of that kind.
    """
    with open_ours(path, kind) as h5:
        return {name: layout.read_rows(h5[name]) for name in names}, dict(h5.attrs)


def mapped(path: str | Path, kind: str, name: str) -> np.ndarray:
    """A dataset made by `reserve`, mapped into memory: pages are read when they are touched."""
    with open_ours(path, kind) as h5:
        dataset = h5[name]
        offset, shape, dtype = dataset.id.get_offset(), dataset.shape, dataset.dtype
    return np.memmap(path, dtype, "r", offset, shape)
