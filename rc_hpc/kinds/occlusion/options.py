"""Options of an occlusion sweep."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from rc_hpc.core import constants
from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Options, names, once_each, opt, tolerance
from rc_hpc.core.vocabulary import ENUMERATIONS
from rc_hpc.images.conventions import CONVENTIONS
from rc_hpc.kinds.common import options as common
from rc_hpc.kinds.occlusion.readings import NAMED, readings, shown_needed
from rc_hpc.kinds.packed.options import PackOptions

#: Conditions, rules of verification by default, the one that loses least of those that know
#: nothing of what is hidden first, and merge rules.
CONDITIONS = ("O0", "O1", "O2", "O3")
VERIFICATIONS = ("painted", "3-of-V", "covered", "strict")
OCCLUSION_RULES = ("dominance", "first")


@dataclass(frozen=True)
class OcclusionOptions(Options):
    """What one occlusion sweep computes.

    Attributes
    ----------
    protocol
        `Protocol.identity()` and its name; its tiling is that of the pictures.
    subsets, tie, truth, quarantine, max_candidates, pack
        See `CensusOptions`.
    conditions
        Which centres are taken away, of CONDITIONS: none, those whose occluders are all of
        other orbits (informative), all occluded ones, those with an occluder of their orbit
        (redundant).
    verifications
        When a view that does not show a candidate lets it pass: never (`strict`), where a disc
        whose centre is there covers the spot of every copy (`covered`), where any disc is painted
        over those spots (`painted`), where k views in all show it (`k-of-V`, any number for k),
        where the image of an atom was taken away (`excused`: knows what it cannot; parity only).
    enumerations, rules
        Of ENUMERATIONS and of OCCLUSION_RULES; see `readings`.
    delta
        Acceptance and merge tolerance, Å.
    radii_factor
        Disc radius in units of the covalent radius.
    """

    protocol: dict[str, Any] = common.protocol()
    subsets: tuple[tuple[int, ...], ...] = common.subsets("full")
    conditions: tuple[str, ...] = common.several(
        CONDITIONS,
        "centres taken away: O0 none, O1 those hidden by atoms of other symmetry orbits only, "
        "O2 all hidden, O3 those hidden by one of their own orbit",
        CONDITIONS,
        told="all",
    )
    verifications: tuple[str, ...] = opt(
        VERIFICATIONS,
        "when a view that does not show a candidate lets it pass: painted (where any disc covers "
        "the spot), K-of-V (where K views show it), covered (where a disc whose centre is shown "
        "does), strict (never), excused (where something was taken away: knows the answer, for "
        "parity only)",
        name="verify",
        parse=names,
        metavar="NAME,NAME",
        check=once_each,
    )
    enumerations: tuple[str, ...] = common.several(
        ENUMERATIONS,
        f"of {', '.join(ENUMERATIONS)} (the next pair where the first two cameras give nothing)",
    )
    rules: tuple[str, ...] = common.several(
        OCCLUSION_RULES,
        f"merge rules, of {', '.join(OCCLUSION_RULES)} (with strict and excused only)",
    )
    delta: float = opt(
        constants.DELTA,
        "acceptance and merge tolerance",
        metavar="Å",
        check=tolerance,
        caption="delta {} Å",
    )
    radii_factor: float = opt(
        0.5,
        "disc radius in units of the covalent radius",
        name="radii",
        metavar="FACTOR",
        caption="radii {} of the covalent",
        check=common.factor,
    )
    tie: float = common.tie()
    truth: str = common.truth()
    quarantine: str = common.quarantine()
    max_candidates: int = common.max_candidates()
    tiling: str | None = common.tiling()
    pack: PackOptions = PackOptions()

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.verifications:
            if name not in NAMED and shown_needed(name) is None:
                raise UsageError(
                    f"--verify {name!r}: {', '.join(NAMED)}, or a number of views of 2 or more "
                    "as in 3-of-V"
                )
            views = len(self.protocol["views"])
            if (shown_needed(name) or 0) > views:
                raise UsageError(f"--verify {name}: the protocol has {views} views")
        if not self.readings:
            raise UsageError(
                "--rules first reads strict and excused only: add one of them to --verify, "
                "or dominance to --rules"
            )

    @classmethod
    def settle(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Cameras from their names, with the tiling of the pictures where none was asked for."""
        cameras = common.load(values["protocol"], values["tiling"])
        cameras.require_orthographic("occlusion sweeps")
        if values["tiling"] is None and cameras.tiling == (1, 1, 1):
            cameras = dataclasses.replace(cameras, tiling=CONVENTIONS["C1"].tiling)
        return common.settle_cameras(values, cameras)

    @property
    def readings(self) -> tuple[tuple[str, str, str], ...]:
        """All (verification, enumeration, merge rule), in the order of the file."""
        return readings(self.verifications, self.enumerations, self.rules)
