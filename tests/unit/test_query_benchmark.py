"""The questions of a package are asked through the client that stands."""

import json

import numpy as np
import pytest
from package_cases import questions, write_package
from query_cases import KEY
from vlm_stub import Stub, chat, error, pictures_of

from rc_hpc.answers.file import read_answers
from rc_hpc.answers.predictions import read_predictions
from rc_hpc.answers.scoring import stored_predictions
from rc_hpc.benchmark.letters import ARMS, FOUR_LETTERS
from rc_hpc.benchmark.package import read_package
from rc_hpc.query_vlm import main

pytestmark = pytest.mark.long
MADE = questions(2)


@pytest.fixture
def package(tmp_path):
    return read_package(write_package(tmp_path / "package", MADE, MADE[:5]))


@pytest.fixture
def ask(package, tmp_path, monkeypatch):
    """Asks the package; the replies come from the stub."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def run(stub, *more):
        asked = [str(package.root), "-o", str(tmp_path / "a.h5"), "--model", "maker/m"]
        return main([*asked, "--base-url", stub.url, "--progress", "none", "-q", *more])

    return run


def shown(body):
    """Text and pictures of a request."""
    content = body["messages"][0]["content"]
    if isinstance(content, str):
        return content, []
    return next(part["text"] for part in content if part["type"] == "text"), pictures_of(body)


def test_three_arms_under_faults(ask, package, tmp_path):
    with Stub(lambda body, number: chat("[ANSWER]A[/ANSWER]"), faults=0.3, key=KEY) as stub:
        assert ask(stub, "--attempts", "12") == 0
    assert sum(stub.met.values()) > 5
    tables, attributes = read_answers(tmp_path / "a.h5", FOUR_LETTERS)
    asked = {"image": 16, "text": 12, "no-image": 16}
    assert tables["arms"]["n"].tolist() == list(asked.values())
    assert len(tables["samples"]["key"]) == 44 and attributes["task"] == "four-letters"
    right = {one.id for one in MADE if one.answer == "A"}
    for arm, n in asked.items():
        file = read_predictions(tmp_path / "a.predictions" / f"{arm}.json", FOUR_LETTERS)
        assert (file.k, len(file.predictions), file.scored) == (1, n, True)
        assert {p.material_id for p in file.predictions if p.correct} <= right
        assert file.n_correct == sum(p.material_id in right for p in file.predictions)
    files = stored_predictions(tmp_path / "a.h5", task=FOUR_LETTERS)
    assert [(file.arm, len(file.predictions)) for file in files] == list(asked.items())
    rows = tables["predictions"]["structure"][tables["predictions"]["arm"] == 1]
    ids = tables["structures"]["id"][rows].tolist()
    assert ids == [one.id for one in MADE if one.text_applicable]
    assert json.loads(tables["structures"]["choices"][0]) == list(MADE[0].options.values())
    assert not any(tables["structures"]["formula"])
    again = [str(tmp_path / "a.h5"), "-o", str(tmp_path / "again")]
    assert main(["parse", *again, "-q"]) == 0
    for arm in asked:  # the same but for where it was read
        first, second = (
            json.loads((tmp_path / folder / f"{arm}.json").read_text())["predictions"]
            for folder in ("a.predictions", "again")
        )
        assert first == second
    assert main(["parse", *again, "--parser", "last-mention"]) == 2


def test_pictures_go_as_they_are_and_without_names(ask, package):
    with Stub(lambda body, number: chat("B")) as stub:
        assert ask(stub, "--arms", "image") == 0
    sent = [shown(json.loads(raw)) for raw in stub.bodies]
    assert len(sent) == 16
    for one in MADE:
        files = [package.picture(entry).read_bytes() for entry in one.image_paths]
        texts = [text for text, pictures in sent if pictures == files]
        assert len(texts) == 1 and texts[0].startswith(one.question)
    for raw in stub.bodies:
        for word in (b"scenes/", b".png", b"salt", b"rutile", b"quartz", b"depth_trap"):
            assert word not in raw


def test_refused_is_wrong_and_not_answered_is_missing(ask, package, tmp_path):
    def answer(body, number):
        text, _ = shown(body)
        if "Along which" in text:  # Q6
            return 200, {}, chat("", reason="content_filter")
        if "atoms are displayed" in text:  # Q1a
            return 400, {}, error("no such thing", "invalid_request")
        return chat("I think so." if "cell hold" in text else "[ANSWER]A[/ANSWER]")

    with Stub(answer) as stub:
        assert ask(stub, "--arms", "image,no-image") == 3
    for arm in ("image", "no-image"):
        file = read_predictions(tmp_path / "a.predictions" / f"{arm}.json", FOUR_LETTERS)
        assert file.scored is False and file.why_unscored() == "api errors above 0 %"
        by_id = {p.material_id: p for p in file.predictions}
        failed = {id_ for id_, p in by_id.items() if p.n_failed}
        assert failed == {"q1a-0000", "q1a-0001"} and file.api_errors == 2
        invalid = {id_ for id_, p in by_id.items() if p.pred is None} - failed
        assert invalid == {"q1b-0000", "q1b-0001", "q6-0000", "q6-0001"}
    tables, _ = read_answers(tmp_path / "a.h5", FOUR_LETTERS)
    assert tables["arms"]["n_refused"].tolist() == [2, 2]
    # once the endpoint answers, the same command completes the run
    with Stub(lambda body, number: chat("[ANSWER]A[/ANSWER]")) as stub:
        assert ask(stub, "--arms", "image,no-image", "--resume", "--retry-failed") == 0
    assert stub.n == 4
    file = read_predictions(tmp_path / "a.predictions" / "image.json", FOUR_LETTERS)
    assert file.scored and not any(p.n_failed for p in file.predictions)


def test_three_samples_vote_and_a_tie_is_wrong(ask, tmp_path):
    replies = {}

    def answer(body, number):
        text, _ = shown(body)
        replies[text] = replies.get(text, -1) + 1
        return chat("ABC"[replies[text] % 3] if "system" in text else "A")

    with Stub(answer) as stub:
        assert ask(stub, "--arms", "no-image", "--samples", "3", "--concurrency", "1") == 0
    file = read_predictions(tmp_path / "a.predictions" / "no-image.json", FOUR_LETTERS)
    ties = [p for p in file.predictions if len(p.votes) > 1]
    assert ties and all(p.pred is None and not p.correct for p in ties)
    assert {sum(p.votes.values()) for p in file.predictions} == {3}


def test_mini_is_asked_first_and_full_goes_on(ask, tmp_path):
    with Stub(lambda body, number: chat("A")) as stub:
        assert ask(stub, "--set", "mini", "--arms", "image") == 0
        assert stub.n == 5
        assert ask(stub, "--arms", "image", "--resume") == 0
        assert stub.n == 16  # nothing was asked twice
    tables, _ = read_answers(tmp_path / "a.h5", FOUR_LETTERS)
    assert np.array_equal(tables["structures"]["id"], [one.id for one in MADE])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--arms", "pixels"], "--arms: unknown arm 'pixels'; known are image, text, no-image"),
        (["--cell", "stored"], "--cell is for crystals"),
        (["--pictures", "x.h5"], "--pictures is for crystals"),
        (["--truth", "conventional"], "--truth is for crystals"),
        (["--parser", "last-mention"], "--parser: unknown parser 'last-mention'; known are strict"),
        (["--set", "tiny"], "tiny"),
        (["--ids", "/nowhere"], "--ids /nowhere"),
    ],
)
def test_what_does_not_go_with_a_package_is_usage(ask, more, words, capsys):
    with Stub() as stub:
        assert ask(stub, *more) == 2
    assert words in capsys.readouterr().err and not stub.n


def test_a_changed_picture_is_not_sent(ask, package, capsys):
    package.picture(MADE[0].image_paths[0]).write_bytes(b"\x89PNG other")
    with Stub() as stub:
        assert ask(stub, "--arms", "image") == 1
        told = capsys.readouterr().err
        assert MADE[0].image_paths[0] in told and "manifest.json" in told
        package.picture(MADE[0].image_paths[0]).unlink()
        assert ask(stub, "--arms", "image") == 1
        assert "fetch or build the package again" in capsys.readouterr().err
    assert not stub.n


def test_a_plan_counts_what_would_be_sent(ask, capsys):
    with Stub() as stub:
        assert ask(stub, "--dry-run") == 0
    told = capsys.readouterr().out
    assert "requests: 44" in told and "pictures of a structure: 6" in told and not stub.n


def test_arms_of_crystals_are_none_of_a_package(tmp_path, capsys):
    path = tmp_path / "records.jsonl"
    path.write_text('{"material_id": "a", "crystal_system": "cubic"}\n')
    asked = [str(path), "-o", str(tmp_path / "a.h5"), "--model", "m"]
    assert main([*asked, "--arms", ARMS[0]]) == 2
    assert "--arms: unknown arm 'image'; known are pixels" in capsys.readouterr().err
