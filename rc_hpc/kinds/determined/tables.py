"""Tables of what pictures determine."""

from __future__ import annotations

from collections.abc import Iterable

from rc_hpc.kinds.common.tables import Maker, conditions_of, make, status_maker
from rc_hpc.kinds.determined import frames
from rc_hpc.kinds.determined.counts import DeterminedCounts
from rc_hpc.kinds.determined.options import DeterminedOptions
from rc_hpc.report.tables import Table

_SCORES = (
    "determined: the right option alone agrees with the pictures, with a 95 % bootstrap interval "
    "over base structures; expected score: of a reader who draws among those that agree; misled: "
    "the right one does not agree; unknown: nothing can be told, left out"
)

TABLES = (
    Maker(
        "determined",
        f"Questions by stratum, sight and number of pictures of each scene; {_SCORES}",
        lambda counts: frames.by_views(counts.rows),
    ),
    Maker(
        "asked",
        "Questions by stratum and sight, with the pictures that they show; of Q2 also by "
        f"distances, the bonds drawn left out; {_SCORES}",
        lambda counts: frames.as_asked(counts.rows),
    ),
    Maker(
        "floors",
        "What the pictures determine, all centres read, beside expected scores of readers who do "
        "not reconstruct; chance: drawing evenly; prior: the option text that is right most often "
        "for other base structures, or chance where that is more; metric: the highest system that "
        "the cell's edges allow (Q4), a bet that may score above drawing among all systems that "
        "hidden atoms leave open; projection: distances in the first picture (Q3); formula: known "
        "beforehand (Q1b); same: always (Q5)",
        lambda counts: frames.floors(counts.rows),
    ),
    Maker(
        "reconstruction",
        "Scenes of the questions by sight and pictures: whole where points and displayed atoms "
        "are the same; points that are no atom, and atoms without a point",
        lambda counts: frames.reconstruction(counts.rows),
    ),
    Maker(
        "undetermined",
        "Questions that their own pictures do not determine, with the options that agree",
        lambda counts: frames.undetermined(counts.rows),
    ),
    status_maker("only ok rows count elsewhere"),
)


def tables(counts: DeterminedCounts, names: Iterable[str]) -> list[Table]:
    """The tables of these names."""
    return make(TABLES, conditions_of(DeterminedOptions, counts), counts, names)
