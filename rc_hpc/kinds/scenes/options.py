"""Options of displayed scenes."""

from __future__ import annotations

from dataclasses import dataclass

from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.core.options import Options, opt
from rc_hpc.kinds.packed.options import PackOptions


@dataclass(frozen=True)
class ScenesOptions(Options):
    """What is displayed.

    Attributes
    ----------
    display
        How.
    quarantine
        Structures with an unstable label: their system could not be asked about.
    pack
        Options of the packed input.
    """

    display: DisplaySettings = DisplaySettings()
    quarantine: str = opt(
        "drop", "structures with an unstable label: drop or keep", choices=("drop", "keep")
    )
    pack: PackOptions = PackOptions()
