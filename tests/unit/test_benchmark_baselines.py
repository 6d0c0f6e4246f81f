"""Readers without a model: what they answer, and that they score what they must."""

import dataclasses
import json
from collections import Counter, defaultdict

import numpy as np
import pytest
from package_cases import question, questions, write_package
from question_cases import small_draw

from rc_hpc.answers.predictions import parse_predictions, to_json
from rc_hpc.assembly.baselines import (
    EXACT,
    oracle_readers,
    prediction_file,
    with_scenes,
    without_pictures,
)
from rc_hpc.benchmark.__main__ import main
from rc_hpc.benchmark.determined_file import Determined
from rc_hpc.benchmark.letters import FOUR_LETTERS
from rc_hpc.benchmark.package import read_package
from rc_hpc.benchmark.questions.rules import RULES, hits, prior_floor, seen
from rc_hpc.benchmark.records import LETTERS, STRATA
from rc_hpc.benchmark.scoring import frames
from rc_hpc.benchmark.scoring.ceilings import read_ceilings
from rc_hpc.benchmark.scoring.evidence import Evidence
from rc_hpc.benchmark.scoring.options import ScoreOptions
from rc_hpc.core.errors import RcError
from rc_hpc.kinds.determined.source import asked_of

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def drawn():
    return small_draw()


