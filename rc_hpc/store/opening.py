"""The one door to finished HDF5 files: what it lets in can be read, and ends no process.

A file with a seal (see `rc_hpc.store.files`) is what was written, byte for byte. Any other, that an
older version wrote, another program changed, or whose end is missing, is read whole once in a
process of its own, since HDF5 may crash or hang on what is damaged.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from rc_hpc.core.apart import OVERTIME, Lost, alone
from rc_hpc.core.errors import DOUBTFUL, fault_of
from rc_hpc.store.attributes import REQUIRED
from rc_hpc.store.content import content_hash
from rc_hpc.store.files import seal_problem
from rc_hpc.store.layout import is_length, open_bare, row_blocks
from rc_hpc.store.part_file import MAGIC

log = logging.getLogger("rc_hpc")

#: What HDF5 and h5py raise on a damaged file, depending on where the damage is.
DAMAGE = (OSError, LookupError, RuntimeError, ValueError, TypeError, AttributeError, MemoryError)
#: CPU time to look at a file without a seal, s, and further for each MB of it.
_LOOK_S, _LOOK_S_MB = 20.0, 0.2
#: Address space for that, bytes beyond those that the process takes anyway.
_LOOK_BYTES = 4 << 30
#: Values for each byte on the disk, at most: deflate makes no more of one byte.
_DEFLATED = 1100
#: Values that a dataset may declare without any on the disk: unset ones are not stored.
_UNSET_BYTES = 1 << 26
CURE = "restore it from a copy, or compute it again"
#: First bytes of HDF5 files.
HDF5 = b"\x89HDF\r\n\x1a\n"
#: First bytes of files that are met in place of ours.
_SIGNATURES = (
    (HDF5, "a damaged or truncated HDF5 file"),
    (MAGIC, "a part of an unfinished run of rc_hpc; merge its folder first"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"PK\x03\x04", "a zip archive"),
    (b"SQLite format 3", "an SQLite database (an ASE one?)"),
    (b"CDF", "a netCDF-3 file"),
)


def open_h5(path: str | Path) -> h5py.File:
    """Open a finished file for reading.

    Raises
    ------
    RcError
        It is no HDF5 file, or a damaged one; a `UsageError` where there is none.
    """
    if problem := problem_of(path):
        raise fault_of(path)(f"{path}: {problem}")
    try:
        return open_bare(path)
    except OSError as error:
        raise fault_of(path)(f"{path}: damaged: {first_line(error)}; {CURE}") from error


def problem_of(path: str | Path, looked: bool = True) -> str:
    """Why a file cannot be opened for reading, or an empty string.

    Without `looked`, what has no seal is not read in another process.
    """
    try:
        state = os.stat(path)
        if stat.S_ISDIR(state.st_mode):
            return "it is a folder"
        if not stat.S_ISREG(state.st_mode):
            return "it is no regular file"
        problem = seal_problem(path)
        if problem is None:
            with open(path, "rb") as file:
                head = file.read(4096)
            # it may stand behind a block of another program
            if not any(head.startswith(_SIGNATURES[0][0], at) for at in (0, 512, 1024, 2048)):
                return seems(head)
            problem = _looked_at(str(path)) if looked else ""
    except OSError as error:
        return error.strerror or str(error)
    return f"{problem}; {CURE}" if problem else ""


def _digest(path: str | Path) -> str:
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def seems(head: bytes) -> str:
    """What a file that is not HDF5 seems to be, by its first bytes."""
    for signature, meaning in _SIGNATURES:
        if head.startswith(signature):
            return f"it seems to be {meaning}"
    if not head:
        return "it is empty"
    if b"\0" in head:
        return "it is a binary file of an unknown format"
    text = head.lstrip()
    if text[:1] in (b"{", b"["):
        return "it seems to be JSON"
    return (
        "it seems to be a CIF"
        if text.startswith(b"data_") or b"\n_cell_" in head
        else "it seems to be text"
    )


def _looked_at(path: str) -> str:
    """What is wrong with a file without a seal; of one that may be read wrongly a warning tells."""
    problem, doubt = _seen(path, _digest(path))
    if doubt and not problem and path not in DOUBTFUL:
        log.warning("%s: %s", path, doubt)
        DOUBTFUL[path] = doubt
    return problem


def patience_s(path: str | Path) -> float:
    """CPU time that reading all of a file may take, s: on a damaged one HDF5 may never end."""
    return _LOOK_S + _LOOK_S_MB * os.path.getsize(path) / 1e6


def why_lost(lost: Lost, seconds: float) -> str:
    """What is wrong with a file that HDF5 did not come to the end of in `seconds` of CPU time."""
    if lost.signal == OVERTIME:
        return f"damaged: the HDF5 library is not done with it after {seconds:.0f} s"
    return f"damaged: the HDF5 library crashed on it (signal {lost.signal})"


@lru_cache(maxsize=256)
def _seen(path: str, digest: str) -> tuple[str, str]:
    """What `look` says of a file, from another process."""
    seconds = patience_s(path)
    try:
        problem, doubt = alone(look, path, cpu_s=seconds, memory=_address_space() + _LOOK_BYTES)
    except Lost as lost:
        return why_lost(lost, seconds), ""
    return str(problem), str(doubt)


def _address_space() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def look(path: str) -> tuple[str, str]:
    """Why a file that may crash HDF5 cannot be read, and why it may be read wrongly.

    Either is empty where there is no reason. All of the file is read.
    """
    try:
        with open_bare(path) as h5:
            problem = unreadable(h5)
            return problem, "" if problem else _changed(h5)
    except DAMAGE as error:
        return f"it seems to be {_SIGNATURES[0][1]} ({first_line(error)})", ""


def _changed(h5: h5py.File) -> str:
    if h5.attrs.get("creator") != "rc_hpc" or "content_hash" not in h5.attrs:
        return ""
    for name in REQUIRED:
        if name not in h5.attrs:
            return f"changed since it was written: its root attribute {name!r} is missing"
    if sha256(str(h5.attrs["options"]).encode()).hexdigest() != h5.attrs["options_hash"]:
        return "changed since it was written: its options_hash is not the hash of its options"
    if h5.attrs["content_hash"] != content_hash(h5):
        return "changed since it was written: its content_hash does not match its content"
    return ""


def unreadable(h5: h5py.File) -> str:
    """What in a file cannot be read, or must not; an empty string where all has been."""
    for where in (h5, *_below(h5)):
        if isinstance(where, str):
            return where
        for name in where.attrs:
            np.asarray(where.attrs[name])
        if isinstance(where, h5py.Dataset) and (problem := _wrong_dataset(where)):
            return f"{where.name}: {problem}"
    return ""


def _below(group: h5py.Group, seen: frozenset[int] = frozenset()) -> Iterator[Any]:
    """Everything below a group; instead of a link to elsewhere, what is wrong with it."""
    for name in group:
        link = group.get(name, getlink=True)
        shown = f"{group.name.rstrip('/')}/{name}"
        if isinstance(link, h5py.ExternalLink):
            yield f"{shown} is a link to another file ({link.filename}), which is not followed"
        elif isinstance(link, h5py.SoftLink):
            yield f"{shown} is a link to {link.path}, which is not followed"
        else:
            item = group[name]
            if not isinstance(item, h5py.Group | h5py.Dataset):
                yield f"{shown} is neither a group nor a dataset"
                continue
            address = h5py.h5o.get_info(item.id).addr
            if address in seen:
                yield f"{shown} holds itself"
                continue
            yield item
            if isinstance(item, h5py.Group):
                yield from _below(item, seen | {address})


def _wrong_dataset(dataset: h5py.Dataset) -> str:
    if dataset.is_virtual or dataset.external:
        return "its values lie in other files, which are not read"
    if is_length(dataset):
        return ""  # holds no values
    stored = dataset.id.get_storage_size()
    declared = dataset.dtype.itemsize * int(np.prod(dataset.shape, dtype=object))
    if declared > max(_UNSET_BYTES, _DEFLATED * stored):
        return f"declares {declared} bytes in {stored}"
    text = h5py.check_string_dtype(dataset.dtype)
    if dataset.dtype.hasobject and not text:
        return f"is of a type that rc_hpc does not write ({dataset.dtype})"
    for block in row_blocks(dataset) if dataset.shape else [()]:
        values = dataset[block]
        if text:
            for value in np.ravel(values):
                value.decode()
    return ""


def first_line(error: BaseException) -> str:
    """What an exception says, on one line."""
    return str(error).partition("\n")[0] or type(error).__name__
