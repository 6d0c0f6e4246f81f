"""Options of packing."""

from __future__ import annotations

from dataclasses import dataclass

from rc_hpc.core import constants
from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Options, at_least, derived, opt, positive
from rc_hpc.core.vocabulary import ATOM_ORDERS, SWEEPS


def _angle(flag: str, value: float) -> None:
    if not -1 <= value < 180 or value == 0:
        raise UsageError(
            f"{flag} must be between 0 and 180 degrees (or -1 for spglib's own), not {value}"
        )


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
    atom_order
        Of `ATOM_ORDERS`: in which order spglib and pymatgen are given the atoms.
    sweep
        Of `SWEEPS`; decides no number, and each row tells how its own came about.
    max_atoms
        Atoms of the conventional cell beyond which a structure is refused.
    min_distance
        Atoms closer than this are taken for a broken file, Å.
    """

    tau: float = opt(
        constants.TAU, "symprec of the labels", metavar="Å", check=positive, caption="tau {} Å"
    )
    angle_tolerance: float = opt(
        constants.ANGLE_TOLERANCE,
        "spglib's angle tolerance",
        metavar="deg",
        check=_angle,
        caption="angle tolerance {} degrees",
    )
    cell_symprec: float = opt(
        constants.CELL_SYMPREC,
        "symprec of the conventional standard cell, which is drawn",
        metavar="Å",
        check=positive,
        caption="cell symprec {} Å",
    )
    atom_order: str = opt(
        ATOM_ORDERS[0],
        "order in which atoms are labelled and standardised: one fixed order, or that of the file, "
        "which the rules 'first' and 'mean' of the released program follow",
        choices=ATOM_ORDERS,
        caption=lambda order: "" if order == ATOM_ORDERS[0] else f"atoms in {order} order",
    )
    sweep: str = opt(
        SWEEPS[0],
        "short: one spglib call for the whole tolerance sweep of a crystal whose symmetry is exact "
        "with no other near; full: every call of it",
        choices=SWEEPS,
        recorded=False,
    )
    max_atoms: int = opt(constants.MAX_ATOMS, "refuse larger cells", metavar="N", check=at_least(1))
    min_distance: float = derived(constants.MIN_DISTANCE)

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("min_distance", self.min_distance)
