"""One run at a time: an advisory lock on a file, which ends with its process."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
from pathlib import Path

from rc_hpc.core.errors import RcError
from rc_hpc.core.files import refuse_link


class FileLock:
    """A file, open and locked until `release` or the end of the process.

    On a file system without locks it is held as if no other run were there.

    Parameters
    ----------
    path
        Made where it is missing.
    shown
        What the message names; by default the file.
    shared
        Others may hold it too, as long as all of them share it.
    content
        The file is there for what it holds, and is opened to append to. By default it is there
        for the lock: the name of its holder is written into it, and `release` removes it.

    Attributes
    ----------
    handle : int
        Descriptor of the file.

    Raises
    ------
    RcError
        Another process holds it; names that process, as far as it is known, and the cure.
    OSError
        The file cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        shown: Path | None = None,
        *,
        shared: bool = False,
        content: bool = False,
    ):
        self.path, self.content = path, content
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | (os.O_APPEND if content else 0)
        mode = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB
        while True:
            refuse_link(path)
            self.handle = os.open(path, flags, 0o666)
            if not stat.S_ISREG(os.fstat(self.handle).st_mode):
                os.close(self.handle)
                raise RcError(f"{path} is no regular file: remove it, or name another output")
            try:
                fcntl.flock(self.handle, mode)
            except BlockingIOError:
                problem = self._problem(shown or path)
                os.close(self.handle)
                raise problem from None
            except OSError:
                return
            if self._in_place():
                break
            os.close(self.handle)  # its last holder has just removed it, or set it aside
        if not content:
            holder = f"process {os.getpid()} on {socket.gethostname()}\n".encode()
            os.ftruncate(self.handle, 0)
            os.pwrite(self.handle, holder, 0)

    def _problem(self, shown: Path) -> RcError:
        said = f"{shown}: another run is at work there"
        cure = "wait for its end or stop it, or name another --output"
        if self.content:
            return RcError(f"{said}: {cure}")
        holder = os.read(self.handle, 200).decode(errors="replace").strip() or "another process"
        return RcError(f"{said} ({holder}): {cure}; if there is none, remove {self.path}")

    def _in_place(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self.handle), os.lstat(self.path))
        except FileNotFoundError:
            return False

    def _alone(self) -> bool:
        """Whether no other process shares the lock."""
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def release(self) -> None:
        """Let others in."""
        if not self.content and self._alone():
            self.path.unlink(missing_ok=True)
        os.close(self.handle)
