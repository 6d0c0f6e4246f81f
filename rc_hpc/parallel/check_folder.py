"""Does the file system under a folder keep the promises that runs rest on?

Runs rename whole files over old ones, lock one file against a second run, ask for what is written
to be on the disk, link a snapshot into place, write one file from all ranks, and need room.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from rc_hpc.core.files import sync_folder
from rc_hpc.parallel.launch import Comm

#: What an operation is for, and what to do where a file system lacks it, by its name.
_CURES = {
    "rename": "files are written whole and renamed: choose a folder on a POSIX file system",
    "fsync": "what a run has done would not outlive a crash of the node: choose another folder",
    "lock": "a second run on the same output would not be refused: never start two at once, or "
    "mount it with locks (NFS: nfsvers=4 or lockd; Lustre: -o flock)",
    "link": "snapshots of the Materials Project cannot be put into place, and scene packages copy "
    "pictures instead: choose another folder for these",
    "share": "ranks write their own places in one file at the end of a run: choose another folder, "
    "or run on one node",
}
#: Bytes that a rank writes beside those of the next, of no page's size, and how often.
_PIECE, _ROUNDS = 1000, 64


def folder_faults(comm: Comm, folder: Path, needed: int = 0) -> list[str]:
    """What is wrong with a folder for results; alike on all ranks.

    Parameters
    ----------
    folder
        All ranks can write into it.
    needed
        Bytes that a run will want there.
    """
    faults = comm.allgather(_faults(folder))
    wrong = [
        f"rank {rank}: {text}"
        for rank, texts in enumerate(faults)
        for text in texts
        if text not in {one for earlier in faults[:rank] for one in earlier}
    ]
    wrong += _lock_faults(comm, folder)
    wrong += _share_faults(comm, folder)
    free = comm.bcast(free_bytes(folder) if comm.rank == 0 else None)
    if free < needed:
        wrong.append(
            f"{folder.absolute()} has {size(free)} free, the run wants some {size(needed)}: make "
            "room, or name another folder with -o"
        )
    return wrong


def free_bytes(folder: Path) -> int:
    """Bytes that this user may still write there; quotas are not in it."""
    facts = os.statvfs(folder)
    return facts.f_bavail * facts.f_frsize


def size(n_bytes: float) -> str:
    """A number of bytes in words."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= scale:
            return f"{n_bytes / scale:.3g} {unit}"
    return f"{n_bytes / 1e3:.3g} kB"


def _faults(folder: Path) -> list[str]:
    """What this process finds of rename, fsync and link."""
    found = []
    with tempfile.TemporaryDirectory(prefix=".rc_hpc-check-", dir=folder) as place:
        for name, works in (("rename", _renames), ("fsync", _syncs), ("link", _links)):
            if why := _tried(works, Path(place)):
                found.append(f"{folder.absolute()}: {name}: {why}: {_CURES[name]}")
    return found


def _tried(works: Callable[[Path], str], place: Path) -> str:
    try:
        return works(place)
    except OSError as error:
        return error.strerror or str(error)


def _renames(place: Path) -> str:
    old, new = place / "old", place / "new"
    old.write_bytes(b"old")
    new.write_bytes(b"new")
    with open(old, "rb") as reader:  # who reads the old file reads on
        os.replace(new, old)
        if reader.read() != b"old":
            return "a file that is read was changed by it"
    if old.read_bytes() != b"new" or new.exists():
        return "the new file is not in the place of the old one"
    return ""


def _syncs(place: Path) -> str:
    with open(place / "synced", "wb") as file:
        file.write(b"synced")
        file.flush()
        os.fsync(file.fileno())
    sync_folder(place)
    return ""


def _links(place: Path) -> str:
    first, second = place / "first", place / "second"
    first.write_bytes(b"linked")
    os.link(first, second)
    if second.read_bytes() != b"linked":
        return "the second name shows something else"
    try:
        os.link(first, second)
    except FileExistsError:
        return ""
    return "it puts a file over another"


def _lock_faults(comm: Comm, folder: Path) -> list[str]:
    """Whether a lock that rank 0 holds is refused to all others, and to itself."""
    path = handle = None
    if comm.rank == 0:
        handle, name = tempfile.mkstemp(prefix=".rc_hpc-lock-", dir=folder.absolute())
        path = Path(name)
        why = _tried(lambda _: _locks(handle), folder)
    else:
        why = ""
    path, why = comm.bcast((path, why))
    taken = [] if why else comm.allgather(_takes(path))
    comm.barrier()
    if handle is not None:
        os.close(handle)
        path.unlink(missing_ok=True)
    if not why and any(taken):
        why = f"rank {taken.index(True)} gets a lock that rank 0 holds"
    return [f"{folder.absolute()}: lock: {why}: {_CURES['lock']}"] if why else []


def _share_faults(comm: Comm, folder: Path) -> list[str]:
    """Whether one file holds all that the ranks write, each into its own places."""
    path = None
    if comm.rank == 0:
        handle, name = tempfile.mkstemp(prefix=".rc_hpc-share-", dir=folder.absolute())
        os.close(handle)
        path = Path(name)
    path = comm.bcast(path)
    told = comm.allgather(_tried(lambda place: _writes(place, comm.rank, comm.size), path))
    why = next((f"rank {rank}: {text}" for rank, text in enumerate(told) if text), "")
    if comm.rank == 0:
        wanted = b"".join(_piece(rank) for rank in range(comm.size)) * _ROUNDS
        if not why and path.read_bytes() != wanted:
            why = "bytes are not those that their rank wrote"
        path.unlink(missing_ok=True)
    why = comm.bcast(why)
    return [f"{folder.absolute()}: share: {why}: {_CURES['share']}"] if why else []


def _piece(rank: int) -> bytes:
    return bytes([1 + rank % 255]) * _PIECE


def _writes(path: Path, rank: int, size: int) -> str:
    with open(path, "r+b", buffering=0) as file:
        for number in range(_ROUNDS):
            os.pwrite(file.fileno(), _piece(rank), (number * size + rank) * _PIECE)
    return ""


def _locks(handle: int) -> str:
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return ""


def _takes(path: Path) -> bool:
    handle = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
