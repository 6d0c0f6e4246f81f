"""The benchmark's answers: one letter, read strictly.

What cannot be read, and what is refused, is wrong and stays in the denominator. What the endpoint
never gave is missing: it is no answer, and never zero.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rc_hpc.answers.places import visible
from rc_hpc.answers.task import Task
from rc_hpc.answers.votes import Gates
from rc_hpc.benchmark.records import LETTERS

#: What a model is shown with a question: its pictures, its text, or nothing.
ARMS = ("image", "text", "no-image")
#: A letter between tags; one that is not closed goes to the end: the closing tag may have been
#: the word to stop at.
_TAG = re.compile(r"\[ANSWER\](.*?)(?:\[/ANSWER\]|\Z)", re.IGNORECASE | re.DOTALL)
_LAST_LINE = re.compile(
    r"[\W_]*(?:(?:my|the)\s+)?(?:final\s+)?answer(?:\s+is)?[*_`\s]*[:=]?(.+)", re.I
)
_COMMAND = re.compile(r"\\[a-z]+\s*(?=\{)", re.IGNORECASE)
#: Marks around a letter that say nothing.
_MARKS = " \t\r\n*_`\"'$#>{}()[].,:;!"
_WITH_TEXT = re.compile(r"\(?([A-D])\s*[).:,\-–—]+\s*(.+)", re.IGNORECASE | re.DOTALL)


def strict_letter(reply: str, choices: Sequence[str]) -> str | None:
    """The one letter that a reply gives; None where it gives none, or two.

    A letter counts between ``[ANSWER]`` and ``[/ANSWER]``, on a last line that begins with
    "Answer:", or alone; so does a letter with the very text of its option, or the text of one
    option. Nothing within thoughts counts.

    Parameters
    ----------
    choices
        Texts of the options, in the order of the letters.
    """
    text = visible(reply).strip()
    tagged = [_letter(found, choices) for found in _TAG.findall(text)]
    line = _LAST_LINE.fullmatch(_TAG.sub(" ", text).strip().rpartition("\n")[2])
    last = _letter(line[1], choices) if line else None
    if tagged:
        if tagged[-1] is None:
            return None
        found = {*tagged, last} - {None}
    else:
        found = {last if line else _letter(text, choices)}
    return found.pop() if len(found) == 1 else None


def _letter(piece: str, choices: Sequence[str]) -> str | None:
    """The letter that a piece of text is."""
    plain = _COMMAND.sub("", piece)
    bare = plain.strip(_MARKS).upper()
    if bare in LETTERS:
        return bare
    by_letter = {letter: _folded(text) for letter, text in zip(LETTERS, choices, strict=False)}
    both = _WITH_TEXT.fullmatch(plain.strip(_MARKS.replace("(", "").replace("[", "")))
    if both and by_letter.get(both[1].upper()) == _folded(both[2]):
        return both[1].upper()
    same = [letter for letter, text in by_letter.items() if text == _folded(plain)]
    return same[0] if len(same) == 1 else None


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
