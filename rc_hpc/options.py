"""Options that results depend on: frozen, hashable, written into every file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field

from rc_hpc import constants
from rc_hpc.errors import UsageError

ENUMERATIONS = ("all-pairs", "anchor")
MERGE_RULES = ("dominance", "best-residual", "least-squares", "mean", "first")
QUARANTINE_POLICIES = ("mark", "keep", "drop")
TRUTHS = ("stored", "conventional")
RENDERERS = ("fast", "ase")


class Options:
    def to_dict(self) -> dict:
        """Plain JSON values."""
        return asdict(self)

    def to_json(self) -> str:
        """Canonical JSON text."""
        return json.dumps(self.to_dict(), sort_keys=True)

    def digest(self) -> str:
        """Hash of all options."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


def positive(name: str, value: float):
    if not 0 < value < float("inf"):
        raise UsageError(f"{name} must be a positive length in Å, not {value}")


def tolerance(name: str, value: float):
    positive(name, value)
    if value < constants.NUMERICAL_ZERO:
        raise UsageError(
            f"{name} {value} Å is below numerical zero: take {constants.NUMERICAL_ZERO} Å or more"
        )


def known_name(name: str, value: str, known: tuple[str, ...]):
    if value not in known:
        raise UsageError(f"--{name} {value!r}: one of {', '.join(known)}")


@dataclass(frozen=True)
class PackOptions(Options):
    """How structures are read, standardised and labelled.

    Attributes
    ----------
    tau
        symprec of the label, Å.
    angle_tolerance
        spglib's angle tolerance, degrees.
    cell_symprec
        symprec of the conventional standard cell, Å.
    max_atoms
        Atoms of the conventional cell beyond which a structure is refused.
    min_distance
        Atoms closer than this are taken for a broken file, Å.
    """

    tau: float = constants.TAU
    angle_tolerance: float = constants.ANGLE_TOLERANCE
    cell_symprec: float = constants.CELL_SYMPREC
    max_atoms: int = constants.MAX_ATOMS
    min_distance: float = constants.MIN_DISTANCE

    def __post_init__(self):
        for name in ("tau", "cell_symprec", "min_distance"):
            positive(name, getattr(self, name))
        if not -1 <= self.angle_tolerance < 180 or self.angle_tolerance == 0:
            raise UsageError(
                f"angle tolerance must be between 0 and 180 degrees (or -1 for spglib's own), not {self.angle_tolerance}"
            )
        if self.max_atoms < 1:
            raise UsageError(f"--max-atoms must be at least 1, not {self.max_atoms}")


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


@dataclass(frozen=True)
class RenderOptions(Options):
    """What one rendering draws.

    Attributes
    ----------
    protocol
        `Protocol.identity()` and its name; its tiling is that of the pictures.
    convention
        Name of the drawing convention with these values.
    radii_factor
        Disc radius in units of the covalent radius.
    size
        Width and height of a picture, px.
    renderer
        See RENDERERS.
    compare
        Draw every picture with both renderers and count the pixels that differ.
    name_seed
        Text from which, with the id and the view, the file names follow.
    pack
        Options of the packed input.
    """

    protocol: dict = field(hash=False)
    convention: str
    radii_factor: float = 0.5
    size: int = 768
    renderer: str = RENDERERS[0]
    compare: bool = False
    name_seed: str = ""
    pack: PackOptions = PackOptions()

    def __post_init__(self):
        known_name("renderer", self.renderer, RENDERERS)
        if not 0 < self.radii_factor < float("inf"):
            raise UsageError(f"--radii must be a positive factor, not {self.radii_factor}")
        if not 16 <= self.size <= 8192:
            raise UsageError(f"--size must be between 16 and 8192 px, not {self.size}")
        if self.compare and self.renderer != "fast":
            raise UsageError("--compare compares --renderer fast with ase: leave --renderer out")
