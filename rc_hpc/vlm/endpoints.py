"""The two dialects: chat completions, as many servers speak them, and Anthropic's messages."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rc_hpc.core.errors import RcError
from rc_hpc.core.vocabulary import Outcome
from rc_hpc.vlm.bodies import answer_in
from rc_hpc.vlm.faults import Fault, Kind, fault_of
from rc_hpc.vlm.prices import tokens_out

_MISSING = object()


class _Malformed(Exception):
    """A field of a reply is missing, or of a type that no endpoint gives it."""

    def __init__(self, name: str, value: object):
        told = (
            "is missing" if value is _MISSING else f"is a JSON {type(value).__name__} and no text"
        )
        super().__init__(f"its {name} {told}")


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, paid for.

    Attributes
    ----------
    outcome, text
        The visible text, empty where there is none.
    reasoning
        Text of the reasoning, where the endpoint shows it.
    finish_reason
        As the endpoint calls it; None where it gives none.
    usage
        As given; None where nothing was given. Parts of it may be None.
    model, provider, reply_id
        Who answered, as the reply says.
    message
        What a refusal says.
    """

    outcome: Outcome
    text: str = ""
    reasoning: str | None = None
    finish_reason: str | None = None
    usage: dict | None = None
    model: str | None = None
    provider: str | None = None
    reply_id: str | None = None
    message: str = ""


_SAFETY = {
    "content_filter",
    "safety",
    "recitation",
    "prohibited_content",
    "blocklist",
    "spii",
    "image_safety",
    "refusal",
    "sensitive",
}
_LENGTH = {"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"}
_MAGIC = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"RIFF": "image/webp",
    b"GIF8": "image/gif",
}


@dataclass(frozen=True)
class Endpoint:
    """One dialect.

    Attributes
    ----------
    name
        As --provider names it.
    path
        Below the base URL.
    key_variable, url_variable
        Environment variables by default.
    image_limit
        Largest picture, bytes of its base64.
    defaults
        Parameters that must be there.
    """

    name: str
    path: str
    key_variable: str
    url_variable: str
    image_limit: int | None = None
    defaults: Mapping = field(default_factory=dict)

    def headers(self, key: str | None) -> dict[str, str]:
        """Headers of a request; without a key none of them is secret."""
        common = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.name == "anthropic":
            return (
                common | {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})
            )
        return common | ({"Authorization": f"Bearer {key}"} if key else {})

    def reasoning(self, setting) -> dict:
        """Parameters of a reasoning setting: a word is an effort, an object goes through."""
        if self.name == "anthropic":
            return {"thinking": setting if isinstance(setting, dict) else {"type": setting}}
        return (
            {"reasoning": setting} if isinstance(setting, dict) else {"reasoning_effort": setting}
        )

    def picture(self, data: bytes) -> bytes:
        """One picture as the JSON text of a part of the message.

        Raises
        ------
        RcError
            No picture, or too large for this endpoint.
        """
        kind = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), None)
        if kind is None:
            raise RcError("not a PNG, JPEG, WebP or GIF picture")
        text = base64.b64encode(data)
        if self.image_limit is not None and len(text) > self.image_limit:
            raise RcError(
                f"{len(text)} bytes as base64, and this endpoint takes {self.image_limit}: draw "
                "it smaller (--size)"
            )
        if self.name == "anthropic":
            return b'{"type":"image","source":{"type":"base64","media_type":"%s","data":"%s"}}' % (
                kind.encode(),
                text,
            )
        return b'{"type":"image_url","image_url":{"url":"data:%s;base64,%s"}}' % (
            kind.encode(),
            text,
        )

    def body(self, parameters: Mapping, prompt: str, pictures: Sequence[bytes]) -> bytes:
        """Body of a request: one user message, text first, then the pictures in order.

        Some servers stream unless told not to.
        """
        fields = {**parameters, "stream": False}
        if not pictures:
            return json.dumps(
                {**fields, "messages": [{"role": "user", "content": prompt}]}
            ).encode()
        head = json.dumps(
            {
                **fields,
                "messages": [{"role": "user", "content": [{"type": "text", "text": prompt}]}],
            }
        ).encode()
        return b",".join((head.removesuffix(b"]}]}"), *pictures)) + b"]}]}"

    def read(self, status: int, headers: Mapping[str, str], body: str, now: float) -> Reply:
        """The reply in an answer.

        Raises
        ------
        Fault
            There is none; says what to do. Also for an error that came with status 200.
        """
        if not 200 <= status < 300:
            raise fault_of(status, headers, body, now)
        answer = answer_in(body, status)
        if answer.get("error"):
            raise _hidden(answer["error"], headers, now)
        why = "the body holds no reply"
        try:
            reply = (
                _read_messages(answer)
                if self.name == "anthropic"
                else _read_chat(answer, headers, now)
            )
        except _Malformed as error:
            reply, why = None, str(error)
        if reply is None:
            # What was paid for is not bought again.
            paid = tokens_out(usage) if isinstance(usage := answer.get("usage"), dict) else 0
            kind = Kind.REQUEST if paid or _strange(answer) else Kind.RETRY
            raise Fault(kind, f"{status}, but {why}: {body[:200]!r}", status)
        return reply


