"""Answers of endpoints: what is a reply, what passes, what ends the request, what the run."""

import json
from email.utils import formatdate

import pytest
from vlm_stub import FAULTS, chat, error

from rc_hpc.core.errors import RcError
from rc_hpc.core.vocabulary import Outcome
from rc_hpc.vlm.endpoints import ANTHROPIC, OPENAI
from rc_hpc.vlm.faults import Fault, Kind, wait_asked
from rc_hpc.vlm.prices import Price, cost, reasoning_tokens, tokens_in, tokens_out

NOW = 1_800_000_000.0


def read(body, status=200, headers=None, endpoint=OPENAI):
    return endpoint.read(
        status, headers or {}, body if isinstance(body, str) else json.dumps(body), NOW
    )


def fault(*args, **more):
    with pytest.raises(Fault) as caught:
        read(*args, **more)
    return caught.value


@pytest.mark.parametrize("name", [name for name, (status, _, _) in FAULTS.items() if status])
def test_faults_that_pass_are_tried_again(name):
    status, headers, body = FAULTS[name]
    found = fault(body, status, headers)
    crowded = status in (429, 503, 529) or name == "200 error in the choice"
    assert found.kind is (Kind.LIMITED if crowded else Kind.RETRY) and found.message


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, error("Incorrect API key"), Kind.RUN),
        (403, {"detail": "Forbidden"}, Kind.RUN),
        (404, error("The model x does not exist", "model_not_found"), Kind.RUN),
        (402, error("Insufficient credits", 402), Kind.RUN),
        (429, error("You exceeded your current quota", "insufficient_quota"), Kind.RUN),
        (
            400,
            {
                "type": "error",
                "error": {
                    "type": "invalid_request_error",
                    "message": "Your credit balance is too low",
                },
            },
            Kind.RUN,
        ),
        (307, "", Kind.RUN),
        (405, {"detail": "Method Not Allowed"}, Kind.RUN),
        (400, error("Unsupported value: temperature", "unsupported_value"), Kind.REQUEST),
        (400, {"detail": "At most 1 image(s)"}, Kind.REQUEST),
        (422, {"detail": [{"loc": ["body"], "msg": "extra"}]}, Kind.REQUEST),
        (413, "<html>too large</html>", Kind.REQUEST),
        (400, error("flagged by our moderation", "content_policy_violation"), Kind.REFUSED),
        (403, error("input was flagged by moderation", 403), Kind.REFUSED),
        (200, error("no credits", 402), Kind.RUN),
        (200, error("bad key", 401), Kind.RUN),
        (200, error("slow", "rate_limit_exceeded"), Kind.LIMITED),
        (200, error("You have no quota", "insufficient_quota"), Kind.RUN),
        (200, error("too long", 400), Kind.REQUEST),
        (200, {"error": "text only"}, Kind.RETRY),
        (200, [1], Kind.RETRY),
        (200, {}, Kind.RETRY),
        (200, "", Kind.RETRY),
        (200, {"choices": []}, Kind.RETRY),
        (200, {"choices": [{"message": None}]}, Kind.RETRY),
        (520, "", Kind.RETRY),
        (599, "x", Kind.RETRY),
        (425, "", Kind.RETRY),
        (451, "", Kind.REQUEST),
    ],
)
def test_errors_by_what_they_end(status, body, kind):
    assert fault(body, status).kind is kind


PLAN = "You exceeded your quota of requests per minute; see your plan and billing details."


