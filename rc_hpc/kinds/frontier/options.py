"""Options of a tolerance frontier."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from rc_hpc.core import constants
from rc_hpc.core.options import ascending, lengths, opt
from rc_hpc.core.vocabulary import ENUMERATIONS, MERGE_RULES
from rc_hpc.kinds.common import options as common
from rc_hpc.kinds.packed.options import PackOptions

_tolerances = ascending(constants.NUMERICAL_ZERO)


@dataclass(frozen=True)
class FrontierOptions(common.Molecular):
    """What one tolerance frontier computes.

    Attributes
    ----------
    protocol, subsets, tie, truth, quarantine, max_candidates, pack
        See `CensusOptions`.
    deltas
        Acceptance and merge tolerances, Å, ascending.
    symprecs
        spglib's symprec of the reconstructions' labels, Å, ascending; of molecules the tolerance
        of their point groups. The true label is the packed one whatever they are.
    delta_max
        Largest delta up to which the phantom profile is followed, Å; at least the largest of
        `deltas`.
    enumerations, rules
        Of ENUMERATIONS and of MERGE_RULES; each of the one goes with each of the other.
    """

    protocol: dict[str, Any] = common.protocol()
    subsets: tuple[tuple[int, ...], ...] = common.subsets("full")
    deltas: tuple[float, ...] = opt(
        asked=constants.FRONTIER_DELTAS,
        help="acceptance and merge tolerances",
        parse=lengths,
        metavar="Å,Å",
        check=_tolerances,
    )
    symprecs: tuple[float, ...] = opt(
        (constants.TAU,),
        "spglib's symprec of the reconstructions' labels (the true label is at --tau); of "
        "molecules the tolerance of their point groups",
        asked=None,
        parse=lengths,
        metavar="Å,Å",
        told="--tau, or --group-tolerance",
        check=_tolerances,
    )
    delta_max: float = opt(
        constants.DELTA_MAX,
        "follow the delta profile up to this delta",
        asked=None,
        parse=float,
        metavar="Å",
        told=f"{constants.DELTA_MAX}, or the largest of --deltas",
    )
    enumerations: tuple[str, ...] = common.several(ENUMERATIONS, f"of {', '.join(ENUMERATIONS)}")
    rules: tuple[str, ...] = common.several(
        MERGE_RULES, f"merge rules, of {', '.join(MERGE_RULES)}"
    )
    tie: float = common.tie()
    truth: str = common.truth()
    quarantine: str = common.quarantine()
    max_candidates: int = common.max_candidates()
    tiling: str | None = common.tiling()
    pack: PackOptions = PackOptions()

    def __post_init__(self) -> None:
        super().__post_init__()
        common.horizon(self.delta_max, self.deltas, constants.DELTA_MAX)

    @classmethod
    def settle(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Cameras from their names; symprecs and horizon from tau and the deltas."""
        _tolerances("--deltas", values["deltas"])
        reach = common.horizon(values["delta_max"], values["deltas"], constants.DELTA_MAX)
        pack = values["pack"]
        symprecs = values["symprecs"] or (pack.group_tolerance if pack.molecules else pack.tau,)
        return common.settle_cameras(values) | {"delta_max": reach, "symprecs": symprecs}

    @property
    def readings(self) -> tuple[tuple[str, str], ...]:
        """All (enumeration, merge rule), in the order of the file."""
        return tuple(itertools.product(self.enumerations, self.rules))
