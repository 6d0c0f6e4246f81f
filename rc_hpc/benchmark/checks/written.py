"""How rows are written: strict JSON, one a line, with nothing in it that a reader cannot see."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.package import question_of
from rc_hpc.benchmark.records import Question
from rc_hpc.benchmark.writing import question_line
from rc_hpc.core.errors import RcError

#: Kinds of characters (Unicode) that nobody sees.
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn")


def check_written(path: Path, ours: bool) -> Iterator[Finding]:
    """Lines of a file of questions, as bytes.

    Parameters
    ----------
    ours
        Whether each line is held to what we write of its question.
    """
    data = path.read_bytes()
    if data.startswith(b"\xef\xbb\xbf"):
        yield Finding("json", path.name, "begins with a byte-order mark")
    if b"\r" in data:
        yield Finding("json", path.name, "has carriage returns; lines end in a newline alone")
    if data and not data.endswith(b"\n"):
        yield Finding("json", path.name, "its last line has no end; it may be cut short")
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        where = f"{path.name}, line {number}"
        if not line.strip():
            yield Finding("json", where, "is empty")
            continue
        row, faults = strictly(line)
        for fault in faults:
            yield Finding("json", where, fault)
        if ours and not faults and isinstance(row, dict) and not _is_ours(row, line):
            yield Finding("json", where, "is not written as we write this question")


def strictly(data: bytes) -> tuple[Any, list[str]]:
    """A JSON value, and what the standard forbids or leaves open in how it is written."""
    faults: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        twice = sorted({name for name in names if names.count(name) > 1})
        faults.extend(f"the key {name!r} stands there twice" for name in twice)
        return dict(pairs)

    def constant(name: str) -> float:
        faults.append(f"{name} is no number of JSON")
        return float(name)

    try:
        value = json.loads(
            data.decode("utf-8-sig"), object_pairs_hook=once, parse_constant=constant
        )
    except (ValueError, RecursionError):
        return None, faults  # told where rows are read
    return value, faults


def _is_ours(row: dict[str, Any], line: bytes) -> bool:
    try:
        return question_line(question_of(row, "")).encode() == line + b"\n"
    except (RcError, ValueError):
        return False


def check_seen(q: Question) -> Iterator[Finding]:
    """Characters of what a model is shown, and of the id, that nobody sees."""
    told = {"id": q.id, "question": q.question, "text_repr": q.text_repr}
    told |= {f"option {letter}": text for letter, text in q.options.items()}
    for field, text in told.items():
        if unseen := sorted({f"U+{ord(c):04X}" for c in text if _unseen(c, field)}):
            told_of = f"{field} holds characters that nobody sees: {', '.join(unseen)}"
            yield Finding("unseen", q.id, told_of)
        elif field.startswith("option") and text != " ".join(text.split()):
            yield Finding("unseen", q.id, f"{field} has blanks around it or more than one between")


def _unseen(character: str, field: str) -> bool:
    if character == "\n" and field in ("question", "text_repr"):
        return False
    return unicodedata.category(character) in _UNSEEN
