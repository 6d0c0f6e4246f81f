"""Tables of readings."""

from __future__ import annotations

from collections.abc import Iterable

from rc_hpc.kinds.common.tables import Maker, conditions_of, make, status_maker
from rc_hpc.kinds.readings import frames
from rc_hpc.kinds.readings.counts import ReadingCounts
from rc_hpc.kinds.readings.options import ReadingsOptions
from rc_hpc.kinds.readings.verdict import verdict
from rc_hpc.report.tables import Table

TABLES = (
    Maker(
        "readings",
        "Crystals by how reading their pictures ended; read: certified, the pictures drawn again "
        "are the same; sigma: largest standard error of a site",
        frames.by_outcome,
        note=verdict,
    ),
    Maker(
        "pixels",
        "Crystals that were drawn again, by the pixels of all their pictures that differ",
        frames.by_pixels,
    ),
    Maker(
        "discs",
        "Discs found, by camera; sigma: standard error of a centre along its worse axis; scale "
        "sigma: relative, 0 where the scale was known",
        frames.by_view,
    ),
    Maker("doubts", "Crystals without a certificate, and why", frames.doubts),
    status_maker("only ok rows count elsewhere"),
)


def tables(counts: ReadingCounts, names: Iterable[str]) -> list[Table]:
    """The tables of these names."""
    return make(TABLES, conditions_of(ReadingsOptions, counts), counts, names)
