"""Sources that any rank can begin anywhere: their items by number, found together by all ranks.

A shelf is listed in three steps: `begin` on one rank, `part` on each for its share, `join` of all
parts on each. What it is listed by is read once, by one rank; then ``items(start, stop)`` seeks.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import numpy as np

from rc_hpc.core.errors import Status, UsageError
from rc_hpc.structures.layouts import NoStructure, own_id
from rc_hpc.structures.listing import broken, file_items, format_of
from rc_hpc.structures.readers import ase_row, read_ase_row, read_json
from rc_hpc.structures.record import Item

#: Bytes of a file of lines that are looked at in one go.
BLOCK = 1 << 24
_WHITE = b" \t\r\n\x0b\x0c"
_WHITESPACE = np.isin(np.arange(256), list(_WHITE))


class Shelf(Protocol):
    """Items of one source by number.

    Attributes
    ----------
    count
        Items, once it is joined.
    digest
        What tells it from another listing, once it is joined.
    strays
        Files that are passed over, by ending.
    """

    count: int
    digest: str
    strays: Counter[str]

    def begin(self) -> Any:
        """What all ranks must know first; on one of them."""

    def part(self, begun: Any, share: int, shares: int) -> Any:
        """One share of the listing."""

    def join(self, begun: Any, parts: list[Any]) -> None:
        """Take all shares, in order."""

    def items(self, start: int, stop: int) -> Iterator[Item]:
        """Items `start` to `stop`."""


class Walked:
    """What must be walked from its beginning: one rank counts it, each walks on to its items."""

    def __init__(self, listing: Callable[[], Iterator[Item]], strays: Counter[str]):
        self.listing, self.strays = listing, strays
        self.count, self.digest = 0, ""
        self._stream: Iterator[Item] = iter(())
        self._at = -1

    def begin(self) -> Any:
        """Count the items and hash their ids."""
        count, digest = 0, hashlib.sha256()
        for count, item in enumerate(self.listing(), 1):  # noqa: B007 - the last is wanted
            digest.update(json.dumps(item.id).encode())
        return count, digest.hexdigest(), dict(self.strays)

    def part(self, begun: Any, share: int, shares: int) -> Any:
        """Nothing is left to do."""

    def join(self, begun: Any, parts: list[Any]) -> None:
        """Take what one rank found."""
        self.count, self.digest, strays = begun
        self.strays = Counter(strays)

    def items(self, start: int, stop: int) -> Iterator[Item]:
        """Items `start` to `stop`: quick where they follow those asked for before."""
        if not 0 <= self._at <= start:
            self._stream, self._at = iter(self.listing()), 0
        for item in self._stream:
            self._at += 1
            if self._at > start:
                yield item
            if self._at >= stop:
                return


class Numbered:
    """Items that follow from their number alone."""

    def __init__(self, count: int, item: Callable[[int], Item], digest: str):
        self.count, self.item, self.digest = count, item, digest
        self.strays: Counter[str] = Counter()

    def begin(self) -> Any:
        """Nothing is to be found out."""

    def part(self, begun: Any, share: int, shares: int) -> Any:
        """Nothing is to be found out."""

    def join(self, begun: Any, parts: list[Any]) -> None:
        """Nothing is to be found out."""

    def items(self, start: int, stop: int) -> Iterator[Item]:
        """Items `start` to `stop`."""
        return map(self.item, range(start, stop))


class Lines:
    """A file of JSON lines: where each begins is found by all ranks, each in a part of the file."""

    def __init__(self, path: str, id: str, prefix: str):
        self.path, self.id, self.prefix = path, id, prefix
        self.count, self.digest = 0, ""
        self.strays: Counter[str] = Counter()
        self._starts, self._numbers, self._size = np.empty(0, np.int64), np.empty(0, np.int64), 0

    def begin(self) -> Any:
        """Bytes of the file."""
        return os.stat(self.path).st_size

    def part(self, begun: int, share: int, shares: int) -> Any:
        """Where the lines that are not blank begin in one part of the file, and their numbers."""
        low, high = begun * share // shares, begun * (share + 1) // shares
        starts, numbers, lines = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
        with open(self.path, "rb") as file:
            for at in range(low, high, BLOCK):
                first = _line_starts(file, at, min(at + BLOCK, high))
                kept = ~_blank(file, first)
                starts.append(first[kept])
                numbers.append(lines + np.flatnonzero(kept))
                lines += len(first)
        return np.concatenate(starts), np.concatenate(numbers), lines

    def join(self, begun: int, parts: list[Any]) -> None:
        """Take all parts, in the file's order."""
        before = np.cumsum([0, *(lines for *_, lines in parts)])
        self._starts = np.concatenate([starts for starts, *_ in parts])
        numbers = [numbers + line for (_, numbers, _), line in zip(parts, before[:-1], strict=True)]
        self._numbers = np.concatenate(numbers)
        self._size = begun
        self.count = max(1, len(self._starts))  # an empty file is a row that says so
        self.digest = hashlib.sha256(f"lines {self.id} {begun} {self.count}".encode()).hexdigest()

    def items(self, start: int, stop: int) -> Iterator[Item]:
        """Items `start` to `stop`, read in one go."""
        if not len(self._starts):
            yield from file_items(self.path, self.id, self.prefix, "jsonl")
            return
        bounds = [*self._starts[start : stop + 1].tolist(), self._size][: stop - start + 1]
        try:
            with open(self.path, "rb") as file:
                file.seek(bounds[0])
                data = file.read(bounds[-1] - bounds[0])
        except OSError as error:
            for number in self._numbers[start:stop].tolist():
                why = f"it cannot be read ({error.strerror}); check it and read it again"
                yield broken(f"{self.id}#{number + 1}", self.path, Status.read_error, why)
            return
        numbers = self._numbers[start:stop].tolist()
        for number, first, last in zip(numbers, bounds[:-1], bounds[1:], strict=True):
            line = data[first - bounds[0] : last - bounds[0]].partition(b"\n")[0].rstrip(b"\r")
            key = own_id(line)
            name = f"{self.id}#{number + 1}" if key is None else self.prefix + key
            yield Item(name, self.path, partial(bytes, line), read_json)


