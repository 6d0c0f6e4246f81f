"""All rungs in one list: what is determined, what is read from the pictures, what models answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.ladder.evidence import Evidence, Missing
from rc_hpc.stats.frames import frame_of
from rc_hpc.stats.intervals import wilson

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = (
    *("rung", "by", "right", "n", "share", "share_low95", "share_high95", "certified"),
    *("right_and_certified", "right_and_certified_share"),
)
_COUNTS = ("right", "n", "certified", "right_and_certified")


def _rungs(e: Evidence) -> tuple[str, pd.DataFrame]:
    records = [*_ceilings(e), *_models(e)]
    if not records or not e.ids:
        raise Missing("needs a census (--census), scores (--scores), or files of models")
    told = [reading.told(e.truths) for reading in e.readings.values()]
    what = (
        "Every rung over the same structures, from what the pictures determine to what models say "
        "of them; certified: R1 proved, R2 drawn again and the same; Wilson 95 %; of models the "
        "best scored one, and the median of shares"
    )
    return "; ".join([what, *told]), frame_of(records, _COLUMNS, _COUNTS)


def _ceilings(e: Evidence) -> Iterator[dict[str, Any]]:
    for name, certified in e.certified.items():
        right = e.ceilings[name]
        reading = e.readings.get(name)
        by = "exact projections" if reading is None else f"pictures, {reading.options['knowledge']}"
        both = int(np.sum(right & certified))
        yield _counted(name, by, int(np.sum(right)), len(e.ids)) | {
            "certified": int(np.sum(certified)),
            "right_and_certified": both,
            "right_and_certified_share": both / len(e.ids),
        }


def _models(e: Evidence) -> Iterator[dict[str, Any]]:
    arms = [("R3", "coordinates", cell) for cell in e.r3_cells()] + [("R4", "pixels", None)]
    for rung, kind, cell in arms:
        files = [file for file in e.of(kind, cell).values() if not e.unscored(file)]
        if not files:
            continue
        counts = e.correct(files).sum(axis=1)
        shown = f"{cell} cell as text" if cell else "pictures"
        best = int(counts.argmax())
        who = f"best of {len(files)} models, " if len(files) > 1 else ""
        yield _counted(rung, f"{who}{files[best].model}, {shown}", int(counts[best]), len(e.ids))
        if len(files) > 1:
            median = float(np.median(counts)) / len(e.ids)
            by = f"median of {len(files)} models, {shown}"
            yield {"rung": rung, "by": by, "n": len(e.ids), "share": median}


def _counted(rung: str, by: str, right: int, n: int) -> dict[str, Any]:
    low, high = wilson(right, n)
    share = {"share": right / n, "share_low95": low, "share_high95": high}
    return {"rung": rung, "by": by, "right": right, "n": n} | share


#: Tables by name.
MAKERS: dict[str, Callable[[Evidence], tuple[str, pd.DataFrame]]] = {"rungs": _rungs}