@pytest.mark.parametrize(
    ("body", "headers", "wait"),
    [
        (
            [{"error": {"code": 429, "message": f"{PLAN} Retry in 2.5s.", "details": []}}],
            {},
            2.5,
        ),
        (
            {"error": {"code": 429, "message": PLAN, "details": [{"retryDelay": "44s"}]}},
            {},
            44,
        ),
        (
            error("Try again in 1.2s. https://console.invalid/settings/billing", "rate_limit"),
            {"retry-after": "1"},
            1.2,
        ),
        (error("Limit 30 RPM. Please try again in 1m6.3s, or see billing"), {}, 66.3),
        (error("see billing; try again in 20ms"), {}, 0.02),
        (error("too many requests, wait 2 minutes"), {}, 120),
        (error("Retry after 5 seconds"), {}, 5),
        ({"message": "slow down", "retry_after": 0.7}, {}, 0.7),
        ({"message": "slow down", "retry_after_ms": 700}, {}, 0.7),
        (error("rate limit: see billing"), {}, None),
        (error("see billing"), {"retry-after": "3"}, 3),
        (error("slow down, try again later"), {"x-ratelimit-reset": "4"}, 4),
    ],
)
def test_a_limit_per_minute_is_waited_out_whatever_it_links_to(body, headers, wait):
    told = fault(body, 429, headers)
    assert told.kind is Kind.LIMITED
    assert told.wait_s == (None if wait is None else pytest.approx(wait))


def events(*pieces, done=True):
    texts = [piece if isinstance(piece, str) else json.dumps(piece) for piece in pieces]
    return "".join(f"data: {text}\n\n" for text in [*texts, *(["[DONE]"] if done else [])])


def piece(reason=None, **delta):
    return {
        "id": "x",
        "model": "m2",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
    }


USED = {"prompt_tokens": 7, "completion_tokens": 3}
STREAMS = {
    "pieces": events(piece(role="assistant"), piece(content="ANSWER: "), piece(content="cubic")),
    "comments": ": PROCESSING\n\n: PROCESSING\n\n" + events(piece(content="ANSWER: cubic")),
    "without an end": events(piece(content="ANSWER: cubic"), piece("stop"), done=False),
    "usage last": events(
        piece(content="ANSWER: cubic"), piece("stop"), {"choices": [], "usage": USED}
    ),
    "named events": "event: message\n" + events(piece(content="ANSWER: cubic")),
    "lines": "\n".join(
        map(json.dumps, (piece(content="ANSWER: "), piece("stop", content="cubic")))
    ),
    "a whole answer": events(chat("ANSWER: cubic")),
    "a whole answer behind comments": ": PROCESSING\n\n" + json.dumps(chat("ANSWER: cubic")),
    "[DONE] behind a whole one": json.dumps(chat("ANSWER: cubic")) + "\ndata: [DONE]\n\n",
    "anything behind a whole one": json.dumps(chat("ANSWER: cubic")) + "</html>",
    "two answers": json.dumps(chat("ANSWER: cubic")) + json.dumps(error("late")),
    "a byte order mark": "\ufeff" + json.dumps(chat("ANSWER: cubic")),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams_and_what_stands_behind_an_answer(name):
    reply = read(STREAMS[name])
    assert (reply.outcome, reply.text) == (Outcome.answered, "ANSWER: cubic")
    assert name != "usage last" or reply.usage == USED


def test_a_stream_of_messages():
    body = events(
        {"type": "message_start", "message": {"model": "c", "usage": {"input_tokens": 9}}},
        {"type": "ping"},
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "ANSWER: "}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "cubic"}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 4},
        },
        {"type": "message_stop"},
        done=False,
    )
    reply = read(body, endpoint=ANTHROPIC)
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("ANSWER: cubic", "hm", "end_turn")
    assert reply.usage == {"input_tokens": 9, "output_tokens": 4} and reply.model == "c"
    broken = events({"type": "error", "error": {"type": "overloaded_error", "message": "full"}})
    assert fault(broken, endpoint=ANTHROPIC).kind is Kind.RETRY


def test_a_stream_that_breaks_off_is_tried_again():
    assert fault(events()).kind is fault(": PROCESSING\n\n").kind is Kind.RETRY
    whole = STREAMS["without an end"]
    for end in range(len(whole) - 90):
        assert fault(whole[:end]).kind is Kind.RETRY
    assert fault(events(piece(content="cub"), error("gone", 503), done=False)).kind is Kind.LIMITED


