"""An occlusion file as counts, read in one pass with bounded memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rc_hpc.core.errors import RcError, Status
from rc_hpc.kinds.common.counting import STATIC, count_status, dataset_of, sets_of, subsets_of
from rc_hpc.kinds.occlusion.frames import COLUMNS, OcclusionAxes, OcclusionTally, tally_occlusion
from rc_hpc.store import layout
from rc_hpc.store.reader import open_ours, read_table

#: Bytes of the widest column of a block of rows; the columns of a block take about ten times that.
BLOCK_BYTES = 1 << 23

_AXES = ("axes/verification", "axes/enumeration", "axes/merge", "axes/condition", "axes/removed")


@dataclass(frozen=True)
class OcclusionCounts:
    """What an occlusion file says in sum.

    Attributes
    ----------
    options
        Those of the file, as `OcclusionOptions.to_dict` gives them.
    attrs
        Root attributes.
    axes
    kept, quarantined
        Tallies of the computed structures (status ok) without and with quarantine bits.
    status
        By status, in the order of the codes: rows, and the id and message of the first.
    """

    options: dict
    attrs: dict
    axes: OcclusionAxes
    kept: OcclusionTally
    quarantined: OcclusionTally
    status: dict[str, tuple[int, str, str]]

    def sets(self) -> dict[str, OcclusionTally]:
        """Tallies by the name of their set of structures; the first is the headline."""
        return sets_of(self.options, self.kept, self.quarantined, self.quarantined.n)


def count_occlusion(path: str | Path, block_bytes: int = BLOCK_BYTES) -> OcclusionCounts:
    """Count an occlusion file, its rows streamed in blocks.

    Raises
    ------
    RcError
        Not an occlusion file of ours, or one without results for rows that should have them.
    """
    with open_ours(path, "occlusion") as h5:
        static = read_table(path, (*STATIC, *_AXES))
        verification, enumeration, merge, condition, removed = (static[name] for name in _AXES)
        views = tuple(static["protocol/view"])
        axes = OcclusionAxes(
            tuple(zip(verification, enumeration, merge, strict=True)),
            tuple(condition),
            tuple(removed),
            views,
            subsets_of(static, len(views)),
        )
        columns = {
            name: dataset_of(h5, path, f"structures/{name}")
            for name in ("id", "message", "status", "quarantine")
        }
        columns |= {
            name: dataset_of(h5, path, f"{group}/{name}")
            for group, names in COLUMNS.items()
            for name in names
        }
        attrs = dict(h5.attrs)
        options = json.loads(attrs["options"])
        status: dict[str, tuple[int, str, str]] = {}
        found: list = []
        for block in [slice(0, 0), *layout.row_blocks(columns["point_error"], block_bytes)]:
            rows = {
                name: layout.read_rows(column, block)
                for name, column in columns.items()
                if name not in ("id", "message")
            }
            codes, flags = rows.pop("status"), rows.pop("quarantine")
            count_status(status, codes, columns, block.start)
            unfinished = (codes == Status.ok) & (rows["n_recovered"] < 0).any(axis=(1, 2, 3))
            if unfinished.any():
                id_ = layout.read_rows(columns["id"], block.start + int(unfinished.argmax()))
                raise RcError(
                    f"{path}: structure {id_!r} has status ok but no result for some condition: compute it again"
                )
            block_found = [
                tally_occlusion({name: values[chosen] for name, values in rows.items()})
                for chosen in (
                    (codes == Status.ok) & (flags == 0),
                    (codes == Status.ok) & (flags != 0),
                )
            ]
            found = (
                [one + other for one, other in zip(found, block_found, strict=True)]
                if found
                else block_found
            )
    in_order = {name: status[name] for name in Status.__members__ if name in status}
    return OcclusionCounts(options, attrs, axes, *found, in_order)
