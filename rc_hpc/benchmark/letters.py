"""The benchmark's answers: one letter, read strictly.

What cannot be read, and what is refused, is wrong and stays in the denominator. What the endpoint
never gave is missing: it is no answer, and never zero.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rc_hpc.answers.places import visible
from rc_hpc.answers.task import Task
from rc_hpc.answers.votes import Gates
from rc_hpc.benchmark.records import LETTERS

#: What a model is shown with a question: its pictures, its text, or nothing.
ARMS = ("image", "text", "no-image")
#: A letter between tags; one that is not closed goes to the end: the closing tag may have been
#: the word to stop at.
_TAG = re.compile(r"\[ANSWER\](.*?)(?:\[/ANSWER\]|\Z)", re.IGNORECASE | re.DOTALL)
#: A line that names an answer or, less clearly, an option.
_HEAD = re.compile(
    r"[\W_]*(?:(?:so|thus|hence|therefore),?\s+)?(?:(?:my|the|our)\s+)?"
    r"(?:(?:final|correct|right|best)\s+)*(?P<word>answer|option|choice)(?![a-z])(?:\s+is\b)?"
    r"[*_`\s]*[:=\-–—]?[*_`\s]*(?:(?:option|choice|letter)(?![a-z]))?(?P<rest>.*)",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"\\[a-z]+\s*(?=\{)", re.IGNORECASE)
#: Marks around a letter that say nothing.
_MARKS = " \t\r\n*_`\"'$#>{}()[].,:;!"
_OUTER = " \t\r\n*_`\"'$,:;!"
#: No letter with the text of its option is longer, characters.
LONGEST = 1000
#: A letter with a text behind it, or in brackets behind a text.
_WITH_TEXT = re.compile(
    r"[(\[]?(?P<letter>[A-D])(?:\s*[)\].:,=\-–—]+\s*|\s+|(?=[(\[]))(?P<text>.+)", re.I | re.S
)
_BEHIND_TEXT = re.compile(r"(?P<text>.+?)\s*[(\[](?P<letter>[A-D])[)\]]", re.I | re.S)


def strict_letter(reply: str, choices: Sequence[str]) -> str | None:
    """The one letter that a reply gives; None where it gives none, or two.

    A letter counts between ``[ANSWER]`` and ``[/ANSWER]``, on a last line that begins with
    "Answer:", "Correct answer:", "Option:", "Choice:" and their like, on the last line behind such
    a one, or alone; so does a letter with the very text of its option, or the text of one option.
    Where an earlier "Answer:" gives another letter (or, if the last is an "Option:", any of them),
    none counts. Nothing within thoughts counts.

    Parameters
    ----------
    choices
        Texts of the options, in the order of the letters.
    """
    text = visible(reply).strip()
    tagged = [_letter(found, choices) for found in _TAG.findall(text)]
    lines = [line for line in _TAG.sub(" ", text).splitlines() if line.strip()]
    heads = _headed(lines)
    at_end = bool(heads) and heads[-1].ends
    last = _letter(heads[-1].text, choices) if at_end else None
    if tagged:
        if tagged[-1] is None:
            return None
        found = {*tagged, last} - {None}
    elif at_end:
        clear = [head for head in heads[:-1] if head.is_answer or not heads[-1].is_answer]
        found = {last, *({_letter(head.text, choices) for head in clear} - {None})}
    else:
        found = {_letter(text, choices)}
    return found.pop() if len(found) == 1 else None


class _Head(NamedTuple):
    """What a line that names an answer or an option says, and whether the reply ends with it."""

    is_answer: bool
    text: str
    ends: bool


def _headed(lines: Sequence[str]) -> list[_Head]:
    """The lines with a head; where nothing stands behind it, the next line does."""
    found = []
    for place, line in enumerate(lines):
        head = _HEAD.fullmatch(line)
        if head is None:
            continue
        alone = not re.search(r"[^\W_]", head["rest"]) and place + 1 < len(lines)
        text = lines[place + 1] if alone else head["rest"]
        ends = place + 1 + alone == len(lines)
        found.append(_Head(head["word"].lower() == "answer", text, ends))
    return found


def _letter(piece: str, choices: Sequence[str]) -> str | None:
    """The letter that a piece of text is."""
    plain = _COMMAND.sub("", piece)
    bare = plain.strip(_MARKS).upper()
    if bare in LETTERS:
        return bare
    by_letter = {letter: _folded(text) for letter, text in zip(LETTERS, choices, strict=False)}
    marked = plain.strip(_OUTER)[:LONGEST]
    for pattern in (_WITH_TEXT, _BEHIND_TEXT):
        both = pattern.fullmatch(marked)
        option = by_letter.get(both["letter"].upper(), "") if both else ""
        if both and option and option in map(_folded, _bare(both["text"])):
            return both["letter"].upper()
    same = [letter for letter, text in by_letter.items() if text == _folded(plain)]
    return same[0] if len(same) == 1 else None


def _bare(text: str) -> tuple[str, ...]:
    """A text as it stands, without brackets around it, and without any at its ends."""
    return text, text.removeprefix("(").removesuffix(")"), text.strip(" ()[].")


def _folded(text: str) -> str:
    """A text without case, blanks at its ends and marks around it."""
    return " ".join(text.casefold().split()).strip(" *_`\"'$.")


#: A multiple-choice question: a reply without a letter is wrong, a missing one leaves the arm
#: without a score.
FOUR_LETTERS = Task(
    name="four-letters",
    noun="letter",
    axis="letter",
    truth="Letter of the right choice.",
    key="answer",
    labels=LETTERS,
    parsers={"strict": strict_letter},
    arms=ARMS,
    ties=("wrong", "expected"),
    gates=Gates(api_errors=0, unanswered=1),
    choices=True,
)
