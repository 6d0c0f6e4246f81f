"""Values of two files of one kind side by side: rows by id, other axes and codes by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import h5py
import numpy as np

from rc_hpc.engine.diff_matching import Match, row_keys, row_name, rows_of
from rc_hpc.engine.diff_options import DiffOptions
from rc_hpc.engine.labels import Labels, axes, is_structures, named, tables
from rc_hpc.store import layout
from rc_hpc.store.content import NOT_CONTENT

#: Bytes of a block of rows.
_BLOCK = 1 << 21
#: In place of a place: what differs is the number of a structure's rows.
ROWS = "rows"
#: Characters of a text that are shown.
_SHOWN = 60


@dataclass(frozen=True)
class Example:
    """What differs in one structure, or in a dataset without structures.

    Attributes
    ----------
    id
        The structure; empty in a dataset without structures.
    n_values
        Values that differ in it.
    where
        Place of the first of them along the other axes, by name.
    old, new
        The first of them, by name where its code stands for one.
    """

    id: str
    n_values: int
    where: str
    old: str
    new: str


@dataclass(frozen=True)
class Changed:
    """A dataset that differs.

    Attributes
    ----------
    path
    n_structures, n_values
        That differ; no structures in a dataset that has none.
    examples
        The first of them.
    notes
        What differs besides, such as the type or the unit.
    counts
        Whether it makes the results different.
    """

    path: str
    n_structures: int = 0
    n_values: int = 0
    examples: tuple[Example, ...] = ()
    notes: tuple[str, ...] = ()
    counts: bool = True


@dataclass(frozen=True)
class _Block:
    """Rows of both files to compare, and which of the structures in common owns each."""

    a: np.ndarray
    b: np.ndarray
    owner: np.ndarray


@dataclass
class _Tally:
    """Differences met so far in one dataset."""

    by_owner: np.ndarray
    most: int
    #: Owner, and place and values of its first difference.
    examples: dict[int, tuple[str, str, str]] = field(default_factory=dict)

    def add(self, owners: np.ndarray, describe: Callable[[int], tuple[str, str, str]]) -> None:
        """Add values that differ by their owners; ``describe(k)`` tells of the k-th."""
        self.by_owner += np.bincount(owners, minlength=len(self.by_owner))
        for owner, first in zip(*np.unique(owners, return_index=True), strict=True):
            if len(self.examples) >= self.most:
                return
            if int(owner) not in self.examples:
                self.examples[int(owner)] = describe(int(first))


class Pair:
    """Two open files of one kind, the first the older.

    Rows of a long table are compared of structures that have as many in both.
    """

    def __init__(self, old: h5py.File, new: h5py.File, options: DiffOptions):
        self.files = old, new
        self.options = options
        self.labels = Labels(old), Labels(new)
        self.tables = set(tables(old)) & set(tables(new))
        #: What stands along each axis met, rows aside; None where nothing names it.
        self.matches: dict[str, Match | None] = {}

    @cached_property
    def row_keys(self) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
        """Id and duplicate of each row of both files; nothing in a file without structures."""
        return row_keys(self.files[0]), row_keys(self.files[1])

    @cached_property
    def rows(self) -> Match:
        """The rows, by id and duplicate."""
        return Match.of(*self.row_keys)

    def along(self, dimension: str) -> Match | None:
        """What stands along a dimension; None where nothing names it."""
        if dimension == "structure":
            return self.rows if all(self.row_keys) else None
        if dimension not in self.matches:
            old, new = (labels.along(dimension) for labels in self.labels)
            known = None
            if old is not None and new is not None:
                known = Match.of(old.tolist(), new.tolist())
            self.matches[dimension] = known
        return self.matches[dimension]

    def changed(self, path: str) -> Changed | None:
        """How a dataset that both files have differs, or None."""
        old, new = (h5[path] for h5 in self.files)
        table = self._table(path)
        if table and path == f"{table}/structure":
            return self._row_counts(path, table)
        told, counted = _notes(old, new)
        matches = self._matched(old, new, table)
        if isinstance(matches, str):
            return Changed(path, notes=(matches, *counted, *told))
        tally, ids = self._compare(path, table, matches)
        n_values = int(tally.by_owner.sum())
        if not (n_values or told or counted):
            return None
        examples = tuple(
            Example(ids(owner), int(tally.by_owner[owner]), *what)
            for owner, what in tally.examples.items()
        )
        n_structures = np.count_nonzero(tally.by_owner) if ids(0) else 0
        counts = counted or (n_values and path not in NOT_CONTENT) or self.options.strict
        return Changed(path, int(n_structures), n_values, examples, (*counted, *told), bool(counts))

    def _table(self, path: str) -> str:
        """The long table that a dataset belongs to, or an empty string."""
        table = path.partition("/")[0]
        return table if table in self.tables else ""

    def _matched(self, old: h5py.Dataset, new: h5py.Dataset, table: str) -> list | str:
        """A match for each axis, None where it runs alike in both; or what keeps from comparing."""
        if _is_text(old) != _is_text(new):
            return "text and numbers are not compared"
        if axes(old) != axes(new):
            return f"axes {', '.join(axes(old))}, now {', '.join(axes(new))}"
        found: list[Match | None] = []
        for axis, dimension in enumerate(axes(old)):
            matched = None if table and axis == 0 else self.along(dimension)
            lengths = old.shape[axis], new.shape[axis]
            if matched is None and lengths[0] != lengths[1] and not (table and axis == 0):
                return f"{lengths[0]} along {dimension}, now {lengths[1]}"
            found.append(None if matched is None or matched.whole else matched)
        return found

    def _row_counts(self, path: str, table: str) -> Changed | None:
        """Structures that have more or fewer rows in a long table than before."""
        old, new = self._counts(table)
        differ = np.flatnonzero(old != new)
        examples = tuple(
            Example(
                row_name(self.row_keys[0][self.rows.a[k]]),
                abs(int(old[k] - new[k])),
                ROWS,
                str(old[k]),
                str(new[k]),
            )
            for k in differ[: self.options.most]
        )
        n_rows = int(np.abs(old - new).sum())
        return Changed(path, len(differ), n_rows, examples) if n_rows else None

    def _counts(self, table: str) -> tuple[np.ndarray, np.ndarray]:
        """Rows in a table of each structure that both files have."""
        old, new = self._starts(table)
        return np.diff(old)[self.rows.a], np.diff(new)[self.rows.b]

    @lru_cache(maxsize=4)  # noqa: B019 - a pair lives no longer than its files
    def _starts(self, table: str) -> tuple[np.ndarray, np.ndarray]:
        """First row in a table of each structure of both files, and the end."""
        old, new = (
            np.concatenate(([0], np.cumsum(rows_of(h5[f"{table}/structure"], len(keys)))))
            for h5, keys in zip(self.files, self.row_keys, strict=True)
        )
        return old, new

    def _compare(
        self, path: str, table: str, matches: list[Match | None]
    ) -> tuple[_Tally, Callable[[int], str]]:
        """Values that differ, by structure; and the ids of the structures."""
        old, new = (h5[path] for h5 in self.files)
        codes = self._codes(path)
        other_codes = codes if codes and codes[0].tolist() != codes[1].tolist() else None
        names = codes[0] if codes and not other_codes else None
        axis, n_owners, ids = self._owners(old, table, matches)
        tally = _Tally(np.zeros(n_owners, np.int64), self.options.most)
        trailing = matches[1:]
        for block in self._blocks(table, old, new, matches[0] if matches else None):
            a = _taken(old, block.a, [match and match.a for match in trailing])
            b = _taken(new, block.b, [match and match.b for match in trailing])
            if other_codes:
                a, b = named(a, other_codes[0]), named(b, other_codes[1])
            differ = np.flatnonzero(~same(a, b, self.options.rtol, self.options.atol))
            if not len(differ):
                continue
            places = np.unravel_index(differ, a.shape)
            if axis is None:
                owners = np.zeros(len(differ), np.int64)
            else:
                owners = block.owner[places[0]] if axis == 0 else places[axis]

            def describe(k: int, a=a, b=b, block=block, places=places) -> tuple[str, str, str]:
                place = tuple(int(along[k]) for along in places)
                where = self._where(old, table, matches, axis, block, place)
                return where, _shown(a[place], codes, names), _shown(b[place], codes, names)

            tally.add(owners, describe)
        return tally, ids

    def _codes(self, path: str) -> tuple[np.ndarray, np.ndarray] | None:
        """What the codes of a dataset stand for in both files; None where they are numbers."""
        old, new = (labels.of(path) for labels in self.labels)
        return None if old is None or new is None else (old, new)

    def _owners(
        self, old: h5py.Dataset, table: str, matches: list[Match | None]
    ) -> tuple[int | None, int, Callable[[int], str]]:
        """Axis along which structures stand, their number in common, and their ids."""
        if table:
            return 0, len(self.rows.a), lambda k: row_name(self.row_keys[0][self.rows.a[k]])
        for axis, dimension in enumerate(axes(old)):
            if not is_structures(dimension):
                continue
            matched = matches[axis]
            n = old.shape[axis] if matched is None else len(matched.a)
            rows = self.row_keys[0] if dimension == "structure" else None
            keys = rows or self.labels[0].along(dimension)
            if keys is None or not n:
                break

            def ids(k: int, matched=matched, keys=keys) -> str:
                return row_name(keys[k if matched is None else matched.a[k]])

            return axis, n, ids
        return None, 1, lambda _: ""

    def _where(self, old, table: str, matches, axis, block: _Block, place) -> str:
        """Place of a value along the axes that are not the structures', by name."""
        words = []
        if table:
            owner = block.owner[place[0]]
            first = self._starts(table)[0][self.rows.a[owner]]
            words.append(f"row {block.a[place[0]] - first}")
        for at, (dimension, along) in enumerate(zip(axes(old), place, strict=True)):
            if at == axis or old.shape[at] == 1:
                continue
            along = int(block.a[along]) if at == 0 else along
            if at and matches[at] is not None:
                along = int(matches[at].a[along])
            labels = self.labels[0].along(dimension)
            words.append(f"{dimension} {along if labels is None else labels[along]}")
        return ", ".join(words)

    def _blocks(
        self, table: str, old: h5py.Dataset, new: h5py.Dataset, matched: Match | None
    ) -> Iterator[_Block]:
        step = max(1, _BLOCK // max(1, _row_bytes(old), _row_bytes(new)))
        if table:
            yield from self._table_blocks(table, step)
            return
        n = len(matched.a) if matched else (old.shape[0] if old.shape else 1)
        for start in range(0, n, step):
            owner = np.arange(start, min(start + step, n))
            yield _Block(
                matched.a[owner] if matched else owner,
                matched.b[owner] if matched else owner,
                owner,
            )

    def _table_blocks(self, table: str, step: int) -> Iterator[_Block]:
        """Rows of a long table, of structures with as many in both files."""
        counts, others = self._counts(table)
        counts = np.where(counts == others, counts, 0)
        ends = np.cumsum(counts)
        first_old, first_new = self._starts(table)
        start = 0
        while start < len(counts):
            done = int(ends[start] - counts[start])
            stop = max(start + 1, int(np.searchsorted(ends, done + step, "right")))
            owner = np.repeat(np.arange(start, stop), counts[start:stop])
            within = done + np.arange(len(owner)) - (ends - counts)[owner]
            if len(owner):
                old = first_old[self.rows.a[owner]] + within
                yield _Block(old, first_new[self.rows.b[owner]] + within, owner)
            start = stop


def same(a: np.ndarray, b: np.ndarray, rtol: float = 0.0, atol: float = 0.0) -> np.ndarray:
    """Which values are equal; the tolerances are for floats, see `DiffOptions`."""
    equal = a == b
    if "f" not in a.dtype.kind + b.dtype.kind:
        return equal
    equal |= np.isnan(a) & np.isnan(b)
    if rtol or atol:
        with np.errstate(invalid="ignore"):  # infinities
            larger = np.maximum(np.abs(a), np.abs(b))
            near = np.abs(a - b) <= atol + rtol * larger
        equal |= near & np.isfinite(a) & np.isfinite(b)
    return equal


def _row_bytes(dataset: h5py.Dataset) -> int:
    row = dataset.dtype.itemsize * int(np.prod(dataset.shape[1:], dtype=np.int64))
    return row * 16 if _is_text(dataset) else row


def _taken(dataset: h5py.Dataset, rows: np.ndarray, others: list) -> np.ndarray:
    """Rows of a dataset, and of what stands along its other axes these places (None: all)."""
    if not dataset.shape:
        return np.array([layout.read_rows(dataset)])
    first, last = int(rows.min()), int(rows.max()) + 1
    if last - first <= 4 * len(rows):
        values = layout.read_rows(dataset, slice(first, last))
        if not np.array_equal(rows, np.arange(first, last)):
            values = values[rows - first]
    else:
        unique, back = np.unique(rows, return_inverse=True)
        values = layout.read_rows(dataset, unique)[back]
    for axis, places in enumerate(others, 1):
        values = values if places is None else np.take(values, places, axis)
    return values


def _is_text(dataset: h5py.Dataset) -> bool:
    return h5py.check_string_dtype(dataset.dtype) is not None


def _notes(old: h5py.Dataset, new: h5py.Dataset) -> tuple[list[str], list[str]]:
    """What differs besides the values: what is only told, and what counts."""
    told, counted = [], []
    if _type(old) != _type(new):
        told.append(f"type {_type(old)}, now {_type(new)}")
    units = [str(dataset.attrs.get("units", "")) for dataset in (old, new)]
    if units[0] != units[1]:
        counted.append(f"unit {units[0] or 'none'}, now {units[1] or 'none'}")
    return told, counted


def _type(dataset: h5py.Dataset) -> str:
    members = h5py.check_enum_dtype(dataset.dtype)
    if members is not None:
        return f"enum of {', '.join(f'{name} = {code}' for name, code in members.items())}"
    return "text" if _is_text(dataset) else str(dataset.dtype)


def _shown(value, codes, names: np.ndarray | None) -> str:
    """A value for people; `codes` is None where it is no name, `names` where it is one already."""
    if codes is not None:
        return str(value if names is None else named(np.array([value]), names)[0]) or "none"
    if isinstance(value, str):
        return repr(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}...")
    return str(value)
