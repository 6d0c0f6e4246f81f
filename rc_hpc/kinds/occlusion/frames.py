"""Occlusion: R1 by condition and reading, and how much the views hide."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.kinds.common.subsets import GRANULARITIES, Subsets
from rc_hpc.stats.frames import frame_of
from rc_hpc.stats.intervals import wilson

if TYPE_CHECKING:
    import pandas as pd

#: Columns that `tally_occlusion` needs, by their group in the file.
COLUMNS = {
    "structures": ("n_atoms", "n_drawn"),
    "visibility": ("n_occluded", "n_redundant", "n_hidden"),
    "sites": ("n_clear", "n_lost", "n_gone"),
    "occlusion": ("n_recovered", "point_error", *(f"correct_{name}" for name in GRANULARITIES)),
}


_LOSSES = ("lost_by_pictures", "lost_by_every_rule", "lost_by_this_rule")


@dataclass(frozen=True)
class OcclusionAxes:
    """Axes of an occlusion sweep.

    Attributes
    ----------
    readings : (R,) sequence of (str, str, str)
        Verification, enumeration and merge rule.
    conditions, removed : (C,) sequence of str
        Names, and what each takes away.
    views : (V,) sequence of str
    subsets
        K view subsets.
    """

    readings: tuple[tuple[str, str, str], ...]
    conditions: tuple[str, ...]
    removed: tuple[str, ...]
    views: tuple[str, ...]
    subsets: Subsets


@dataclass(frozen=True)
class OcclusionTally:
    """Counts over some structures; the tallies of two disjoint sets add up.

    Attributes
    ----------
    n, atoms : () int64
        Structures, and their atoms.
    correct : (4, R, C, K) int64
        Structures with the true label, by granularity.
    exact, more, fewer : (R, C, K) int64
        Structures with as many atoms as there are, with more, and with fewer.
    point_error : (R, C, K) float64
        Largest finite value, Å; NaN where there is none.
    occluded, redundant : (V,) float64
        Sum over structures of the share of drawn atoms.
    hidden : (C, V) int64
        Atoms of which the view shows no copy.
    clear, lost, gone : (C, K) int64
        Atoms that all views show, fewer than two, none.
    by_pictures, by_every_rule, by_rule : (R, C, K) int64
        Wrong structures: those of which fewer than two views show some atom, so that no reader
        can place it; of the others those that no rule without knowledge of the answer reads
        rightly, and those that another such rule does.
    """

    n: np.int64
    atoms: np.ndarray
    correct: np.ndarray
    exact: np.ndarray
    more: np.ndarray
    fewer: np.ndarray
    point_error: np.ndarray
    occluded: np.ndarray
    redundant: np.ndarray
    hidden: np.ndarray
    clear: np.ndarray
    lost: np.ndarray
    gone: np.ndarray
    by_pictures: np.ndarray
    by_every_rule: np.ndarray
    by_rule: np.ndarray

    def __add__(self, other: OcclusionTally) -> OcclusionTally:
        return OcclusionTally(
            *(
                (np.fmax if field.name == "point_error" else np.add)(
                    getattr(self, field.name), getattr(other, field.name)
                )
                for field in fields(self)
            )
        )


def tally_occlusion(rows: dict[str, np.ndarray], ignorant: np.ndarray) -> OcclusionTally:
    """Tally of a block of computed structures.

    Parameters
    ----------
    rows
        The columns of `COLUMNS`, any number of rows from 0 on.
    ignorant : (R,) bool
        Readings that know nothing of the answer.
    """
    right = rows[f"correct_{GRANULARITIES[0]}"]
    unplaced = (rows["n_lost"][:, None] > 0) & ~right
    elsewhere = right[:, ignorant].any(axis=1, keepdims=True)
    placed = ~right & ~unplaced
    atoms = rows["n_atoms"][:, None, None, None]
    drawn = rows["n_drawn"][:, None]
    error = np.where(np.isfinite(rows["point_error"]), rows["point_error"], np.nan)
    return OcclusionTally(
        n=np.int64(len(rows["n_atoms"])),
        atoms=rows["n_atoms"].sum(dtype=np.int64),
        correct=np.array(
            [rows[f"correct_{name}"].sum(axis=0, dtype=np.int64) for name in GRANULARITIES]
        ),
        exact=np.count_nonzero(rows["n_recovered"] == atoms, axis=0),
        more=np.count_nonzero(rows["n_recovered"] > atoms, axis=0),
        fewer=np.count_nonzero(rows["n_recovered"] < atoms, axis=0),
        point_error=np.fmax.reduce(error, axis=0, initial=np.nan),
        occluded=(rows["n_occluded"] / drawn).sum(axis=0),
        redundant=(rows["n_redundant"] / drawn).sum(axis=0),
        hidden=rows["n_hidden"].sum(axis=0, dtype=np.int64),
        clear=rows["n_clear"].sum(axis=0, dtype=np.int64),
        lost=rows["n_lost"].sum(axis=0, dtype=np.int64),
        gone=rows["n_gone"].sum(axis=0, dtype=np.int64),
        by_pictures=np.count_nonzero(unplaced, axis=0),
        by_every_rule=np.count_nonzero(placed & ~elsewhere, axis=0),
        by_rule=np.count_nonzero(placed & elsewhere, axis=0),
    )


def by_condition(sets: dict[str, OcclusionTally], axes: OcclusionAxes) -> pd.DataFrame:
    """R1 of the crystal system.

    One row per set of structures, reading, number of views and condition.

    Over several subsets of that size `R1` is the mean, without an interval; `exact`, `more`
    and `fewer` count cells by their number of atoms, and the losses sum to what is wrong.
    """
    records = []
    for name, t in sets.items():
        for r, (verification, enumeration, rule) in enumerate(axes.readings):
            for size, chosen in axes.subsets.by_size().items():
                for c, condition in enumerate(axes.conditions):
                    count, n = int(t.correct[0, r, c, chosen].sum()), int(t.n) * len(chosen)
                    low, high = wilson(count, n) if len(chosen) == 1 else (np.nan, np.nan)
                    records.append(
                        {
                            "structures": name,
                            "verification": verification,
                            "enumeration": enumeration,
                            "merge": rule,
                            "views": size,
                            "subsets": len(chosen),
                            "condition": condition,
                            "R1_count": count,
                            "n": n,
                            "R1": count / n if n else np.nan,
                            "R1_low95": low,
                            "R1_high95": high,
                            "lost_by_pictures": int(t.by_pictures[r, c, chosen].sum()),
                            "lost_by_every_rule": int(t.by_every_rule[r, c, chosen].sum()),
                            "lost_by_this_rule": int(t.by_rule[r, c, chosen].sum()),
                            "exact": int(t.exact[r, c, chosen].sum()),
                            "more": int(t.more[r, c, chosen].sum()),
                            "fewer": int(t.fewer[r, c, chosen].sum()),
                            "point_error_angstrom": np.fmax.reduce(t.point_error[r, c, chosen]),
                        }
                    )
    columns = [
        "structures",
        "verification",
        "enumeration",
        "merge",
        "views",
        "subsets",
        "condition",
        "R1_count",
        "n",
        "R1",
        "R1_low95",
        "R1_high95",
        *_LOSSES,
        "exact",
        "more",
        "fewer",
        "point_error_angstrom",
    ]
    return frame_of(
        records, columns, ("views", "subsets", "R1_count", "n", *_LOSSES, "exact", "more", "fewer")
    )


def by_view(sets: dict[str, OcclusionTally], axes: OcclusionAxes) -> pd.DataFrame:
    """Share of the drawn atoms that each view hides, mean over structures.

    One row per set of structures and view.
    """
    records = [
        {
            "structures": name,
            "view": view,
            "occluded": t.occluded[v] / t.n if t.n else np.nan,
            "redundant": t.redundant[v] / t.n if t.n else np.nan,
            "informative": (t.occluded[v] - t.redundant[v]) / t.n if t.n else np.nan,
        }
        for name, t in sets.items()
        for v, view in enumerate(axes.views)
    ]
    return frame_of(records, ["structures", "view", "occluded", "redundant", "informative"])


def by_sites(sets: dict[str, OcclusionTally], axes: OcclusionAxes) -> pd.DataFrame:
    """Atoms of the cells by the views that show them.

    One row per set of structures, number of views and condition.

    `hidden` counts pairs of an atom and a view of the protocol that shows no copy of it;
    the others count atoms on the subsets of that size, of `n`.
    """
    records = []
    for name, t in sets.items():
        for size, chosen in axes.subsets.by_size().items():
            for c, (condition, removed) in enumerate(
                zip(axes.conditions, axes.removed, strict=True)
            ):
                records.append(
                    {
                        "structures": name,
                        "views": size,
                        "subsets": len(chosen),
                        "condition": condition,
                        "removed": removed,
                        "hidden": int(t.hidden[c].sum()),
                        "clear_count": int(t.clear[c, chosen].sum()),
                        "fewer_than_two_count": int(t.lost[c, chosen].sum()),
                        "none_count": int(t.gone[c, chosen].sum()),
                        "n": int(t.atoms) * len(chosen),
                    }
                )
    columns = [
        "structures",
        "views",
        "subsets",
        "condition",
        "removed",
        "hidden",
        "clear_count",
        "fewer_than_two_count",
        "none_count",
        "n",
    ]
    return frame_of(
        records,
        columns,
        ("views", "subsets", "hidden", "clear_count", "fewer_than_two_count", "none_count", "n"),
    )
