"""HDF5 files that exist whole or not at all, and the checksum in front of those that are parts."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import h5py

from rc_hpc.core.files import appear

#: Length of the user block: the smallest that HDF5 allows.
_SEAL_BYTES = 512
_SEAL_MARK = b"rc_hpc part, HDF5 after 512 bytes\nsha256 of the rest "


class _Sink(io.RawIOBase):
    """File object below HDF5 that remembers the first failed write and drops what follows.

    HDF5 cannot close a file that the disk refuses: it keeps the descriptor open, so
    the space stays taken, and the process may crash at exit. With this in between
    HDF5 always closes, and the error is raised afterwards.
    """

    def __init__(self, path: Path):
        super().__init__()
        self.raw = open(path, "w+b", buffering=0)  # noqa: SIM115 - close() does it
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

    def __init__(self, path: Path, user_block: int = 0):
        self.sink = _Sink(path)
        super().__init__(self.sink, "w", userblock_size=user_block)

    def check_disk(self) -> None:
        """Raise the OSError that a write has met, if any: long writers stop early."""
        if self.sink.error is not None:
            raise self.sink.error


@contextmanager
def new_h5(path: Path, sealed: bool = False) -> Iterator[NewFile]:
    """A new HDF5 file that appears under `path` when the block ends well.

    A `sealed` one carries a checksum of its bytes in front of them (in HDF5's user block),
    because HDF5 may crash the process on a damaged file: see `seal_problem`.
    """
    with appear(path) as temporary:
        h5 = NewFile(temporary, _SEAL_BYTES if sealed else 0)
        try:
            with h5:
                yield h5
            h5.check_disk()
            if sealed:
                write_seal(h5.sink.raw)
            h5.sink.sync()
        except Exception:
            h5.check_disk()  # the cause, whatever HDF5 made of it
            raise
        finally:
            h5.sink.close()


def write_seal(file: BinaryIO) -> None:
    """Write the checksum of what follows the user block into it."""
    file.write(_seal(file).ljust(_SEAL_BYTES, b"\n"))


def seal_problem(path: Path) -> str:
    """Why a sealed file must not be opened, or an empty string."""
    with open(path, "rb") as file:
        found = file.read(_SEAL_BYTES)
        if not found.startswith(_SEAL_MARK):
            return "not a part written by rc_hpc"
        return (
            ""
            if found.rstrip(b"\n") == _seal(file)
            else "truncated or changed: its bytes do not match its checksum"
        )


def _seal(file: BinaryIO) -> bytes:
    file.seek(_SEAL_BYTES)
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    file.seek(0)
    return _SEAL_MARK + digest.hexdigest().encode()
