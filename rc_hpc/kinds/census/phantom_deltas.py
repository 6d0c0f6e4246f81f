"""Smallest delta at which each structure has a phantom.

How it is distributed, by number of views.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO
from rc_hpc.stats.frames import frame_of

if TYPE_CHECKING:
    import pandas as pd

    from rc_hpc.kinds.common.subsets import Subsets

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
            record = {"structures": name, "delta_angstrom": delta, "n": n}
            for size, chosen in sizes.items():
                found, cells = int(count[chosen].sum()), n * len(chosen)
                record |= {
                    f"count_{size}_views": found,
                    f"share_{size}_views": found / cells if cells else np.nan,
                }
            records.append(record)
    shares = [f"{what}_{size}_views" for size in sizes for what in ("count", "share")]
    return frame_of(
        records,
        ["structures", "delta_angstrom", "n", *shares],
        ["n", *(f"count_{size}_views" for size in sizes)],
    )
