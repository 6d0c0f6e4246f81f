"""A census file as counts, read in one pass with bounded memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.core.errors import RcError, Status
from rc_hpc.core.vocabulary import LabelStatus
from rc_hpc.kinds.census.frames import CELL_COLUMNS, STRUCTURE_COLUMNS, Tally, tally
from rc_hpc.kinds.census.monotonicity import Losses, count_losses
from rc_hpc.kinds.census.phantom_deltas import tally_deltas
from rc_hpc.kinds.common.counting import STATIC, count_status, dataset_of, sets_of, subsets_of
from rc_hpc.kinds.common.subsets import Subsets
from rc_hpc.store import layout
from rc_hpc.store.reader import open_ours, read_table

#: Bytes of the widest column of a block of rows; the columns of a block take about ten times that.
BLOCK_BYTES = 1 << 23

_STRUCTURES = ("id", "message", "status", "quarantine", *STRUCTURE_COLUMNS)
_CELLS = ("label_status", "phantom_delta", *(name for name in CELL_COLUMNS if name != "labelled"))


@dataclass(frozen=True)
class CensusCounts:
    """What a census file says in sum.

    Attributes
    ----------
    options
        Those of the file, as `CensusOptions.to_dict` gives them.
    attrs
        Root attributes.
    n_views
        Views of the protocol.
    subsets
    masks : (K,) int
        Cameras of each subset as bits.
    kept, quarantined
        Tallies of the computed structures (status ok) without and with quarantine bits.
    kept_losses, quarantined_losses
        What added cameras lose of the same.
    kept_deltas, quarantined_deltas : (D, K) int64
        From `tally_deltas`, of the same.
    status
        By status, in the order of the codes: rows, and the id and message of the first.
    """

    options: dict
    attrs: dict
    n_views: int
    subsets: Subsets
    masks: np.ndarray
    kept: Tally
    quarantined: Tally
    kept_losses: Losses
    quarantined_losses: Losses
    kept_deltas: np.ndarray
    quarantined_deltas: np.ndarray
    status: dict[str, tuple[int, str, str]]

    @property
    def n_rows(self) -> int:
        """Rows of the file."""
        return sum(rows for rows, *_ in self.status.values())

    @property
    def n_dropped(self) -> int:
        """Structures that were not computed because they are quarantined."""
        return self.status.get(Status.quarantined.name, (0,))[0]

    def sets(self) -> dict[str, Tally]:
        """Tallies by the name of their set of structures; the first is the headline.

        The quarantine policy of the file decides; `mark` gives both, unless they are equal.
        """
        return sets_of(self.options, self.kept, self.quarantined, self.quarantined.n)

    def losses(self) -> dict[str, Losses]:
        """Losses of the same sets."""
        return sets_of(self.options, self.kept_losses, self.quarantined_losses, self.quarantined.n)

    def phantom_deltas(self) -> dict[str, tuple[int, np.ndarray]]:
        """Number of structures and `tally_deltas` of the same sets."""
        deltas = sets_of(
            self.options, self.kept_deltas, self.quarantined_deltas, self.quarantined.n
        )
        return {name: (int(found.n), deltas[name]) for name, found in self.sets().items()}


def count_census(path: str | Path, block_bytes: int = BLOCK_BYTES) -> CensusCounts:
    """Count a census file.

    The rows are streamed in blocks and only their counts are kept, so memory does not
    grow with the number of structures.

    Raises
    ------
    RcError
        Not a census file of ours, or one without results for rows that should have them.
    """
    static = read_table(path, STATIC)
    masks = static["subsets/mask"]
    with open_ours(path, "census") as h5:
        columns = {name: dataset_of(h5, path, f"structures/{name}") for name in _STRUCTURES}
        columns |= {name: dataset_of(h5, path, f"cells/{name}") for name in _CELLS}
        attrs = dict(h5.attrs)
        options = json.loads(attrs["options"])
        tiling = int(np.prod(options["protocol"]["tiling"]))
        status: dict[str, tuple[int, str, str]] = {}
        found: list = []
        for block in [slice(0, 0), *layout.row_blocks(columns["atom_error"], block_bytes)]:
            rows = {
                name: layout.read_rows(column, block)
                for name, column in columns.items()
                if name not in ("id", "message")
            }
            codes, flags = rows.pop("status"), rows.pop("quarantine")
            count_status(status, codes, columns, block.start)
            unfinished = (codes == Status.ok) & (rows["n_recovered"] < 0).any(axis=1)
            if unfinished.any():
                id_ = layout.read_rows(columns["id"], block.start + int(unfinished.argmax()))
                raise RcError(
                    f"{path}: structure {id_!r} has status ok but no result for some subset: compute the census again"
                )
            rows["labelled"] = rows.pop("label_status") == LabelStatus.labelled
            for_policy = ((codes == Status.ok) & (flags == 0), (codes == Status.ok) & (flags != 0))
            block_found = []
            for chosen in for_policy:
                of_policy = {name: values[chosen] for name, values in rows.items()}
                block_found.append(tally(of_policy, options["truth"], tiling))
                block_found.append(count_losses(of_policy["correct_crystal_system"], masks))
                block_found.append(tally_deltas(of_policy["phantom_delta"]))
            found = (
                [one + other for one, other in zip(found, block_found, strict=True)]
                if found
                else block_found
            )
    n_views = len(static["protocol/view"])
    subsets = subsets_of(static, n_views)
    in_order = {name: status[name] for name in Status.__members__ if name in status}
    kept, kept_losses, kept_deltas, quarantined, quarantined_losses, quarantined_deltas = found
    return CensusCounts(
        options,
        attrs,
        n_views,
        subsets,
        masks,
        kept,
        quarantined,
        kept_losses,
        quarantined_losses,
        kept_deltas,
        quarantined_deltas,
        in_order,
    )