@pytest.mark.parametrize("message", [{}, {"message": None}, {"message": {"content": None}}])
def test_a_finish_by_length_without_a_message_is_empty_by_length(message):
    body = {"choices": [{"finish_reason": "length", **message}], "usage": USED}
    reply = read(body)
    assert (reply.outcome, reply.text, reply.usage) == (Outcome.empty_by_length, "", USED)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": "many", "completion_tokens": [1]},
        {"prompt_tokens": float("nan"), "completion_tokens": float("inf")},
        {"prompt_tokens": 10**400, "completion_tokens": -5},
        {"prompt_tokens": True, "completion_tokens": None, "completion_tokens_details": 7},
    ],
)
def test_a_usage_that_is_none_counts_nothing(usage):
    assert tokens_in(usage) is tokens_out(usage) is reasoning_tokens(usage) is None
    for told in ("free", float("nan"), float("inf"), -1, 10**400, True):
        assert cost({**usage, "cost": told}, Price(1, 1)) is None


NESTED = "[" * 200_000 + "]" * 200_000


@pytest.mark.parametrize(
    ("body", "status", "headers", "kind"),
    [
        (f'{{"error": {NESTED}}}', 500, {}, Kind.RETRY),
        ("<" * 200_000, 500, {}, Kind.RETRY),
        (error("x", "\u00b2"), 200, {}, Kind.RETRY),
        (error("x", "9" * 5000), 200, {}, Kind.RETRY),
        (error("x"), 429, {"retry-after": "Fri, 31 Dec 9999 23:59:59 -9999"}, Kind.LIMITED),
        (error("x"), 429, {"x-ratelimit-reset": "0001-01-01T00:00:00+23:59"}, Kind.LIMITED),
        (error("x"), 429, {"x-ratelimit-reset": "9" * 400 + "s"}, Kind.LIMITED),
        (error("x"), 429, {"x-ratelimit-reset": "9" * 200 + "d"}, Kind.LIMITED),
        (error("try again in " + "9" * 5000 + "s"), 429, {}, Kind.LIMITED),
        (NESTED, 200, {}, Kind.REQUEST),
        (f'{{"choices": {NESTED}}}', 200, {}, Kind.REQUEST),
        ({"choices": ["x"]}, 200, {}, Kind.REQUEST),
        ({"choices": [], "usage": {"completion_tokens": 5}}, 200, {}, Kind.REQUEST),
    ],
)
def test_a_malformed_answer_is_a_fault(body, status, headers, kind):
    assert fault(body, status, headers).kind is kind


NO_TEXTS: tuple[object, ...] = (5, 0, 1.5, True, False, {"a": "A"}, {})


@pytest.mark.parametrize("value", NO_TEXTS, ids=str)
@pytest.mark.parametrize(
    "reply",
    [
        lambda value: (chat(value, usage=False), OPENAI),
        lambda value: (chat([value], usage=False), OPENAI),
        lambda value: (chat([{"type": "text", "text": value}], usage=False), OPENAI),
        lambda value: (chat(None, refusal=value, usage=False), OPENAI),
        lambda value: (chat(None, reason=value, usage=False), OPENAI),
        lambda value: (chat("", reasoning_content=value, usage=False), OPENAI),
        lambda value: (events(piece(content="A"), piece("stop", content=value)), OPENAI),
        lambda value: (events(piece(content=value), piece("stop", content="A")), OPENAI),
        lambda value: ({"choices": [{"message": value, "finish_reason": "stop"}]}, OPENAI),
        lambda value: ({"choices": value}, OPENAI),
        lambda value: ({"type": "message", "content": value}, ANTHROPIC),
        lambda value: ({"type": "message", "content": [value]}, ANTHROPIC),
        lambda value: ({"content": [{"type": "text", "text": value}]}, ANTHROPIC),
        lambda value: ({"content": [], "stop_reason": value}, ANTHROPIC),
        lambda value: (
            events(
                {"type": "content_block_delta", "delta": {"type": "text_delta", "text": value}},
                {"type": "message_stop"},
            ),
            ANTHROPIC,
        ),
    ],
)
def test_what_should_be_a_text_and_is_none_is_a_malformed_answer(reply, value):
    body, endpoint = reply(value)
    told = fault(body, endpoint=endpoint)
    assert told.kind in (Kind.RETRY, Kind.REQUEST) and told.message.startswith("200, but ")


