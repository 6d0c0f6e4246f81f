"""HDF5 files that exist whole or not at all, and the checksum behind them."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import h5py

from rc_hpc.core.files import appear

#: Stands behind the HDF5, which ends where it says itself; a program that changes a file drops it.
_MARK = b"\nrc_hpc seal: sha256 of all bytes before this line "
_SEAL_BYTES = len(_MARK) + 64 + 1


class _Sink(io.RawIOBase):
    """File object below HDF5 that remembers the first failed write and drops what follows.

    HDF5 cannot close a file that the disk refuses: it keeps the descriptor open, so
    the space stays taken, and the process may crash at exit. With this in between
    HDF5 always closes, and the error is raised afterwards.
    """

    def __init__(self, path: Path):
        super().__init__()
        self.raw = open(path, "x+b", buffering=0)  # noqa: SIM115 - close() does it
        self.error: OSError | None = None

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self.raw.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        view, done = memoryview(buffer), 0
        while done < len(view) and (got := self.raw.readinto(view[done:])):
            done += got
        view[done:] = bytes(len(view) - done)  # HDF5 expects zeros beyond the end
        return len(view)

    def write(self, data: Any) -> int:
        view = memoryview(data)
        size = len(view)
        try:
            while view and self.error is None:
                view = view[self.raw.write(view) :]
        except OSError as error:
            self.error = error
        return size

    def truncate(self, size: int | None = None) -> int:
        try:
            if self.error is None:
                self.raw.truncate(size)
        except OSError as error:
            self.error = error
        return self.raw.tell() if size is None else size

    def sync(self) -> None:
        """Bring everything to the disk; raises the first error met so far."""
        if self.error is not None:
            raise self.error
        os.fsync(self.raw.fileno())

    def close(self) -> None:
        if not self.closed:
            self.raw.close()
        super().close()


class NewFile(h5py.File):  # type: ignore[misc]
    """An HDF5 file being written."""

    def __init__(self, path: Path):
        self.sink = _Sink(path)
        super().__init__(self.sink, "w")

    def check_disk(self) -> None:
        """Raise the OSError that a write has met, if any: long writers stop early."""
        if self.sink.error is not None:
            raise self.sink.error


@contextmanager
def new_h5(path: Path) -> Iterator[NewFile]:
    """A new HDF5 file that appears under `path` when the block ends well.

    It ends with a checksum of its bytes, because HDF5 may crash, hang or tell other things of a
    damaged file: see `seal_problem`.
    """
    with appear(path) as temporary:
        h5 = NewFile(temporary)
        try:
            with h5:
                yield h5
            h5.check_disk()
            write_seal(h5.sink.raw)
            h5.sink.sync()
        except Exception:
            h5.check_disk()  # the cause, whatever HDF5 made of it
            raise
        finally:
            h5.sink.close()


def write_seal(file: BinaryIO) -> None:
    """Write the checksum of a file behind its end."""
    size = file.seek(0, os.SEEK_END)
    seal = _seal(file, size)
    file.seek(size)
    file.write(seal)


#: Files that another process of the same run has checked, with size and time of change.
_TRUSTED: set[tuple[str, int, int]] = set()


def state_of(path: str | Path) -> tuple[str, int, int]:
    """What tells whether a file is still the one that was checked."""
    state = os.stat(path)
    return os.path.realpath(path), state.st_size, state.st_mtime_ns


def trust(state: tuple[str, int, int]) -> None:
    """Take a file for checked, as long as it is in this state."""
    _TRUSTED.add(state)


def seal_problem(path: str | Path) -> str | None:
    """Why a file must not be opened; empty where its bytes are what was written.

    None where it has no seal: an older version wrote it, another program, or its end is missing.
    """
    if _TRUSTED and state_of(path) in _TRUSTED:
        return ""
    state = os.stat(path)
    return _seal_problem(str(path), state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=1 << 12)
def _seal_problem(path: str, device: int, inode: int, size: int, mtime_ns: int) -> str | None:
    """Read a file once a process, unless it has been changed since."""
    with open(path, "rb") as file:
        end = max(0, size - _SEAL_BYTES)
        file.seek(end)
        found = file.read()
        if not found.startswith(_MARK):
            return None
        if found == _seal(file, end):
            return ""
        return "damaged: its bytes do not match the checksum at their end"


def _seal(file: BinaryIO, size: int) -> bytes:
    """The seal of the first `size` bytes of a file."""
    file.seek(0)
    digest = hashlib.sha256()
    left = size
    while left and (block := file.read(min(left, 1 << 20))):
        digest.update(block)
        left -= len(block)
    return _MARK + digest.hexdigest().encode() + b"\n"
