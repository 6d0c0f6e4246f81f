"""The client and its pool against an endpoint of our own: faults, waits, ends, secrets."""

import asyncio
import gzip
import json
import tracemalloc
import zlib

import pytest
from aiohttp import web
from vlm_cases import KEY, ask, outcomes, picture, questions
from vlm_stub import Stub, chat, error, pictures_of

from rc_hpc.core.errors import RcError
from rc_hpc.vlm.client import Encoder, Patience, proxy_of
from rc_hpc.vlm.download import Unpacker
from rc_hpc.vlm.endpoints import ANTHROPIC, OPENAI
from rc_hpc.vlm.faults import Fault
from rc_hpc.vlm.journal import Records
from rc_hpc.vlm.pool import STRIKES, Terms
from rc_hpc.vlm.prices import Price
from rc_hpc.vlm.questions import Question


def test_every_fault_is_survived_and_logged(tmp_path):
    with Stub(faults=0.5, seed=3) as stub:
        tally, records = ask(stub.url, tmp_path, questions(40), 2)
    assert outcomes(records) == ["answered"] * 80 and (tally.done, tally.failed, tally.problem) == (
        80,
        0,
        None,
    )
    assert len(stub.met) >= 12
    logs = [record["attempts"] for record in records]
    assert sum(map(len, logs)) == stub.n and sum(stub.met.values()) == stub.n - 80
    for log in logs:
        assert log[-1]["status"] == 200 and "fault" not in log[-1]
        assert all(entry["fault"] and entry["pause"] > 0 for entry in log[:-1])


def test_pictures_arrive_byte_for_byte_and_are_encoded_once(tmp_path):
    data = [b"\x89PNG" + bytes([number]) * 300_000 for number in range(5)]
    pictures = [picture(tmp_path / f"{number}.png", item) for number, item in enumerate(data)]
    asked = questions(1, pictures)
    with Stub() as stub:
        _, records = ask(stub.url, tmp_path, asked, 6)
    assert outcomes(records) == ["answered"] * 6
    for raw in stub.bodies:
        body = json.loads(raw)
        assert pictures_of(body) == data and body["messages"][0]["content"][0] == {
            "type": "text",
            "text": "prompt 0",
        }
        assert body.keys() == {"model", "messages", "stream"}
    assert records[0]["images"] == [picture.sha256 for picture in pictures] and records[0][
        "parameters"
    ] == {"model": "m"}

    (tmp_path / "3.png").write_bytes(data[3] + b"x")
    with Stub() as stub:
        tally, _ = ask(
            stub.url, tmp_path, [Question("other", "pixels", "p", "v1", tuple(pictures))]
        )
    assert "3.png" in str(tally.problem) and "changed" in str(tally.problem) and stub.n == 0


def test_the_encoder_works_once_for_all_samples_at_once(tmp_path):
    shown = picture(tmp_path / "a.png")

    async def go():
        encoder = Encoder(OPENAI, 4)
        parts = await asyncio.gather(*(encoder((shown,)) for _ in range(20)))
        return encoder.n_made, len({id(part) for part in parts})

    assert asyncio.run(go()) == (1, 1)


@pytest.mark.parametrize(
    ("headers", "least"),
    [
        ({"retry-after": "1"}, 1.0),
        ({"retry-after": "9", "retry-after-ms": "400"}, 0.4),
        ({"x-ratelimit-reset-requests": "300ms"}, 0.3),
    ],
)
def test_a_wait_that_is_asked_for_is_kept_by_all(tmp_path, headers, least):
    with Stub(
        lambda body, number: (429, headers, error("slow down")) if number == 0 else None
    ) as stub:
        _, records = ask(stub.url, tmp_path, questions(6), workers=2)
    assert outcomes(records) == ["answered"] * 6
    first = stub.times[0]
    # What was on its way when the 429 came is not held back; everything later is.
    assert sum(at < first + least for at in stub.times) <= 2


def test_a_wait_of_hours_ends_the_run_with_the_time(tmp_path):
    with Stub(lambda body, number: (429, {"retry-after": "18000"}, error("daily limit"))) as stub:
        tally, records = ask(stub.url, tmp_path, questions(30))
    assert "--resume" in str(tally.problem) and "wait until 20" in str(tally.problem)
    assert (
        stub.n <= 8 and outcomes(records) == [None] * 30
    )  # nothing is recorded as failed: it was never answered


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ((429, {}, error("You exceeded your current quota", "insufficient_quota")), "quota"),
        ((401, {}, error("bad key " + KEY)), "--api-key-env"),
        ((404, {}, error("no such model")), "--model"),
    ],
)
def test_some_faults_end_the_run_at_once(tmp_path, answer, word):
    with Stub(lambda body, number: answer) as stub:
        tally, records = ask(stub.url, tmp_path, questions(40))
    assert (
        word in str(tally.problem)
        and KEY not in str(tally.problem)
        and stub.n <= 8
        and outcomes(records) == [None] * 40
    )


