"""Options of a noise sweep."""

from __future__ import annotations

from dataclasses import dataclass, field

from rc_hpc.core import constants
from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Options, known_name
from rc_hpc.core.vocabulary import (
    ESTIMATORS,
    LABELLERS,
    MERGE_RULES,
    NOISE_RULES,
    QUARANTINE_POLICIES,
    RECORDED_READING,
    TRUTHS,
)
from rc_hpc.kinds.packed.options import PackOptions


@dataclass(frozen=True)
class NoiseOptions(Options):
    """What one noise sweep computes.

    Attributes
    ----------
    protocols
        `Protocol.identity()` and name of each.
    sigmas
        Standard deviations of each screen coordinate of a centroid, Å, ascending.
    seeds
        Number of seeds, from 0 on.
    rules, estimators
        Of NOISE_RULES and ESTIMATORS; each of the one goes with each of the other, but `record`,
        which is one experiment.
    merge
        Merge rule of the pair estimators, of MERGE_RULES.
    labeller
        Of LABELLERS.
    order
        Hash of the ids in the order in which the record's errors are drawn; empty is the
        order of the packed file, and where errors are not drawn like that.
    truth, quarantine, pack
        See `CensusOptions`.
    """

    protocols: tuple[dict, ...] = field(hash=False)
    sigmas: tuple[float, ...] = constants.NOISE_SIGMAS
    seeds: int = 10
    rules: tuple[str, ...] = NOISE_RULES[:1]
    estimators: tuple[str, ...] = ESTIMATORS[:1]
    merge: str = "best-residual"
    labeller: str = LABELLERS[0]
    order: str = ""
    truth: str = TRUTHS[0]
    quarantine: str = QUARANTINE_POLICIES[0]
    pack: PackOptions = PackOptions()

    def __post_init__(self):
        names = [protocol["name"] for protocol in self.protocols]
        if not names or len(set(names)) != len(names):
            raise UsageError(
                f"--protocols must be different protocols, each under its own name, not {', '.join(names) or 'none'}"
            )
        if (
            not self.sigmas
            or sorted(set(self.sigmas)) != list(self.sigmas)
            or not 0 <= self.sigmas[0] <= self.sigmas[-1] < float("inf")
        ):
            raise UsageError(
                f"--sigmas must be different lengths in Å, ascending, none negative, not {', '.join(map(str, self.sigmas)) or 'none'}"
            )
        if not 1 <= self.seeds <= 10_000:
            raise UsageError(f"--seeds must be between 1 and 10000, not {self.seeds}")
        for name, known in (("rules", NOISE_RULES), ("estimators", ESTIMATORS)):
            values = getattr(self, name)
            for value in values:
                known_name(name, value, known)
            if not values or len(set(values)) != len(values):
                raise UsageError(
                    f"--{name} must name some of {', '.join(known)}, each once, not {', '.join(values) or 'none'}"
                )
        for name, known in (
            ("merge", MERGE_RULES),
            ("labeller", LABELLERS),
            ("truth", TRUTHS),
            ("quarantine", QUARANTINE_POLICIES),
        ):
            known_name(name, getattr(self, name), known)

    @property
    def readings(self) -> tuple[tuple[str, str, str, str], ...]:
        """All (rule, estimator, merge, labeller), in the order of the file."""
        return tuple(
            reading
            for rule in self.rules
            for reading in (
                (RECORDED_READING,)
                if rule == "record"
                else ((rule, estimator, self.merge, self.labeller) for estimator in self.estimators)
            )
        )

    @property
    def reads(self) -> int:
        """Sets of pictures that are read of one structure under one protocol."""
        return len(self.readings) * sum(self.seeds if sigma > 0 else 1 for sigma in self.sigmas)

    @property
    def shared(self) -> bool:
        """Whether the errors come from the record's stream, which all structures share."""
        return "record" in self.rules
