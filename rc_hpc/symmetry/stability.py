"""How firmly a label holds: the tolerance sweep, the order of atoms, and what follows from them."""

from __future__ import annotations

from enum import IntFlag
from itertools import product

import numpy as np

from rc_hpc.core.constants import ANGLE_TOLERANCE, NEIGHBOURHOOD, SWEEP, TAU
from rc_hpc.symmetry.conventional import canonical_order
from rc_hpc.symmetry.guard import NULL_RECORDER
from rc_hpc.symmetry.labels import label_cell


class LabelFlag(IntFlag):
    """Why a structure is in quarantine; stored as a bit field. Bits are never renumbered."""

    unstable = 1  # not one space group over the production neighbourhood
    source_disagrees = 2  # the source claims another space group
    order_dependent = 4  # spglib gives another label where the atoms come in another order


def settings(
    tau: float = TAU, angle_tolerance: float = ANGLE_TOLERANCE
) -> tuple[tuple[float, float], ...]:
    """symprec (Å) and angle tolerance (degrees) of each setting of the sweep about a label's."""
    return tuple(
        (float(f"{factor * tau:.12g}"), angle_tolerance if angle is None else angle)
        for factor, angle in SWEEP
    )


def sweep(
    lattice: np.ndarray,
    frac: np.ndarray,
    numbers: np.ndarray,
    tau: float = TAU,
    angle_tolerance: float = ANGLE_TOLERANCE,
    *,
    canonical: int | None = None,
    recorder=NULL_RECORDER,
) -> np.ndarray:
    """Space-group numbers over `settings`.

    Parameters
    ----------
    lattice, frac, numbers
        The cell, as in `labels.label_cell`.
    tau, angle_tolerance
        Of the label, Å and degrees.
    canonical
        The number already found at the first setting (0: it failed), so that it is not
        computed twice; None: not known.
    recorder
        Notes the structure in flight.

    Returns
    -------
    (7,) int16
        0 where a setting gave no label.
    """
    found = np.zeros(len(SWEEP), np.int16)
    for i, setting in enumerate(settings(tau, angle_tolerance)):
        if i == 0 and canonical is not None:
            found[i] = canonical
            continue
        one, _ = label_cell(lattice, frac, numbers, *setting, recorder=recorder)
        found[i] = one.number if one else 0
    return found


def orders(positions: np.ndarray, numbers: np.ndarray) -> list[np.ndarray]:
    """Eight fixed orders of the same atoms, whatever the order in which they come.

    Along the generic directions with all signs; where the first is negative, the species
    descend. The first is `canonical_order`.
    """
    species = np.asarray(numbers, int)
    return [
        canonical_order(positions, x * species, (x, y, z)) for x, y, z in product((1, -1), repeat=3)
    ]


def order_dependent(
    lattice: np.ndarray,
    frac: np.ndarray,
    numbers: np.ndarray,
    symprec: float = TAU,
    angle_tolerance: float = ANGLE_TOLERANCE,
    *,
    canonical: int,
    recorder=NULL_RECORDER,
) -> bool:
    """Whether spglib gives a cell another number in any of its other `orders`.

    Parameters
    ----------
    lattice, frac, numbers, symprec, angle_tolerance
        See `labels.label_cell`.
    canonical
        The number in the first of them.
    recorder
        Notes the structure in flight.
    """
    for order in orders(frac @ lattice, numbers)[1:]:
        one, _ = label_cell(
            lattice, frac[order], numbers[order], symprec, angle_tolerance, recorder=recorder
        )
        if (one.number if one else 0) != canonical:
            return True
    return False


def neighbourhood_stable(found: np.ndarray) -> bool:
    """Whether exactly one number occurs over `constants.NEIGHBOURHOOD`, failed settings dropped."""
    return len({int(found[i]) for i in NEIGHBOURHOOD} - {0}) == 1


def flipped(found: np.ndarray) -> bool:
    """Whether more than one number occurs over the whole sweep (diagnostic only)."""
    return len(set(map(int, found)) - {0}) > 1


def quarantine(found: np.ndarray, source_space_group: int = 0, ordered: bool = False) -> LabelFlag:
    """Reasons to quarantine a structure; `LabelFlag(0)` where there is none.

    Parameters
    ----------
    found : (7,)
        A `sweep`.
    source_space_group
        The number that the source claims; 0: it claims none, which disagrees with nothing.
    ordered
        Whether the label is `order_dependent`.
    """
    flags = LabelFlag(0)
    if not neighbourhood_stable(found):
        flags |= LabelFlag.unstable
    if source_space_group and found[0] and source_space_group != found[0]:
        flags |= LabelFlag.source_disagrees
    if ordered:
        flags |= LabelFlag.order_dependent
    return flags
