"""How firmly a label holds: the six-setting sweep and the quarantine that follows from it."""

from __future__ import annotations

from enum import IntFlag

import numpy as np

from rc_hpc.core.constants import NEIGHBOURHOOD, SWEEP
from rc_hpc.symmetry.guard import NULL_RECORDER
from rc_hpc.symmetry.labels import label_cell


class LabelFlag(IntFlag):
    """Why a structure is in quarantine; stored as a bit field. Bits are never renumbered."""

    unstable = 1  # not one space group over the production neighbourhood
    source_disagrees = 2  # the source claims another space group


def sweep(
    lattice: np.ndarray,
    frac: np.ndarray,
    numbers: np.ndarray,
    *,
    canonical: int | None = None,
    recorder=NULL_RECORDER,
) -> np.ndarray:
    """Space-group numbers over the settings of `constants.SWEEP`.

    Parameters
    ----------
    lattice, frac, numbers
        The cell, as in `labels.label_cell`.
    canonical
        The number already found at the first setting (0: it failed), so that it is not
        computed twice; None: not known.
    recorder
        Notes the structure in flight.

    Returns
    -------
    (6,) int16
        0 where a setting gave no label.
    """
    found = np.zeros(len(SWEEP), np.int16)
    for i, (symprec, angle_tolerance) in enumerate(SWEEP):
        if i == 0 and canonical is not None:
            found[i] = canonical
            continue
        one, _ = label_cell(lattice, frac, numbers, symprec, angle_tolerance, recorder=recorder)
        found[i] = one.number if one else 0
    return found


def neighbourhood_stable(found: np.ndarray) -> bool:
    """Whether exactly one number occurs over `constants.NEIGHBOURHOOD`, failed settings dropped."""
    return len({int(found[i]) for i in NEIGHBOURHOOD} - {0}) == 1


def flipped(found: np.ndarray) -> bool:
    """Whether more than one number occurs over the whole sweep (diagnostic only)."""
    return len(set(map(int, found)) - {0}) > 1


def quarantine(found: np.ndarray, source_space_group: int = 0) -> LabelFlag:
    """Reasons to quarantine a structure; `LabelFlag(0)` where there is none.

    Parameters
    ----------
    found : (6,)
        A `sweep`.
    source_space_group
        The number that the source claims; 0: it claims none, which disagrees with nothing.
    """
    flags = LabelFlag(0)
    if not neighbourhood_stable(found):
        flags |= LabelFlag.unstable
    if source_space_group and found[0] and source_space_group != found[0]:
        flags |= LabelFlag.source_disagrees
    return flags
