"""Tables of scores."""

from __future__ import annotations

from collections.abc import Iterable

from rc_hpc.kinds.common.tables import Maker, make, partial_note, status_maker
from rc_hpc.kinds.readings.options import known
from rc_hpc.kinds.scores import frames
from rc_hpc.kinds.scores.counts import ScoreCounts
from rc_hpc.kinds.scores.verdict import verdict
from rc_hpc.report.tables import Table

TABLES = (
    Maker(
        "scores",
        "R2, the share of crystals whose system is read right from their pictures (label at the "
        "first symprec), with 95 % Wilson intervals, by true system and atoms of the cell; a "
        "reading that finds no symmetry is right of triclinic crystals by luck: right_by_luck "
        "counts those of which a site is missing or extra; certified_wrong: of a certified reading "
        "the system or a site is wrong",
        frames.scores,
        note=verdict,
    ),
    Maker(
        "symprecs",
        "Right labels by the tolerance of the label, triclinic crystals apart",
        frames.by_symprec,
    ),
    Maker(
        "errors",
        "Percentiles over crystals of the largest error of a site and of a lattice vector",
        frames.errors,
    ),
    Maker("losses", "Crystals of which the system or a site is wrong, and why", frames.losses),
    status_maker("only ok rows count elsewhere"),
)


def tables(counts: ScoreCounts, names: Iterable[str]) -> list[Table]:
    """The tables of these names."""
    read = counts.options["readings"]
    conditions = (
        f"{known(read['knowledge'])}; {read['convention']['name']}, {read['size']} px; "
        f"sites within {counts.options['same']} Å{partial_note(counts)}"
    )
    return make(TABLES, conditions, counts, names)