def test_an_error_is_told_in_its_own_words():
    assert (
        fault(error("Unsupported value", "unsupported_value"), 400).message
        == "400 unsupported_value: Unsupported value"
    )
    assert fault({"detail": "model not here"}, 422).message == "422: model not here"
    assert fault(FAULTS["502 HTML"][2], 502).message == "502: 502 Bad Gateway Bad gateway nginx"
    assert "--base-url" in fault("", 404).message and "--api-key-env" in fault("", 401).message


@pytest.mark.parametrize(
    ("body", "outcome", "text"),
    [
        (chat("ANSWER: cubic"), Outcome.answered, "ANSWER: cubic"),
        (chat("ANSWER: cubic", reason=None), Outcome.answered, "ANSWER: cubic"),
        (chat("cut in the", reason="length"), Outcome.answered, "cut in the"),
        (
            chat(
                [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "A"},
                    {"type": "text", "text": "B"},
                ]
            ),
            Outcome.answered,
            "AB",
        ),
        (chat(""), Outcome.answered, ""),
        (chat("", reason="length"), Outcome.empty_by_length, ""),
        (chat(None, reason="length"), Outcome.empty_by_length, ""),
        (chat("", reasoning_content="long thoughts"), Outcome.empty_by_length, ""),
        (chat(None, reasoning="long thoughts"), Outcome.empty_by_length, ""),
        (chat([{"type": "thinking", "thinking": "hm"}]), Outcome.empty_by_length, ""),
        (chat(None), Outcome.refused, ""),
        (chat("", reason="SAFETY"), Outcome.refused, ""),
        (chat("I can", reason="content_filter"), Outcome.refused, "I can"),
        (chat(None, refusal="I will not"), Outcome.refused, ""),
        (chat("ANSWER: cubic", refusal=None), Outcome.answered, "ANSWER: cubic"),
    ],
)
def test_replies_by_outcome(body, outcome, text):
    found = read(body)
    assert (found.outcome, found.text) == (outcome, text) and bool(found.message) == (
        outcome is not Outcome.answered
    )


def test_nothing_that_was_not_given_is_made_up():
    assert read(chat("x", usage=False)).usage is None
    assert read(chat("x", reason=None)).finish_reason is None
    found = read({"choices": [{"message": {"content": "x"}}]})
    assert (found.usage, found.model, found.provider, found.reply_id) == (None,) * 4
    assert (
        tokens_in(None) is tokens_out({"completion_tokens": None}) is reasoning_tokens({}) is None
        and cost({"prompt_tokens": 5}, Price(1, 1)) is None
    )


def test_costs():
    usage = {
        "prompt_tokens": 1_000,
        "completion_tokens": 100,
        "completion_tokens_details": {"reasoning_tokens": 60},
    }
    assert reasoning_tokens(usage) == 60
    assert cost(usage, Price(2.0, 10.0)) == pytest.approx(0.003)
    assert cost(usage | {"cost": 0.5}, Price(2.0, 10.0)) == 0.5
    assert cost(usage, None) is None
    assert (
        tokens_in(
            {"input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": None}
        )
        == 12
    )


