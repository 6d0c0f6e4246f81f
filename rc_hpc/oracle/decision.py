"""What is decided of one cell under one policy, and how much may be done for it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rc_hpc.core.vocabulary import Known, System, Undecided, Uniqueness

#: Policies that admit all that another does.
LOOSER: dict[Known, tuple[Known, ...]] = {
    Known.any: (),
    Known.counts: (Known.any,),
    Known.physical: (Known.any, Known.counts),
    Known.fewest: (Known.any,),
}


@dataclass(frozen=True)
class Budget:
    """How much is done for one answer.

    Attributes
    ----------
    limit
        Explanations that are labelled for one policy at most.
    conflicts
        Of one call of the solver.
    seconds
        Of one call of HiGHS.
    places
        Places of a puzzle beyond which no solver is asked.
    """

    limit: int = 64
    conflicts: int = 20_000
    seconds: float = 5.0
    places: int = 1500


@dataclass
class Decision:
    """What was found under one policy.

    Attributes
    ----------
    status, reason
    systems
        Bits of the systems of the explanations that were labelled.
    seen
        Their number.
    reference
        System that witnesses are compared with.
    best
        Highest system of any explanation, by the operations of its holohedry; none where that is
        not known.
    witness : (C,) bool or None
        An explanation of another system than the truth.
    """

    status: Uniqueness = Uniqueness.not_done
    reason: Undecided = Undecided.none
    systems: int = 0
    seen: int = 0
    reference: System = System.none
    best: System = System.none
    witness: np.ndarray | None = None
    labelled: dict[bytes, np.ndarray] = field(default_factory=dict)
