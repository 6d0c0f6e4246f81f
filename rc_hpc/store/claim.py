"""One run at a time at work on an output."""

from __future__ import annotations

import contextlib
from pathlib import Path

from rc_hpc.core.files import disk_errors, refuse_link
from rc_hpc.core.lock import FileLock

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
        self._locks: list[FileLock] = []
        refuse_link(self.folder)
        with disk_errors(self.folder):
            self.folder.mkdir(exist_ok=True)
            try:
                self._take(LOCK, shared=shard is not None)
                if shard is not None:
                    self._take(f"{LOCK}-{shard[0]}-of-{shard[1]}")
            except BaseException:
                self.release()
                raise

    def _take(self, name: str, shared: bool = False) -> None:
        self._locks.append(FileLock(self.folder / name, self.folder, shared=shared))

    def release(self) -> None:
        """Let other runs in; removes the folder if nothing but the lock is in it."""
        while self._locks:
            self._locks.pop().release()
        with contextlib.suppress(OSError):  # it holds something, or is gone
            self.folder.rmdir()
