"""Readers without a model, as prediction files: chance, rules, floors, oracle, coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rc_hpc.answers.arms import Prediction, PredictionFile
from rc_hpc.answers.predictions import to_json
from rc_hpc.answers.votes import winner
from rc_hpc.benchmark.baseline_options import BaselineOptions
from rc_hpc.benchmark.determined_file import determined_of
from rc_hpc.benchmark.letters import FOUR_LETTERS
from rc_hpc.benchmark.package import Package, read_package
from rc_hpc.benchmark.questions.rules import RULES, floor_named, hits, seen
from rc_hpc.benchmark.reading import exact
from rc_hpc.benchmark.reading.floors import own_floors
from rc_hpc.benchmark.reading.reader import Asked
from rc_hpc.benchmark.records import LETTERS, STRATA, Question
from rc_hpc.benchmark.scene_file import read_scenes, read_settings
from rc_hpc.core.door import Talk, setup_logging
from rc_hpc.core.errors import Exit, RcError
from rc_hpc.core.files import disk_errors, name_a_folder, write_whole
from rc_hpc.kinds.determined.source import SCENES, asked_of

#: Letters that a reader leaves open, by question.
Named = Mapping[str, Sequence[bool]]
#: The reader of coordinates.
EXACT = "exact coordinates"
#: Of spglib, Å.
SYMPREC = 0.01


def run(options: BaselineOptions, talk: Talk) -> int:
    """Write a prediction file for each reader.

    Raises
    ------
    RcError
        A file cannot be read or written.
    """
    setup_logging(talk)
    package = read_package(options.benchmark, options.set_name)
    readers: dict[tuple[str, str], Named] = {
        ("no-image", name): told for name, told in without_pictures(package).items()
    }
    file = options.scenes or package.root / SCENES
    if file.is_file() or options.scenes:
        scenes, display = {scene.id: scene for scene in read_scenes(file)}, read_settings(file)
        asked = [
            asked_of(question, scenes, complete=True)._replace(display=display)
            for question in package.questions
        ]
        readers |= {("image", name): told for name, told in with_scenes(asked).items()}
    elif not talk.quiet:
        print(f"{file} is not there: no readers of coordinates, floors or projections")
    if options.determined is not None:
        oracles = oracle_readers(options.determined, package)
        readers |= {("image", name): told for name, told in oracles.items()}
    name_a_folder(options.output)
    with disk_errors(options.output, run=False):
        options.output.mkdir(parents=True, exist_ok=True)
    for (arm, name), told in readers.items():
        path = options.output / f"{name.replace(' ', '-')}.json"
        predictions = prediction_file(package, arm, name, told)
        write_whole(path, to_json(predictions).encode())
        if not talk.quiet:
            n = len(predictions.predictions)
            expected = predictions.details["expected_correct"]
            alone = predictions.n_correct
            print(f"{path}: {expected:.4g} of {n} expected, {alone} named alone and right")
    return Exit.CLEAN


def without_pictures(package: Package) -> dict[str, Named]:
    """Readers who see the options alone."""
    questions = package.questions
    found: dict[str, Named] = {"chance": {one.id: (True,) * 4 for one in questions}}
    prior: dict[str, Sequence[bool]] = {}
    for stratum in STRATA:
        own = [question for question in questions if question.stratum == stratum]
        named = floor_named(
            [list(question.options.values()) for question in own],
            [question.options[question.answer] for question in own],
            [question.cluster for question in own],
        )
        prior |= {one.id: best.tolist() for one, best in zip(own, named, strict=True)}
    found["prior"] = prior
    sets = [[seen(text) for text in question.options.values()] for question in questions]
    # a rule names an option where that one, were it right, would be hit
    by_letter = [hits(sets, [place] * len(sets)) > 0 for place in range(len(LETTERS))]
    named_by = np.stack(by_letter, axis=-1)  # (question, rule, letter)
    for number, rule in enumerate(RULES):
        found[rule] = {one.id: named_by[row, number].tolist() for row, one in enumerate(questions)}
    return found


def with_scenes(asked: Sequence[Asked]) -> dict[str, Named]:
    """Readers who know the scenes: by exact coordinates, and by what a little of them tells.

    The latter guess where that tells nothing.
    """
    found: dict[str, dict[str, Sequence[bool]]] = {}
    for one in asked:
        if not one.scenes:
            continue
        found.setdefault(EXACT, {})[one.question.id] = exact.named(one, SYMPREC)
        floors = [own_floors(one._replace(question=_with(one.question, x))) for x in LETTERS]
        for name in floors[0].keys() - {"chance"}:
            told = [floor[name] > 0 for floor in floors]
            found.setdefault(name, {})[one.question.id] = told
    if not found:
        raise RcError(f"{SCENES}: holds no scene of these questions; take the file of this package")
    for name in found.keys() - {EXACT}:
        for one in asked:
            found[name].setdefault(one.question.id, (True,) * len(LETTERS))
    return dict(found)


def _with(question: Question, letter: str) -> Question:
    """The question as if another option were right."""
    return replace(question, answer=letter, answer_text=question.options[letter])


def oracle_readers(path: Path, package: Package) -> dict[str, Named]:
    """Readers of the pictures who leave open what these do not tell; one for every sight.

    Raises
    ------
    RcError
        No such file, or it is of another package.
    """
    file, rows = determined_of(path, package)
    known, remain = file.asked("known"), file.asked("remain")
    found: dict[str, Named] = {}
    for number, sight in enumerate(file.sights):
        told: dict[str, Sequence[bool]] = {}
        for question, row in zip(package.questions, rows.tolist(), strict=True):
            if row >= 0 and known[row, number]:
                left = [bool(remain[row, number] >> place & 1) for place in range(len(LETTERS))]
                told[question.id] = left if any(left) else [True] * len(LETTERS)
        found[f"oracle {sight}"] = told
    return found


def prediction_file(package: Package, arm: str, name: str, named: Named) -> PredictionFile:
    """A reader's answers: a vote for each option left open; what is not known has no row."""
    predictions = []
    expected = 0.0
    for question in package.questions:
        if question.id in named:
            left = [x for x, open_ in zip(LETTERS, named[question.id], strict=True) if open_]
            votes = dict.fromkeys(left, 1)
            pred = winner(votes, FOUR_LETTERS.ties[0])
            predictions.append(Prediction(question.id, question.answer, pred, votes))
            expected += (question.answer in votes) / len(left) if left else 0.0
    return PredictionFile(
        name,
        f"rc_hpc {name}",
        arm,
        len(LETTERS),
        tuple(predictions),
        unparseable=sum(not p.answered for p in predictions),
        api_errors=0,
        scored=True,
        details={"cell": "none", "ties": FOUR_LETTERS.ties[0], "expected_correct": expected},
        task=FOUR_LETTERS,
    )
