"""The asking command: help, plans, wrong usage, config files, keys, signals."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from query_cases import KEY, ROOT, journal, make_crystals, runner
from vlm_stub import Stub, chat, error

from rc_hpc.answers.file import read_answers
from rc_hpc.answers.scoring import stored_predictions
from rc_hpc.benchmark.letters import FOUR_LETTERS
from rc_hpc.core.door import Talk
from rc_hpc.core.errors import UsageError
from rc_hpc.parallel.launch import child_environment
from rc_hpc.parallel.state import read_state
from rc_hpc.query_vlm import main
from rc_hpc.vlm.connection import key_of, parameters_of
from rc_hpc.vlm.endpoints import OPENAI
from rc_hpc.vlm.options import (
    AskingOptions,
    QueryOptions,
    QuestionOptions,
    SubjectOptions,
    WhoOptions,
)
from rc_hpc.vlm.query import ask
from rc_hpc.vlm.questions import Question
from rc_hpc.vlm.records import Subject

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def crystals(tmp_path_factory):
    return make_crystals(tmp_path_factory.mktemp("crystals"))


@pytest.fixture
def query(crystals, tmp_path, monkeypatch):
    return runner(crystals, tmp_path, monkeypatch)


def test_help_is_at_hand():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", ROOT / "jobs" / "query_vlm.py", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env=child_environment(),
    )
    assert "SSL_CERT_FILE" in done.stdout
    assert "examples:" in done.stdout and "python -m rc_hpc.ladder" in done.stdout
    for heavy in ("aiohttp", "pymatgen", "numba", "h5py", "ase", "pandas"):
        assert not re.search(rf"\| +{heavy}$", done.stderr, re.MULTILINE), heavy


def test_a_plan_sends_nothing_and_tells_the_bill(query, tmp_path, capsys):
    prices = tmp_path / "prices.toml"
    prices.write_text('["m"]\ninput_per_million = 2.0\noutput_per_million = 10.0\n')
    code = query(
        "--dry-run", "--arms", "pixels,coordinates", "--prices", str(prices), "--max-tokens", "1000"
    )
    out = capsys.readouterr().out
    assert (
        code == 0
        and "requests: 48" in out
        and re.search(r"cost, at most roughly: 0\.50\d* USD", out)
        and "pictures of a structure: 5" in out
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["prices.toml"]
    with Stub() as stub:
        query("--samples", "1", stub=stub)
        capsys.readouterr()
        assert query("--dry-run", "--samples", "2", "--resume") == 0
    assert "requests: 8 (of 16" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["--arms", "pixel"], 2, "unknown arm"),
        (["--samples", "0"], 2, "at least 1"),
        (["--temperature", "nan"], 2, "a number from 0 on"),
        (["--temperature", "-1"], 2, "a number from 0 on"),
        (["--extra", "[1]"], 2, "no JSON object"),
        (["--extra", '{"model": "x"}'], 2, "option of its own"),
        (["--extra", '{"stream": true}'], 2, "stream"),
        (["--extra", f'{{"api_key": "{KEY}"}}', "--base-url", "http://127.0.0.1:9"], 2, "a key"),
        (["--max-answer", "0"], 2, "above 0"),
        (["--max-tokens", "5", "--max-completion-tokens", "5"], 2, "two names"),
        (["--base-url", "http://user:pw@host/v1"], 2, "password"),
        (["--base-url", "host:8000"], 2, "http://"),
        (["--api-key-env", "NOT_SET_ANYWHERE"], 2, "not set"),
        (["--resume", "--overwrite"], 2, "contradict"),
        (["--retry-failed"], 2, "--resume"),
        (["--model", ""], 2, "--model"),
        (["--arms", "answer-from-text"], 2, "--emitted"),
        (["--prices", "nowhere.toml"], 2, "--prices"),
        (["--limit", "x"], 2, "invalid int"),
        (["-o", "a.json"], 2, ".h5"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_sent(
    query, tmp_path, capsys, arguments, code, word
):
    assert query(*arguments) == code
    assert word in capsys.readouterr().err and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("url", "named", "goes"),
    [
        ("http://127.0.0.1:8000/v1", None, True),
        ("https://endpoint.example/v1", None, True),
        ("http://node7:8000/v1", None, False),
        ("http://node7:8000/v1", "OPENAI_API_KEY", True),
    ],
)
def test_a_key_does_not_go_out_in_the_clear_unasked(monkeypatch, url, named, goes):
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    assert key_of(WhoOptions(api_key_env=named), OPENAI, url) == (KEY if goes else None)


def test_an_address_with_a_password_is_refused_without_telling_it(query, capsys):
    for url in ("http://user:hidden@host/v1", "user:hidden@host", "ftp://user:hidden@host"):
        assert query("--base-url", url) == 2
        assert "hidden" not in capsys.readouterr().err


def test_that_nothing_streams_may_be_said_again(query, tmp_path):
    with Stub() as stub:
        assert query("--extra", '{"stream": false}', "--samples", "1", stub=stub) == 0
        assert query("--samples", "1", "--resume", stub=stub) == 0
    assert stub.n == 8 and json.loads(stub.bodies[0])["stream"] is False


def test_the_config_file_sets_all_of_it(query, tmp_path):
    (tmp_path / "c.toml").write_text(
        'arms = ["pixels", "formula-only"]\nsamples = 1\ntemperature = 0.5\nlimit = 3\n'
    )
    with Stub() as stub:
        assert query("--config", str(tmp_path / "c.toml"), stub=stub) == 0
    assert stub.n == 6 and json.loads(stub.bodies[0])["temperature"] == 0.5


def test_options_are_written_recorded_and_read_back(query, crystals, tmp_path, monkeypatch):
    config = tmp_path / "c.toml"
    asked = ["--arms", "formula-only,question-only", "--samples", "1", "--temperature", "0.5"]
    asked += ["--reasoning", '{"effort": "low"}', "--extra", '{"top_p": 0.9, "stop": ["a"]}']
    asked += ["--truth", "conventional"]
    with Stub() as stub:
        assert query(*asked, "--write-config", str(config), stub=stub) == 0
        assert main(["--config", str(config), "-o", str(tmp_path / "b.h5"), "-q"]) == 0
    (first, again) = (read_answers(tmp_path / f"{name}.h5")[1]["options"] for name in "ab")
    assert first == again
    record = json.loads(first)
    options = QueryOptions.from_dict(record["asked"])
    assert options.questions == QuestionOptions(("formula-only", "question-only"), 1)
    assert options.request.extra == {"top_p": 0.9, "stop": ["a"]}
    assert options.request.reasoning == {"effort": "low"}
    assert parameters_of(options.who, options.request, OPENAI) == record["parameters"]
    assert SubjectOptions.from_dict(record["about"]).truth == "conventional"


@pytest.mark.parametrize(("name", "code"), [("SIGUSR1", 0), ("SIGTERM", 0), ("SIGINT", 130)])
def test_a_signal_ends_a_run_in_good_order(crystals, tmp_path, name, code):
    state = tmp_path / "state.json"
    with Stub(latency_s=0.1) as stub:
        command = [sys.executable, ROOT / "jobs" / "query_vlm.py", crystals / "packed.h5"]
        command += ["--arms", "formula-only", "--model", "m", "--base-url", stub.url]
        command += ["--concurrency", "2", "--samples", "40", "--progress", "none"]
        command += ["-o", tmp_path / "a.h5", "--state", state]
        job = subprocess.Popen(command, env=child_environment(), stderr=subprocess.PIPE, text=True)
        while stub.n < 4 and job.poll() is None:
            time.sleep(0.02)
        os.kill(job.pid, getattr(signal, name))
        told = job.communicate(timeout=60)[1]
        assert job.returncode == code and "--resume goes on" in told
        assert not (tmp_path / "a.h5").exists()
        assert len(journal(tmp_path)) == stub.n == sum(stub.replied.values()) < 320
    found = read_state(state)
    assert (found["state"], found["exit_code"]) == ("stopped", code)
    assert (found["done"], found["total"], found["unit"]) == (stub.n, 320, "replies")


def test_a_finished_run_says_so_to_programs(query, tmp_path):
    state = tmp_path / "state.json"
    request = ["--arms", "formula-only", "--samples", "1", "--state", str(state)]
    with Stub() as stub:
        assert query(*request, stub=stub, pictures=False) == 0
    found = read_state(state)
    assert (found["state"], found["exit_code"], found["done"]) == ("done", 0, 8)
    assert found["content_hash"] == read_answers(tmp_path / "a.h5")[1]["content_hash"]
    with Stub(lambda body, number: (401, {}, error("no"))) as stub:
        assert query(*request, "--overwrite", stub=stub, pictures=False) == 1
    found = read_state(state)
    assert (found["state"], found["exit_code"]) == ("failed", 1) and "key" in found["message"]


class Letters:
    """Multiple-choice questions without crystals, as a benchmark may ask them."""

    def __init__(self):
        choices = ("one", "two", "three", "four")
        self.subjects = [
            Subject(f"q{number}", "ABCD"[number], "Which?", choices=choices) for number in range(4)
        ]
        self.left_out = 0
        self.identity = {"prompts": "letters"}
        self.record = {"source": "letters"}

    def questions(self, arms):
        return [
            Question(subject.id, arm, subject.question, "letters")
            for subject in self.subjects
            for arm in arms
        ]

    def formula(self, id_):
        return ""

    def shown(self, arm):
        return "none", ""


def test_other_questions_of_another_task(tmp_path):
    work = AskingOptions(tmp_path / "a.h5", progress="none")
    with Stub(lambda body, number: chat("B")) as stub:
        who = WhoOptions("m", stub.url)
        options = QueryOptions(QuestionOptions(("text", "no-image"), 1), who)
        assert ask(Letters(), FOUR_LETTERS, options, work, Talk(quiet=True)) == 0
    assert stub.n == 8
    tables, _ = read_answers(work.output, FOUR_LETTERS)
    assert tables["arms"]["n_correct"].tolist() == [1, 1]
    assert json.loads(tables["structures"]["choices"][0]) == ["one", "two", "three", "four"]
    files = stored_predictions(work.output, task=FOUR_LETTERS)
    assert [file.n_correct for file in files] == [1, 1]
    with pytest.raises(UsageError, match="known are image, text, no-image"):
        ask(Letters(), FOUR_LETTERS, QueryOptions(QuestionOptions(("pixels",)), who), work, Talk())
