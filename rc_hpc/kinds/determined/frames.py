"""What pictures determine, by stratum and number of views, beside what others get."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.benchmark.determined_file import Determined
from rc_hpc.benchmark.records import LETTERS, STRATA
from rc_hpc.core.errors import Status
from rc_hpc.stats.clusters import cluster_sums, percentiles, ratio_draws
from rc_hpc.stats.frames import frame_of

if TYPE_CHECKING:
    import pandas as pd

#: Name of the row of all strata together.
ALL = "all"
#: Draws of the bootstrap over base structures, and their seed.
RESAMPLES, SEED = 10_000, 20261021
_COUNTS = ("n", "base_structures", "unknown", "determined_count", "misled_count")
_MEASURED = (
    *("n", "base_structures", "unknown", "determined_count", "determined"),
    *("determined_lowboot95", "determined_highboot95", "expected_score", "misled_count"),
)


def _strata(rows: Determined, together: bool) -> Iterator[tuple[str, np.ndarray]]:
    """Names of strata that are there, and the questions of each that were read."""
    ok = rows.status == Status.ok
    for stratum in STRATA:
        own = ok & (rows.questions["stratum"] == stratum)
        if own.any():
            yield stratum, own
    if together:
        yield ALL, ok


def _measured(
    rows: Determined, own: np.ndarray, known: np.ndarray, of: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Shares over the questions `own` of which something is known; `of` holds (n,) each."""
    used = own & known
    names, places = np.unique(rows.questions["base_structure"][used], return_inverse=True)
    low, high = _interval(of["determined"][used], places, len(names))
    n = int(used.sum())
    return {
        "n": n,
        "base_structures": len(names),
        "unknown": int((own & ~known).sum()),
        "determined_count": int(of["determined"][used].sum()),
        "determined": of["determined"][used].mean() if n else np.nan,
        "determined_lowboot95": low,
        "determined_highboot95": high,
        "expected_score": of["score"][used].mean() if n else np.nan,
        "misled_count": int(of["misled"][used].sum()),
    }


def _interval(values: np.ndarray, places: np.ndarray, clusters: int) -> tuple[float, float]:
    """95 % limits of a mean, base structures drawn; none where there is but one of them."""
    if clusters < 2:
        return np.nan, np.nan
    sums = cluster_sums(values[:, None].astype(float), places, clusters)
    sizes = np.bincount(places, minlength=clusters)[:, None]
    found = percentiles(ratio_draws(sums, sizes, RESAMPLES, SEED)[:, 0])
    return found[0], found[1]


def by_views(rows: Determined) -> pd.DataFrame:
    """Every stratum, sight and number of views of which something is known."""
    records = []
    for stratum, own in _strata(rows, together=False):
        for s, sight in enumerate(rows.sights):
            for v, views in enumerate(rows.n_views.tolist()):
                of = {name: values[:, s, v] for name, values in rows.readings.items()}
                told = _measured(rows, own, of["known"], of)
                if told["n"]:
                    records.append({"stratum": stratum, "sight": sight, "views": views, **told})
    return frame_of(records, ["stratum", "sight", "views", *_MEASURED], ("views", *_COUNTS))


def as_asked(rows: Determined) -> pd.DataFrame:
    """The same for the pictures that each question shows, and of Q2 by distances alone."""
    names = ("known", "determined", "score", "misled")
    asked = {name: rows.asked(name) for name in names}
    records = []
    for stratum, own in _strata(rows, together=True):
        for s, sight in enumerate(rows.sights):
            of = {name: values[:, s] for name, values in asked.items()}
            told = _measured(rows, own, of["known"], of)
            records.append({"stratum": stratum, "sight": sight, **told})
    by_distance = _by_distance(rows)
    for stratum, own in _strata(rows, together=False):
        for s, sight in enumerate(rows.sights):
            of = {name: values[:, s] for name, values in by_distance.items()}
            told = _measured(rows, own, of["known"], of)
            if stratum.startswith("Q2") and told["n"]:
                records.append({"stratum": f"{stratum}, by distances", "sight": sight, **told})
    return frame_of(records, ["stratum", "sight", *_MEASURED], _COUNTS)


