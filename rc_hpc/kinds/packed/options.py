"""Options of packing."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from rc_hpc.core import constants
from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Options, at_least, derived, opt, own, positive
from rc_hpc.core.vocabulary import ATOM_ORDERS, SWEEPS


def _angle(flag: str, value: float) -> None:
    if not -1 <= value < 180 or value == 0:
        raise UsageError(
            f"{flag} must be between 0 and 180 degrees (or -1 for spglib's own), not {value}"
        )


def _orientation(flag: str, text: str) -> None:
    if text != "given" and not re.fullmatch(r"random:\d{1,18}|turned:\d+(\.\d+)?", text, re.ASCII):
        raise UsageError(
            f"{flag} {text}: give given, random:SEED, such as random:0, or turned:DEGREES, "
            "such as turned:1"
        )


#: Options that only the one or the other has.
_OF_CRYSTALS = ("tau", "angle_tolerance", "cell_symprec", "atom_order", "sweep")
_OF_MOLECULES = ("group_tolerance", "orientation")


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
    molecules
        Whether the structures are molecules: without a lattice, labelled by point group.
    group_tolerance, orientation
        Of molecules: see `rc_hpc.symmetry.point_groups.point_group`, Å, and
        `rc_hpc.kinds.packed.molecules.turned`.
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
    molecules: bool = opt(
        False,
        "the structures are molecules, without a cell: XYZ files without a Lattice; labelled by "
        "point group (of 'g2' and of packed molecules this need not be told)",
        caption=lambda yes: "molecules" if yes else "",
    )
    group_tolerance: float = opt(
        constants.GROUP_TOLERANCE,
        "of molecules: distance within which an operation of the point group must bring each atom "
        "to one of its element",
        metavar="Å",
        check=positive,
        caption="point groups within {} Å",
    )
    orientation: str = opt(
        "given",
        "how molecules stand before the cameras: given (as in the file), random:SEED (each turned "
        "by lot), or turned:DEGREES (each about an axis by lot)",
        metavar="given|random:SEED|turned:DEGREES",
        check=_orientation,
        caption=lambda how: "" if how == "given" else f"orientation {how}",
    )
    min_distance: float = derived(constants.MIN_DISTANCE)

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("min_distance", self.min_distance)
        strange = _OF_CRYSTALS if self.molecules else _OF_MOLECULES
        for one in own(type(self)):
            if one.field in strange and getattr(self, one.field) != one.asked:
                why = "molecules have none" if self.molecules else "give --molecules too"
                raise UsageError(
                    f"{one.flag} is of {'crystals' if self.molecules else 'molecules'}: {why}"
                )

    def _untold(self) -> Collection[str]:
        return _OF_CRYSTALS if self.molecules else _OF_MOLECULES
