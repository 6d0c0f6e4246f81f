"""Tables of a census."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rc_hpc.kinds.census import frames, monotonicity, phantom_deltas
from rc_hpc.kinds.census.counts import CensusCounts
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.verdict import verdict
from rc_hpc.kinds.common.tables import Maker, conditions_of, make, status_maker
from rc_hpc.report.tables import Table

if TYPE_CHECKING:
    import pandas as pd


def _reference(counts: CensusCounts) -> pd.DataFrame:
    delta = counts.options["delta"]
    reading = "R1" if delta == counts.options["pack"]["tau"] else f"R1^{delta}"
    quarantined = counts.n_quarantined + counts.n_dropped
    labelled = int(counts.kept.n) + quarantined
    return frames.reference(
        counts.sets(),
        counts.subsets,
        counts.n_rows,
        quarantined,
        labelled,
        reading,
        counts.labels,
    )


def _violations(counts: CensusCounts) -> pd.DataFrame:
    sets, losses = counts.sets(), counts.losses()
    return monotonicity.violations(
        {name: (sets[name], losses[name]) for name in sets}, counts.masks, counts.subsets.labelled
    )


def _deltas(counts: CensusCounts) -> pd.DataFrame:
    horizon = counts.options["delta_max"]
    return phantom_deltas.by_delta(counts.phantom_deltas(), counts.subsets, horizon)


def _steps(counts: CensusCounts) -> pd.DataFrame:
    horizon = counts.options["delta_max"]
    return phantom_deltas.by_step(counts.phantom_steps(), counts.subsets, horizon)


def _full(counts: CensusCounts) -> str:
    return "" if counts.subsets.full is None else "; R1 without a mean is that of the full protocol"


TABLES = (
    Maker(
        "reference",
        lambda counts: f"Model-free reference, {counts.labels.noun}",
        _reference,
        note=verdict,
    ),
    Maker(
        "subsets",
        "View subsets: structures with phantoms, all phantoms and their mean, by acceptance at "
        "delta; meeting: of these, where two rays meet within 1e-6 Å; strict: rays and residuals "
        "within 1e-6 Å whatever delta is (Definition 7); near tie: atoms or label change with the "
        "scale of ties; R1",
        lambda counts: frames.by_subset(counts.sets(), counts.subsets),
    ),
    Maker(
        "views",
        lambda counts: (
            f"View curve, {counts.labels.noun}: R1 of the subsets by their number of "
            "views; excess is recovered less drawn atoms"
        ),
        lambda counts: monotonicity.by_size(counts.sets(), counts.subsets),
    ),
    Maker(
        "violations",
        "Monotonicity over pairs of subsets, one within the other: losses are structures right on "
        "the smaller and wrong on the larger; aggregate counts the pairs over which R1 falls",
        _violations,
    ),
    Maker(
        "falling",
        "Pairs of subsets, one within the other, over which R1 falls",
        lambda counts: monotonicity.falling(counts.sets(), counts.subsets, counts.masks),
    ),
    Maker(
        "granularity",
        lambda counts: f"Ceilings by granularity of the label{_full(counts)}",
        lambda counts: frames.by_granularity(counts.sets(), counts.subsets, counts.labels),
    ),
    Maker(
        "systems",
        lambda counts: f"Ceilings by true {counts.labels.noun}{_full(counts)}",
        lambda counts: frames.by_system(counts.sets(), counts.subsets, counts.labels),
    ),
    Maker(
        "phantom-deltas",
        "Cumulative: structures times subsets of each size with a phantom by acceptance at some "
        "tolerance up to delta, wherever the delta of the census lies",
        _deltas,
    ),
    Maker(
        "phantom-steps",
        "Cumulative: the same at every delta at which a number changes, rounded up to five "
        "significant digits",
        _steps,
    ),
    status_maker(),
)


def tables(counts: CensusCounts, names: Iterable[str]) -> list[Table]:
    """The tables of these names."""
    return make(TABLES, conditions_of(CensusOptions, counts), counts, names)
