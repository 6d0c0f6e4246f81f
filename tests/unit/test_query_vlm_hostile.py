"""The asking command against an endpoint that answers with whatever it likes."""

import gzip
import json

import pytest
from aiohttp import web
from query_cases import KEY, make_crystals, runner
from vlm_cases import ask, outcomes, questions
from vlm_stub import Stub, chat, error

from rc_hpc.answers.file import read_answers

pytestmark = pytest.mark.long

NESTED = "[" * 200_000 + "]" * 200_000
ECHO = f"Bearer {KEY}"
GOOD = json.dumps(chat("ANSWER: cubic"))


def used(**usage):
    return json.dumps(chat("ANSWER: cubic") | {"usage": usage})


#: Answers, and the outcome of a request that has one attempt.
HOSTILE = {
    "deep": ((200, {}, NESTED), "request_error"),
    "deep within": ((200, {}, f'{{"choices": {NESTED}}}'), "request_error"),
    "deep error": ((500, {}, f'{{"error": {NESTED}}}'), "gave_up"),
    "a code that is no number": (error("x", "\u00b2"), "gave_up"),
    "a long code": (error("x", "9" * 5000), "gave_up"),
    "a date beyond time": (
        (429, {"retry-after": "Fri, 31 Dec 9999 23:59:59 -9999"}, error("x")),
        "gave_up",
    ),
    "choices of text": ({"choices": ["x"]}, "request_error"),
    "words for tokens": (used(prompt_tokens="many", completion_tokens=[1]), "answered"),
    "tokens without end": (GOOD.replace("100", "1e999").replace(": 10,", ": NaN,"), "answered"),
    "tokens beyond count": (used(prompt_tokens=10**400, completion_tokens=-5), "answered"),
    "a cost in words": (used(prompt_tokens=1, completion_tokens=1, cost="free"), "answered"),
    "details in words": (used(prompt_tokens=1, completion_tokens_details=7), "answered"),
    "no text": (chat("ANSWER: cubic \ud800 \x00 \u2028 end"), "answered"),
    "a field twice": ('{"choices": [], ' + GOOD[1:], "answered"),
    "a name of marks": (chat("ANSWER: cubic") | {"model": "a\x00b", "id": "../../x"}, "answered"),
    "reasons in a list": (chat("ANSWER: cubic", reason=["stop"]), "answered"),
    "the key": (chat(f"{ECHO} ANSWER: cubic", reason=ECHO) | {"model": ECHO}, "answered"),
    "the key in an error": ((400, {}, error(ECHO, ECHO)), "request_error"),
    "too large": (chat("A" * 3_000_000), "request_error"),
    "good": (chat("ANSWER: cubic"), "answered"),
}


@pytest.fixture
def query(tmp_path_factory, tmp_path, monkeypatch):
    crystals = make_crystals(tmp_path_factory.mktemp("crystals"))
    return runner(crystals, tmp_path, monkeypatch)


def test_no_answer_ends_the_run_or_tells_the_key(query, tmp_path, capsys):
    answers = [answer for answer, _ in HOSTILE.values()]
    with Stub(
        lambda body, number: (
            (200, {}, answers[number]) if isinstance(answers[number], str) else answers[number]
        )
    ) as stub:
        code = query(
            "--arms", "question-only", "--limit", "4", "--samples", "5", "--attempts", "1",
            "--concurrency", "1", "--max-answer", "2", stub=stub,
        )  # fmt: skip
    assert code == 3 and stub.n == len(HOSTILE) == 20
    lines = (tmp_path / "a.journal.jsonl").read_bytes().splitlines()
    told = [entry["outcome"] for entry in map(json.loads, lines) if "outcome" in entry]
    assert told == [outcome for _, outcome in HOSTILE.values()]
    samples = read_answers(tmp_path / "a.h5")[0]["samples"]
    assert len(samples["text"]) == 20 and samples["answer_line"].tolist().count(7) == told.count(
        "answered"
    )
    written = capsys.readouterr()
    assert KEY not in written.out + written.err
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_a_delay_in_the_body_is_kept_and_a_limit_per_minute_ends_nothing(tmp_path):
    told = [{"error": {"code": 429, "message": "Quota per minute; see billing. Retry in 0.5s."}}]
    with Stub(lambda body, number: (429, {}, told) if number == 1 else None) as stub:
        tally, records = ask(stub.url, tmp_path, questions(4), workers=1)
    assert outcomes(records) == ["answered"] * 4 and tally.problem is None and stub.n == 5
    assert stub.times[2] - stub.times[1] >= 0.5


def test_a_packed_answer_is_read(tmp_path):
    async def packed(request, answer):
        data = gzip.compress(GOOD.encode())
        return web.Response(body=data, headers={"Content-Encoding": "gzip"})

    with Stub() as stub:
        stub.respond = packed
        _, records = ask(stub.url, tmp_path, questions(1))
    assert outcomes(records) == ["answered"] and records[0]["text"] == "ANSWER: cubic"
