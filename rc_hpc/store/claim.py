"""One run at a time at work on an output: an advisory lock that ends with its process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from pathlib import Path

from rc_hpc.core.errors import RcError
from rc_hpc.core.files import disk_errors

#: Start of the names of lock files in a parts folder.
LOCK = "lock"


class Claim:
    """The right to work in a parts folder, held until `release` or the end of the process.

    Parameters
    ----------
    folder
        Parts folder; created where it is missing, in a folder that exists.
    shard
        Several shards may be at work together, but each only once, and nothing beside them.

    Raises
    ------
    RcError
        Another run holds it; names that run and the cure.
    """

    def __init__(self, folder: str | Path, shard: tuple[int, int] | None = None):
        self.folder = Path(folder)
        self._locks: list[tuple[int, Path]] = []
        with disk_errors(self.folder):
            self.folder.mkdir(exist_ok=True)
            try:
                self._take(LOCK, fcntl.LOCK_EX if shard is None else fcntl.LOCK_SH)
                if shard is not None:
                    self._take(f"{LOCK}-{shard[0]}-of-{shard[1]}", fcntl.LOCK_EX)
            except BaseException:
                self.release()
                raise

    def _take(self, name: str, mode: int) -> None:
        path = self.folder / name
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(handle, mode | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(handle, 200).decode(errors="replace").strip() or "another process"
                os.close(handle)
                raise RcError(
                    f"{self.folder}: another run is at work there ({holder}): wait for its end or stop it, or name "
                    f"another --output; if there is none, remove {path}"
                ) from None
            except OSError:  # a file system without locks: go on as if alone
                os.close(handle)
                return
            if path.exists() and os.path.samestat(os.fstat(handle), os.stat(path)):
                break
            os.close(handle)  # its last holder has just removed it
        self._locks.append((handle, path))
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)

    def release(self) -> None:
        """Let other runs in; removes the folder if nothing but the lock is in it."""
        while self._locks:
            handle, path = self._locks.pop()
            if _alone(handle):
                path.unlink(missing_ok=True)
            os.close(handle)
        with contextlib.suppress(OSError):  # it holds something, or is gone
            self.folder.rmdir()


def _alone(handle: int) -> bool:
    """Whether no other process shares the lock."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
