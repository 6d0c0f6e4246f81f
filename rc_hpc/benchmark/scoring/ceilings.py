"""What pictures determine, as it stands in the file that tells it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.benchmark.determined_file import determined_of
from rc_hpc.benchmark.package import Package


@dataclass(frozen=True)
class Ceiling:
    """One reading of the pictures over the questions of a set.

    Attributes
    ----------
    name
        How they are read, in words.
    known : (n,) bool
        Questions of which the file tells.
    determined : (n,) bool
        One option is left.
    expected : (n,) float64
        Score of a reader who draws evenly among the options left.
    """

    name: str
    known: np.ndarray
    determined: np.ndarray
    expected: np.ndarray


def read_ceilings(path: Path, package: Package) -> list[Ceiling]:
    """Every sight of the file, each from the pictures that a question itself shows.

    Raises
    ------
    RcError
        No such file, or it is of another package.
    """
    found, rows = determined_of(path, package)
    there = rows >= 0
    columns = {name: found.asked(name)[rows] for name in ("known", "determined", "score")}
    return [
        Ceiling(
            sight,
            there & columns["known"][:, number],
            there & columns["determined"][:, number],
            np.where(there, columns["score"][:, number], np.nan),
        )
        for number, sight in enumerate(found.sights)
    ]
