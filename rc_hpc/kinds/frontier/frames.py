"""Tolerance frontier: R1 over delta under every reading, and how many structures are certified."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.kinds.common.subsets import CRYSTALS, Labels, Subsets
from rc_hpc.stats.frames import frame_of
from rc_hpc.stats.intervals import wilson

if TYPE_CHECKING:
    import pandas as pd

#: Columns that `tally_frontier` needs, by structure, and further by the axes of the file.
STRUCTURE_COLUMNS = ("n_atoms", "separation")
POINT_COLUMNS = ("n_recovered", "point_error", "certified")


@dataclass(frozen=True)
class Axes:
    """Axes of a frontier.

    Attributes
    ----------
    readings : (R,) sequence of (str, str)
        Enumeration and merge rule.
    deltas, symprecs : (D,), (T,) float64
        Å.
    subsets
        K view subsets.
    """

    readings: tuple[tuple[str, str], ...]
    deltas: np.ndarray
    symprecs: np.ndarray
    subsets: Subsets


@dataclass(frozen=True)
class FrontierTally:
    """Counts over some structures; the tallies of two disjoint sets add up.

    Attributes
    ----------
    n : () int64
        Structures.
    correct : (R, D, T, K) int64
        Structures with the true label, the coarsest there is.
    more, fewer : (R, D, K) int64
        Structures with more, and with fewer atoms than there are.
    certified : (D, K) int64
    close : (D,) int64
        Structures with atoms of one species not more than 2 delta apart.
    phantoms, phantoms_exact : (D, K) int64
        Structures with phantoms, by acceptance and by Definition 7.
    point_error : (R, D, K) float64
        Largest value, Å; NaN where there is none.
    """

    n: np.int64
    correct: np.ndarray
    more: np.ndarray
    fewer: np.ndarray
    certified: np.ndarray
    close: np.ndarray
    phantoms: np.ndarray
    phantoms_exact: np.ndarray
    point_error: np.ndarray

    def __add__(self, other: FrontierTally) -> FrontierTally:
        return FrontierTally(
            *(
                (np.fmax if field.name == "point_error" else np.add)(
                    getattr(self, field.name), getattr(other, field.name)
                )
                for field in fields(self)
            )
        )


def tally_frontier(
    rows: dict[str, np.ndarray],
    profile: dict[str, np.ndarray],
    deltas: np.ndarray,
    tiling: int = 1,
    labels: Labels = CRYSTALS,
) -> FrontierTally:
    """Tally of a block of computed structures.

    Parameters
    ----------
    rows
        `STRUCTURE_COLUMNS` (n,), `POINT_COLUMNS` and ``correct_`` of the coarsest label as in the
        file, any n from 0 on.
    profile
        `subset`, `kind`, `delta_from` and `delta_to` of the same structures.
    deltas : (D,) float64
    tiling
        Conventional cells in the drawn cell.
    labels
        What the structures are labelled by.
    """
    atoms = (rows["n_atoms"] * tiling)[:, None, None, None]
    n_subsets = rows["certified"].shape[-1]
    exact = profile["kind"] != 0
    return FrontierTally(
        n=np.int64(len(rows["n_atoms"])),
        correct=rows[f"correct_{labels.coarsest}"].sum(axis=0, dtype=np.int64),
        more=np.count_nonzero(rows["n_recovered"] > atoms, axis=0),
        fewer=np.count_nonzero(rows["n_recovered"] < atoms, axis=0),
        certified=rows["certified"].sum(axis=0, dtype=np.int64),
        close=np.count_nonzero(rows["separation"][:, None] <= 2 * deltas, axis=0),
        phantoms=_inside(profile, ~exact, deltas, n_subsets),
        phantoms_exact=_inside(profile, exact, deltas, n_subsets),
        point_error=np.fmax.reduce(rows["point_error"], axis=0, initial=np.nan),
    )


def _inside(
    profile: dict[str, Any], chosen: np.ndarray, deltas: np.ndarray, n_subsets: int
) -> np.ndarray:
    """Intervals that hold each delta, (D, K).

    Those of one structure and subset are disjoint, so these are structures.
    """
    count = np.zeros((len(deltas), n_subsets), np.int64)
    for k in range(n_subsets):
        own = chosen & (profile["subset"] == k)
        entered, left = (
            np.searchsorted(np.sort(profile[name][own]), deltas, side="right")
            for name in ("delta_from", "delta_to")
        )
        count[:, k] = entered - left
    return count


def certified_steps(
    structure: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    separation: np.ndarray,
    horizon: float,
) -> tuple[np.ndarray, np.ndarray]:
    """How many structures are certified as a function of delta, exactly.

    Parameters
    ----------
    structure : (m,) int64
        Structure of each interval of the profile, 0 to n - 1.
    lower, upper : (m,) float64
        Deltas at which the structure has phantoms, disjoint within a structure, Å.
    separation : (n,) float64
        Smallest distance between atoms of one species, Å.
    horizon
        Delta up to which the profile is complete, Å.

    Returns
    -------
    delta : (s,) float64
        Where the count changes, from 0 on, ascending, at most `horizon`.
    certified : (s,) int64
        Structures certified from there up to the next.
    """
    touching = np.asarray(separation) / 2  # certified means more than 2 delta apart
    structure = np.asarray(structure, np.int64)
    before = lower < touching[structure]
    ends = np.minimum(upper[before], touching[structure][before])
    where = np.concatenate((lower[before], ends, touching))
    step = np.repeat([-1, 1, -1], [before.sum(), before.sum(), len(touching)])
    inside = where <= horizon
    where, step = where[inside], step[inside]
    delta, group = np.unique(np.append(where, 0.0), return_inverse=True)
    change = np.bincount(group, np.append(step, len(touching)), minlength=len(delta)).astype(
        np.int64
    )
    certified = np.cumsum(change)
    kept = np.append(True, change[1:] != 0)
    return delta[kept], certified[kept]


def by_delta(sets: dict[str, FrontierTally], axes: Axes, labels: Labels = CRYSTALS) -> pd.DataFrame:
    """R1 of the crystal system; of molecules of the point group, within its tolerance.

    One row per set of structures, reading, number of views, symprec and delta.

    Over several subsets of that size `R1` is the mean, without an interval; `more` and
    `fewer` count cells with a wrong number of atoms.
    """
    records = []
    tolerance = "symprec_angstrom" if labels.cells else "group_tolerance_angstrom"
    for name, t in sets.items():
        for r, (enumeration, rule) in enumerate(axes.readings):
            for size, chosen in axes.subsets.by_size().items():
                for s, symprec in enumerate(axes.symprecs):
                    for d, delta in enumerate(axes.deltas):
                        count = int(t.correct[r, d, s, chosen].sum())
                        records.append(
                            {
                                "structures": name,
                                "enumeration": enumeration,
                                "merge": rule,
                                "views": size,
                                "subsets": len(chosen),
                                tolerance: symprec,
                                "delta_angstrom": delta,
                                **_share("R1", count, int(t.n), len(chosen)),
                                "more": int(t.more[r, d, chosen].sum()),
                                "fewer": int(t.fewer[r, d, chosen].sum()),
                                "point_error_angstrom": np.fmax.reduce(t.point_error[r, d, chosen]),
                            }
                        )
    columns = [
        "structures",
        "enumeration",
        "merge",
        "views",
        "subsets",
        tolerance,
        "delta_angstrom",
        *_SHARE,
        "more",
        "fewer",
        "point_error_angstrom",
    ]
    return frame_of(records, columns, ("views", "subsets", "R1_count", "n", "more", "fewer"))


def certified(sets: dict[str, FrontierTally], axes: Axes) -> pd.DataFrame:
    """Certified structures, with what stands against the others.

    One row per set of structures, number of views and delta.

    Cells with phantoms by acceptance at delta, and with those whose rays meet within 1e-6 Å;
    structures whose atoms of one species are not more than 2 delta apart (`close`).
    """
    records = []
    for name, t in sets.items():
        for size, chosen in axes.subsets.by_size().items():
            for d, delta in enumerate(axes.deltas):
                records.append(
                    {
                        "structures": name,
                        "views": size,
                        "subsets": len(chosen),
                        "delta_angstrom": delta,
                        **_share(
                            "certified", int(t.certified[d, chosen].sum()), int(t.n), len(chosen)
                        ),
                        "with_phantoms": int(t.phantoms[d, chosen].sum()),
                        "with_meeting_phantoms": int(t.phantoms_exact[d, chosen].sum()),
                        "close": int(t.close[d]),
                    }
                )
    columns = [
        "structures",
        "views",
        "subsets",
        "delta_angstrom",
        *(column.replace("R1", "certified") for column in _SHARE),
        "with_phantoms",
        "with_meeting_phantoms",
        "close",
    ]
    return frame_of(
        records,
        columns,
        (
            "views",
            "subsets",
            "certified_count",
            "n",
            "with_phantoms",
            "with_meeting_phantoms",
            "close",
        ),
    )


def steps(curves: dict[str, tuple[np.ndarray, np.ndarray]], sizes: dict[str, int]) -> pd.DataFrame:
    """The certified structures of the full protocol from each delta on, one row per change.

    Parameters
    ----------
    curves
        From `certified_steps`, by set of structures.
    sizes
        Structures of each set.
    """
    records = [
        {
            "structures": name,
            "delta_angstrom": delta,
            "certified_count": int(count),
            "n": sizes[name],
        }
        for name, curve in curves.items()
        for delta, count in zip(*curve, strict=True)
    ]
    return frame_of(
        records, ["structures", "delta_angstrom", "certified_count", "n"], ("certified_count", "n")
    )


_SHARE = ("R1_count", "n", "R1", "R1_low95", "R1_high95")


def _share(prefix: str, count: int, n: int, n_subsets: int) -> dict[str, Any]:
    low, high = wilson(count, n) if n_subsets == 1 else (np.nan, np.nan)
    cells = n * n_subsets
    return {
        f"{prefix}_count": count,
        "n": cells,
        prefix: count / cells if cells else np.nan,
        f"{prefix}_low95": low,
        f"{prefix}_high95": high,
    }
