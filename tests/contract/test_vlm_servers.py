"""The client against servers that nobody here wrote.

llmock (PyPI) judges how a client bears faults. aimock (npm, @copilotkit/aimock) has the wider set
of faults; it is used where `aimock` is on the path, or RC_HPC_AIMOCK names the program.
transformers serve runs a real model: only where RC_HPC_VLM_URL and RC_HPC_VLM_MODEL name one that
is running.
"""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request

import pytest
from vlm_cases import ask, outcomes, picture, questions

from rc_hpc.vlm.client import Patience
from rc_hpc.vlm.endpoints import ANTHROPIC, OPENAI
from rc_hpc.vlm.questions import Question


@pytest.fixture
def judge(request):
    """llmock's fixture."""
    pytest.importorskip("llmock", reason="needs llmock (pip install 'rc_hpc[test]')")
    return request.getfixturevalue("llmock")


FAULTS = {
    "rate limits": (lambda m: m.rate_limit(times=6, retry_after=0.5), ["answered"] * 12),
    "a long rate limit": (lambda m: m.rate_limit(times=1, retry_after=1.5), ["answered"] * 12),
    "errors": (
        lambda m: m.fail(500, times=3).fail(503, times=2).fail(529, times=2).fail(502, times=2),
        ["answered"] * 12,
    ),
    "a slow answer": (lambda m: m.delay(0.4, times=3), ["answered"] * 12),
    "a quota": (lambda m: m.limits(rpm=600), ["answered"] * 12),
    "a prompt too long": (lambda m: m.context_overflow(times=1), None),
}


@pytest.mark.parametrize("dialect", [OPENAI, ANTHROPIC], ids=lambda d: d.name)
@pytest.mark.parametrize("name", FAULTS)
def test_llmock_finds_the_client_resilient(judge, tmp_path, name, dialect):
    script, expected = FAULTS[name]
    script(judge)
    asked = questions(12, [picture(tmp_path / "a.png", b"\x89PNG" + bytes(1000))])
    base = judge.base_url(dialect.name)
    url = base if base.endswith("/v1") else f"{base}/v1"
    tally, records = ask(
        url,
        tmp_path,
        asked,
        key="llmock-test-key",
        patience=Patience(first_s=0.2),
        endpoint=dialect,
    )
    assert tally.problem is None
    if expected is None:
        assert sorted(outcomes(records)) == ["answered"] * 11 + ["request_error"]
    else:
        assert outcomes(records) == expected
        judge.assert_resilient()
    assert all(record["usage"] for record in records if record["outcome"] == "answered")


def test_llmock_finds_fault_with_a_client_that_has_none_of_it(judge, tmp_path):
    judge.rate_limit(times=2, retry_after=0.5)
    for _ in range(3):  # at once again, whatever the endpoint asks
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()
        request = urllib.request.Request(
            f"{judge.base_url('openai')}/chat/completions",
            body,
            {"Content-Type": "application/json", "Authorization": "Bearer k"},
        )
        try:
            urllib.request.urlopen(request).close()
        except urllib.error.HTTPError as error:
            error.close()
    with pytest.raises(AssertionError, match="retry_after"):
        judge.assert_resilient()


def say(prompt, response, **match):
    return {"match": {"userMessage": prompt, **match}, "response": response}


SCRIPT = {
    "fixtures": [
        say("ask empty", {"content": "", "finishReason": "length"}),
        say(
            "ask limited",
            {
                "error": {"message": "slow down", "type": "rate_limit_error"},
                "status": 429,
                "retryAfter": 1,
            },
            sequenceIndex=0,
        ),
        say("ask limited", {"content": "ANSWER: cubic"}, sequenceIndex=1),
        say(
            "ask overloaded",
            {"error": {"message": "Overloaded", "type": "overloaded_error"}, "status": 529},
            sequenceIndex=0,
        ),
        say("ask overloaded", {"content": "ANSWER: cubic"}, sequenceIndex=1),
        say(
            "ask unsupported",
            {"error": {"message": "temperature", "code": "unsupported_value"}, "status": 400},
        ),
        say("ask hidden", {"error": {"message": "provider failed", "code": 502}, "status": 200}),
        say("ask thinking", {"content": "ANSWER: cubic", "reasoning": "it has equal edges"}),
        say(
            "ask plain",
            {
                "content": "ANSWER: trigonal",
                "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
            },
        ),
        say(
            "ask broke",
            {"error": {"message": "no quota", "code": "insufficient_quota"}, "status": 429},
        ),
    ]
}


