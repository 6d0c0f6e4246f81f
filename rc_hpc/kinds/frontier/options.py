"""Options of a tolerance frontier."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from rc_hpc.core import constants
from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Options, known_name, tolerance
from rc_hpc.core.vocabulary import ENUMERATIONS, MERGE_RULES, QUARANTINE_POLICIES, TRUTHS
from rc_hpc.kinds.packed.options import PackOptions


@dataclass(frozen=True)
class FrontierOptions(Options):
    """What one tolerance frontier computes.

    Attributes
    ----------
    protocol, subsets, truth, quarantine, max_candidates, pack
        See `CensusOptions`.
    deltas
        Acceptance and merge tolerances, Å, ascending.
    symprecs
        spglib's symprec of the reconstructions' labels, Å, ascending. The true label is the
        packed one whatever they are.
    delta_max
        Largest delta up to which the phantom profile is followed, Å; at least the largest of `deltas`.
    enumerations, rules
        Of ENUMERATIONS and of MERGE_RULES; each of the one goes with each of the other.
    """

    protocol: dict = field(hash=False)
    subsets: tuple[tuple[int, ...], ...]
    deltas: tuple[float, ...]
    symprecs: tuple[float, ...] = (constants.TAU,)
    delta_max: float = constants.DELTA_MAX
    enumerations: tuple[str, ...] = ENUMERATIONS[:1]
    rules: tuple[str, ...] = MERGE_RULES[:1]
    truth: str = TRUTHS[0]
    quarantine: str = QUARANTINE_POLICIES[0]
    max_candidates: int = 100_000_000
    pack: PackOptions = PackOptions()

    def __post_init__(self):
        for flag, values in (("--deltas", self.deltas), ("--symprecs", self.symprecs)):
            for value in values:
                tolerance(flag, value)
            if not values or sorted(set(values)) != list(values):
                raise UsageError(
                    f"{flag} must be different lengths in Å, ascending, not {', '.join(map(str, values)) or 'none'}"
                )
        if not self.deltas[-1] <= self.delta_max < float("inf"):
            raise UsageError(
                f"--delta-max ({self.delta_max} Å) must be finite and not below the largest of --deltas ({self.deltas[-1]} Å)"
            )
        for name, known in (("enumerations", ENUMERATIONS), ("rules", MERGE_RULES)):
            values = getattr(self, name)
            for value in values:
                known_name(name, value, known)
            if not values or len(set(values)) != len(values):
                raise UsageError(
                    f"--{name} must name some of {', '.join(known)}, each once, not {', '.join(values) or 'none'}"
                )
        for name, known in (("truth", TRUTHS), ("quarantine", QUARANTINE_POLICIES)):
            known_name(name, getattr(self, name), known)

    @property
    def readings(self) -> tuple[tuple[str, str], ...]:
        """All (enumeration, merge rule), in the order of the file."""
        return tuple(itertools.product(self.enumerations, self.rules))
