"""Options of the sweeps: the same rules as for those of a census."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from enum import IntEnum

from rc_hpc import constants
from rc_hpc.errors import UsageError
from rc_hpc.options import (
    ENUMERATIONS,
    MERGE_RULES,
    QUARANTINE_POLICIES,
    TRUTHS,
    Options,
    PackOptions,
    known_name,
    tolerance,
)

#: Conditions of an occlusion sweep, its rules of verification by default, and its merge rules.
CONDITIONS = ("O0", "O1", "O2", "O3")
VERIFICATIONS = ("covered", "strict", "painted", "3-of-V")
OCCLUSION_RULES = ("dominance", "first")
#: Noise: how the tolerance delta follows from sigma; `record` is the released experiment as a whole.
NOISE_RULES = ("common", "paper", "record")
#: Noise: which centroids an atom's position is estimated from.
ESTIMATORS = ("all-views", "best-pair", "anchor-pair")
#: Noise: how the symmetry of the noisy cell is found; `true-error` sets symprec from the truth, as the record did.
LABELLERS = ("statistical", "distance", "true-error")


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


#: Rule, estimator, merge and labeller of the released noise experiment.
RECORDED_READING = ("record", "anchor-pair", "first", "true-error")


class Side(IntEnum):
    """Part that a structure plays in a design."""

    unused = 0
    training = 1
    searched = 2
    held_out = 3


@dataclass(frozen=True)
class DesignOptions(Options):
    """What one camera design computes; the sets found by its search are part of it.

    Attributes
    ----------
    protocols
        `Protocol.identity()` and name of each: the sets found, then those beside them.
    scores
        Of each protocol on the searched structures, see `rc_hpc.geometry.camera_sets.SCORES`.
    cameras
        Of each set found, as a protocol file has them.
    views, keep, seed, starts, sample, training, held_out
        What was searched, for whom: cameras of a set, names of kept ones, seed of the search and
        of the split, random starts, structures that the search looks at, structures that choose
        between the sets found, and the share that is held out, or `ids`.
    sides
        Hash of the side of every structure.
    delta
        Tolerance of the phantom rates, Å.
    sigmas, seeds, truth, quarantine, pack
        See `NoiseOptions`; quarantined structures are dropped or kept.
    """

    protocols: tuple[dict, ...] = field(hash=False)
    scores: tuple[dict, ...] = field(hash=False)
    cameras: tuple[tuple[dict, ...], ...] = field(hash=False)
    views: int
    keep: tuple[str, ...]
    seed: int
    starts: int
    sample: int
    training: int
    held_out: str
    sides: str
    delta: float = constants.DELTA
    sigmas: tuple[float, ...] = constants.DESIGN_SIGMAS
    seeds: int = 3
    truth: str = TRUTHS[0]
    quarantine: str = "drop"
    pack: PackOptions = PackOptions()


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
