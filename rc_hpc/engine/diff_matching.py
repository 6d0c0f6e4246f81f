"""What two files of one kind have in common along an axis, and rows of structures by their keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import h5py
import numpy as np

from rc_hpc.store import layout


@dataclass(frozen=True)
class Match:
    """Places of what two files both have along an axis, in the order of the first.

    Attributes
    ----------
    a, b : (n,) int64
    gone, added
        Keys that only the first and only the second has.
    """

    a: np.ndarray
    b: np.ndarray
    gone: tuple
    added: tuple

    @classmethod
    def of(cls, a: Sequence, b: Sequence) -> Match:
        """Match equal keys; the n-th of several equal ones is that of the other file."""
        places = {key: place for place, key in enumerate(_numbered(b))}
        both, gone = [], []
        for place, key in enumerate(_numbered(a)):
            other = places.pop(key, None)
            if other is None:
                gone.append(key[0])
            else:
                both.append((place, other))
        pairs = np.array(both, np.int64).reshape(-1, 2)
        return cls(pairs[:, 0], pairs[:, 1], tuple(gone), tuple(key[0] for key in places))

    @property
    def whole(self) -> bool:
        """Whether both files have the same, in the same order."""
        straight = np.arange(len(self.a))
        same = np.array_equal(self.a, straight) and np.array_equal(self.b, straight)
        return same and not self.gone and not self.added


def _numbered(keys: Sequence) -> Iterator[tuple]:
    met: dict = {}
    for key in keys:
        met[key] = number = met.get(key, -1) + 1
        yield key, number


def row_name(key) -> str:
    """A row for people, from its id and duplicate; what else may stand along an axis as text."""
    if not isinstance(key, tuple):
        return str(key)
    id_, duplicate = key
    return f"{id_} (duplicate {duplicate})" if duplicate else id_


def row_keys(h5: h5py.File) -> list[tuple[str, int]]:
    """Id and duplicate of each row of a file; none in one without structures."""
    if "structures/id" not in h5:
        return []
    ids = layout.read_rows(h5["structures/id"]).tolist()
    if "structures/duplicate" not in h5:
        return [(id_, 0) for id_ in ids]
    return list(zip(ids, h5["structures/duplicate"][()].tolist(), strict=True))


def rows_of(structure: h5py.Dataset, n: int) -> np.ndarray:
    """Rows of a long table that belong to each of `n` structures, from its column structure."""
    counts = np.zeros(n, np.int64)
    for block in layout.row_blocks(structure):
        counts += np.bincount(structure[block], minlength=n)
    return counts
