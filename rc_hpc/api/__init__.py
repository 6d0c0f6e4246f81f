"""The public Python interface: ``import rc_hpc`` and its names."""

from rc_hpc.api.calls import ceiling, ceilings, draw, open
from rc_hpc.api.results import Ceiling, Ceilings

__all__ = ["Ceiling", "Ceilings", "ceiling", "ceilings", "draw", "open"]
