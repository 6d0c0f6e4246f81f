"""Options of packing."""

from __future__ import annotations

from dataclasses import dataclass

from rc_hpc.core import constants
from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Options, positive


@dataclass(frozen=True)
class PackOptions(Options):
    """How structures are read, standardised and labelled.

    Attributes
    ----------
    tau
        symprec of the label, Å.
    angle_tolerance
        spglib's angle tolerance, degrees.
    cell_symprec
        symprec of the conventional standard cell, Å.
    max_atoms
        Atoms of the conventional cell beyond which a structure is refused.
    min_distance
        Atoms closer than this are taken for a broken file, Å.
    """

    tau: float = constants.TAU
    angle_tolerance: float = constants.ANGLE_TOLERANCE
    cell_symprec: float = constants.CELL_SYMPREC
    max_atoms: int = constants.MAX_ATOMS
    min_distance: float = constants.MIN_DISTANCE

    def __post_init__(self):
        for name in ("tau", "cell_symprec", "min_distance"):
            positive(name, getattr(self, name))
        if not -1 <= self.angle_tolerance < 180 or self.angle_tolerance == 0:
            raise UsageError(
                f"angle tolerance must be between 0 and 180 degrees (or -1 for spglib's own), not {self.angle_tolerance}"
            )
        if self.max_atoms < 1:
            raise UsageError(f"--max-atoms must be at least 1, not {self.max_atoms}")
