"""Where every row of the parts goes in the merged file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from rc_hpc.store.duplicates import Twin, without_repeats
from rc_hpc.store.parts import PartStore

Resolve = Callable[[str, list[Twin]], list[Twin]]


@dataclass(frozen=True)
class RowMap:
    """Destination of every row.

    Attributes
    ----------
    parts
        Names of the parts; rows are numbered through them in this order.
    first : (len(parts) + 1,) int64
        Number of the first row of each part.
    target : (n_in,) int64
        Row in the merged file; -1 for work that was done twice.
    n
        Rows of the merged file.
    offsets : dict of (n + 1,) int64
        For each child table, the first child row of every main row, in the merged file.
    patches
        For a column's path, values that differ from the part's, by merged row.
    provisional
        Paths of columns whose values in the parts do not count: they start at their fill value.
    hosts
        Machines that wrote the parts.
    """

    parts: list[str]
    first: np.ndarray
    target: np.ndarray
    n: int
    offsets: dict[str, np.ndarray]
    patches: dict[str, dict[int, object]]
    provisional: tuple[str, ...]
    hosts: set[str]

    def targets(self, part: int) -> np.ndarray:
        """Destinations of a part's main rows."""
        return self.target[self.first[part] : self.first[part + 1]]

    def child_targets(self, part: int, table: str, structure: np.ndarray) -> np.ndarray:
        """Destinations of a part's child rows, given their ascending `structure` column."""
        main = self.targets(part)[structure]
        first = np.searchsorted(structure, structure)
        rank = np.arange(len(structure)) - first
        return np.where(main < 0, -1, self.offsets[table][main] + rank)


def map_rows(store: PartStore, parts: list[str], resolve: Resolve | None) -> RowMap:
    """Order the rows of all parts by (id, duplicate, sha256).

    With `resolve`, the duplicate numbers in the parts only tell rows apart (the place in the
    source, say): an id met once gets 0, the others get what `resolve` says.

    Memory: the ids, and about 50 bytes a row.
    """
    ids: list[str] = []
    starts = [0]
    counts: dict[str, list[np.ndarray]] = {table: [] for table in store.schema.children}
    hosts = set()
    for part in parts:
        with store.open_part(part) as file:
            hosts.add(file.host)
            ids.extend(file["structures/id"].tolist())
            rows = len(ids) - starts[-1]
            starts.append(len(ids))
            for table, arrays in counts.items():
                arrays.append(np.bincount(file[f"{table}/structure"], minlength=rows))
    order = sorted(range(len(ids)), key=ids.__getitem__)
    first = np.array(starts, dtype=np.int64)

    repeated = _repeated(ids, order)
    twins = _read_twins(store, parts, first, [row for rows in repeated.values() for row in rows])
    settled: dict[int, Twin] = {}
    kept_rows: list[int] = []
    for id_, group in groupby(order, key=ids.__getitem__):
        if id_ not in repeated:
            kept_rows.extend(group)
            continue
        ordered = without_repeats([twins[row] for row in repeated[id_]])
        if resolve and len(ordered) > 1:
            ordered = resolve(id_, ordered)
        settled |= {len(kept_rows) + k: twin for k, twin in enumerate(ordered)}
        kept_rows.extend(twin.at for twin in ordered)

    kept = np.array(kept_rows, dtype=np.int64)
    target = np.full(len(ids), -1, dtype=np.int64)
    target[kept] = np.arange(len(kept))
    offsets = {
        table: np.concatenate(
            ([0], np.cumsum(np.concatenate([np.empty(0, np.int64), *arrays])[kept]))
        )
        for table, arrays in counts.items()
    }
    provisional = ("duplicate",) if resolve else ()
    patches = {
        f"structures/{name}": {
            row: getattr(twin, name)
            for row, twin in settled.items()
            if getattr(twin, name) != (0 if name in provisional else getattr(twins[twin.at], name))
        }
        for name in ("duplicate", "status", "message")
    }
    return RowMap(
        parts,
        first,
        target,
        len(kept),
        offsets,
        patches,
        tuple(f"structures/{name}" for name in provisional),
        hosts,
    )


def _repeated(ids: list[str], order: list[int]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for before, row in pairwise(order):
        if ids[before] == ids[row]:
            groups.setdefault(ids[row], [before]).append(row)
    return groups


def _read_twins(
    store: PartStore, parts: list[str], first: np.ndarray, rows: list[int]
) -> dict[int, Twin]:
    names = [field.name for field in fields(Twin)][1:]
    ordered = np.sort(np.array(rows, dtype=np.int64))
    bounds = np.searchsorted(ordered, first)
    twins = {}
    for number, part in enumerate(parts):
        mine = ordered[bounds[number] : bounds[number + 1]]
        if not len(mine):
            continue
        columns = store.columns(part, *(f"structures/{name}" for name in names))
        for row in mine.tolist():
            values = [column[row - first[number]] for column in columns]
            plain: list[Any] = [v if isinstance(v, str) else int(v) for v in values]
            twins[row] = Twin(row, *plain)
    return twins