def test_the_native_dialect():
    message = {
        "type": "message",
        "id": "msg_1",
        "model": "c-1",
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
    found = read(
        message
        | {
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "ANSWER: cubic"},
            ]
        },
        endpoint=ANTHROPIC,
    )
    assert (found.outcome, found.text, found.reasoning, found.model) == (
        Outcome.answered,
        "ANSWER: cubic",
        "hm",
        "c-1",
    )
    assert (tokens_in(found.usage), tokens_out(found.usage)) == (3, 4)
    assert (
        read(message | {"content": [], "stop_reason": "max_tokens"}, endpoint=ANTHROPIC).outcome
        is Outcome.empty_by_length
    )
    assert (
        read(message | {"content": [], "stop_reason": "refusal"}, endpoint=ANTHROPIC).outcome
        is Outcome.refused
    )
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert (
        fault(overloaded, 529, endpoint=ANTHROPIC).kind is Kind.LIMITED
        and fault(overloaded, endpoint=ANTHROPIC).kind is Kind.RETRY
    )
    assert ANTHROPIC.headers("k")["x-api-key"] == "k" and "x-api-key" not in ANTHROPIC.headers(None)


def test_the_native_limit_counts_base64():
    png = b"\x89PNG" + bytes(5 * 1024 * 1024 * 3 // 4 - 4)
    assert len(ANTHROPIC.picture(png)) > 5 * 1024 * 1024
    with pytest.raises(RcError, match="draw it smaller"):
        ANTHROPIC.picture(png + b"xxx")
    assert OPENAI.picture(png + b"xxx")
    with pytest.raises(RcError, match="not a PNG"):
        OPENAI.picture(b"version https://git-lfs.github.com/spec/v1")


@pytest.mark.parametrize("endpoint", [OPENAI, ANTHROPIC])
def test_a_body_is_text_then_pictures(endpoint):
    data = [b"\x89PNG one", b"\xff\xd8\xff two"]
    parameters = {"model": "m", "temperature": 0.7}
    body = json.loads(
        endpoint.body(parameters, 'say "Å"', [endpoint.picture(item) for item in data])
    )
    assert {name: body[name] for name in parameters} == parameters and body.keys() == {
        *parameters,
        "messages",
        "stream",
    }
    assert body["stream"] is False
    (message,) = body["messages"]
    text, *pictures = message["content"]
    assert (message["role"], text) == ("user", {"type": "text", "text": 'say "Å"'})
    assert ["png" in json.dumps(p) for p in pictures] == [True, False] and [
        "jpeg" in json.dumps(p) for p in pictures
    ] == [False, True]
    alone = json.loads(endpoint.body(parameters, "t", []))
    assert alone["messages"] == [{"role": "user", "content": "t"}]


def test_reasoning_settings():
    assert OPENAI.reasoning("low") == {"reasoning_effort": "low"} and OPENAI.reasoning(
        {"effort": "low"}
    ) == {"reasoning": {"effort": "low"}}
    assert ANTHROPIC.reasoning({"type": "enabled", "budget_tokens": 2000}) == {
        "thinking": {"type": "enabled", "budget_tokens": 2000}
    }


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "2", "retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": formatdate(NOW + 90, usegmt=True)}, 90),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "18000"}, 18000),
        ({"retry-after": "soon", "x-ratelimit-reset": "4"}, 4),
        ({"retry-after": "1", "x-ratelimit-reset": "9"}, 1),
        ({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-reset-tokens": "20ms"}, 0.02),
        (
            {
                "x-ratelimit-reset-requests": "6m0s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "20ms",
                "x-ratelimit-remaining-tokens": "5",
            },
            360,
        ),
        ({"x-ratelimit-reset": str(NOW + 30)}, 30),
        ({"x-ratelimit-reset": str(1000 * (NOW + 30))}, 30),
        ({"x-ratelimit-reset": str(NOW - 30)}, 0),
        (
            {
                "anthropic-ratelimit-tokens-reset": "2027-01-15T08:00:10Z",
                "anthropic-ratelimit-tokens-remaining": "0",
            },
            10,
        ),
        ({"x-ratelimit-reset": "whenever"}, None),
    ],
)
def test_the_wait_that_is_asked_for(headers, wait):
    assert wait_asked(headers, NOW) == (None if wait is None else pytest.approx(wait, abs=1e-6))
