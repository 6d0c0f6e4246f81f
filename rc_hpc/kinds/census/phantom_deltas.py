"""Smallest delta at which each structure has a phantom.

How it is distributed, by number of views.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO, NUMERICAL_ZERO
from rc_hpc.stats.frames import frame_of

if TYPE_CHECKING:
    import pandas as pd

    from rc_hpc.kinds.common.subsets import Subsets

#: Significant digits of the steps.
DIGITS = 5
#: Deltas up to which structures are counted, Å: the numerical zero of exact phantoms, then ten
#: preferred numbers to a decade where the gaps of skew rays lie.
DELTAS = np.array(
    [
        CENSUS_ZERO,
        1e-5,
        1e-4,
        *(
            step * decade
            for decade in (1e-3, 1e-2, 1e-1)
            for step in (1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8)
        ),
        1.0,
    ]
).round(6)


def tally_deltas(smallest: np.ndarray) -> np.ndarray:
    """Structures with a phantom at some delta up to each of `DELTAS`.

    The tallies of disjoint sets add up.

    Parameters
    ----------
    smallest : (n, K) float64
        Smallest delta at which a structure has a phantom on a subset, Å; inf or NaN: none.

    Returns
    -------
    (D, K) int64
    """
    return np.array([np.count_nonzero(smallest <= delta, axis=0) for delta in DELTAS])


@dataclass(frozen=True)
class Steps:
    """Deltas at which structures get their first phantom; those of disjoint sets add up.

    Attributes
    ----------
    deltas : (m,) float64
        Å, ascending, rounded up to `DIGITS` significant digits, below `NUMERICAL_ZERO` to 0: the
        number of them does not grow with that of the structures.
    counts : (m, S) int64
        Structures times subsets of each size, sizes ascending, whose first is there.
    """

    deltas: np.ndarray
    counts: np.ndarray

    def __add__(self, other: Steps) -> Steps:
        both = np.concatenate([self.deltas, other.deltas])
        deltas, place = np.unique(both, return_inverse=True)
        counts = np.zeros((len(deltas), self.counts.shape[1]), np.int64)
        np.add.at(counts, place, np.concatenate([self.counts, other.counts]))
        return Steps(deltas, counts)


def steps_of(smallest: np.ndarray, sizes: np.ndarray) -> Steps:
    """The steps of some structures.

    Parameters
    ----------
    smallest : (n, K) float64
        See `tally_deltas`.
    sizes : (K,) int
        Views of the subsets.
    """
    views, size = np.unique(sizes, return_inverse=True)
    there = np.isfinite(smallest)
    rounded, place = np.unique(_rounded_up(smallest[there]), return_inverse=True)
    counts = np.zeros((len(rounded), len(views)), np.int64)
    np.add.at(counts, (place, np.broadcast_to(size, smallest.shape)[there]), 1)
    return Steps(rounded, counts)


def _rounded_up(deltas: np.ndarray) -> np.ndarray:
    zero = deltas < NUMERICAL_ZERO
    scale = np.floor(np.log10(np.where(zero, 1.0, deltas))).astype(int) - DIGITS + 1
    unit = 10.0**-scale  # whole numbers times it are as near as numbers come to decimals
    # What is a decimal of so many digits already stays.
    found: np.ndarray = np.where(zero, 0.0, np.ceil(deltas * unit * (1 - 1e-12)) / unit)
    return found


def by_step(
    sets: Mapping[str, tuple[int, Steps]], subsets: Subsets, horizon: float
) -> pd.DataFrame:
    """One row per set of structures and delta at which a number changes, from 0 to `horizon`.

    Columns as in `by_delta`.
    """
    sizes = subsets.by_size()
    records = []
    for name, (n, one) in sets.items():
        inside = one.deltas <= horizon
        total = np.cumsum(one.counts[inside], axis=0)
        deltas = one.deltas[inside]
        if not len(deltas) or deltas[0] > 0:
            deltas = np.append(0.0, deltas)
            total = np.concatenate([np.zeros((1, len(sizes)), np.int64), total])
        for delta, counts in zip(deltas.tolist(), total.tolist(), strict=True):
            records.append(_record(name, delta, n, sizes, counts))
    return _frame(records, sizes)


def by_delta(
    sets: Mapping[str, tuple[int, np.ndarray]], subsets: Subsets, horizon: float
) -> pd.DataFrame:
    """One row per set of structures and delta, for the deltas up to `horizon`.

    Parameters
    ----------
    sets
        Number of structures and `tally_deltas` by the name of their set.
    horizon
        Delta up to which phantoms were followed, Å.

    Returns
    -------
    DataFrame
        ``count_S_views`` of the pairs of a structure and a subset of S views, the
        ``share_S_views`` of all, have a phantom at some delta up to `delta_angstrom`.
    """
    sizes = subsets.by_size()
    records = []
    for name, (n, counts) in sets.items():
        for delta, count in zip(DELTAS[horizon >= DELTAS], counts, strict=False):
            found = [int(count[chosen].sum()) for chosen in sizes.values()]
            records.append(_record(name, delta, n, sizes, found))
    return _frame(records, sizes)


def _record(
    name: str, delta: float, n: int, sizes: Mapping[int, np.ndarray], counts: Sequence[int]
) -> dict[str, Any]:
    record: dict[str, Any] = {"structures": name, "delta_angstrom": delta, "n": n}
    for (size, chosen), found in zip(sizes.items(), counts, strict=True):
        cells = n * len(chosen)
        record[f"count_{size}_views"] = found
        record[f"share_{size}_views"] = found / cells if cells else np.nan
    return record


def _frame(records: list[dict[str, Any]], sizes: Mapping[int, np.ndarray]) -> pd.DataFrame:
    shares = [f"{what}_{size}_views" for size in sizes for what in ("count", "share")]
    return frame_of(
        records,
        ["structures", "delta_angstrom", "n", *shares],
        ["n", *(f"count_{size}_views" for size in sizes)],
    )
