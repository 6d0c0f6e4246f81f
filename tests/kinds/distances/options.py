"""Options of distances."""

from __future__ import annotations

from dataclasses import dataclass

from rc_hpc.core.options import Options, opt
from rc_hpc.kinds.common import options as common
from rc_hpc.kinds.packed.options import PackOptions


@dataclass(frozen=True)
class DistanceOptions(Options):
    """What is measured.

    Attributes
    ----------
    own_images
        An atom and its own periodic image are a pair, too.
    quarantine, pack
        See `CensusOptions`.
    """

    own_images: bool = opt(
        False,
        "an atom and its own periodic image are a pair, too",
        caption=lambda own: f"own images {'count' if own else 'do not count'}",
    )
    quarantine: str = common.quarantine()
    pack: PackOptions = PackOptions()