@pytest.fixture
def aimock(tmp_path):
    """Starts aimock with options; gives its base URL."""
    program = os.environ.get("RC_HPC_AIMOCK") or shutil.which("aimock")
    if program is None:
        pytest.skip(
            "no aimock: npm install @copilotkit/aimock outside the checkout, then set "
            "RC_HPC_AIMOCK to node_modules/.bin/llmock"
        )
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT))
    servers = []

    def start(*options):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        servers.append(
            subprocess.Popen(
                [program, "-p", str(port), "-f", str(script), "--log-level", "silent", *options],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        for _ in range(200):
            with socket.socket() as knock:
                if knock.connect_ex(("127.0.0.1", port)) == 0:
                    return f"http://127.0.0.1:{port}/v1"
            time.sleep(0.05)
        raise AssertionError("aimock does not start")

    yield start
    for server in servers:
        server.terminate()
        server.wait()


def named(*names):
    return [Question(name, "pixels", f"ask {name}", "v1") for name in names]


def test_aimock_shapes(aimock, tmp_path):
    asked = named("plain", "thinking", "empty", "limited", "overloaded", "unsupported", "hidden")
    tally, records = ask(aimock(), tmp_path, asked, patience=Patience(attempts=3, first_s=0.05))
    assert (
        outcomes(records)
        == [
            "answered",
            "answered",
            "empty_by_length",
            "answered",
            "answered",
            "request_error",
            "gave_up",
        ]
        and tally.problem is None
    )
    plain, thinking, _, limited, overloaded, unsupported, hidden = records
    assert plain["usage"]["prompt_tokens"] == 7 and thinking["reasoning"] == "it has equal edges"
    assert (
        limited["attempts"][0]["pause"] >= 1
        and limited["attempts"][0]["status"] == 429
        and overloaded["attempts"][0]["status"] == 529
    )
    assert (
        len(unsupported["attempts"]) == 1
        and len(hidden["attempts"]) == 3
        and "200" in hidden["message"]
    )


def test_aimock_without_quota(aimock, tmp_path):
    tally, records = ask(aimock(), tmp_path, named("broke"))
    assert "quota" in str(tally.problem) and outcomes(records) == [None]


@pytest.mark.parametrize(
    "option", ["--chaos-disconnect", "--chaos-malformed", "--chaos-drop", "--chaos-ratelimit"]
)
def test_aimock_chaos(aimock, tmp_path, option):
    url = aimock(option, "0.3")
    asked = [Question(f"{number}", "pixels", "ask plain", "v1") for number in range(30)]
    quick = Patience(attempts=30, first_s=0.01, longest_s=0.05)
    _, records = ask(url, tmp_path, asked, patience=quick, workers=16)
    assert (
        outcomes(records) == ["answered"] * 30
        and max(len(record["attempts"]) for record in records) > 1
    )


@pytest.mark.skipif(
    "RC_HPC_VLM_URL" not in os.environ,
    reason="set RC_HPC_VLM_URL and RC_HPC_VLM_MODEL to a model that is running",
)
def test_a_real_model(tmp_path):
    from rc_hpc.images.files import encode_png

    np = pytest.importorskip("numpy")
    shown = [
        picture(tmp_path / f"{n}.png", encode_png(np.full((64, 64, 3), 40 * n, np.uint8)))
        for n in range(5)
    ]
    bad = picture(tmp_path / "bad.png", b"\x89PNG no picture")
    asked = [*questions(6, shown), Question("broken", "pixels", "look", "v1", (bad,))]
    more = {"model": os.environ["RC_HPC_VLM_MODEL"], "max_tokens": 8}
    tally, records = ask(
        os.environ["RC_HPC_VLM_URL"],
        tmp_path,
        asked,
        key=None,
        workers=3,
        patience=Patience(attempts=3, first_s=0.1),
        parameters=more,
    )
    assert (
        outcomes(records)[:6] == ["answered"] * 6
        and records[-1]["outcome"] in ("gave_up", "request_error")
        and tally.problem is None
    )
    assert all(record["usage"]["prompt_tokens"] > 0 for record in records[:6])
