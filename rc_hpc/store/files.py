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
_MARK = b"\nrc_hpc seal: sha256 of the sha256 of each 64 KiB before this line "
_SEAL_BYTES = len(_MARK) + 64 + 1
#: Bytes of a file that are hashed by themselves, so that many can do it together.
SEALED = 1 << 16
#: First bytes of what stands for data that others will write.
_ABSENT = os.urandom(16)


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
        #: Where data that others will write belong, in the order in which HDF5 has placed them.
        self.absent: list[int] = []
        self._at = 0
        self._absent = _ABSENT

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            offset += os.fstat(self.raw.fileno()).st_size
        self._at = offset + (self._at if whence == os.SEEK_CUR else 0)
        return self._at

    def readinto(self, buffer: Any) -> int:
        view, done = memoryview(buffer), 0
        while done < len(view) and (
            got := os.preadv(self.raw.fileno(), [view[done:]], self._at + done)
        ):
            done += got
        view[done:] = bytes(len(view) - done)  # HDF5 expects zeros beyond the end
        self._at += len(view)
        return len(view)

    def placeholder(self, size: int) -> memoryview:
        """Bytes that stand for others: they are not written, `absent` tells where they belong."""
        if size > len(self._absent):
            self._absent = _ABSENT + bytes(2 * size)
        return memoryview(self._absent)[:size]

    def write(self, data: Any) -> int:
        view = memoryview(data)
        size, at = len(view), self._at
        self._at += size
        if view[: len(_ABSENT)] == _ABSENT[:size]:
            self.absent.append(at)
            return size
        try:
            while view and self.error is None:
                done = os.pwrite(self.raw.fileno(), view, at)
                view, at = view[done:], at + done
        except OSError as error:
            self.error = error
        return size

    def truncate(self, size: int | None = None) -> int:
        try:
            if self.error is None:
                self.raw.truncate(self._at if size is None else size)
        except OSError as error:
            self.error = error
        return self._at if size is None else size

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
        with unsealed_h5(temporary) as h5:
            yield h5
        with open(temporary, "r+b") as file:
            write_seal(file)


@contextmanager
def unsealed_h5(temporary: Path) -> Iterator[NewFile]:
    """A new HDF5 file under a name that it will not keep; it is on the disk after the block."""
    h5 = NewFile(temporary)
    try:
        with h5:
            yield h5
        h5.sink.sync()
    except Exception:
        h5.check_disk()  # the cause, whatever HDF5 made of it
        raise
    finally:
        h5.sink.close()


def write_seal(file: BinaryIO, hashes: bytes | None = None) -> None:
    """Write the checksum of a file behind its end; it is on the disk then.

    Parameters
    ----------
    hashes
        Those of its pieces, see `hashes_of`; by default made here.
    """
    size = file.seek(0, os.SEEK_END)
    seal = seal_of(hashes_of(file, size) if hashes is None else hashes)
    file.seek(size)
    file.write(seal)
    file.flush()
    os.fsync(file.fileno())


def hashes_of(file: BinaryIO, size: int, start: int = 0, stop: int | None = None) -> bytes:
    """SHA-256 of each piece of `SEALED` bytes of the first `size` bytes of a file, joined.

    Parameters
    ----------
    start, stop
        Only of the pieces that end after `start` and not after `stop`, or at the end of all: those
        of stretches that follow each other, joined, are those of the file.
    """
    first, last = start // SEALED, size if stop is None else stop
    last = -(-size // SEALED) if last == size else last // SEALED
    file.seek(first * SEALED)
    found = []
    for piece in range(first, last):
        block = file.read(min(SEALED, size - piece * SEALED))
        found.append(hashlib.sha256(block).digest())
    return b"".join(found)


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
        end, found = sealed(file, size)
        if not found:
            return None
        if found == seal_of(hashes_of(file, end)):
            return ""
        return "damaged: its bytes do not match the checksum at their end"


def sealed(file: BinaryIO, size: int) -> tuple[int, bytes]:
    """Where the seal of a file of so many bytes begins, and the seal; empty where it has none."""
    end = max(0, size - _SEAL_BYTES)
    file.seek(end)
    found = file.read()
    return end, found if found.startswith(_MARK) else b""


def seal_of(hashes: bytes) -> bytes:
    """The seal of a file from the hashes of its pieces."""
    return _MARK + hashlib.sha256(hashes).hexdigest().encode() + b"\n"
