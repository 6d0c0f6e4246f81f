"""What was read, and how well the discs were seen, as frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.core.vocabulary import ReadStatus
from rc_hpc.kinds.readings.counts import ReadingCounts
from rc_hpc.stats.frames import frame_of

if TYPE_CHECKING:
    import pandas as pd

#: Upper limits of the classes of differing pixels; the last is everything beyond.
PIXELS = (0, 10, 30, 100, 300, 1000, 10_000)


def by_outcome(counts: ReadingCounts) -> pd.DataFrame:
    """Crystals by how reading them ended."""
    rows = counts.rows
    records = []
    for status in ReadStatus:
        own = counts.ok & (rows["status"] == status)
        if not own.any():
            continue
        drawn = own & (rows["differing_pixels"] >= 0)
        records.append(
            {
                "reading": status.name,
                "n": int(own.sum()),
                "share": own.sum() / max(1, counts.ok.sum()),
                "certified": int((own & rows["certified"]).sum()),
                "sites_median": _median(rows["n_sites"][own]),
                "pixels_median": _median(rows["differing_pixels"][drawn]),
                "tries_mean": rows["tries"][own].mean(),
                "sigma_median_angstrom": _median(rows["largest_sigma"][own]),
            }
        )
    columns = (
        *("reading", "n", "share", "certified", "sites_median", "pixels_median", "tries_mean"),
        "sigma_median_angstrom",
    )
    return frame_of(records, columns, ("n", "certified"))


def by_pixels(counts: ReadingCounts) -> pd.DataFrame:
    """Crystals that were drawn again, by the pixels that differ."""
    pixels = counts.rows["differing_pixels"]
    drawn = counts.ok & (pixels >= 0)
    low = np.array((-1, *PIXELS))
    high = np.array((*PIXELS, np.iinfo(np.int64).max))
    records = []
    for least, most in zip(low, high, strict=True):
        own = drawn & (pixels > least) & (pixels <= most)
        records.append(
            {
                "pixels": f"at most {most}" if most in PIXELS else f"more than {least}",
                "n": int(own.sum()),
                "certified": int((own & counts.rows["certified"]).sum()),
            }
        )
    return frame_of(records, ("pixels", "n", "certified"), ("n", "certified"))


def by_view(counts: ReadingCounts) -> pd.DataFrame:
    """Discs of every camera: how many, how well their centres and the scale are told."""
    discs, rows = counts.discs, counts.rows
    records = []
    for number, view in enumerate(counts.views):
        own = discs["view"] == number
        worst = np.sqrt(np.maximum(discs["variance_u"], discs["variance_v"])[own])
        told = counts.ok & np.isfinite(rows["scale"][:, number])
        sigma = rows["scale_sigma"][told, number] / rows["scale"][told, number]
        records.append(
            {
                "view": view,
                "crystals": int(told.sum()),
                "discs": int(own.sum()),
                "edge_pixels_median": _median(discs["edge_pixels"][own]),
                "outline_seen_mean": discs["visible"][own].mean() if own.any() else np.nan,
                "sigma_median_px": _median(worst),
                "sigma_99_px": np.percentile(worst, 99) if own.any() else np.nan,
                "scale_sigma_median": _median(sigma),
            }
        )
    columns = (
        *("view", "crystals", "discs", "edge_pixels_median", "outline_seen_mean"),
        *("sigma_median_px", "sigma_99_px", "scale_sigma_median"),
    )
    return frame_of(records, columns, ("crystals", "discs"))


def doubts(counts: ReadingCounts) -> pd.DataFrame:
    """Crystals without a certificate, each with what is said of it."""
    rows = counts.rows
    records = [
        {
            "id": counts.ids[k],
            "reading": ReadStatus(rows["status"][k]).name,
            "pixels": int(rows["differing_pixels"][k]),
            "sites": int(rows["n_sites"][k]),
            "tries": int(rows["tries"][k]),
            "message": rows["message"][k],
        }
        for k in np.flatnonzero(counts.ok & ~rows["certified"])
    ]
    columns = ("id", "reading", "pixels", "sites", "tries", "message")
    return frame_of(records, columns, ("pixels", "sites", "tries"))


def _median(values: np.ndarray) -> float:
    return float(np.median(values)) if len(values) else np.nan