@pytest.fixture(scope="module")
def package(drawn, tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn") / "package"
    return read_package(write_package(folder, list(drawn.questions), list(drawn.mini)))


@pytest.fixture(scope="module")
def asked(drawn):
    return [asked_of(one, drawn.scenes, complete=True) for one in drawn.questions]


def test_exact_coordinates_answer_every_question(package, asked):
    file = prediction_file(package, "image", EXACT, with_scenes(asked)[EXACT])
    wrong = [p.material_id for p in file.predictions if not p.correct]
    assert not wrong and len(file.predictions) == len(package.questions)
    assert {one.stratum for one in package.questions} == set(STRATA)


def test_exact_coordinates_are_looked_at(package, asked):
    """An atom moved, a mark exchanged: another answer, or none."""
    changed = 0
    for one in asked:
        if one.question.stratum == "Q3":
            marks = dict(one.scenes[0].marks)
            marks["B"], marks["C"] = marks["C"], marks["B"]
            scene = dataclasses.replace(one.scenes[0], marks=marks)
            turned = one._replace(scenes=(scene,))
            before, after = (with_scenes([x])[EXACT][one.question.id] for x in (one, turned))
            assert before != after
            changed += 1
    assert changed


def slow_prior(questions):
    """By hand: shares of right answers on other structures, each stratum on its own."""
    named = {}
    for one in questions:
        others = [
            other
            for other in questions
            if other.stratum == one.stratum and other.cluster != one.cluster
        ]
        shown, right = Counter(), Counter()
        for other in others:
            shown.update(other.options.values())
            right[other.answer_text] += 1
        rate = {
            letter: right[text] / shown[text] if shown[text] else 0.25
            for letter, text in one.options.items()
        }
        best = max(rate.values())
        named[one.id] = [rate[letter] == best for letter in LETTERS]
    for stratum in {one.stratum for one in questions}:
        own = [one for one in questions if one.stratum == stratum]
        hit = sum(named[q.id][LETTERS.index(q.answer)] / sum(named[q.id]) for q in own)
        if hit < len(own) / 4:  # then it draws
            named |= {one.id: [True] * 4 for one in own}
    return named


def test_chance_and_prior_are_those_computed_by_hand(package):
    readers = without_pictures(package)
    chance = prediction_file(package, "no-image", "chance", readers["chance"])
    n = len(package.questions)
    assert (chance.n_correct, chance.details["expected_correct"]) == (0, n / 4)
    assert readers["prior"] == slow_prior(package.questions)
    prior = prediction_file(package, "no-image", "prior", readers["prior"])
    by_stratum = defaultdict(list)
    for one in package.questions:
        by_stratum[one.stratum].append(one)
    expected = sum(
        prior_floor(
            [list(one.options.values()) for one in own],
            [one.answer_text for one in own],
            [one.cluster for one in own],
        ).sum()
        for own in by_stratum.values()
    )
    assert prior.details["expected_correct"] == pytest.approx(expected)


def test_rules_of_thumb_are_those_of_the_checker(package):
    readers = without_pictures(package)
    sets = [[seen(text) for text in one.options.values()] for one in package.questions]
    right = [LETTERS.index(one.answer) for one in package.questions]
    for number, rule in enumerate(RULES):
        file = prediction_file(package, "no-image", rule, readers[rule])
        assert file.details["expected_correct"] == pytest.approx(hits(sets, right)[:, number].sum())
    values = [int(text) for text in package.by_id[_first(package, "Q1a")].options.values()]
    smallest = [value == min(values) for value in values]
    assert readers["smallest"][_first(package, "Q1a")] == smallest


def _first(package, stratum):
    return next(one.id for one in package.questions if one.stratum == stratum)


def test_floors_guess_where_they_know_nothing(package, asked):
    readers = with_scenes(asked)
    assert set(readers) == {EXACT, "metric", "projection", "formula", "same"}
    for name, stratum in (("metric", "Q4"), ("projection", "Q3"), ("same", "Q5")):
        for one in package.questions:
            assert all(readers[name][one.id]) == (one.stratum != stratum), (name, one.id)
    for one in package.questions:  # a trap is one for this reader, and the others are not
        if one.stratum == "Q3":
            told = [x for x, on in zip(LETTERS, readers["projection"][one.id], strict=True) if on]
            assert (told == [one.answer]) <= (not one.depth_trap)


def test_files_read_back(package):
    for name, named in without_pictures(package).items():
        file = prediction_file(package, "no-image", name, named)
        again = parse_predictions(json.loads(to_json(file)), name, FOUR_LETTERS)
        assert again.predictions == file.predictions


# the oracle readers, from a file made up


def determined(made, remain, known=None):
    """What such a file holds: sights "centres" and "pixels", views 1 and 3."""
    n = len(made)
    bits = np.array([sum(on << place for place, on in enumerate(one)) for one in remain], np.uint8)
    left = np.array(remain)
    right = np.array([LETTERS.index(one.answer) for one in made])
    hit = left[np.arange(n), right]
    counts = left.sum(axis=1)
    score = np.where(counts > 0, hit / np.maximum(counts, 1), 0.25)
    values = {
        "known": np.ones(n, bool) if known is None else known,
        "remain": bits,
        "n_remain": counts,
        "determined": hit & (counts == 1),
        "misled": ~hit,
        "score": score,
    }
    shape = {name: np.repeat(one[:, None, None], 2, 1).repeat(2, 2) for name, one in values.items()}
    return Determined(
        np.array([one.id for one in made], object),
        np.zeros(n, int),
        np.array([""] * n, object),
        np.array([one.sha256 for one in made], object),
        {
            "answer": np.array([one.answer for one in made], object),
            "n_shown": np.array([1 if one.qtype == "Q6" else 3 for one in made]),
        },
        {},
        ("centres", "pixels"),
        np.array([1, 3]),
        shape,
    )


def test_oracle_readers_equal_what_is_determined(tmp_path, monkeypatch):
    """Accuracy is the determined share, expected the expected score: exactly, by stratum."""
    made = questions(8)
    package = read_package(write_package(tmp_path / "p", made))
    luck = np.random.default_rng(2)
    remain = luck.random((len(made), 4)) < 0.5
    remain[np.arange(len(made)), [LETTERS.index(one.answer) for one in made]] |= (
        luck.random(len(made)) < 0.9
    )
    told = determined(made, remain.tolist())
    monkeypatch.setattr("rc_hpc.benchmark.determined_file.read_determined", lambda path: told)
    paths = []
    for name, named in oracle_readers(tmp_path / "d.h5", package).items():
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(to_json(prediction_file(package, "image", name, named)))
    options = ScoreOptions(tuple(paths), package.root, determined=tmp_path / "d.h5", resamples=100)
    found = Evidence(options)
    assert not any(found.why_unscored(one) for one in found.answers)
    frame, rungs = frames.accuracy(found), frames.ladder(found)
    for ceiling in found.ceilings:
        for stratum in STRATA:
            row = frame[
                (frame["model"] == f"rc_hpc oracle {ceiling.name}") & (frame["stratum"] == stratum)
            ].iloc[0]
            rung = rungs[
                (rungs["model"] == row["model"])
                & (rungs["reading"] == ceiling.name)
                & (rungs["stratum"] == stratum)
            ].iloc[0]
            assert row["accuracy"] == rung["determined"]
            assert row["expected"] == rung["expected"] == rung["image"]
            assert rung["lost_both"] == rung["both_lowboot95"] == rung["both_highboot95"] == 0
    split = frames.undetermined(found)
    yes, no = (
        split[(split["determined"] == told) & (split["stratum"] == frames.ALL)]
        for told in ("yes", "no")
    )
    assert (yes["score"] == 1).all()
    # one sight is as the other here: every reader is an honest one under both
    assert len(no) and (no["score"] == no["honest_reader"]).all()


def test_what_is_not_known_is_missing_and_no_guess(tmp_path, monkeypatch):
    made = questions(2)
    package = read_package(write_package(tmp_path / "p", made))
    known = np.array([one.qtype not in ("Q1a", "Q6") for one in made])
    told = determined(made, [[True] * 4] * len(made), known)
    monkeypatch.setattr("rc_hpc.benchmark.determined_file.read_determined", lambda path: told)
    named = oracle_readers(tmp_path / "d.h5", package)["oracle centres"]
    assert len(named) == 12
    (ceiling, _) = read_ceilings(tmp_path / "d.h5", package)
    assert ceiling.known.tolist() == known.tolist()
    other = read_package(write_package(tmp_path / "q", [question("Q4", 99)]))
    readers = read_ceilings, oracle_readers
    for read in readers:
        with pytest.raises(RcError, match="tells of none of the 1 questions"):
            read(tmp_path / "d.h5", other)
    turned = [dataclasses.replace(made[0], answer="D", answer_text=made[0].options["D"]), *made[1:]]
    for name, strange in (("r", turned), ("s", [question("Q1a", 0, scene="x"), *made[1:]])):
        other = read_package(write_package(tmp_path / name, strange))
        for read in readers:
            with pytest.raises(RcError, match="q1a-0000 is another question there than in"):
                read(tmp_path / "d.h5", other)


def test_the_command(tmp_path, capsys):
    root = write_package(tmp_path / "p", questions(4))
    assert main(["baselines", str(root), "-o", str(tmp_path / "b")]) == 0
    told = capsys.readouterr().out
    assert (
        "chance.json: 8 of 32 expected, 0 named alone and right" in told
        and "scenes.h5 is not there" in told
    )
    assert main(["score", str(tmp_path / "b"), "--benchmark", str(root), "--table", "models"]) == 0
    assert "rc_hpc prior" in capsys.readouterr().out
    assert main(["baselines", str(root), "-o", "b", "--determined", "absent.h5"]) == 2


def test_from_determine_to_the_ladder(drawn, tmp_path, capsys):
    """The commands one after the other, on a package without scenes.h5: the released one has none.

    What no text tells is missing in the oracle's answers, and no zero.
    """
    chosen = {one.stratum: one for one in drawn.questions}
    root = write_package(tmp_path / "p", list(chosen.values()))
    told, made = str(tmp_path / "d.h5"), str(tmp_path / "b")
    assert main(["determine", str(root), "-o", told, "--progress", "none", "-q"]) in (0, 3)
    assert main(["baselines", str(root), "--determined", told, "-o", made, "-q"]) == 0
    asked = [f"{made}/oracle-centres.json", f"{made}/chance.json", "--benchmark", str(root)]
    assert main(["score", *asked, "--determined", told, "--set", "full", "--table", "all"]) == 3
    captured = capsys.readouterr()
    assert "rc_hpc oracle centres, image:" in captured.err and "missing: no" in captured.err
    for table in ("What the pictures determine", "Determined is the share of questions"):
        assert table in captured.out
    rows = json.loads((tmp_path / "b/oracle-centres.json").read_text())["predictions"]
    silent = {one.id for one in chosen.values() if one.stratum in ("Q1a", "Q6")}
    assert not silent & {row["material_id"] for row in rows} and rows
