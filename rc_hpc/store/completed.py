"""Index of finished rows, lean enough for millions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def _key(id_: str, duplicate: int) -> str:
    # 128 bits: no two of a million ids meet; hexadecimal, since NumPy's bytes cut trailing NULs.
    return hashlib.blake2b(
        f"{duplicate} {id_}".encode(errors="surrogatepass"), digest_size=16
    ).hexdigest()


class Completed:
    """Which (id, duplicate) are done, and where: 40 bytes a row.

    `duplicate` tells rows with the same id apart; ids that occur once have 0.
    """

    def __init__(self, parts: list[str]):
        self.parts = parts
        self._keys: list[np.ndarray] = []
        self._where: list[np.ndarray] = []

    def add(self, part: int, ids: Iterable[str], duplicates: Iterable[int]) -> None:
        """Add the rows of part number `part`, in their order."""
        keys = np.array([_key(*pair) for pair in zip(ids, duplicates, strict=True)], dtype="S32")
        self._keys.append(keys)
        rows = np.arange(len(keys), dtype=np.int32)
        self._where.append(np.column_stack((np.full_like(rows, part), rows)))

    def seal(self) -> Completed:
        """Sort the index; rows done more than once count once."""
        keys = np.concatenate([np.empty(0, "S32"), *self._keys])
        where = np.concatenate([np.empty((0, 2), np.int32), *self._where])
        self.keys, first = np.unique(keys, return_index=True)
        self.where = where[first]
        self._keys, self._where = [], []
        return self

    def __len__(self) -> int:
        return len(self.keys)

    def contains(self, ids: list[str], duplicates: Iterable[int] | None = None) -> np.ndarray:
        """Which of the ids (n) are done, (n,) bool; `duplicates` defaults to all 0."""
        return self._find(ids, duplicates) >= 0

    def locate(self, id_: str, duplicate: int = 0) -> tuple[str, int] | None:
        """Part and row of an id, or None where it is not done."""
        at = self._find([id_], [duplicate])[0]
        if at < 0:
            return None
        part, row = self.where[at].tolist()
        return self.parts[part], row

    def _find(self, ids: Sequence[str], duplicates: Any) -> np.ndarray:
        duplicates = [0] * len(ids) if duplicates is None else duplicates
        keys = np.array([_key(*pair) for pair in zip(ids, duplicates, strict=True)], dtype="S32")
        at = np.searchsorted(self.keys, keys)
        found = np.zeros(len(keys), dtype=bool)
        inside = at < len(self.keys)
        found[inside] = self.keys[at[inside]] == keys[inside]
        return np.where(found, at, -1)