OPENAI = Endpoint("openai", "chat/completions", "OPENAI_API_KEY", "OPENAI_BASE_URL")
#: Its limit of 5 MB counts the base64 text; max_tokens is not optional there.
ANTHROPIC = Endpoint(
    "anthropic",
    "messages",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    5 * 1024 * 1024,
    {"max_tokens": 4096},
)
ENDPOINTS = {endpoint.name: endpoint for endpoint in (OPENAI, ANTHROPIC)}


def _strange(answer: dict) -> bool:
    """Whether an answer has choices, in a form that nobody knows: asking again changes nothing."""
    choices = answer.get("choices")
    return bool(choices) and not (isinstance(choices, list) and isinstance(choices[0], dict))


def is_loopback(host: str | None) -> bool:
    """Whether a host of an address is this very machine."""
    return host is not None and (host in ("localhost", "::1") or host.startswith("127."))


def _hidden(error, headers: Mapping[str, str], now: float) -> Fault:
    """The fault of an error body that came with status 200.

    Its own code counts; without one it may pass.
    """
    code = error.get("code", error.get("status")) if isinstance(error, dict) else None
    if isinstance(code, str) and re.fullmatch("[0-9]{3}", code):
        code = int(code)
    text = json.dumps({"error": error})
    status = (
        code
        if isinstance(code, int) and 400 <= code < 600
        else {"rate_limit_exceeded": 429, "insufficient_quota": 429}.get(str(code), 500)
    )
    fault = fault_of(status, headers, text, now)
    fault.message = f"error in a 200 answer: {fault.message}"
    return fault


def _read_chat(answer: dict, headers: Mapping[str, str], now: float) -> Reply | None:
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    choice = choices[0]
    reason = choice.get("finish_reason")
    if choice.get("error") or reason == "error":
        raise _hidden(choice.get("error") or {"message": "finish_reason is error"}, headers, now)
    message = choice.get("message")
    if message is None and isinstance(reason, str) and reason.lower() in _LENGTH:
        message = {}
    if not isinstance(message, dict):
        return None
    text, thought = _parts(message.get("content"))
    thought = next(
        (
            value
            for value in (message.get("reasoning_content"), message.get("reasoning"), thought)
            if isinstance(value, str) and value
        ),
        None,
    )
    refusal = message.get("refusal")
    if not text:  # why there is none is told by these
        for name in ("refusal", "reasoning_content", "reasoning"):
            _check_text(name, message.get(name))
    why = isinstance(reason, str) and reason.lower() in _LENGTH | _SAFETY
    if not (why or refusal or thought or "content" in message):
        raise _Malformed("content", _MISSING)
    return _judged(
        answer,
        text,
        thought,
        reason,
        answer.get("provider"),
        refusal if isinstance(refusal, str) else "",
    )


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str | None):
        raise _Malformed(name, value)


def _read_messages(answer: dict) -> Reply | None:
    if answer.get("type") not in (None, "message") or not isinstance(answer.get("content"), list):
        return None
    text, thought = _parts(answer["content"])
    return _judged(answer, text or "", thought, answer.get("stop_reason"), None, "")


def _parts(content) -> tuple[str | None, str | None]:
    """Visible text and reasoning of a content, which may be a text, a list of parts, or null.

    Raises
    ------
    _Malformed
        It is something else, or a part of it is.
    """
    if content is None or isinstance(content, str):
        return content, None
    if not isinstance(content, list):
        raise _Malformed("content", content)
    text, thought = [], []
    for part in content:
        kind = part.get("type", "text") if isinstance(part, dict) else None
        if isinstance(part, str):
            text.append(part)
        elif kind in ("text", "output_text") and isinstance(part.get("text"), str):
            text.append(part["text"])
        elif kind in ("thinking", "reasoning"):
            thought.append(_flat(part.get("thinking", part.get("text"))))
        elif kind in ("text", "output_text") or not isinstance(kind, str):
            raise _Malformed("part of the content", part)
    return "".join(text), "\n".join(filter(None, thought)) or None


def _flat(value) -> str:
    if isinstance(value, list):
        return "".join(
            _flat(item.get("text") if isinstance(item, dict) else item) for item in value
        )
    return value if isinstance(value, str) else ""


def _judged(
    answer: dict, text: str | None, thought: str | None, reason, provider, refusal: str
) -> Reply:
    if not text:
        _check_text("reason to finish", reason)
    word = reason.lower() if isinstance(reason, str) else ""
    usage = answer.get("usage") if isinstance(answer.get("usage"), dict) else None
    outcome, message = Outcome.answered, ""
    if word in _SAFETY or (refusal and not text):
        outcome, message = Outcome.refused, refusal or f"stopped by {reason}"
    elif not (text or "").strip():
        if word in _LENGTH or thought:
            outcome, message = (
                Outcome.empty_by_length,
                "the tokens ran out before any visible text: raise --max-tokens or lower the "
                "reasoning",
            )
        elif text is None:
            outcome, message = Outcome.refused, "a null content, without a reason"
    finish, model, maker, reply_id = (
        value if isinstance(value, str) else None
        for value in (reason, answer.get("model"), provider, answer.get("id"))
    )
    return Reply(outcome, text or "", thought, finish, usage, model, maker, reply_id, message)
