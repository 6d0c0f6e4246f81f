"""Ceilings of a census: frames made of its counts.

Columns of the frames named ``*_count`` count successes among the `n` of their row;
``*_low95`` and ``*_high95`` are Wilson limits; a trailing ``_angstrom`` is the unit. What
does not exist (no full protocol, say) is left out, what does not apply is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.kinds.census.tally import Tally
from rc_hpc.kinds.common.subsets import CRYSTALS, Labels, Subsets
from rc_hpc.stats.intervals import wilson

if TYPE_CHECKING:
    import pandas as pd

_TEXT = (
    "structures",
    "quantity",
    "subset",
    "label",
    "crystal_system",
    "point_group",
    "status",
    "example_id",
    "example_message",
)


def reference(
    sets: dict[str, Tally],
    subsets: Subsets,
    n_rows: int,
    n_quarantined: int,
    n_labelled: int,
    reading: str = "R1",
    labels: Labels = CRYSTALS,
) -> pd.DataFrame:
    """The model-free reference, one row per set of structures and quantity.

    Parameters
    ----------
    sets
        Tallies by the name of their set of structures.
    n_rows
        Rows of the file.
    n_quarantined, n_labelled
        Quarantined structures, and those among which they were looked for.
    reading
        What the ceiling is called: `R1`, or with the delta it was read at.
    labels
        Molecules have no quarantine and no R0.

    Returns
    -------
    DataFrame
        `fraction` of a row over several subsets is their mean, and `subset_min` and
        `subset_max` are their extremes; then there is no Wilson interval, because the
        subsets of one structure are not independent.
    """
    records = []
    for name, t in sets.items():
        records.append({"quantity": "structures, of all rows", "count": t.n, "n": n_rows})
        if labels.cells:
            records.append(
                {
                    "quantity": "quarantined, of all labelled",
                    "count": n_quarantined,
                    "n": n_labelled,
                }
            )
            records.append({"quantity": "R0", **_share(t.same[0], t.n)})
        for size, chosen in subsets.read().items():
            what = (
                f"{reading}, full protocol"
                if subsets.full in chosen
                else f"{reading}, subsets of {size} views"
            )
            records.append(
                {
                    "quantity": what,
                    "views": size,
                    "subsets": len(chosen),
                    **_over(t.correct[0], chosen, t.n),
                }
            )
        if (full := subsets.full) is not None:
            views = {"views": subsets.sizes[full], "subsets": 1}
            records.append(
                {"quantity": "certified, full protocol", **views, **_share(t.certified[full], t.n)}
            )
            if t.n and t.unique[full] >= 0:
                records.append(
                    {"quantity": "unique, full protocol", **views, **_share(t.unique[full], t.n)}
                )
            records.append(
                {
                    "quantity": "largest atom error, full protocol",
                    **views,
                    "length_angstrom": t.atom_error[full],
                }
            )
            records.append(
                {
                    "quantity": "largest point error, full protocol",
                    **views,
                    "length_angstrom": t.point_error[full],
                }
            )
        near = {"count": t.near_tie.sum(), "n": t.n * len(t.near_tie)}
        records.append({"quantity": "near ties, all subsets", "subsets": len(t.near_tie), **near})
        for record in records:
            record.setdefault("structures", name)
    return _frame(
        records,
        [
            "structures",
            "quantity",
            "views",
            "subsets",
            "count",
            "n",
            "fraction",
            "low95",
            "high95",
            "subset_min",
            "subset_max",
            "length_angstrom",
        ],
        integers=("views", "subsets", "count", "n"),
    )


def by_subset(sets: dict[str, Tally], subsets: Subsets) -> pd.DataFrame:
    """One row per set of structures and subset, in the order of the file.

    `phantoms` are totals over the structures: by acceptance at delta; `meeting` those of them
    whose rays meet within 1e-6 Å; `strict` with rays and residuals within 1e-6 Å, whatever delta
    is (missing in files of version 0.2.0 and before). `mean_excess` is the mean of recovered less
    drawn atoms, `unlabelled` counts the reconstructions without a label, which are never correct,
    `near_tie` those whose count or label depends on the scale of ties. R1 is missing where nothing
    was labelled.
    """
    records = []
    for name, t in sets.items():
        for k, subset in enumerate(subsets.names):
            records.append(
                {
                    "structures": name,
                    "subset": subset,
                    "views": subsets.sizes[k],
                    "kappa": subsets.kappas[k],
                    "n": t.n,
                    "with_phantoms": t.with_phantoms[k],
                    "phantoms": t.phantoms[k],
                    "mean_phantoms": _ratio(t.phantoms[k], t.n),
                    "with_meeting_phantoms": t.with_phantoms_exact[k],
                    "meeting_phantoms": t.phantoms_exact[k],
                    "mean_meeting_phantoms": _ratio(t.phantoms_exact[k], t.n),
                    "with_strict_phantoms": _known(t.with_phantoms_strict[k], t.phantoms_strict[k]),
                    "strict_phantoms": _known(t.phantoms_strict[k], t.phantoms_strict[k]),
                    "mean_excess": _ratio(t.recovered[k] - t.atoms, t.n),
                    "unlabelled": t.n - t.labelled[k],
                    "near_tie": t.near_tie[k],
                    **(_named("R1", _share(t.correct[0, k], t.n)) if subsets.labelled[k] else {}),
                }
            )
    return _frame(
        records,
        [
            "structures",
            "subset",
            "views",
            "kappa",
            "n",
            "with_phantoms",
            "phantoms",
            "mean_phantoms",
            "with_meeting_phantoms",
            "meeting_phantoms",
            "mean_meeting_phantoms",
            "with_strict_phantoms",
            "strict_phantoms",
            "mean_excess",
            "unlabelled",
            "near_tie",
            "R1_count",
            "R1",
            "R1_low95",
            "R1_high95",
        ],
        integers=(
            "views",
            "n",
            "with_phantoms",
            "phantoms",
            "with_meeting_phantoms",
            "meeting_phantoms",
            "with_strict_phantoms",
            "strict_phantoms",
            "unlabelled",
            "near_tie",
            "R1_count",
        ),
    )


def by_granularity(
    sets: dict[str, Tally], subsets: Subsets, labels: Labels = CRYSTALS
) -> pd.DataFrame:
    """One row per set of structures and granularity of the label, coarse to fine.

    `classes` is the number of different true labels; ``R1_mean_S_views`` the mean over the
    subsets of S views.
    """
    records = []
    for name, t in sets.items():
        for g, granularity in enumerate(labels.granularities):
            records.append(
                {
                    "structures": name,
                    "label": granularity.replace("_", " "),
                    "n": t.n,
                    "classes": np.count_nonzero(t.truths[g, 1:]),
                    **(_named("R0", _share(t.same[g], t.n)) if labels.cells else {}),
                    **_ceilings(t.correct[g], t.n, subsets),
                }
            )
    return _frame(
        records,
        [
            "structures",
            "label",
            "n",
            "classes",
            *(("R0_count", "R0", "R0_low95", "R0_high95") if labels.cells else ()),
            *_ceiling_columns(subsets),
        ],
        integers=("n", "classes", "R0_count", "R1_count"),
    )


def by_system(sets: dict[str, Tally], subsets: Subsets, labels: Labels = CRYSTALS) -> pd.DataFrame:
    """R1 of the crystal system, one row per set of structures and true crystal system.

    Of molecules the point groups that occur, in the place of systems.
    """
    records = []
    for name, t in sets.items():
        for code, system in enumerate(labels.classes, 1):
            n = t.by_system[code]
            if not (labels.cells or n):
                continue
            records.append(
                {
                    "structures": name,
                    labels.coarsest: system,
                    "n": n,
                    **_ceilings(t.correct_by_system[code], n, subsets),
                }
            )
    return _frame(
        records,
        ["structures", labels.coarsest, "n", *_ceiling_columns(subsets)],
        integers=("n", "R1_count"),
    )


def _ceilings(correct: np.ndarray, n: Any, subsets: Subsets) -> dict[str, Any]:
    means = {
        f"R1_mean_{size}_views": _over(correct, chosen, n)["fraction"]
        for size, chosen in subsets.read().items()
        if subsets.full not in chosen
    }
    return means if subsets.full is None else means | _named("R1", _share(correct[subsets.full], n))


def _ceiling_columns(subsets: Subsets) -> list[str]:
    means = [
        f"R1_mean_{size}_views"
        for size, chosen in subsets.read().items()
        if subsets.full not in chosen
    ]
    return means if subsets.full is None else [*means, "R1_count", "R1", "R1_low95", "R1_high95"]


def _known(count: Any, total: Any) -> Any:
    """A count; None where `total`, its sum, says that files lack it."""
    return None if total < 0 else count


def _ratio(count: Any, n: Any) -> float:
    return int(count) / int(n) if n else float("nan")


def _share(count: Any, n: Any) -> dict[str, Any]:
    low, high = wilson(int(count), int(n))
    return {"count": count, "n": n, "fraction": _ratio(count, n), "low95": low, "high95": high}


def _over(correct: np.ndarray, chosen: np.ndarray, n: Any) -> dict[str, Any]:
    """Share over the cells of several subsets: its mean and extremes.

    Of a single one as `_share`.
    """
    if len(chosen) == 1:
        return _share(correct[chosen[0]], n)
    each = correct[chosen]
    count, cells = each.sum(), n * len(chosen)
    return {
        "count": count,
        "n": cells,
        "fraction": _ratio(count, cells),
        "subset_min": _ratio(each.min(), n),
        "subset_max": _ratio(each.max(), n),
    }


def _named(prefix: str, share: dict[str, Any]) -> dict[str, Any]:
    names = {
        "count": f"{prefix}_count",
        "fraction": prefix,
        "low95": f"{prefix}_low95",
        "high95": f"{prefix}_high95",
    }
    return {names[key]: value for key, value in share.items() if key in names}


def _frame(
    records: list[dict[str, Any]], columns: list[str], integers: tuple[str, ...]
) -> pd.DataFrame:
    """Frame with nullable integers, so that a missing count is not a float."""
    import pandas as pd

    frame = pd.DataFrame.from_records(records, columns=columns)
    for name in columns:
        if name in integers:
            frame[name] = frame[name].astype("Int64")
        elif name not in _TEXT:
            frame[name] = frame[name].astype("float64")
    return frame