def _line_starts(file: Any, low: int, high: int) -> np.ndarray:
    """Where in bytes `low` to `high` a line begins."""
    file.seek(max(0, low - 1))
    data = np.frombuffer(file.read(high - 1 - max(0, low - 1)), np.uint8)
    found = np.flatnonzero(data == ord("\n")) + max(0, low - 1) + 1
    return np.concatenate(([0], found)) if low == 0 and high > 0 else found


def _blank(file: Any, starts: np.ndarray) -> np.ndarray:
    """Which of the lines that begin there hold white space only."""
    blank = np.zeros(len(starts), bool)
    if not len(starts):
        return blank
    file.seek(int(starts[0]))
    data = np.frombuffer(file.read(int(starts[-1] - starts[0]) + 1), np.uint8)
    at = starts - starts[0]
    ended = at >= len(data)  # the file ends there
    suspects = ended | _WHITESPACE[data[np.minimum(at, max(0, len(data) - 1))]]
    for k in np.flatnonzero(suspects).tolist():
        file.seek(int(starts[k]))
        blank[k] = not file.readline().strip()
    return blank


class Database:
    """An ASE database: the numbers of its rows are asked for once."""

    def __init__(self, path: str, id: str):
        self.path, self.id = path, id
        self.count, self.digest = 0, ""
        self.strays: Counter[str] = Counter()
        self._rows = np.empty(0, np.int64)

    def begin(self) -> Any:
        """Numbers of all rows; why there are none, where it cannot be read."""
        try:
            # Read-only, so that a foreign sqlite file is never turned into an ASE database.
            uri = f"file:{quote(self.path)}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                found = connection.execute("SELECT id FROM systems ORDER BY id").fetchall()
                return np.array(found, np.int64).ravel()
        except (sqlite3.Error, OSError, ValueError, TypeError):
            return np.empty(0, np.int64)  # its one row says why

    def part(self, begun: Any, share: int, shares: int) -> Any:
        """Nothing is left to do."""

    def join(self, begun: Any, parts: list[Any]) -> None:
        """Take the numbers."""
        self._rows = begun
        self.count = max(1, len(begun))
        told = f"database {self.id}".encode() + begun.tobytes()
        self.digest = hashlib.sha256(told).hexdigest()

    def items(self, start: int, stop: int) -> Iterator[Item]:
        """Items `start` to `stop`."""
        if not len(self._rows):
            yield from file_items(self.path, self.id, "", "db")
            return
        for row in self._rows[start:stop].tolist():
            yield Item(
                f"{self.id}#{row}", self.path, partial(ase_row, self.path, row), read_ase_row
            )


