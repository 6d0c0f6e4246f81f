"""The journal: every reply on disk before it counts, and read again by a later run.

Lines are JSON: ``{"run": ...}`` when a run begins, ``{"sent": key}`` when a request goes out,
``{"back": key}`` when it is put off between two attempts, and the record of a request with its
``key`` when its answer, or its failure, is there. A request that went out and has neither was in
flight when its run died: it is asked again, and may have been billed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.files import sync_folder, write_whole
from rc_hpc.core.lock import FileLock
from rc_hpc.core.vocabulary import Outcome
from rc_hpc.store.conditions import check_conditions

log = logging.getLogger("rc_hpc")

#: Outcomes that cost something, or that cannot be another: never asked again.
PAID = (Outcome.answered, Outcome.refused, Outcome.empty_by_length)


#: Beginning of the first line.
_FIRST = b'{"run": {'


@dataclass
class Contents:
    """What a journal holds.

    Attributes
    ----------
    identity
        What its first run was about; None in an empty one.
    places
        Offset in the file of the valid record of each key, and its outcome.
    lost
        Keys of requests that went out and neither came back nor were put off.
    good_bytes
        Where the last whole line ends.
    n_repeated
        Records of a paid key beyond the first.
    """

    identity: dict | None = None
    places: dict[str, tuple[int, Outcome]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    good_bytes: int = 0
    n_repeated: int = 0


def read_journal(path: Path) -> Contents:
    """Index of a journal; a last line that a killed run has left torn is left out.

    Raises
    ------
    RcError
        It is none, or a line before the end is damaged; names it.
    """
    contents = Contents()
    try:
        with open(path, "rb") as file:
            place, torn = 0, 0
            for number, line in enumerate(file, 1):
                if not _enter(contents, line, place):
                    torn = torn or number
                    if (
                        line.endswith(b"\n")
                        and line.strip(b"\0\n")
                        and (number > torn or number == 1)
                    ):
                        raise RcError(_foreign(path, torn, contents))
                elif torn:
                    raise RcError(
                        f"{path}: line {torn} is damaged and whole lines follow it: restore the "
                        "file, or remove that line"
                    )
                else:
                    contents.good_bytes = place + len(line)
                place += len(line)
            if torn == 1 and not _begun(path):
                raise RcError(_foreign(path, torn, contents))
    except OSError as error:
        raise RcError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    return contents


def _foreign(path: Path, line: int, contents: Contents) -> str:
    what = "is no journal" if line == 1 and not contents.good_bytes else "is not wholly a journal"
    return (
        f"{path} {what} of rc_hpc: line {line} is none of its lines: nothing was changed; name "
        "another -o, or move out what is not the journal's"
    )


def _begun(path: Path) -> bool:
    """Whether the one line of a file is the torn beginning of a journal."""
    with open(path, "rb") as file:
        start = file.read(len(_FIRST))
    return not start.strip(b"\0") or _FIRST.startswith(start)


def _enter(contents: Contents, line: bytes, place: int) -> bool:
    """Take in a line; whether it is a whole one of a journal."""
    if not line.endswith(b"\n"):
        return False
    try:
        entry = json.loads(line)
        if "run" in entry:
            contents.identity = contents.identity or dict(entry["run"])
        elif "sent" in entry:
            contents.lost.add(entry["sent"])
        elif "back" in entry:
            contents.lost.discard(entry["back"])
        else:
            key, outcome = str(entry["key"]), Outcome[entry["outcome"]]
            contents.lost.discard(key)
            if key in contents.places and contents.places[key][1] in PAID:
                contents.n_repeated += outcome in PAID
            else:
                contents.places[key] = (place, outcome)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False
    return True


class Journal:
    """A journal open for one run; no other may have it open.

    Parameters
    ----------
    path
    identity
        What the run is about: an earlier run must have been about the same.
    resume
        Go on with what is there.

    Raises
    ------
    UsageError
        There is earlier work, and `resume` is not given.
    RcError
        It is of another run, damaged, or open elsewhere.
    """

    def __init__(self, path: Path, identity: dict, resume: bool = False):
        self.path = Path(path)
        self._lock = _locked(self.path)
        self._file = self._lock.handle
        try:
            self.contents = read_journal(self.path)
            self._check(identity, resume)
        except BaseException:
            self._lock.release()
            raise
        self._pending: list[tuple[bytes, asyncio.Future]] = []
        self._writer: asyncio.Task | None = None

    def _check(self, identity: dict, resume: bool) -> None:
        contents = self.contents
        size = os.fstat(self._file).st_size
        if contents.places and not resume:
            raise UsageError(
                f"{self.path} holds {len(contents.places)} replies: --resume goes on with them, "
                "--overwrite sets them aside and starts anew"
            )
        if contents.identity is not None:
            # Replies that 0.1.0 has paid for: their keys hold all that they depend on.
            before = {name: value for name, value in contents.identity.items() if name != "rc_hpc"}
            check_conditions(self.path, before, identity)
        if size > contents.good_bytes:
            kept = self._keep_tail(contents.good_bytes)
            log.warning(
                "%s: its last line was cut when a run was killed; that request is asked again, and "
                "what was left of it is in %s",
                self.path,
                kept,
            )
            os.ftruncate(self._file, contents.good_bytes)
        if contents.identity is None:
            self._write([json.dumps({"run": identity}).encode() + b"\n"])
            sync_folder(self.path.parent)  # its name must survive a power loss as its lines do

    def _keep_tail(self, start: int) -> Path:
        """Copy what stands behind the last whole line into a file of its own; returns its name."""
        with open(self.path, "rb") as file:
            file.seek(start)
            tail = file.read()
        kept = _free(self.path, "tail")
        write_whole(kept, tail)
        return kept

    def outcome(self, key: str) -> Outcome | None:
        """Outcome of an earlier record; None where there is none."""
        place = self.contents.places.get(key)
        return None if place is None else place[1]

    def sent(self, key: str, back: bool = False) -> None:
        """Note that a request goes out, or that it is put off with no attempt in flight.

        Written at once, so that a killed run leaves it, but not waited for: a power loss may take
        it.
        """
        try:
            os.write(self._file, json.dumps({"back" if back else "sent": key}).encode() + b"\n")
        except OSError as error:
            raise self._refused(error) from error

    async def append(self, record: dict) -> None:
        """Write a record; returns when it is on the disk.

        Raises
        ------
        RcError
            The disk refuses it.
        """
        written = asyncio.get_running_loop().create_future()
        # A lone surrogate that an endpoint sent has no UTF-8: it becomes an escape.
        self._pending.append(
            (
                json.dumps(record, ensure_ascii=False).encode(errors="backslashreplace") + b"\n",
                written,
            )
        )
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._drain())
        await written

    def _refused(self, error: OSError) -> RcError:
        return RcError(
            f"{self.path}: cannot be written ({error.strerror}): free space there, then go on "
            "with --resume"
        )

    async def _drain(self) -> None:
        """Write whatever has come in by one write and one fsync, until nothing has."""
        while self._pending:
            batch, self._pending = self._pending, []
            try:
                await asyncio.to_thread(self._write, [line for line, _ in batch])
                problem = None
            except OSError as error:
                problem = self._refused(error)
            for _, written in batch:
                if not written.done():
                    written.set_result(None) if problem is None else written.set_exception(problem)

    def _write(self, lines: list[bytes]) -> None:
        size = os.fstat(self._file).st_size
        view = memoryview(b"".join(lines))
        try:
            while view:
                view = view[os.write(self._file, view) :]
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, size)
            raise

    async def close(self) -> None:
        """Write what is pending and let others in."""
        if self._writer is not None:
            await self._writer
        self._lock.release()


def _locked(path: Path) -> FileLock:
    try:
        return FileLock(path, content=True)
    except OSError as error:
        raise RcError(
            f"{path}: cannot be written ({error.strerror}): "
            "check that the folder exists and is writable"
        ) from error


class Records:
    """The records of a journal by key, read one at a time."""

    def __init__(self, path: Path):
        self.path = path
        self.contents = read_journal(path)

    def read(self, keys) -> Iterator[dict | None]:
        """Records of these keys, in this order; None where there is none."""
        with open(self.path, "rb") as file:
            for key in keys:
                place = self.contents.places.get(key)
                if place is None:
                    yield None
                else:
                    file.seek(place[0])
                    yield json.loads(file.readline())


def set_aside(path: Path) -> Path | None:
    """Rename a journal out of the way, since its replies were paid for; returns the new name.

    Raises
    ------
    RcError
        A run is at work on it.
    """
    if not path.exists():
        return None
    lock = _locked(path)
    kept = _free(path)
    path.rename(kept)
    lock.release()
    return kept


def _free(path: Path, *more: str) -> Path:
    """A name beside a file that nothing has."""
    names = (".".join((path.name, *more, str(number))) for number in range(1, 10_000))
    return next(path.with_name(name) for name in names if not os.path.lexists(path.with_name(name)))
