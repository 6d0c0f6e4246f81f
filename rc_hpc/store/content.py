"""Hashes of content: of what a file holds, and of what a run was given."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from rc_hpc.store.layout import open_bare, row_blocks

#: Datasets that tell people where a row came from and what went wrong: the same work done on a
#: moved or renamed input must have the same hash.
NOT_CONTENT = ("structures/source", "structures/message")


def datasets(h5: h5py.File) -> list[str]:
    """Paths of all datasets, sorted, without a leading slash."""
    paths: list[str] = []
    h5.visititems(lambda path, item: paths.append(path) if isinstance(item, h5py.Dataset) else None)
    return sorted(paths)


def content_hash(file: str | Path | h5py.File) -> str:
    """SHA-256 over all datasets but `NOT_CONTENT`, in the order of their paths, without attributes.

    Each dataset gives its path, type, shape and values: numbers little-endian in row-major
    order, each text as its length in bytes (8 bytes, little-endian) and its UTF-8. Chunks,
    compression and the layout of the file have no influence.
    """
    if not isinstance(file, h5py.File):
        with open_bare(file) as h5:
            return content_hash(h5)
    digest = hashlib.sha256()
    for path in datasets(file):
        if path in NOT_CONTENT:
            continue
        dataset = file[path]
        for text in (path, _type_name(dataset.dtype), json.dumps(dataset.shape)):
            digest.update(_framed(text.encode()))
        for block in row_blocks(dataset) if dataset.shape else [()]:
            _update(digest, dataset[block], dataset.dtype)
    return digest.hexdigest()


def input_hash(rows: Iterable[tuple[str, str]]) -> str:
    """SHA-256 of the (id, sha256) pairs of an input, whatever their order."""
    digest = hashlib.sha256()
    for pair in sorted(rows):
        for text in pair:
            digest.update(_framed(text.encode()))
    return digest.hexdigest()


def _framed(text: bytes) -> bytes:
    return len(text).to_bytes(8, "little") + text


def _type_name(dtype: np.dtype) -> str:
    if h5py.check_string_dtype(dtype):
        return "text"
    members = h5py.check_enum_dtype(dtype)
    name = dtype.newbyteorder("<").str
    return name if members is None else f"{name} {json.dumps(sorted(members.items()))}"


def _update(digest: Any, values: np.ndarray, dtype: np.dtype) -> None:
    if h5py.check_string_dtype(dtype):
        digest.update(b"".join(_framed(text) for text in np.ravel(values)))
    elif dtype.hasobject:
        raise ValueError(f"cannot hash values of type {dtype}")
    else:
        digest.update(np.ascontiguousarray(values, dtype=dtype.newbyteorder("<")).tobytes())
