"""Files that exist whole or not at all: temporary name, fsync, rename, fsync of the folder."""

from __future__ import annotations

import errno
import glob
import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rc_hpc.core.errors import RcError, UsageError

_HOST = socket.gethostname().replace(".", "-")
#: Temporary files of other hosts are leftovers at this age, s: none is written for longer
#: without a change.
_STALE = 3600.0
_FULL = (errno.ENOSPC, errno.EDQUOT)
#: Bytes in which a file says what wrote it.
HEAD = 1 << 16


def name_a_file(path: Path, flag: str = "-o") -> None:
    """Refuse a folder where a file is written.

    Raises
    ------
    UsageError
    """
    if path.is_dir():
        raise UsageError(f"{flag} {path} is a folder: name a file in it")
    if path.parent != path:
        name_a_folder(path.parent, flag)


def name_a_folder(path: Path, flag: str = "-o") -> None:
    """Refuse a file where a folder is written into, or lies on the way to it.

    Raises
    ------
    UsageError
    """
    for one in (path, *path.parents):
        if one.exists() or one.is_symlink():
            if not one.is_dir():
                raise UsageError(f"{flag} {path}: {one} is a file: name a folder")
            return


def spare_others(path: Path, mark: bytes, flag: str = "-o") -> None:
    """Refuse to write over a file that does not say at its head that it is one of these.

    Raises
    ------
    UsageError
    """
    if path.is_file() and path.stat().st_size:
        with open(path, "rb") as file:
            if mark in file.read(HEAD):
                return
        raise UsageError(
            f"{path} is there and was not written by this command: it is left as it is; choose "
            f"another {flag}, or move it away"
        )


def write_whole(path: Path, data: bytes, durable: bool = True, run: bool = True) -> None:
    """Write a small file so that it exists whole or not at all.

    Without `durable` that holds for a kill but not for a power loss: for many files that can
    be made again, since waiting for the disk may take longer than making them.
    """
    with appear(path, durable, run) as temporary, open(temporary, "xb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def appear(path: Path, durable: bool = True, run: bool = True) -> Iterator[Path]:
    """Path of a temporary file that takes the name `path` when the block ends well.

    See `write_whole` and `disk_errors`.
    """
    temporary = path.with_name(f".{path.name}.{_HOST}.{os.getpid()}.tmp")
    with disk_errors(path, run):
        temporary.unlink(missing_ok=True)  # of a dead process of this number, or a planted link
        try:
            yield temporary
            os.replace(temporary, path)
            if durable:
                sync_folder(path.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def refuse_link(path: Path) -> None:
    """Refuse a symbolic link where a run writes what is its own: it would lead elsewhere.

    Raises
    ------
    RcError
    """
    if path.is_symlink():
        raise RcError(
            f"{path} is a symbolic link, which is not followed: remove it, or name another output"
        )


def read_regular(path: Path, limit: int) -> bytes:
    """The bytes of a regular file; of a link, device or queue nothing is read.

    Parameters
    ----------
    limit
        Bytes that it may have.

    Raises
    ------
    OSError
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(handle, "rb") as file:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        if state.st_size > limit:
            raise OSError(errno.EFBIG, f"it has {state.st_size} bytes, more than {limit}")
        return file.read()


@contextmanager
def disk_errors(path: Path, run: bool = True) -> Iterator[None]:
    """Turn an OSError of the block into an RcError that names `path` and the cure.

    Parameters
    ----------
    run
        Whether it is a run's, which has finished parts.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            cure = "free space or quota there, or choose another --output"
        else:
            cure = "check that the folder exists and is writable"
        why = os.strerror(error.errno) if error.errno else error
        kept = "; finished parts are kept, go on with --resume" if run else ""
        raise RcError(f"{path}: cannot be written ({why}): {cure}{kept}") from error


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


def parts_folder(output: str | Path) -> Path:
    """Folder of the parts of `output`."""
    output = Path(output)
    return output.with_name(output.name + ".parts")