def test_a_request_that_cannot_work_is_not_tried_again_and_the_others_go_on(tmp_path):
    def answer(body, number):
        name = body["messages"][0]["content"]
        return (
            (400, {}, error("context length exceeded"))
            if name == "prompt 3"
            else (400, {}, error("flagged", "content_policy_violation"))
            if name == "prompt 4"
            else None
        )

    with Stub(answer) as stub:
        tally, records = ask(stub.url, tmp_path, questions(8))
    assert outcomes(records) == ["answered"] * 3 + ["request_error", "refused"] + ["answered"] * 3
    assert stub.n == 8 and tally.failed == 1 and "context length" in records[3]["message"]


def test_a_request_is_given_up_after_its_attempts(tmp_path):
    with Stub(
        lambda body, number: (
            (500, {}, error("broken")) if body["messages"][0]["content"] == "prompt 1" else None
        )
    ) as stub:
        tally, records = ask(
            stub.url, tmp_path, questions(3), patience=Patience(attempts=3, first_s=0.01)
        )
    assert outcomes(records) == ["answered", "gave_up", "answered"] and (
        tally.failed,
        tally.problem,
    ) == (1, None)
    assert (
        len(records[1]["attempts"]) == 3 and "3 attempts" in records[1]["message"] and stub.n == 5
    )


@pytest.mark.parametrize("status", [400, 500])
def test_an_endpoint_that_never_works_is_left_alone(tmp_path, status):
    with Stub(lambda body, number: (status, {}, error("whatever you ask"))) as stub:
        tally, _ = ask(
            stub.url, tmp_path, questions(200), patience=Patience(attempts=2, first_s=0.001)
        )
    assert (
        f"{STRIKES} requests failed one after another" in str(tally.problem)
        and "whatever you ask" in str(tally.problem)
        and stub.n < 2 * (STRIKES + 8) + 1
    )


def test_nobody_listens(tmp_path):
    with Stub() as stub:
        gone = stub.url
    tally, _ = ask(gone, tmp_path, questions(30), patience=Patience(attempts=2, first_s=0.001))
    assert "Connect" in str(tally.problem)


def test_silence_is_an_attempt_and_a_slow_answer_is_not_cut(tmp_path):
    async def silent(request, answer):
        await asyncio.sleep(0.8)
        return await respond(request, answer)

    respond = Stub.respond
    with Stub(latency_s=0.2) as stub:  # the whole takes longer than any silence may
        _, records = ask(
            stub.url, tmp_path, questions(14), workers=2, patience=Patience(read_s=1.0)
        )
        assert outcomes(records) == ["answered"] * 14
    with Stub() as stub:
        stub.respond = silent
        _, records = ask(
            stub.url,
            tmp_path,
            [Question("silent", "pixels", "p", "v1")],
            patience=Patience(attempts=2, read_s=0.3, first_s=0.01),
        )
    assert outcomes(records) == ["gave_up"] and "no answer in time" in records[0]["message"]


def test_the_key_goes_into_the_header_and_nowhere_else(tmp_path):
    echo = {"error": {"message": f"Incorrect API key provided: {KEY}"}}
    answers = [
        (500, {}, echo),
        (200, {}, chat(f"your key is {KEY}. ANSWER: cubic", reasoning_content=KEY)),
        (400, {}, echo),
    ]
    with Stub(lambda body, number: answers[min(number, 2)]) as stub:
        ask(stub.url, tmp_path, questions(2), workers=1)
    assert [headers["Authorization"] for headers in stub.headers] == [f"Bearer {KEY}"] * 3
    text = (tmp_path / "a.journal.jsonl").read_text()
    assert (
        KEY not in text
        and text.count("***") >= 4
        and not any(KEY.encode() in body for body in stub.bodies)
    )


def test_no_key_no_header(tmp_path):
    with Stub() as stub:
        ask(stub.url, tmp_path, questions(1), key=None)
    assert "Authorization" not in stub.headers[0]


