"""A record on disk of the structure a native call is about, which outlives a crash."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import secrets
from pathlib import Path

from rc_hpc.core.text import parse_json

_FLIGHT, _FAULT, _CRASHES = ".flight", ".fault", "crashes.json"
#: Width of the length field in front of an id.
_HEAD = 8


class NullRecorder:
    """Calls and records nothing: for use as a library."""

    def about(self, identifier: str) -> None:
        """Name the structure that the next calls are about."""

    def call(self, function, *args):
        """Return ``function(*args)``."""
        return function(*args)

    def forget(self) -> None:
        """Drop what a crash has left: who did the work is told already."""


NULL_RECORDER = NullRecorder()


class FlightRecorder:
    """Notes on disk which structure a native call is about, for as long as the call runs.

    The note is one unsynchronised write, which the page cache keeps when the process dies of
    any signal. A second file takes the fault handler's report, which only a native crash
    writes: killing the process from outside leaves it empty. The fault handler's report
    therefore does not appear on stderr while a recorder is open.

    Parameters
    ----------
    folder
        Where the two files lie; `crashed_ids` reads them at the next start.
    tag
        Part of the file names, e.g. the rank.
    """

    def __init__(self, folder: str | os.PathLike, tag: object = 0):
        stem = f"{str(tag).replace(os.sep, '_')}-{os.getpid()}-{secrets.token_hex(4)}"
        folder = Path(folder)
        self._paths = folder / (stem + _FLIGHT), folder / (stem + _FAULT)
        self._flight = os.open(self._paths[0], os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        self._fault = open(self._paths[1], "xb")  # noqa: SIM115 - __exit__ closes it
        self._note = self._none = self._record("")
        self._was_enabled = faulthandler.is_enabled()
        faulthandler.enable(file=self._fault)

    @staticmethod
    def _record(identifier: str) -> bytes:
        # the length in front makes what an earlier, longer id left behind harmless
        body = identifier.encode("utf-8", "surrogateescape")
        return b"%0*d" % (_HEAD, len(body)) + body

    def about(self, identifier: str) -> None:
        """Name the structure that the next calls are about."""
        self._note = self._record(identifier)

    def call(self, function, *args):
        """Return ``function(*args)``, with the structure noted as in flight meanwhile."""
        os.pwrite(self._flight, self._note, 0)
        try:
            return function(*args)
        finally:
            os.pwrite(self._flight, self._none, 0)

    def forget(self) -> None:
        """Drop what a crash has left: who did the work is told already."""
        os.pwrite(self._flight, self._none, 0)
        os.ftruncate(self._fault.fileno(), 0)

    def close(self) -> None:
        """Give the fault handler back and remove both files."""
        if self._fault.closed:
            return
        faulthandler.disable()
        if self._was_enabled:
            # a standard error without a descriptor, as notebooks have, cannot take the reports
            with contextlib.suppress(AttributeError, OSError, RuntimeError, ValueError):
                faulthandler.enable()
        self._fault.close()
        os.close(self._flight)
        for path in self._paths:
            path.unlink(missing_ok=True)

    def __enter__(self) -> FlightRecorder:
        return self

    def __exit__(self, *_) -> None:
        self.close()


#: Either of them.
Recorder = FlightRecorder | NullRecorder


def crashed_ids(folder: str | os.PathLike) -> dict[str, int]:
    """Structures that native crashes were about, and how often.

    Reads what dead processes left in `folder`, adds it to ``crashes.json`` there and removes
    the files read. Call it from one process, before any recorder of this run is opened.

    Returns
    -------
    dict
        Id to number of native crashes. A death counts only where the fault handler reported
        a crash while an id was in flight.
    """
    folder = Path(folder)
    kept = folder / _CRASHES
    counts: dict[str, int] = {}
    folded: set[str] = set()
    if kept.exists():
        before = parse_json(kept.read_text(encoding="utf-8"))
        counts, folded = before["crashes"], set(before["folded"])
    flights = sorted(folder.glob("*" + _FLIGHT))
    faults = sorted(folder.glob("*" + _FAULT))
    for flight in flights:
        # folded: counted, but the process died before it could remove the file
        if flight.name in folded or not _has_content(flight.with_suffix(_FAULT)):
            continue
        identifier = _in_flight(flight)
        if identifier:
            counts[identifier] = counts.get(identifier, 0) + 1
    if flights or faults:
        _write_json(kept, {"crashes": counts, "folded": [path.name for path in flights]})
    for path in flights + faults:
        path.unlink(missing_ok=True)
    return counts


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _in_flight(path: Path) -> str:
    """Id noted in a flight file; empty where none was in flight."""
    content = path.read_bytes()
    head = content[:_HEAD]
    size = int(head) if head.isdigit() else 0
    return content[_HEAD : _HEAD + size].decode("utf-8", "surrogateescape")


def _write_json(path: Path, content: dict) -> None:
    partial = path.with_suffix(".partial")
    with open(partial, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
