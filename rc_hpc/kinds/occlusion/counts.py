"""An occlusion file as counts, read in one pass with bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.kinds.common.counting import (
    BLOCK_BYTES,
    STATIC,
    Columns,
    Counts,
    RowFile,
    subsets_of,
)
from rc_hpc.kinds.occlusion.frames import (
    COLUMNS,
    OcclusionAxes,
    OcclusionTally,
    tally_occlusion,
)
from rc_hpc.kinds.occlusion.readings import KNOWING

_AXES = (
    "axes/verification",
    "axes/enumeration",
    "axes/merge",
    "axes/condition",
    "axes/removed",
)


@dataclass(frozen=True)
class OcclusionCounts(Counts):
    """What an occlusion file says in sum.

    Attributes
    ----------
    axes
    kept, quarantined
        Tallies of the computed structures (status ok) without and with quarantine bits.
    """

    axes: OcclusionAxes
    kept: OcclusionTally
    quarantined: OcclusionTally


def count_occlusion(path: str | Path, block_bytes: int = BLOCK_BYTES) -> OcclusionCounts:
    """Count an occlusion file.

    Raises
    ------
    RcError
        Not an occlusion file of ours, or one without results for rows that should have them.
    """
    columns = {name: f"{group}/{name}" for group, names in COLUMNS.items() for name in names}
    static = (*STATIC, *_AXES)
    with RowFile(path, "occlusion", columns, "point_error", "condition", static) as file:
        verification, enumeration, merge, condition, removed = (file.static[name] for name in _AXES)
        axes = OcclusionAxes(
            tuple(zip(verification, enumeration, merge, strict=True)),
            tuple(condition),
            tuple(removed),
            tuple(file.static["protocol/view"]),
            subsets_of(file.static),
        )
        ignorant = np.array([name != KNOWING for name in verification], bool)

        def count(rows: Columns) -> OcclusionTally:
            return tally_occlusion(rows, ignorant)

        kept, quarantined = file.tallied(count, block_bytes)
        return OcclusionCounts(file.options, file.attrs, file.status, axes, kept, quarantined)
