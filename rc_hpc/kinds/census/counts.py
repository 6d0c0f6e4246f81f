"""A census file as counts, read in one pass with bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import LABELLED, LabelStatus
from rc_hpc.kinds.census.monotonicity import Losses, count_losses
from rc_hpc.kinds.census.options import CensusOptions, least_views
from rc_hpc.kinds.census.phantom_deltas import Steps, steps_of, tally_deltas
from rc_hpc.kinds.census.tally import (
    LATER_COLUMNS,
    Tally,
    cell_columns,
    structure_columns,
    tally,
)
from rc_hpc.kinds.common.counting import (
    BLOCK_BYTES,
    STATIC,
    ByStatus,
    Columns,
    Counts,
    RowFile,
    chosen,
    counted_status,
    subsets_of,
)
from rc_hpc.kinds.common.lists import options_in
from rc_hpc.kinds.common.statics import subset_statics
from rc_hpc.kinds.common.subsets import Labels, Subsets, labels_of
from rc_hpc.store.batch import Batch


def _columns(labels: Labels) -> dict[str, str]:
    """Datasets that are counted, by the names of their rows."""
    cells = ("label_status", "phantom_delta", *cell_columns(labels))
    return {name: f"structures/{name}" for name in (*structure_columns(labels), "delta_max")} | {
        name: f"cells/{name}" for name in cells if name != "labelled"
    }


@dataclass(frozen=True)
class Followed:
    """How far phantoms were followed; those of disjoint sets add up.

    Attributes
    ----------
    less : int
        Structures with so many candidates that it was less far than the options ask.
    shortest : float
        Delta up to which it was in all structures, Å.
    """

    less: int
    shortest: float

    def __add__(self, other: Followed) -> Followed:
        return Followed(self.less + other.less, min(self.shortest, other.shortest))


@dataclass(frozen=True)
class _Counted:
    """What is counted of some structures; the counts of disjoint sets add up."""

    tally: Tally
    losses: Losses
    deltas: np.ndarray
    steps: Steps
    followed: Followed

    def __add__(self, other: _Counted) -> _Counted:
        return _Counted(
            self.tally + other.tally,
            self.losses + other.losses,
            self.deltas + other.deltas,
            self.steps + other.steps,
            self.followed + other.followed,
        )


@dataclass(frozen=True)
class CensusCounts(Counts):
    """What a census file says in sum.

    Attributes
    ----------
    subsets
    masks : (K,) int
        Cameras of each subset as bits.
    kept, quarantined
        Tallies of the computed structures (status ok) without and with quarantine bits.
    kept_losses, quarantined_losses
        What added cameras lose of the same.
    kept_deltas, quarantined_deltas : (D, K) int64
        From `tally_deltas`, of the same.
    kept_steps, quarantined_steps
        From `steps_of`, of the same.
    followed
        How far the phantoms of both were followed.
    """

    subsets: Subsets
    masks: np.ndarray
    kept: Tally
    quarantined: Tally
    kept_losses: Losses
    quarantined_losses: Losses
    kept_deltas: np.ndarray
    quarantined_deltas: np.ndarray
    kept_steps: Steps
    quarantined_steps: Steps
    followed: Followed

    @property
    def labels(self) -> Labels:
        """What the structures are labelled by."""
        return labels_of(self.options)

    def losses(self) -> dict[str, Losses]:
        """Losses of the same sets."""
        return self.by_policy(self.kept_losses, self.quarantined_losses)

    def phantom_deltas(self) -> dict[str, tuple[int, np.ndarray]]:
        """Number of structures and `tally_deltas` of the same sets."""
        deltas = self.by_policy(self.kept_deltas, self.quarantined_deltas)
        return {name: (int(one.n), deltas[name]) for name, one in self.sets().items()}

    def phantom_steps(self) -> dict[str, tuple[int, Steps]]:
        """Number of structures and `steps_of` of the same sets."""
        steps = self.by_policy(self.kept_steps, self.quarantined_steps)
        return {name: (int(one.n), steps[name]) for name, one in self.sets().items()}


def count_census(path: str | Path, block_bytes: int = BLOCK_BYTES) -> CensusCounts:
    """Count a census file.

    Raises
    ------
    RcError
        Not a census file of ours, or one without results for rows that should have them.
    """
    columns = _columns(labels_of(options_in(Path(path))))
    with RowFile(
        path, "census", columns, "atom_error", "subset", STATIC, later=LATER_COLUMNS
    ) as file:
        count = _counting(file.static, file.options)
        counted = file.tallied(count, block_bytes)
        return _counts(file.options, file.attrs, file.status, file.static, counted)


def count_batch(options: CensusOptions, batch: Batch) -> CensusCounts:
    """Count the rows of a batch in memory."""
    record, statics = options.to_dict(), subset_statics(options)
    static = {name: np.asarray(statics[name][0]) for name in STATIC}
    rows = {name: batch[path] for name, path in _columns(labels_of(record)).items()}
    codes = batch["structures/status"]
    flagged = batch.get("structures/quarantine", np.zeros(len(codes))) != 0
    computed = codes == Status.ok
    count = _counting(static, record)
    counted = [count(chosen(rows, computed & own)) for own in (~flagged, flagged)]
    status = counted_status(codes, batch["structures/id"], batch["structures/message"])
    return _counts(record, {}, status, static, counted)


def _labelled(static: Columns, options: dict[str, Any]) -> np.ndarray:
    """Which subsets were labelled, (K,) bool."""
    which, n_views = options.get("label", LABELLED[0]), len(static["protocol/view"])
    return np.asarray(static["subsets/size"] >= least_views(which, n_views))


def _counting(static: Columns, options: dict[str, Any]) -> Callable[[Columns], _Counted]:
    """What counts some rows."""
    masks, read = static["subsets/mask"], _labelled(static, options)
    horizon, labels = options["delta_max"], labels_of(options)
    right = f"correct_{labels.coarsest}"
    truth, tiling = options["truth"], int(np.prod(options["protocol"]["tiling"]))

    def count(rows: Columns) -> _Counted:
        done = rows["label_status"] == LabelStatus.labelled
        return _Counted(
            tally(rows | {"labelled": done}, truth, tiling, labels),
            count_losses(rows[right], masks, read),
            tally_deltas(rows["phantom_delta"]),
            steps_of(rows["phantom_delta"], static["subsets/size"]),
            Followed(
                int(np.count_nonzero(rows["delta_max"] < horizon)),
                float(np.min(rows["delta_max"], initial=horizon)),
            ),
        )

    return count


def _counts(
    options: dict[str, Any],
    attrs: dict[str, Any],
    status: ByStatus,
    static: Columns,
    counted: Sequence[_Counted],
) -> CensusCounts:
    kept, quarantined = counted
    return CensusCounts(
        options,
        attrs,
        status,
        replace(subsets_of(static), labelled=_labelled(static, options)),
        static["subsets/mask"],
        kept.tally,
        quarantined.tally,
        kept.losses,
        quarantined.losses,
        kept.deltas,
        quarantined.deltas,
        kept.steps,
        quarantined.steps,
        kept.followed + quarantined.followed,
    )
