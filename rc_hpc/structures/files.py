"""Bytes of files and of parts of them, plain or gzip.

The functions are plain and module-level, so that what is made of them by
`functools.partial` can be sent to another process.
"""

from __future__ import annotations

import gzip
import mmap
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, BinaryIO, cast


def is_gzip(path: str) -> bool:
    """Whether the name says that the file is compressed."""
    return path.lower().endswith(".gz")


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """The file's content, uncompressed, as a binary stream; every fault is an OSError."""
    try:
        with gzip.open(path) if is_gzip(path) else open(path, "rb") as file:
            yield cast(BinaryIO, file)
    except (EOFError, zlib.error) as error:
        raise OSError(f"{path}: broken gzip file ({error})") from error


def read_file(path: str) -> bytes:
    """The whole file, uncompressed."""
    with opened(path) as file:
        return file.read()


def read_span(path: str, start: int, end: int) -> bytes:
    """Bytes `start` to `end` of the file's uncompressed content."""
    if is_gzip(path):
        return mapped(path)[start:end]
    with open(path, "rb") as file:
        file.seek(start)
        return file.read(end - start)


def mapped(path: str) -> mmap.mmap | bytes:
    """The uncompressed content as a read-only memory map (b"" for an empty file)."""
    if is_gzip(path):
        state = os.stat(path)
        return _unpacked(path, state.st_size, state.st_mtime_ns)
    with open(path, "rb") as file:
        return _map(file)


@lru_cache(maxsize=4)
def _unpacked(path: str, size: int, mtime_ns: int) -> mmap.mmap | bytes:
    """Map of a nameless temporary copy of a gzip file's content.

    Gzip cannot be read from the middle.

    `size` and `mtime_ns` are those of the file: a changed file is unpacked anew.
    """
    with tempfile.TemporaryFile() as copy, opened(path) as file:
        shutil.copyfileobj(file, copy, 1 << 20)
        copy.flush()
        return _map(copy)


def _map(file: BinaryIO | IO[bytes]) -> mmap.mmap | bytes:
    """The map outlives the file it is made from."""
    if not os.fstat(file.fileno()).st_size:
        return b""
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def name_and_suffix(path: str) -> tuple[str, str]:
    """Name and lower-case suffix, both without ``.gz``.

    ``a/b.CIF.gz`` gives ``b.CIF``, ``.cif``.
    """
    name = Path(path).name
    if is_gzip(name):
        name = name[:-3]
    return name, Path(name).suffix.lower()
