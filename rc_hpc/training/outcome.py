"""What comes out of a training: networks, how they learned, and what they answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rc_hpc.training.loop import Curves


@dataclass(frozen=True)
class Scored:
    """Structures that were scored.

    Attributes
    ----------
    ids
    truth : (n,) int64
        Index into `CRYSTAL_SYSTEMS`.
    """

    ids: tuple[str, ...]
    truth: np.ndarray


@dataclass(frozen=True)
class SeedResult:
    """One trained network.

    Attributes
    ----------
    seed
    curves
    logits
        By side: (n, v, classes) float32.
    weights
        State dictionary.
    start
        SHA-256 of the tensors it started from, the new head included.
    seconds
        Time it took, checkpoints and measuring included, s.
    """

    seed: int
    curves: Curves
    logits: Mapping[str, np.ndarray]
    weights: dict
    start: str
    seconds: float


@dataclass(frozen=True)
class Diverged:
    """A seed that was stopped, because numbers were no longer finite; nothing of it is scored.

    Attributes
    ----------
    seed
    step
        Steps done until then.
    what
        What was not finite.
    """

    seed: int
    step: int
    what: str

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.what} after {self.step} steps, so that it is not scored"


@dataclass(frozen=True)
class Leakage:
    """Formulas that training and evaluation share.

    Attributes
    ----------
    formulas
        Reduced, sorted.
    unknown
        Structures of either side whose formula the split does not tell.
    """

    formulas: tuple[str, ...]
    unknown: int

    def to_dict(self) -> dict:
        """As it is recorded."""
        return {"formulas_on_both_sides": list(self.formulas), "without_formula": self.unknown}


@dataclass(frozen=True)
class Done:
    """All seeds of a run.

    Attributes
    ----------
    seeds
        Those that were scored.
    train_ids
        Structures that were trained on.
    sides
        ``holdout`` and ``evaluation``.
    environment
        Where and how fast it ran; no part of the result.
    diverged
        Seeds that were not scored.
    leakage
    """

    seeds: list[SeedResult]
    train_ids: tuple[str, ...]
    sides: Mapping[str, Scored]
    environment: dict
    diverged: tuple[Diverged, ...] = ()
    leakage: Leakage = Leakage((), 0)
