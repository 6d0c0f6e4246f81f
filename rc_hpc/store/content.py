"""Hashes of content: of what a file holds, and of what a run was given."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import h5py
import numpy as np

from rc_hpc.store import layout
from rc_hpc.store.layout import is_length, open_bare, row_blocks
from rc_hpc.store.schema import TEXT, Column

#: Datasets that tell people where a row came from and what went wrong: the same work done on a
#: moved or renamed input must have the same hash.
NOT_CONTENT = ("structures/source", "structures/message")


#: Group of the hashes of pieces of datasets.
CHECKSUMS = "checksums"


def datasets(h5: h5py.File) -> list[str]:
    """Paths of all datasets but the checksums, sorted, without a leading slash."""
    paths: list[str] = []
    h5.visititems(lambda path, item: paths.append(path) if isinstance(item, h5py.Dataset) else None)
    return sorted(path for path in paths if not path.startswith(f"{CHECKSUMS}/"))


def content_hash(file: str | Path | h5py.File) -> str:
    """SHA-256 over all datasets but `NOT_CONTENT`, in the order of their paths, without attributes.

    Each dataset gives its path, type, shape and values: numbers little-endian in row-major
    order, each text as its length in bytes (8 bytes, little-endian) and its UTF-8. Compression
    and the layout of the file have no influence. In a file with checksums the values of a dataset
    count as the SHA-256 of each of its leaves, see `rc_hpc.store.leaves`; in others, as
    they are.
    """
    if not isinstance(file, h5py.File):
        with open_bare(file) as h5:
            return content_hash(h5)
    if CHECKSUMS in file:
        told = ((path, file[path], leaves_of(file[path])) for path in datasets(file))
        return root_hash((path, dataset, list(leaves)) for path, dataset, leaves in told)
    digest = hashlib.sha256()
    for path in datasets(file):
        if path in NOT_CONTENT:
            continue
        dataset = file[path]
        for text in (path, _type_name(dataset.dtype), json.dumps(dataset.shape)):
            digest.update(framed(text.encode()))
        for block in row_blocks(dataset) if dataset.shape else [()]:
            digest.update(plain_bytes(dataset[block], dataset.dtype))
    return digest.hexdigest()


def root_hash(told: Iterable[tuple[str, h5py.Dataset, Iterable[bytes]]]) -> str:
    """The hash of a file's content from path, dataset and leaf hashes of each, sorted by path."""
    digest = hashlib.sha256()
    for path, dataset, leaves in told:
        if path in NOT_CONTENT:
            continue
        for text in (path, _type_name(dataset.dtype), json.dumps(dataset.shape)):
            digest.update(framed(text.encode()))
        digest.update(framed(b"".join(leaves)))
    return digest.hexdigest()


def leaf_rows(dataset: h5py.Dataset) -> int:
    """Rows of a leaf of a dataset: by its type and shape alone."""
    text = h5py.check_string_dtype(dataset.dtype)
    dtype = TEXT if text else dataset.dtype.str  # of an enum the type beneath
    return layout.chunk_rows(Column("", dtype, "", ""), dataset.shape)


def leaves_of(dataset: h5py.Dataset) -> Iterator[bytes]:
    """SHA-256 of each leaf of a dataset, in order; a scale that only gives a length has none."""
    if is_length(dataset):
        return
    if not dataset.shape:
        yield leaf_hash(dataset[()], dataset.dtype)
        return
    rows = leaf_rows(dataset)
    for start in range(0, dataset.shape[0], rows):
        yield leaf_hash(dataset[start : start + rows], dataset.dtype)


def leaf_hash(values: np.ndarray, dtype: np.dtype) -> bytes:
    """SHA-256 of some rows: numbers, or texts as UTF-8."""
    return hashlib.sha256(plain_bytes(values, dtype)).digest()


def input_hash(rows: Iterable[tuple[str, str]]) -> str:
    """SHA-256 of the (id, sha256) pairs of an input, whatever their order."""
    digest = hashlib.sha256()
    for pair in sorted(rows):
        for text in pair:
            digest.update(framed(text.encode()))
    return digest.hexdigest()


def framed(text: bytes) -> bytes:
    """A text with its length in front."""
    return len(text).to_bytes(8, "little") + text


def _type_name(dtype: np.dtype) -> str:
    if h5py.check_string_dtype(dtype):
        return "text"
    members = h5py.check_enum_dtype(dtype)
    name = dtype.newbyteorder("<").str
    return name if members is None else f"{name} {json.dumps(sorted(members.items()))}"


def plain_bytes(values: np.ndarray, dtype: np.dtype) -> bytes:
    """Values as bytes, alike in all layouts of a file."""
    if dtype.kind == "S" or h5py.check_string_dtype(dtype):
        return b"".join(framed(text) for text in np.ravel(values).tolist())
    if dtype.hasobject:
        raise ValueError(f"cannot hash values of type {dtype}")
    return np.ascontiguousarray(values, dtype=dtype.newbyteorder("<")).tobytes()
