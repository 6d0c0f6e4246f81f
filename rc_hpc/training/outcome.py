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
class Done:
    """All seeds of a run.

    Attributes
    ----------
    seeds
    train_ids
        Structures that were trained on.
    sides
        ``holdout`` and ``evaluation``.
    environment
        Where and how fast it ran; no part of the result.
    """

    seeds: list[SeedResult]
    train_ids: tuple[str, ...]
    sides: Mapping[str, Scored]
    environment: dict
