"""View curve and monotonicity: what more cameras add, and where they take something away."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from rc_hpc.kinds.census.tally import Tally
    from rc_hpc.kinds.common.subsets import Subsets


def nested(masks: np.ndarray, labelled: np.ndarray | None = None) -> np.ndarray:
    """Which subsets lie within which, of those that are labelled.

    (K, K) bool, true where the cameras of row i are some, not all, of those of column j.

    Parameters
    ----------
    masks : (K,) int
        Bit masks of the cameras.
    labelled : (K,) bool
        By default all.
    """
    masks = np.asarray(masks, np.int64)
    if labelled is None:
        labelled = np.ones(len(masks), bool)
    within = (masks[:, None] & ~masks[None]) == 0
    both = labelled[:, None] & labelled[None]
    return np.asarray(within & both & (masks[:, None] != masks[None]))


def adjacent(masks: np.ndarray, labelled: np.ndarray | None = None) -> np.ndarray:
    """The same where exactly one camera is added."""
    sizes = np.array([int(mask).bit_count() for mask in masks])
    return np.asarray(nested(masks, labelled) & (sizes[None] - sizes[:, None] == 1))


@dataclass(frozen=True)
class Losses:
    """What added cameras lose of some structures; the losses of disjoint sets add up.

    Attributes
    ----------
    lost : (K, K) int64
        Structures right on the row's subset and wrong on the column's, for every two subsets.
    structures, structures_adjacent : () int64
        Structures of which any nested pair, or any pair one camera apart, is so.
    """

    lost: np.ndarray
    structures: np.int64
    structures_adjacent: np.int64

    def __add__(self, other: Losses) -> Losses:
        return Losses(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        )


def count_losses(
    correct: np.ndarray, masks: np.ndarray, labelled: np.ndarray | None = None
) -> Losses:
    """Losses of a block of structures.

    Parameters
    ----------
    correct : (n, K) bool
        Whether each subset gives the true label.
    masks : (K,) int
    labelled : (K,) bool
        Subsets that are labelled: the others lose nothing.
    """
    right = np.asarray(correct, dtype=np.float32)  # counts are exact up to 2^24 rows of a block

    def losing(pairs: np.ndarray) -> np.int64:
        lost = ((right @ pairs.astype(np.float32)) > 0) & (right == 0)
        return np.int64(np.count_nonzero(lost.any(axis=1)))

    return Losses(
        np.rint(right.T @ (1.0 - right)).astype(np.int64),
        losing(nested(masks, labelled)),
        losing(adjacent(masks, labelled)),
    )


def by_size(sets: dict[str, Tally], subsets: Subsets) -> pd.DataFrame:
    """The view curve: one row per set of structures and number of views.

    `R1` is the mean over the subsets of that size, `R1_min` and `R1_max` its extremes;
    missing where nothing was labelled; `mean_excess` is the mean over subsets and structures of
    recovered less drawn atoms.
    """
    import pandas as pd

    records = []
    for name, t in sets.items():
        for size, chosen in subsets.by_size().items():
            share = t.correct[0][chosen] / t.n if t.n else np.full(len(chosen), np.nan)
            share = np.where(subsets.labelled[chosen], share, np.nan)
            excess = (t.recovered[chosen] - t.atoms) / t.n if t.n else np.full(len(chosen), np.nan)
            records.append(
                {
                    "structures": name,
                    "views": size,
                    "subsets": len(chosen),
                    "n": int(t.n),
                    "R1": share.mean(),
                    "R1_min": share.min(),
                    "R1_max": share.max(),
                    "mean_excess": excess.mean(),
                }
            )
    return pd.DataFrame.from_records(
        records,
        columns=["structures", "views", "subsets", "n", "R1", "R1_min", "R1_max", "mean_excess"],
    )


def violations(
    sets: dict[str, tuple[Tally, Losses]], masks: np.ndarray, labelled: np.ndarray
) -> pd.DataFrame:
    """One row per set of structures and kind of pair: how often more cameras give less.

    A pair of subsets is nested where one has all cameras of the other and more. `losses`
    counts structures right on the smaller and wrong on the larger, over all pairs;
    `structures_with` those with any; `aggregate` the pairs over which R1 itself falls.
    """
    import pandas as pd

    records = []
    for name, (t, losses) in sets.items():
        for kind, pairs, structures in (
            ("nested", nested(masks, labelled), losses.structures),
            ("one camera apart", adjacent(masks, labelled), losses.structures_adjacent),
        ):
            count, n_pairs = int(losses.lost[pairs].sum()), int(pairs.sum())
            falls = pairs & (t.correct[0][:, None] > t.correct[0][None])
            records.append(
                {
                    "structures": name,
                    "pairs": kind,
                    "n_pairs": n_pairs,
                    "comparisons": n_pairs * int(t.n),
                    "losses": count,
                    "loss_rate": count / (n_pairs * int(t.n)) if n_pairs * int(t.n) else np.nan,
                    "structures_with": int(structures),
                    "aggregate": int(falls.sum()),
                }
            )
    columns = [
        "structures",
        "pairs",
        "n_pairs",
        "comparisons",
        "losses",
        "loss_rate",
        "structures_with",
        "aggregate",
    ]
    return pd.DataFrame.from_records(records, columns=columns)


def falling(sets: dict[str, Tally], subsets: Subsets, masks: np.ndarray) -> pd.DataFrame:
    """One row per nested pair of subsets over which R1 falls, with both counts."""
    import pandas as pd

    records = []
    for name, t in sets.items():
        right = t.correct[0]
        falls = nested(masks, subsets.labelled) & (right[:, None] > right[None])
        for i, j in np.argwhere(falls):
            records.append(
                {
                    "structures": name,
                    "subset": subsets.names[i],
                    "larger_subset": subsets.names[j],
                    "n": int(t.n),
                    "R1_count": int(right[i]),
                    "larger_R1_count": int(right[j]),
                }
            )
    return pd.DataFrame.from_records(
        records,
        columns=["structures", "subset", "larger_subset", "n", "R1_count", "larger_R1_count"],
    )
