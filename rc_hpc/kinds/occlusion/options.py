"""Options of an occlusion sweep."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from rc_hpc.core import constants
from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Options, known_name, tolerance
from rc_hpc.core.vocabulary import ENUMERATIONS, QUARANTINE_POLICIES, TRUTHS
from rc_hpc.kinds.packed.options import PackOptions

#: Conditions of an occlusion sweep, its rules of verification by default, and its merge rules.
CONDITIONS = ("O0", "O1", "O2", "O3")

VERIFICATIONS = ("covered", "strict", "painted", "3-of-V")

OCCLUSION_RULES = ("dominance", "first")


@dataclass(frozen=True)
class OcclusionOptions(Options):
    """What one occlusion sweep computes.

    Attributes
    ----------
    protocol
        `Protocol.identity()` and its name; its tiling is that of the pictures.
    subsets, truth, quarantine, max_candidates, pack
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

    protocol: dict = field(hash=False)
    subsets: tuple[tuple[int, ...], ...]
    conditions: tuple[str, ...] = CONDITIONS
    verifications: tuple[str, ...] = VERIFICATIONS
    enumerations: tuple[str, ...] = ENUMERATIONS[:1]
    rules: tuple[str, ...] = OCCLUSION_RULES[:1]
    delta: float = constants.DELTA
    radii_factor: float = 0.5
    truth: str = TRUTHS[0]
    quarantine: str = QUARANTINE_POLICIES[0]
    max_candidates: int = 100_000_000
    pack: PackOptions = PackOptions()

    def __post_init__(self):
        tolerance("--delta", self.delta)
        if not 0 < self.radii_factor < float("inf"):
            raise UsageError(f"--radii must be a positive factor, not {self.radii_factor}")
        for name, known in (
            ("conditions", CONDITIONS),
            ("enumerations", ENUMERATIONS),
            ("rules", OCCLUSION_RULES),
        ):
            for value in getattr(self, name):
                known_name(name, value, known)
        for name in self.verifications:
            if (
                name not in ("strict", "covered", "painted", "excused")
                and shown_needed(name) is None
            ):
                raise UsageError(
                    f"--verify {name!r}: strict, covered, painted, excused, or a number of views of 2 or more as in 3-of-V"
                )
            if (shown_needed(name) or 0) > len(self.protocol["views"]):
                raise UsageError(
                    f"--verify {name}: the protocol has {len(self.protocol['views'])} views"
                )
        for name in ("conditions", "verifications", "enumerations", "rules"):
            values = getattr(self, name)
            if not values or len(set(values)) != len(values):
                raise UsageError(
                    f"the {name} of an occlusion sweep must be some, each once, not {', '.join(values) or 'none'}"
                )
        if not self.readings:
            raise UsageError(
                "--rules first reads strict and excused only: add one of them to --verify, or dominance to --rules"
            )

    @property
    def readings(self) -> tuple[tuple[str, str, str], ...]:
        """All (verification, enumeration, merge rule), in the order of the file.

        `first` keeps whatever comes first. With a rule that forgives misses where nothing is
        missing it misreads perfect pictures, so it goes with `strict` and `excused` only.
        """
        return tuple(
            reading
            for reading in itertools.product(self.verifications, self.enumerations, self.rules)
            if reading[2] != "first" or reading[0] in ("strict", "excused")
        )


def shown_needed(verification: str) -> int | None:
    """Views that must show a candidate by the rule k-of-V; None where the name is no such rule."""
    k, of, views = verification.partition("-of-")
    return int(k) if of and views == "V" and k.isdecimal() and int(k) >= 2 else None
