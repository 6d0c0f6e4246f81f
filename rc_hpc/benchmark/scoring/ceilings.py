"""What pictures determine, as it stands in the file that tells it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.benchmark.determined_file import read_determined
from rc_hpc.benchmark.package import Package
from rc_hpc.core.errors import RcError


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
        No such file, or it tells nothing of this package.
    """
    found = read_determined(path)
    place = {str(id_): row for row, id_ in enumerate(found.ids)}
    rows = np.array([place.get(question.id, -1) for question in package.questions])
    there = rows >= 0
    if not there.any():
        raise RcError(
            f"{path}: tells of none of the {len(rows)} questions of {package.root}: compute it of "
            "this package (python -m rc_hpc.benchmark determine)"
        )
    answers = found.questions["answer"][rows]
    for question, answer in zip(package.questions, np.where(there, answers, ""), strict=True):
        if answer and answer != question.answer:
            raise RcError(
                f"{path}: the answer to {question.id} is {answer} there and {question.answer} in "
                f"{package.root}: compute it of this version of the package"
            )
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
