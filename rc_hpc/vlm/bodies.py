"""The JSON in the body of an answer: one value, one with something behind it, or a stream.

A stream is put together to the answer that it would have been without streaming.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rc_hpc.vlm.faults import Fault, Kind

_DECODER = json.JSONDecoder()
#: So much of a body is quoted in a message, characters.
_QUOTED = 100


def answer_in(body: str, status: int) -> dict:
    """The answer in a body.

    Raises
    ------
    Fault
        There is none.
    """
    text = body.lstrip("\ufeff \t\r\n")
    try:
        answer = _streamed(text) if text.startswith(("data:", "event:", ":")) else _first(text)
    except RecursionError:
        raise Fault(Kind.REQUEST, f"{status}, but the body is nested without end", status) from None
    except ValueError:
        raise Fault(
            Kind.RETRY, f"{status}, but the body is not JSON: {body[:_QUOTED]!r}", status
        ) from None
    if not isinstance(answer, dict):
        raise Fault(Kind.RETRY, f"{status}, but the body is a JSON {type(answer).__name__}", status)
    return answer


def _first(text: str) -> Any:
    """The first value of a text; what stands behind a whole one does not undo it.

    Raises
    ------
    ValueError
    """
    value, end = _DECODER.raw_decode(text)
    if isinstance(value, dict) and _is_piece(value):
        pieces = [value, *map(json.loads, filter(str.strip, text[end:].splitlines()))]
        return _assembled([piece for piece in pieces if isinstance(piece, dict)])
    return value


def _streamed(text: str) -> Any:
    """The answer of server-sent events; raises ValueError where they break off."""
    events, ended = [], False
    for data in _data(text):
        if data.strip() == "[DONE]":
            ended = True
            break
        events.append(json.loads(data))
    pieces = [event for event in events if isinstance(event, dict)]
    if whole := [piece for piece in pieces if _is_whole(piece)]:
        return whole[0]
    answer = _assembled(pieces)
    if not pieces or not (answer.pop("ended") or ended):
        raise ValueError("the stream broke off")
    return answer


def _data(text: str) -> Iterator[str]:
    """The data of each event: its lines joined; comments and other fields are passed over."""
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
        elif not line.strip() and lines:
            yield "\n".join(lines)
            lines = []
        elif line.startswith("{") and not lines:  # a whole answer behind comments
            yield line


def _is_whole(value: dict) -> bool:
    """Whether a value is an answer that was not streamed, in either dialect."""
    choices = value.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return value.get("type") == "message" or (isinstance(first, dict) and "message" in first)


def _is_piece(value: dict) -> bool:
    """Whether a value is a part of a stream, in either dialect."""
    choices = value.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(first, dict):
        return "delta" in first and "message" not in first
    kind = value.get("type")
    named = isinstance(kind, str) and kind.startswith(("message_", "content_block_", "ping"))
    return named or value.get("object") == "chat.completion.chunk"


def _assembled(pieces: list[dict]) -> dict:
    """The answer that pieces make; `ended` tells whether they say that they are all."""
    if any(isinstance(piece.get("type"), str) for piece in pieces):
        return _messages(pieces)
    answer: dict[str, Any] = {}
    message: dict[str, Any] = {"content": ""}
    choice: dict[str, Any] = {"message": message}
    for piece in pieces:
        answer |= {
            name: value
            for name, value in piece.items()
            if name not in ("choices", "object") and value is not None
        }
        choices = piece.get("choices")
        part = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(part, dict) or part.get("index", 0) != 0:
            continue
        for name in ("finish_reason", "error"):
            if part.get(name) is not None:
                choice[name] = part[name]
        for name, value in _object(part, "delta").items():
            before = message.get(name, "")
            if isinstance(value, str) and isinstance(before, str) and name != "role":
                message[name] = before + value
            elif name in ("content", "refusal") and not isinstance(value, str | list | None):
                message[name] = value  # no endpoint sends that; what reads the answer says so
    ended = choice.get("finish_reason") is not None or "error" in answer
    return {**answer, "choices": [choice], "ended": ended}


def _messages(pieces: list[dict]) -> dict:
    """An answer of Anthropic's dialect."""
    answer: dict[str, Any] = {}
    text: list[str] = []
    thought: list[str] = []
    strange: list[dict] = []  # what reads the answer refuses it
    usage: dict[str, Any] = {}
    ended = False
    for piece in pieces:
        if isinstance(start := piece.get("message"), dict):
            answer |= start
            usage |= _object(start, "usage")
        delta = _object(piece, "delta")
        if not isinstance(delta.get("text"), str | None):
            strange.append({"type": "text", "text": delta["text"]})
        text.append(_text(delta, "text"))
        thought.append(_text(delta, "thinking"))
        if delta.get("stop_reason"):
            answer["stop_reason"] = delta["stop_reason"]
        usage |= _object(piece, "usage")
        if piece.get("error"):
            return {"error": piece["error"], "ended": True}
        ended = ended or piece.get("type") == "message_stop"
    content: list[dict] = [{"type": "text", "text": "".join(text)}] if any(text) else []
    if any(thought):
        content.append({"type": "thinking", "thinking": "".join(thought)})
    content += strange
    return {**answer, "content": content, "usage": usage or None, "ended": ended}


def _text(delta: dict, name: str) -> str:
    value = delta.get(name)
    return value if isinstance(value, str) else ""


def _object(value: dict, name: str) -> dict:
    inner = value.get(name)
    return inner if isinstance(inner, dict) else {}
