"""Where every row of the merged file is to be found in the parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from rc_hpc.store import layout
from rc_hpc.store.duplicates import Twin, without_repeats
from rc_hpc.store.part_file import KEY_BYTES, Part
from rc_hpc.store.parts import PartStore

Resolve = Callable[[str, list[Twin]], list[Twin]]


@dataclass(frozen=True)
class RowMap:
    """Origin of every row of the merged file.

    Attributes
    ----------
    places
        File and first byte of each part that counts.
    part, at : (n,) int32
        Number of the part that holds a row, and the row there.
    offsets : dict of (n + 1,) int64
        For each child table, the first child row of every main row.
    patches
        For a column's path, values that differ from the part's, by row.
    lengths
        Bytes of the texts of each column of texts, by its path; 0 where each has its own length.
    hosts
        Machines that wrote the parts.
    """

    places: list[tuple[str, int]]
    part: np.ndarray
    at: np.ndarray
    offsets: dict[str, np.ndarray]
    patches: dict[str, dict[int, object]]
    lengths: dict[str, int]
    hosts: set[str]

    @property
    def n(self) -> int:
        """Rows of the merged file."""
        return len(self.part)

    def by_part(self, rows: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Numbers of the parts that hold these rows, each with the places in `rows` of its own."""
        numbers = self.part[rows]
        order = np.argsort(numbers, kind="stable")
        bounds = np.flatnonzero(np.diff(numbers[order], prepend=-1, append=-1))
        for start, stop in pairwise(bounds.tolist()):
            yield int(numbers[order[start]]), order[start:stop]


def map_rows(store: PartStore, parts: Sequence[Part], resolve: Resolve | None) -> RowMap:
    """Order the rows of all parts: by their number in the source, each once.

    With `resolve`, numbers are places in a source of any order, and rows are sorted by (id,
    duplicate, sha256): an id met once has the duplicate 0, the others get what `resolve` says.

    Memory: some 100 bytes a row, and the ids with `resolve`.
    """
    parts = sorted(parts, key=lambda part: (part.file, part.at))
    counts = [len(part.rows) for part in parts]
    numbers = _joined((part.rows for part in parts), np.int64)
    # Done more than once: the same work, of which the first counts.
    _, kept = np.unique(numbers, return_index=True)
    part = np.repeat(np.arange(len(parts), dtype=np.int32), counts)
    at = _joined((np.arange(count, dtype=np.int32) for count in counts), np.int32)
    patches: dict[str, dict[int, object]] = {}
    if resolve:
        keys = _joined((one.keys for one in parts), "S1")[kept]
        order, repeated = _by_id(keys, lambda rows: _ids(store, parts, part, at, kept[rows]))
        kept = kept[order]
        for id_, places in repeated:
            twins = _twins(store, parts, part, at, numbers, kept, places)
            settled = without_repeats(twins)
            settled = resolve(id_, settled) if len(settled) > 1 else settled
            before = {twin.at: (twin, kept[twin.at]) for twin in twins}
            for place, twin in zip(places.tolist(), settled, strict=True):
                was, kept[place] = before[twin.at]
                _patch(patches, place, was, twin)
    lengths: dict[str, int] = {}
    for one in parts:
        for path, longest in one.longest.items():
            lengths[path] = max(lengths.get(path, 1), longest)
    return RowMap(
        [(one.file, one.at) for one in parts],
        part[kept],
        at[kept],
        {
            table: np.concatenate(
                ([0], np.cumsum(_joined((one.sizes[table] for one in parts), np.int64)[kept]))
            ).astype(np.int64)
            for table in store.schema.children
        },
        patches,
        {path: _length(longest, patches.get(path, {})) for path, longest in lengths.items()},
        {one.host for one in parts},
    )


def _joined(arrays: Iterable[np.ndarray], dtype: Any) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype), *arrays])


def _length(longest: int, patched: dict[int, object]) -> int:
    longest = max(longest, *(len(str(text).encode()) for text in patched.values()), 1)
    return longest if longest <= layout.TEXT_BYTES else 0


def _by_id(
    keys: np.ndarray, ids_of: Callable[[np.ndarray], list[str]]
) -> tuple[np.ndarray, list[tuple[str, np.ndarray]]]:
    """Order by id, and of each id that several have its places in that order.

    UTF-8 sorts as Python's text does. `keys` are the beginnings of the ids; only where they are
    equal are the ids themselves read.
    """
    order = np.argsort(keys, kind="stable")
    sorted_keys = keys[order]
    same = np.flatnonzero(sorted_keys[1:] == sorted_keys[:-1])
    repeated = []
    for run in np.split(same, np.flatnonzero(np.diff(same) > 1) + 1) if len(same) else ():
        places = np.arange(run[0], run[-1] + 2)
        if keys.dtype.itemsize < KEY_BYTES:
            ids = [key.decode() for key in sorted_keys[places].tolist()]
        else:  # they may go on differently
            ids = ids_of(order[places])
            by_text = sorted(range(len(ids)), key=ids.__getitem__)
            order[places] = order[places][by_text]
            ids = [ids[k] for k in by_text]
        for id_, group in groupby(range(len(ids)), key=ids.__getitem__):
            own = list(group)
            if len(own) > 1:
                repeated.append((id_, places[own]))
    return order, repeated


def _ids(
    store: PartStore, parts: Sequence[Part], part: np.ndarray, at: np.ndarray, rows: np.ndarray
) -> list[str]:
    ids = []
    for row in rows.tolist():
        with store.open_part(parts[part[row]]) as file:
            ids.append(file.raw("structures/id")[at[row]].decode())
    return ids


def _twins(
    store: PartStore,
    parts: Sequence[Part],
    part: np.ndarray,
    at: np.ndarray,
    numbers: np.ndarray,
    kept: np.ndarray,
    places: np.ndarray,
) -> list[Twin]:
    names = [field.name for field in fields(Twin)][2:]
    twins = []
    for place in places.tolist():
        row = kept[place]
        with store.open_part(parts[part[row]]) as file:
            values = [file.raw(f"structures/{name}")[at[row]] for name in names]
        plain: list[Any] = [v.decode() if isinstance(v, bytes) else int(v) for v in values]
        twins.append(Twin(place, int(numbers[row]), *plain))
    return twins


def _patch(patches: dict[str, dict[int, object]], place: int, before: Twin, settled: Twin) -> None:
    for name in ("duplicate", "status", "message"):
        value = getattr(settled, name)
        if value != (0 if name == "duplicate" else getattr(before, name)):
            patches.setdefault(f"structures/{name}", {})[place] = value