def test_the_native_dialect_end_to_end(tmp_path):
    reply = {
        "type": "message",
        "model": "c",
        "content": [{"type": "text", "text": "ANSWER: cubic"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 9, "output_tokens": 3},
    }
    with Stub(
        lambda body, number: (
            (
                529,
                {},
                {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            )
            if number == 0
            else reply
        ),
        key=KEY,
    ) as stub:
        tally, records = ask(
            stub.url,
            tmp_path,
            questions(1, [picture(tmp_path / "a.png")]),
            endpoint=ANTHROPIC,
            terms=Terms(Price(1e6, 1e6)),
        )
    assert (
        outcomes(records) == ["answered"]
        and tally.spent == 12
        and records[0]["parameters"] == {"model": "m", "max_tokens": 4096}
    )
    assert (
        stub.headers[0]["anthropic-version"]
        and json.loads(stub.bodies[0])["messages"][0]["content"][1]["source"]["media_type"]
        == "image/png"
    )


def test_a_limit_on_what_is_spent(tmp_path):
    with Stub(lambda body, number: chat()) as stub:
        tally, records = ask(
            stub.url,
            tmp_path,
            questions(50),
            workers=2,
            terms=Terms(Price(0.0, 1e5), most_spent=5.0),
        )
    assert (
        "--max-spend" in str(tally.problem)
        and tally.spent == pytest.approx(tally.done)
        and 5 <= tally.done <= stub.n <= 7
    )
    assert outcomes(records).count("answered") == tally.done


def test_a_signal_waits_for_what_is_in_flight(tmp_path):
    with Stub(latency_s=0.3) as stub:
        tally, records = ask(stub.url, tmp_path, questions(40), workers=4, stop=lambda: stub.n >= 6)
    assert tally.stopped and tally.problem is None
    assert (
        outcomes(records).count("answered") == tally.done == stub.n
    )  # everything that was sent is kept


def test_the_grace_after_a_signal_ends(tmp_path):
    with Stub(latency_s=30) as stub:
        tally, _ = ask(
            stub.url, tmp_path, questions(4), terms=Terms(grace_s=0.3), stop=lambda: stub.n > 0
        )
        assert tally.stopped and tally.done == 0
    assert Records(
        tmp_path / "a.journal.jsonl"
    ).contents.lost  # it is known that they may have been billed


def test_a_signal_does_not_wait_for_a_pause(tmp_path):
    with Stub(lambda body, number: (429, {"retry-after": "300"}, error("slow"))) as stub:
        tally, _ = ask(stub.url, tmp_path, questions(4), stop=lambda: stub.n >= 4)
    assert tally.stopped and stub.n == 4 and not Records(tmp_path / "a.journal.jsonl").contents.lost


def test_an_error_of_ours_is_not_swallowed(tmp_path):
    def tell(_):
        raise ZeroDivisionError

    with Stub() as stub, pytest.raises(ZeroDivisionError):
        ask(stub.url, tmp_path, questions(20), tell=tell)


def test_at_most_so_many_at_once(tmp_path):
    with Stub(latency_s=0.02) as stub:
        ask(stub.url, tmp_path, questions(60), workers=5)
    assert stub.most_at_once == 5


def test_proxies_come_from_the_environment_but_not_for_this_machine(tmp_path, monkeypatch):
    with Stub() as stub:
        monkeypatch.setenv("http_proxy", stub.url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "inside.example")
        monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
        (tmp_path / "netrc").write_text("default login somebody password something\n")
        _, records = ask("http://endpoint.example/v1", tmp_path, questions(1))
        assert (
            outcomes(records) == ["answered"]
            and stub.headers[0]["Host"] == "endpoint.example"
            and stub.headers[0]["Authorization"] == f"Bearer {KEY}"
        )
        assert (
            proxy_of("http://127.0.0.1:8000/v1")
            is proxy_of("http://localhost/v1")
            is proxy_of("http://[::1]:8000/v1")
            is proxy_of("http://inside.example/v1")
            is None
        )


def test_a_redirect_is_told_not_followed(tmp_path):
    with Stub(lambda body, number: (307, {"location": "http://127.0.0.1:9/v1"}, "")) as stub:
        tally, _ = ask(stub.url, tmp_path, questions(1))
    assert "http://127.0.0.1:9/v1" in str(tally.problem) and isinstance(tally.problem, RcError)


def test_neither_key_nor_password_nor_secret_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("OTHER_TOKEN", "hf_abcdefghijklmnop")
    monkeypatch.setenv("https_proxy", "http://me:pa%24%24word@proxy.example:3128")
    secrets = (KEY, KEY[:-2], KEY[3:], "hf_abcdefghijklmnop", "pa$$word", "pa%24%24word")
    echo = " ".join((f"Bearer {KEY}", *secrets, "http://you:hidden@host.example/v1"))
    whole = chat(f"{echo} ANSWER: cubic", reason=echo, reasoning_content=echo)
    whole |= {"id": echo, "model": echo, "provider": echo}
    whole["usage"] = {"prompt_tokens": 1, "completion_tokens": 1, "note": echo, echo: 1}
    answers = [
        whole,
        (500, {}, {"error": {"message": echo, "code": echo}}),
        (200, {}, f"no JSON {echo}"),
        (302, {"location": f"http://elsewhere.invalid/?k={KEY}"}, ""),
    ]
    with Stub(lambda body, number: answers[min(number, 3)]) as stub:
        tally, records = ask(stub.url, tmp_path, questions(2), workers=1)
    written = (tmp_path / "a.journal.jsonl").read_text() + str(tally.problem) + repr(tally.problem)
    for secret in (*secrets, KEY[2:14], "hidden"):
        assert secret not in written
    assert records[0]["text"].endswith("ANSWER: cubic") and "elsewhere.invalid" in written


def test_a_key_that_is_no_secret_spoils_no_reply(tmp_path):
    with Stub(lambda body, number: chat("EMPTY cells. ANSWER: cubic")) as stub:
        _, records = ask(stub.url, tmp_path, questions(1), key="EMPTY")
    assert records[0]["text"] == "EMPTY cells. ANSWER: cubic"


WHOLE = json.dumps(chat("ANSWER: cubic")).encode()


def _raw_deflate(data):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("identity", WHOLE),
        ("gzip", gzip.compress(WHOLE)),
        ("GZIP", gzip.compress(WHOLE[:50]) + gzip.compress(WHOLE[50:])),
        ("deflate", zlib.compress(WHOLE)),
        ("deflate", _raw_deflate(WHOLE)),
    ],
)
def test_an_answer_is_unpacked_in_any_pieces(encoding, data):
    for step in (1, 7, len(data)):
        unpack = Unpacker(encoding, len(WHOLE))
        pieces = [unpack(data[at : at + step]) for at in range(0, len(data), step)]
        assert b"".join(pieces) == WHOLE
        small = Unpacker(encoding, len(WHOLE) - 1)
        with pytest.raises(Fault, match="--max-answer"):
            for at in range(0, len(data), step):
                small(data[at : at + step])


