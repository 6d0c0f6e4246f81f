"""Options of a census."""

from __future__ import annotations

from dataclasses import dataclass, field

from rc_hpc.core import constants
from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Options, known_name, tolerance
from rc_hpc.core.vocabulary import ENUMERATIONS, MERGE_RULES, QUARANTINE_POLICIES, TRUTHS
from rc_hpc.kinds.packed.options import PackOptions


@dataclass(frozen=True)
class CensusOptions(Options):
    """What one census computes.

    Attributes
    ----------
    protocol
        `Protocol.identity()` and its name.
    subsets
        View subsets as tuples of camera indices.
    delta
        Acceptance and merge tolerance, Å.
    delta_max
        Largest delta up to which the phantom profile is followed, Å; at least `delta`.
    enumeration, merge
        See ENUMERATIONS and MERGE_RULES.
    truth
        Cell whose label counts as true: the stored or the conventional one.
    label_every
        Label every reconstruction, not the distinct ones only; the result is the same.
    quarantine
        What happens to structures with an unstable label: mark, keep or drop.
    max_candidates
        Candidates beyond which a structure is refused.
    pack
        Options of the packed input.
    """

    protocol: dict = field(hash=False)
    subsets: tuple[tuple[int, ...], ...]
    delta: float = constants.DELTA
    delta_max: float = constants.DELTA_MAX
    enumeration: str = ENUMERATIONS[0]
    merge: str = MERGE_RULES[0]
    truth: str = TRUTHS[0]
    label_every: bool = False
    quarantine: str = QUARANTINE_POLICIES[0]
    max_candidates: int = 100_000_000
    pack: PackOptions = PackOptions()

    def __post_init__(self):
        tolerance("--delta", self.delta)
        if not self.delta_max >= self.delta or self.delta_max == float("inf"):
            raise UsageError(
                f"--delta-max ({self.delta_max} Å) must be finite and not below --delta ({self.delta} Å)"
            )
        for name, known in (
            ("enumeration", ENUMERATIONS),
            ("merge", MERGE_RULES),
            ("truth", TRUTHS),
            ("quarantine", QUARANTINE_POLICIES),
        ):
            known_name(name, getattr(self, name), known)