def _by_distance(rows: Determined) -> dict[str, np.ndarray]:
    """Of Q2, what remains where bonds are not looked at; (n, S) each."""
    bits = rows.asked("remain_by_distance")
    known = np.char.startswith(rows.questions["stratum"].astype(str), "Q2")[:, None] & (bits >= 0)
    known = known & (rows.asked("n_points") > 0)
    count = sum((bits >> k) & 1 for k in range(len(LETTERS)))
    right = np.array([LETTERS.index(str(letter)) for letter in rows.questions["answer"]])
    has_it = ((bits >> right[:, None].astype(bits.dtype)) & 1).astype(bool)
    return {
        "known": known,
        "determined": known & has_it & (count == 1),
        "misled": known & ~has_it,
        "score": np.where(count == 0, 0.25, has_it / np.maximum(count, 1)),
    }


def floors(rows: Determined) -> pd.DataFrame:
    """Expected score of every reader who does not reconstruct, beside what is determined."""
    determined, known = rows.asked("determined")[:, 0], rows.asked("known")[:, 0]
    records = []
    for stratum, own in _strata(rows, together=True):
        used = own & known
        record: dict[str, Any] = {
            "stratum": stratum,
            "n": int(own.sum()),
            "determined": determined[used].mean() if used.any() else np.nan,
        }
        for name, scores in rows.floors.items():
            told = own & np.isfinite(scores)
            record[name] = scores[told].mean() if told.any() and stratum != ALL else np.nan
            if stratum == ALL and np.isfinite(scores[own]).all():
                record[name] = scores[own].mean()
        records.append(record)
    first = ("chance", "prior")
    names = [*first, *(name for name in rows.floors if name not in first)]
    return frame_of(records, ["stratum", "n", "determined", *names], ("n",))


def reconstruction(rows: Determined) -> pd.DataFrame:
    """Scenes whose points are the atoms, and what is too much or missing."""
    records = []
    for stratum, own in _strata(rows, together=False):
        for s, sight in enumerate(rows.sights):
            for v, views in enumerate(rows.n_views.tolist()):
                of = {name: values[own, s, v] for name, values in rows.readings.items()}
                used = of["known"] & (of["n_points"] + of["n_missed"] > 0)
                if not used.any():
                    continue
                phantoms, missed = of["n_phantoms"][used], of["n_missed"][used]
                records.append(
                    {
                        "stratum": stratum,
                        "sight": sight,
                        "views": views,
                        "n": int(used.sum()),
                        "whole": float(((phantoms == 0) & (missed == 0)).mean()),
                        "with_phantoms": int((phantoms > 0).sum()),
                        "phantoms": int(phantoms.sum()),
                        "with_missed": int((missed > 0).sum()),
                        "missed": int(missed.sum()),
                    }
                )
    counted = ("views", "n", "with_phantoms", "phantoms", "with_missed", "missed")
    columns = ["stratum", "sight", "views", "n", "whole", *counted[2:]]
    return frame_of(records, columns, counted)


def undetermined(rows: Determined) -> pd.DataFrame:
    """Questions whose own pictures leave another option, or not the right one."""
    names = ("known", "determined", "remain", "n_phantoms", "n_missed")
    asked = {name: rows.asked(name) for name in names}
    records = []
    for stratum, own in _strata(rows, together=False):
        for s, sight in enumerate(rows.sights):
            open_ones = own & asked["known"][:, s] & ~asked["determined"][:, s]
            for k in np.flatnonzero(open_ones).tolist():
                bits = int(asked["remain"][k, s])
                records.append(
                    {
                        "question": rows.ids[k],
                        "sight": sight,
                        "stratum": stratum,
                        "base_structure": rows.questions["base_structure"][k],
                        "answer": rows.questions["answer"][k],
                        "remain": "".join(x for b, x in enumerate(LETTERS) if bits >> b & 1),
                        "phantoms": int(asked["n_phantoms"][k, s]),
                        "missed": int(asked["n_missed"][k, s]),
                    }
                )
    columns = ["question", "sight", "stratum", "base_structure", "answer", "remain"]
    return frame_of(records, [*columns, "phantoms", "missed"], ("phantoms", "missed"))