def test_a_packed_answer_that_cannot_be_unpacked_is_a_fault():
    with pytest.raises(Fault, match="br"):
        Unpacker("br", 100)
    with pytest.raises(Fault, match="unpacked"):
        Unpacker("gzip", 100)(b"no gzip")


def test_a_bomb_is_not_unpacked():
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(300)) + packer.flush()
    tracemalloc.start()
    with pytest.raises(Fault, match="larger than 1 MB"):
        Unpacker("gzip", 1_000_000)(bomb)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 5e6


def test_blanks_are_silence(tmp_path):
    async def drip(request, answer):
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(100):
            await response.write(b" ")
            await asyncio.sleep(0.05)
        return response

    with Stub() as stub:
        stub.respond = drip
        patience = Patience(attempts=2, read_s=0.3, first_s=0.01)
        _, records = ask(stub.url, tmp_path, questions(1), patience=patience)
    assert outcomes(records) == ["gave_up"] and "no answer in time" in records[0]["message"]


def test_a_malformed_answer_is_one_recorded_failure_with_what_came(tmp_path):
    strange = {"choices": ["x"], "usage": {"prompt_tokens": 1}}
    with Stub(lambda body, number: strange if number == 0 else None) as stub:
        tally, records = ask(stub.url, tmp_path, questions(3), workers=1)
    assert outcomes(records) == ["request_error", "answered", "answered"] and stub.n == 3
    assert json.loads(records[0]["attempts"][0]["body"]) == strange and tally.problem is None


def test_a_content_that_is_no_text_is_asked_for_again_and_then_a_failure(tmp_path):
    strange = chat({"a": "A"}, usage=False)
    with Stub(lambda body, number: strange if "prompt 1" in str(body) else None) as stub:
        patience = Patience(attempts=3, first_s=0.01)
        tally, records = ask(stub.url, tmp_path, questions(3), patience=patience)
    assert outcomes(records) == ["answered", "gave_up", "answered"] and stub.n == 5
    assert tally.failed == 1 and "its content is a JSON dict and no text" in records[1]["message"]
    assert json.loads(records[1]["attempts"][0]["body"]) == strange
