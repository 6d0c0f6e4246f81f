"""How packing is run: what it takes besides the oracle on one structure."""

from __future__ import annotations

from typing import Any

from rc_hpc.core.constants import SWEEP
from rc_hpc.kinds.common.statics import vocabulary
from rc_hpc.kinds.packed.options import PackOptions

#: Predicted time of packing a structure, s.
PACKING_S = 0.05


def dims(_options: PackOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return {"setting": len(SWEEP)}


def statics(options: PackOptions) -> dict[str, Any]:
    """Datasets that belong to no structure."""
    return vocabulary(options)


def facts(_options: PackOptions) -> tuple[dict[str, Any], float]:
    """What a dry run tells, and seconds for a structure."""
    return {}, PACKING_S