class Files:
    """Files below a folder or of a glob: listed by one rank, looked into by all.

    Parameters
    ----------
    paths
        Gives them in their order.
    base
        Ids are paths below it.
    format
        See `listing.file_items`.
    of_folder
        What is no structure is passed over.
    nothing
        The message where there is no structure, given what was passed over.
    skip
        Whether a file is left out.
    """

    def __init__(
        self,
        paths: Callable[[], Iterator[str]],
        base: str,
        format: str | None,
        of_folder: bool,
        nothing: Callable[[str], str],
        skip: Callable[[str], bool],
    ):
        self.paths, self.base, self.format = paths, base, format
        self.of_folder, self.nothing, self.skip = of_folder, nothing, skip
        self.count, self.digest = 0, ""
        self.strays: Counter[str] = Counter()
        self._files: list[str] = []
        self._first = np.zeros(1, np.int64)
        self._open: tuple[int, int, Iterator[Item]] = (-1, 0, iter(()))

    def begin(self) -> Any:
        """All files."""
        return [path for path in self.paths() if not self.skip(path)]

    def part(self, begun: list[str], share: int, shares: int) -> Any:
        """How many items each file of one share holds, and what is passed over."""
        low, high = (len(begun) * k // shares for k in (share, share + 1))
        counts, strays = [], Counter[str]()
        for path in begun[low:high]:
            counts.append(self._count(path, strays))
        return counts, strays

    def _count(self, path: str, strays: Counter[str]) -> int:
        ending = Path(path).suffix.lower() or "without ending"
        kind = self.format or format_of(path)
        if self.of_folder and kind is None and os.path.isfile(path):
            strays[ending] += 1
            return 0
        if kind == "poscar":
            return 1
        try:
            return sum(1 for _ in self._listed(path))
        except NoStructure:
            strays[ending] += 1
            return 0

    def _listed(self, path: str) -> Iterator[Item]:
        below = Path(os.path.relpath(path, self.base)).as_posix()
        return file_items(path, below, f"{below}#", self.format, self.of_folder)

    def join(self, begun: list[str], parts: list[Any]) -> None:
        """Take all counts.

        Raises
        ------
        UsageError
            There is no structure in it.
        """
        counts = np.array([count for part, _ in parts for count in part], np.int64)
        for _, strays in parts:
            self.strays.update(strays)
        kept = counts > 0
        self._files = [path for path, keep in zip(begun, kept, strict=True) if keep]
        self._first = np.concatenate(([0], np.cumsum(counts[kept])))
        self.count = int(self._first[-1])
        if not self.count:
            raise UsageError(self.nothing(told_strays(self.strays) if self.strays else ""))
        named = "\n".join(os.path.relpath(path, self.base) for path in self._files)
        told = named.encode(errors="surrogateescape") + self._first.tobytes()
        self.digest = hashlib.sha256(told).hexdigest()

    def items(self, start: int, stop: int) -> Iterator[Item]:
        """Items `start` to `stop`; as many as were counted, whatever became of their files."""
        at = start
        while at < stop:
            number = int(np.searchsorted(self._first, at, "right")) - 1
            path, end = self._files[number], int(self._first[number + 1])
            was, begun, listed = self._open
            if was != number or begun > at:
                begun, listed = int(self._first[number]), self._safely(path)
            for _ in range(at - begun):
                next(listed, None)
            while at < min(end, stop):
                item = next(listed, None)
                yield item or self._gone(path, at - int(self._first[number]))
                at += 1
            self._open = (number, at, listed)

    def _safely(self, path: str) -> Iterator[Item]:
        try:
            yield from self._listed(path)
        except NoStructure:
            return

    def _gone(self, path: str, k: int) -> Item:
        below = Path(os.path.relpath(path, self.base)).as_posix()
        why = "it has changed since the source was listed; begin anew"
        return broken(f"{below}#{k + 1}", path, Status.read_error, why)


def told_strays(strays: Counter[str]) -> str:
    """Files that were passed over, as a phrase: how many of what."""
    kinds = ", ".join(f"{n} {ending}" for ending, n in strays.most_common(6))
    more = ", ..." if len(strays) > 6 else ""
    return f"{strays.total()} files that are no structures ({kinds}{more})"


def walk(folder: str, above: tuple[str, ...] = ()) -> Iterator[str]:
    """Files below a folder, sorted by name level by level; hidden ones and link loops left out.

    A folder that cannot be opened is given as a path of its own.
    """
    real = os.path.realpath(folder)
    if real in above:
        return
    try:
        with os.scandir(folder) as scan:
            entries = sorted((entry.name, entry.is_dir()) for entry in scan)
    except OSError:
        yield folder
        return
    for name, is_folder in entries:
        path = os.path.join(folder, name)
        if name.startswith("."):
            continue
        if is_folder:
            yield from walk(path, (*above, real))
        else:
            yield path


def slices(starts: Sequence[int], start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Numbers of joined shelves, whose items begin at `starts`, and of their own items."""
    for number, (low, high) in enumerate(pairwise(starts)):
        if low < stop and high > start:
            yield number, max(start, low) - low, min(stop, high) - low
