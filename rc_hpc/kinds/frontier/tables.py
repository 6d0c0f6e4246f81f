"""Tables of a tolerance frontier."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rc_hpc.kinds.common.tables import Maker, conditions_of, make, status_maker
from rc_hpc.kinds.frontier import frames
from rc_hpc.kinds.frontier.counts import FrontierCounts
from rc_hpc.kinds.frontier.options import FrontierOptions
from rc_hpc.report.tables import Table

if TYPE_CHECKING:
    import pandas as pd


def _steps(counts: FrontierCounts) -> pd.DataFrame:
    structures = {name: int(tally.n) for name, tally in counts.sets().items()}
    return frames.steps(counts.curves, structures)


TABLES = (
    Maker(
        "frontier",
        lambda counts: (
            f"Tolerance frontier, {counts.labels.noun}: R1 by delta for each reading; "
            "reconstructions with more and with fewer atoms than there are; largest point error"
        ),
        lambda counts: frames.by_delta(counts.sets(), counts.axes, counts.labels),
    ),
    Maker(
        "certified",
        "Certified by delta, for all readings alike: no phantoms by acceptance, atoms of one "
        "species more than 2 delta apart; meeting phantoms are those whose rays meet within 1e-6 Å",
        lambda counts: frames.certified(counts.sets(), counts.axes),
    ),
    Maker(
        "steps",
        "Structures certified with the full protocol from each delta on up to the next",
        _steps,
    ),
    status_maker(),
)


def tables(counts: FrontierCounts, names: Iterable[str]) -> list[Table]:
    """The tables of these names."""
    return make(TABLES, conditions_of(FrontierOptions, counts), counts, names)
