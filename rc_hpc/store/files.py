"""Files that exist whole or not at all: temporary name, fsync, rename, fsync of the folder."""

from __future__ import annotations

import errno
import glob
import hashlib
import io
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import h5py

from rc_hpc.core.errors import RcError

_HOST = socket.gethostname().replace(".", "-")
#: Temporary files of other hosts are leftovers at this age, s: none is written for longer without a change.
_STALE = 3600.0
#: Length of the user block: the smallest that HDF5 allows.
_SEAL_BYTES = 512
_SEAL_MARK = b"rc_hpc part, HDF5 after 512 bytes\nsha256 of the rest "
_FULL = (errno.ENOSPC, errno.EDQUOT)


class _Sink(io.RawIOBase):
    """File object below HDF5 that remembers the first failed write and drops what follows.

    HDF5 cannot close a file that the disk refuses: it keeps the descriptor open, so
    the space stays taken, and the process may crash at exit. With this in between
    HDF5 always closes, and the error is raised afterwards.
    """

    def __init__(self, path: Path):
        super().__init__()
        self.raw = open(path, "w+b", buffering=0)
        self.error: OSError | None = None

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset, whence=os.SEEK_SET):
        return self.raw.seek(offset, whence)

    def readinto(self, buffer) -> int:
        view, done = memoryview(buffer), 0
        while done < len(view) and (got := self.raw.readinto(view[done:])):
            done += got
        view[done:] = bytes(len(view) - done)  # HDF5 expects zeros beyond the end
        return len(view)

    def write(self, data) -> int:
        view = memoryview(data)
        size = len(view)
        try:
            while view and self.error is None:
                view = view[self.raw.write(view) :]
        except OSError as error:
            self.error = error
        return size

    def truncate(self, size=None) -> int:
        try:
            if self.error is None:
                self.raw.truncate(size)
        except OSError as error:
            self.error = error
        return size

    def sync(self) -> None:
        """Bring everything to the disk; raises the first error met so far."""
        if self.error is not None:
            raise self.error
        os.fsync(self.raw.fileno())

    def close(self) -> None:
        if not self.closed:
            self.raw.close()
        super().close()


class NewFile(h5py.File):
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
    with _appear(path) as temporary:
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


def write_whole(path: Path, data: bytes, durable: bool = True) -> None:
    """Write a small file so that it exists whole or not at all.

    Without `durable` that holds for a kill but not for a power loss: for many files that can
    be made again, since waiting for the disk may take longer than making them.
    """
    with _appear(path, durable) as temporary, open(temporary, "wb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def _appear(path: Path, durable: bool = True) -> Iterator[Path]:
    temporary = path.with_name(f".{path.name}.{_HOST}.{os.getpid()}.tmp")
    with disk_errors(path):
        try:
            yield temporary
            os.replace(temporary, path)
            if durable:
                sync_folder(path.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into an RcError that names `path` and the cure."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            cure = "free space or quota there, or choose another --output; finished parts are kept, go on with --resume"
        else:
            cure = "check that the folder exists and is writable; finished parts are kept, go on with --resume"
        raise RcError(
            f"{path}: cannot be written ({os.strerror(error.errno) if error.errno else error}): {cure}"
        ) from error


def sync_folder(folder: Path) -> None:
    """Make renames in `folder` survive a power loss."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def clean_leftovers(folder: Path, name: str | None = None) -> list[str]:
    """Remove temporary files whose writer is dead; only one process may call this.

    Parameters
    ----------
    name
        Only those that were to become the file of this name.

    Returns
    -------
    list of str
        The names removed.
    """
    removed = []
    wanted = "*" if name is None else glob.escape(name)
    for path in sorted(folder.glob(f".{wanted}.*.*.tmp")):
        *_, host, pid, _ = path.name.split(".")
        try:
            stale = time.time() - path.stat().st_mtime > _STALE
            if (host == _HOST and not _alive(pid)) or (host != _HOST and stale):
                path.unlink()
                removed.append(path.name)
        except FileNotFoundError:
            continue  # its writer has just finished
    return removed


def _alive(pid: str) -> bool:
    if not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
