"""Readings against the truth, as frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.vocabulary import ReadStatus
from rc_hpc.kinds.scores.counts import ScoreCounts
from rc_hpc.stats.frames import frame_of
from rc_hpc.stats.intervals import wilson
from rc_hpc.symmetry.labels import crystal_system

if TYPE_CHECKING:
    import pandas as pd

#: Largest cells of the classes of size, atoms; the last class is everything larger.
SIZES = (8, 16, 32, 64)
ALL = "all"
#: Crystals that a reading without any symmetry gets right too.
LUCKY = "triclinic"
BUT_LUCKY = "all but triclinic"


def sets_of(counts: ScoreCounts) -> Iterator[tuple[str, np.ndarray]]:
    """Names of sets of crystals, and which of the rows each has."""
    ok, rows, system = counts.ok, counts.rows, _systems(counts)
    yield ALL, ok
    yield BUT_LUCKY, ok & (system != LUCKY)
    for name in CRYSTAL_SYSTEMS:
        yield name, ok & (system == name)
    for low, high in zip((0, *SIZES), (*SIZES, None), strict=True):
        n = rows["n_atoms"]
        inside = (n > low) & (n <= high) if high else n > low
        yield f"{low + 1} to {high} atoms" if high else f"more than {low} atoms", ok & inside


def _systems(counts: ScoreCounts) -> np.ndarray:
    """True crystal system of each row; empty where there is none."""
    groups = counts.rows["space_group"].tolist()
    return np.array([crystal_system(n) if n else "" for n in groups], object)


def scores(counts: ScoreCounts) -> pd.DataFrame:
    """R2 by set of crystals, at the first symprec, with what is certified and what luck."""
    records = []
    lucky = (_systems(counts) == LUCKY) & ~counts.rows["sites_exact"]
    for name, own in sets_of(counts):
        n = int(own.sum())
        if not n:
            continue
        right = own & counts.rows["system_right"][:, 0]
        certified = own & counts.rows["certified"]
        whole = right & counts.rows["sites_exact"]
        low, high = wilson(int(right.sum()), n)
        records.append(
            {
                "crystals": name,
                "n": n,
                "right": int(right.sum()),
                "R2": right.sum() / n,
                "R2_low95": low,
                "R2_high95": high,
                "space_group_right": int((own & counts.rows["space_group_right"][:, 0]).sum()),
                "sites_exact": int((own & counts.rows["sites_exact"]).sum()),
                "certified": int(certified.sum()),
                "right_and_certified": int((right & certified).sum()),
                "right_by_luck": int((right & lucky).sum()),
                "certified_wrong": int((certified & ~whole).sum()),
            }
        )
    counted = (
        *("n", "right", "space_group_right", "sites_exact", "certified"),
        *("right_and_certified", "right_by_luck", "certified_wrong"),
    )
    columns = ("crystals", "n", "right", "R2", "R2_low95", "R2_high95", *counted[2:])
    return frame_of(records, columns, counted)


def by_symprec(counts: ScoreCounts) -> pd.DataFrame:
    """Right labels by tolerance, and of the label by pictures; without triclinic crystals too."""
    rows = counts.rows
    labels: list[tuple[str, Any, Any]] = [
        (f"{symprec:g} Å", rows["system_right"][:, k], rows["space_group_right"][:, k])
        for k, symprec in enumerate(counts.symprecs)
    ]
    labels.append(
        (
            "by pictures",
            rows["system_right_by_pictures"],
            rows["space_group_right_by_pictures"],
        )
    )
    records = [
        {
            "crystals": crystals,
            "label": name,
            "n": int(own.sum()),
            "system_right": int((own & system).sum()),
            "R2": (own & system).sum() / max(int(own.sum()), 1),
            "space_group_right": int((own & group).sum()),
        }
        for crystals, own in sets_of(counts)
        if crystals in (ALL, BUT_LUCKY)
        for name, system, group in labels
    ]
    columns = ("crystals", "label", "n", "system_right", "R2", "space_group_right")
    return frame_of(records, columns, ("n", "system_right", "space_group_right"))


def errors(counts: ScoreCounts) -> pd.DataFrame:
    """Percentiles of the largest error of a crystal, by certificate."""
    rows = counts.rows
    records = []
    for name, own in (
        ("certified", counts.ok & rows["certified"]),
        ("not certified, all sites", counts.ok & ~rows["certified"] & rows["sites_exact"]),
    ):
        for what in ("largest_error", "frame_error"):
            values = rows[what][own]
            values = values[np.isfinite(values)]
            told = np.percentile(values, (50, 90, 99, 100)) if len(values) else [np.nan] * 4
            names = ("median_angstrom", "p90_angstrom", "p99_angstrom", "max_angstrom")
            records.append(
                {"readings": name, "error": what.replace("_", " "), "n": len(values)}
                | dict(zip(names, told, strict=True))
            )
    columns = (
        *("readings", "error", "n", "median_angstrom", "p90_angstrom", "p99_angstrom"),
        "max_angstrom",
    )
    return frame_of(records, columns, ("n",))


def losses(counts: ScoreCounts) -> pd.DataFrame:
    """Every crystal of which something is wrong."""
    rows = counts.rows
    wrong = counts.ok & ((rows["cause"] != "") | ~rows["system_right"][:, 0])
    records = [
        {
            "id": counts.ids[k],
            "space_group": int(rows["space_group"][k]),
            "n_atoms": int(rows["n_atoms"][k]),
            "reading": ReadStatus(rows["reading"][k]).name,
            "certified": bool(rows["certified"][k]),
            "right": bool(rows["system_right"][k, 0]),
            "by_pictures": bool(rows["system_right_by_pictures"][k]),
            "cause": rows["cause"][k],
        }
        for k in np.flatnonzero(wrong)
    ]
    columns = (
        *("id", "space_group", "n_atoms", "reading", "certified", "right", "by_pictures"),
        "cause",
    )
    return frame_of(records, columns, ("space_group", "n_atoms"))
