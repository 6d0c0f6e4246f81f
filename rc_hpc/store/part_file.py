"""Part files: records that one writer appends, each a batch with its own checksum.

A record is ``MAGIC``, the bytes of its header and of its body (two 64-bit numbers), the SHA-256 of
both, the header as JSON, and the columns as they lie in memory. A writer that dies leaves at most
a torn last record, which does not count. Everything else knows parts by this module only.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from rc_hpc.core.errors import RcError
from rc_hpc.core.files import disk_errors, sync_folder
from rc_hpc.store.batch import Batch, Children, check_batch, shape_of
from rc_hpc.store.schema import SCHEMA_VERSION, TEXT, Column, Schema

#: Ending of the names of part files.
ENDING = ".part"
#: Version of their format.
FORMAT = 2
MAGIC = b"RCPART2\n"
_HOST = socket.gethostname()
_HEAD = struct.Struct("<8sQQ32s")
#: Columns begin at multiples of this, bytes.
_ALIGNED = 8
#: Ids are told apart by so many bytes at first.
KEY_BYTES = 96


@dataclass(frozen=True)
class Form:
    """What the parts of a run hold: columns, and the lengths that the schema leaves open."""

    schema: Schema
    dims: dict[str, int]

    def tables(self) -> dict[str, tuple[Column, ...]]:
        """All tables by their path prefix; the main columns have the prefix ''."""
        children = self.schema.children.items()
        return {"": self.schema.main} | {f"{table}/": columns for table, columns in children}


@dataclass(frozen=True)
class Part:
    """One record: where it is, and what a merge must know of it before it reads it.

    Attributes
    ----------
    file, at
        Name of its file, and where in it the record begins.
    rows : (n,) int64
        Number of each of its rows in the source.
    sizes
        Of each child table the number of rows that belong to each of its rows, (n,) int32.
    longest
        Bytes of the longest text of each column of texts.
    keys : (n,) bytes
        Beginning of the ids.
    host
        Machine that wrote it.
    """

    file: str
    at: int
    rows: np.ndarray
    sizes: dict[str, np.ndarray]
    longest: dict[str, int]
    keys: np.ndarray
    host: str

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.file}@{self.at}"


@dataclass
class Found:
    """What lies in a part file.

    Attributes
    ----------
    parts
        Its records that count.
    problem
        Why the file cannot be used at all, or an empty string.
    damaged
        What is wrong with single records.
    torn
        Bytes of a last record that its writer did not finish.
    """

    parts: list[Part] = field(default_factory=list)
    problem: str = ""
    damaged: list[str] = field(default_factory=list)
    torn: int = 0


class PartFile:
    """One record, open for reading; use as a context manager.

    Attributes
    ----------
    rows : (n,) int64
        Number of each row in the source.
    host
        Machine that wrote it.
    """

    def __init__(self, path: Path, at: int = 0):
        self._data = _mapped(path)
        self._header, self._body = _header(self._data, at)
        self.rows = self.raw("rows")
        self.host = str(self._header["host"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass  # the map of the file is shared

    def __getitem__(self, path: str) -> np.ndarray:
        """A whole column: text as str objects, enums as uint8."""
        values = self.raw(path)
        return texts_of(values) if values.dtype.kind == "S" else values.copy()

    def raw(self, path: str) -> np.ndarray:
        """A whole column as it is stored, read-only: text as UTF-8 in fixed-length bytes."""
        dtype, shape, start = self._header["columns"][path]
        count = int(np.prod(shape, dtype=np.int64))
        values = np.frombuffer(self._data, dtype, count, self._body + start)
        return values.reshape(shape)


def texts_of(values: np.ndarray) -> np.ndarray:
    """UTF-8 in bytes as an object array of str."""
    texts = np.empty(values.shape, object)
    texts.ravel()[:] = [value.decode() for value in values.ravel().tolist()]
    return texts


def _stored(column: Column | None, values: np.ndarray) -> np.ndarray:
    """A column as it is stored."""
    if column is None or column.dtype != TEXT:
        return np.ascontiguousarray(values)
    encoded = [text.encode() for text in values.ravel().tolist()]
    return np.array(encoded or np.empty(0, "S1"), "S").reshape(values.shape)


class PartWriter:
    """Appends records to one file of its own.

    Parameters
    ----------
    path
        Begun with the first record.
    form
    marks
        What is to be found again with each record, by name.
    """

    def __init__(self, path: Path, form: Form, marks: Mapping[str, str]):
        self.path, self.form, self.marks = path, form, dict(marks)
        self._size = 0

    def write(self, batch: Batch, children: Children, rows: np.ndarray) -> Part:
        """Append a batch; it is on the disk when this returns.

        Parameters
        ----------
        rows : (n,)
            Number of each row in the source.
        """
        n = check_batch(self.form.schema, batch, self.form.dims, children)
        if np.shape(rows) != (n,):
            raise ValueError(f"{np.shape(rows)} row numbers of {n} rows")
        pieces: list[bytes] = []
        columns: dict[str, tuple[str, list[int], int]] = {}
        stored: dict[str, np.ndarray] = {}
        at = 0
        for path, column, values in self._columns(batch, children, rows):
            stored[path] = _stored(column, values)
            columns[path] = (stored[path].dtype.str, list(stored[path].shape), at)
            data = stored[path].tobytes()
            pieces += [data, bytes(-len(data) % _ALIGNED)]
            at += len(data) + -len(data) % _ALIGNED
        header = {
            "kind": self.form.schema.kind,
            "schema_version": SCHEMA_VERSION,
            "host": _HOST,
            **self.marks,
            "columns": columns,
        }
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-(len(text) + _HEAD.size) % _ALIGNED)
        digest = hashlib.sha256(text)
        for piece in pieces:
            digest.update(piece)
        head = _HEAD.pack(MAGIC, len(text), at, digest.digest())
        begun, first = self._size, not self._size
        self._append(b"".join((head, text, *pieces)), first)
        return _part(self.path.name, begun, stored.__getitem__, _HOST, self.form)

    def _columns(
        self, batch: Batch, children: Children, rows: np.ndarray
    ) -> Iterator[tuple[str, Column | None, np.ndarray]]:
        yield "rows", None, np.asarray(rows, np.int64)
        for prefix, columns in self.form.tables().items():
            arrays = children[prefix[:-1]] if prefix else batch
            for column in columns:
                yield prefix + column.path, column, arrays[column.path]

    def _append(self, data: bytes, first: bool) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW
        flags |= os.O_CREAT | os.O_EXCL if first else 0
        with disk_errors(self.path):
            # opened each time: a folder that is gone must be told
            handle = os.open(self.path, flags, 0o666)
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(handle, left) :]
                os.fsync(handle)
            except OSError:
                if not first:
                    os.ftruncate(handle, self._size)
                else:
                    self.path.unlink(missing_ok=True)
                raise
            finally:
                os.close(handle)
            if first:
                sync_folder(self.path.parent)
        self._size += len(data)


def look(path: Path, form: Form, marks: Mapping[str, tuple[str, ...]]) -> Found:
    """What lies in a part file; every checksum is computed again.

    Parameters
    ----------
    marks
        Values that are allowed for each mark.

    Raises
    ------
    RcError
        The file system cannot read it.
    """
    if path.is_symlink():
        return Found(problem="a symbolic link, which is not followed")
    found = Found()
    try:
        data = _mapped(path)
        for at, problem in _records(data):
            if problem == _TORN:
                found.torn = len(data) - at
            elif problem:
                found.damaged.append(f"{problem} (from byte {at} on)")
            else:
                _take(found, path, at, form, marks)
            if found.problem:
                return Found(problem=found.problem)
    except OSError as error:
        # The file system's fault, not the part's.
        raise RcError(
            f"{path}: cannot be read ({os.strerror(error.errno or 0)}); no part was touched"
        ) from error
    if found.damaged and not found.parts and data[: len(MAGIC)] != MAGIC:
        return Found(problem="not a part written by rc_hpc")
    return found


def _take(
    found: Found, path: Path, at: int, form: Form, marks: Mapping[str, tuple[str, ...]]
) -> None:
    try:
        part = PartFile(path, at)
        found.problem = _mismatch(part._header, form, marks)
        if not found.problem:
            found.parts.append(_part(path.name, at, part.raw, part.host, form))
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        found.damaged.append(f"damaged: {type(error).__name__}: {error} (from byte {at} on)")


_TORN = "torn"


def _records(data: bytes | mmap.mmap) -> Iterator[tuple[int, str]]:
    """Where records begin, and what is wrong with each: '' for nothing."""
    at, size = 0, len(data)
    while at < size:
        following = data.find(MAGIC, at + 1)
        if size - at < _HEAD.size or data[at : at + len(MAGIC)] != MAGIC:
            whole = data[at : at + len(MAGIC)] == MAGIC[: size - at]
            yield at, _TORN if whole and following < 0 else "damaged: no record begins here"
        else:
            _, header, body, digest = _HEAD.unpack_from(data, at)
            end = at + _HEAD.size + header + body
            if end > size:
                yield at, _TORN if following < 0 else "damaged: its length is not its own"
            elif hashlib.sha256(memoryview(data)[at + _HEAD.size : end]).digest() != digest:
                yield at, "damaged: its bytes do not match their checksum"
            else:
                yield at, ""
                at = end
                continue
        if following < 0:
            return
        at = following


def _header(data: bytes | mmap.mmap, at: int) -> tuple[dict[str, Any], int]:
    _, header, _, _ = _HEAD.unpack_from(data, at)
    start = at + _HEAD.size
    return json.loads(data[start : start + header]), start + header


def _part(file: str, at: int, raw: Callable[[str], np.ndarray], host: str, form: Form) -> Part:
    rows = raw("rows")
    sizes = {
        table: np.bincount(raw(f"{table}/structure"), minlength=len(rows)).astype(np.int32)
        for table in form.schema.children
    }
    longest = {
        prefix + column.path: raw(prefix + column.path).dtype.itemsize
        for prefix, columns in form.tables().items()
        for column in columns
        if column.dtype == TEXT
    }
    ids = raw("structures/id")
    keys = ids.astype(f"S{min(KEY_BYTES, ids.dtype.itemsize)}")
    return Part(file, at, rows.copy(), sizes, longest, keys, host)


def _mismatch(header: dict[str, Any], form: Form, marks: Mapping[str, tuple[str, ...]]) -> str:
    schema = form.schema
    if (header.get("kind"), header.get("schema_version")) != (schema.kind, SCHEMA_VERSION):
        return f"not a part of kind {schema.kind!r}, version {SCHEMA_VERSION}"
    for name, allowed in marks.items():
        if header.get(name) not in allowed:
            return {
                "identity_hash": "from a run with other options or another input",
                "code": f"from a run of other code (fingerprint {header.get('code')})",
            }[name]
    columns = header["columns"]
    n = columns["rows"][1][0]
    expected = {"rows"}
    for prefix, wanted in form.tables().items():
        rows = columns[f"{prefix}structure"][1][0] if prefix else n
        for column in wanted:
            path = prefix + column.path
            expected.add(path)
            dtype, shape, _ = columns[path]
            text = column.dtype == TEXT
            same = dtype.startswith("|S") if text else np.dtype(dtype) == column.numpy_dtype
            if tuple(shape) != shape_of(column, rows, form.dims) or not same:
                return f"{path}: wrong shape or type"
    return "" if expected == columns.keys() else "holds other datasets than the schema"


def _mapped(path: Path) -> bytes | mmap.mmap:
    """A part file as it is now, mapped into memory."""
    state = os.stat(path)
    return _map(str(path), state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=128)
def _map(path: str, device: int, inode: int, size: int, mtime_ns: int) -> bytes | mmap.mmap:
    if not size:
        return b""
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
