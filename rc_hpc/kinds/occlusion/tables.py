"""Tables of an occlusion sweep."""

from __future__ import annotations

from collections.abc import Iterable

from rc_hpc.kinds.common.tables import Maker, conditions_of, make, status_maker
from rc_hpc.kinds.occlusion import frames
from rc_hpc.kinds.occlusion.counts import OcclusionCounts
from rc_hpc.kinds.occlusion.options import OcclusionOptions
from rc_hpc.report.tables import Table

TABLES = (
    Maker(
        "occlusion",
        "Occlusion, crystal system: R1 by what is taken away (O0 nothing, O1 informative, O2 all, "
        "O3 redundant occlusion) and by reading; what is wrong: by the pictures, fewer than two of "
        "which show some atom, else by every rule of this file that does not know the answer, "
        "else by this rule, where another one is right; reconstructions with as many, more and "
        "fewer atoms than there are; largest point error",
        lambda counts: frames.by_condition(counts.sets(), counts.axes),
    ),
    Maker(
        "visibility",
        "Share of the drawn atoms whose centre a nearer disc hides, mean over structures; "
        "redundant: by one of their own orbit",
        lambda counts: frames.by_view(counts.sets(), counts.axes),
    ),
    Maker(
        "sites",
        "Atoms of the cells by the views that show a copy of them: all, fewer than two, none; "
        "hidden counts atoms in each view of the protocol",
        lambda counts: frames.by_sites(counts.sets(), counts.axes),
    ),
    status_maker(),
)


def tables(counts: OcclusionCounts, names: Iterable[str]) -> list[Table]:
    """The tables of these names."""
    return make(TABLES, conditions_of(OcclusionOptions, counts), counts, names)
