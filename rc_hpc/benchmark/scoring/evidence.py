"""What scores are read from: the package, the answers to it, and what its pictures determine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from rc_hpc.answers.arms import PredictionFile, some
from rc_hpc.answers.predictions import check_together
from rc_hpc.answers.votes import score
from rc_hpc.benchmark.letters import ARMS, FOUR_LETTERS
from rc_hpc.benchmark.package import SETS, Package, read_package
from rc_hpc.benchmark.scoring.ceilings import Ceiling, read_ceilings
from rc_hpc.benchmark.scoring.foreign import read_answer_files
from rc_hpc.benchmark.scoring.options import ScoreOptions
from rc_hpc.core.errors import RcError


@dataclass(frozen=True)
class Answers:
    """One arm of one model over the questions of a set.

    Attributes
    ----------
    file
        What was read.
    asked : (n,) bool
        Questions that the arm asks.
    missing : (n,) bool
        Of those: without an answer, since a call failed or the file lacks them.
    invalid : (n,) bool
        Of those: answered without one readable letter.
    right : (n,) bool
        The letter with the most votes is the right one; a tie is a miss.
    expected : (n,) float64
        The same with a tie worth one over the number of tied letters: what a reader scores who
        leaves so many options open. This is what is compared, among arms, models and ceilings.
    """

    file: PredictionFile
    asked: np.ndarray
    missing: np.ndarray
    invalid: np.ndarray
    right: np.ndarray
    expected: np.ndarray

    @property
    def model(self) -> str:
        """As the file names it."""
        return self.file.model

    @property
    def arm(self) -> str:
        """What the model was shown."""
        return self.file.kind

    @property
    def known(self) -> np.ndarray:
        """Questions that were asked and are not missing (n,)."""
        return self.asked & ~self.missing


class Evidence:
    """The files of the options, read and aligned by question.

    Raises
    ------
    RcError
        A file cannot be read, or is of another package.
    """

    def __init__(self, options: ScoreOptions):
        self.options = options
        by_set = {
            name: read_package(options.benchmark, name)
            for name in _sets(options.benchmark, options.set_name)
        }
        everything = by_set[next(iter(by_set))]
        files = read_answer_files(options.answers, everything)
        check_together(files)
        self.package = by_set[options.set_name or _smallest(by_set, files)]
        self.answers = [_aligned(file, everything, self.package) for file in files]
        self.answers.sort(key=lambda one: ARMS.index(one.arm))

    @property
    def questions(self) -> Sequence:
        """Questions of the set."""
        return self.package.questions

    @cached_property
    def strata(self) -> np.ndarray:
        """Stratum of each question (n,)."""
        return np.array([question.stratum for question in self.questions])

    @cached_property
    def clusters(self) -> np.ndarray:
        """Number of the base structure of each question (n,)."""
        names = [question.cluster for question in self.questions]
        return np.unique(np.array(names), return_inverse=True)[1]

    @cached_property
    def traps(self) -> np.ndarray:
        """1 where the first picture shows the wrong order, 0 where the right one, -1 elsewhere."""
        told = [question.depth_trap for question in self.questions]
        return np.array([-1 if trap is None else int(trap) for trap in told])

    @cached_property
    def ceilings(self) -> list[Ceiling]:
        """What the pictures determine, by every reading of the file; none without one."""
        path = self.options.determined
        return [] if path is None else read_ceilings(path, self.package)

    @cached_property
    def models(self) -> dict[str, dict[str, Answers]]:
        """Answers by model and arm."""
        found: dict[str, dict[str, Answers]] = {}
        for one in self.answers:
            found.setdefault(one.model, {})[one.arm] = one
        return found

    def why_unscored(self, *answers: Answers) -> str:
        """Why there is no formal score; empty where there is one."""
        lost = sum(int(one.missing.sum()) for one in answers)
        return f"{lost} answer{'s' * (lost > 1)} missing" if lost else ""

    def scored(self, *answers: Answers) -> bool:
        """Whether numbers are given."""
        return self.options.allow_partial or not self.why_unscored(*answers)


def _sets(root: Path, wanted: str | None) -> list[str]:
    """Sets to read: the full one first, which names all ids."""
    there = [name for name in SETS if (root / SETS[name]).is_file()]
    return [wanted] if wanted and wanted not in there else there or ["full"]


def _smallest(by_set: dict[str, Package], files: Iterable[PredictionFile]) -> str:
    """The smallest set that holds all answers."""
    ids = {id_ for file in files for id_ in file.ids}
    for name in sorted(by_set, key=lambda name: len(by_set[name].questions)):
        if ids <= by_set[name].by_id.keys():
            return name
    return next(iter(by_set))


def _aligned(file: PredictionFile, everything: Package, package: Package) -> Answers:
    by_id = {p.material_id: p for p in file.predictions}
    if strange := sorted(by_id.keys() - everything.by_id.keys()):
        raise RcError(
            f"{file.source}: {len(strange)} of {len(by_id)} ids are none of {package.root}: "
            f"{some(strange)}; give the package that was asked"
        )
    n = len(package.questions)
    asked, missing, invalid, right = (np.zeros(n, bool) for _ in range(4))
    expected = np.zeros(n)
    for row, question in enumerate(package.questions):
        asked[row] = file.kind != "text" or question.text_applicable
        p = by_id.get(question.id)
        if p is None or p.n_failed:
            missing[row] = asked[row]
            continue
        if p.truth != question.answer:
            raise RcError(
                f"{file.source}: the answer to {question.id} is {p.truth} there and "
                f"{question.answer} in {package.root}: they are of two versions of the package"
            )
        if not asked[row]:
            raise RcError(f"{file.source}: {question.id} is answered, and no text can ask it")
        right[row], invalid[row] = p.correct, not p.answered
        expected[row] = score(p.counts, p.truth, "expected")
    assert file.task is FOUR_LETTERS
    return Answers(file, asked, missing, invalid, right, expected)
