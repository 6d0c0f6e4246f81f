"""Where a reply gives its answer: what of it is visible, and the places marked as answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_THOUGHT = (
    r"(?:\w+:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|scratchpad|analysis|rationale)"
)
#: Marks around reasoning: <think>, [THINK], ◁think▷, <seed:think>, <|begin_of_thought|>,
#: <|START_THINKING|>, <details type="reasoning">, and the channels of gpt-oss, also with their
#: special tokens lost.
_MARK = re.compile(
    rf"""(?P<close>
        (?:<|&lt;|\[|\u25c1)\s*(?:/\s*|\|\s*(?:/|end_of_|end_))\s*{_THOUGHT}\s*\|?\s*(?:>|&gt;|\]|\u25b7)
        | <\|channel\|>\s*final\b[^<\n]*<\|message\|>
        | assistantfinal
        | </details\s*>
    ) | (?P<open>
        (?:<|&lt;|\[|\u25c1)\s*(?:\|\s*(?:begin_of_|start_)?)?{_THOUGHT}
            (?:\s[^<>\]\n]*)?\|?\s*(?:>|&gt;|\]|\u25b7)
        | <\|channel\|>\s*(?:analysis|commentary)\b
        | \A\s*analysis(?=[A-Z])
        | <details\b[^>]{{0,99}}reasoning[^>]{{0,99}}>
    )""",
    re.IGNORECASE | re.VERBOSE,
)
#: The same without regard to case would take "analysis" of any prose for a channel.
_LOST_CHANNEL = re.compile(r"\s*analysis[A-Z]")

_ANSWER = r"(?:final|answer|ans|result|solution|box|crystal[_ -]?system)"
#: <answer>, [ANSWER], <final_answer>, <|begin_of_box|>; one that is not closed goes to the end.
_TAGGED = re.compile(
    rf"""[<\[]\|?(?:begin_of_)?((?:final[_ -]?)?{_ANSWER})\|?[>\]]
    (.*?)(?:[<\[]\|?(?:/|end_of_)\s*\1\|?[>\]]|\Z)""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
#: \boxed{...} with two levels of braces in it.
_BOXED = re.compile(r"\\f?boxed\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
#: A field of JSON, whole or cut off.
_FIELD = re.compile(
    r"""["'](?:(?:final[_ ]?|predicted[_ ]?)?(?:answer|prediction|label|classification)
        |crystal[_ ]?system)["']\s*:\s*
    (?:"((?:[^"\\]|\\.)*)|'([^']*)|(\[[^\]]*|\{[^}]*)|([^\s,}]+))""",
    re.IGNORECASE | re.VERBOSE,
)
#: Marks and blanks within a line; bounded, so that no line takes long.
_NOISE = r"(?:[^\w\n]|_){0,40}"
_START = rf"(?:^|(?<=[.!?>\])])[ \t]{{1,9}}){_NOISE}"
_SAY = r"(?:(?:so|thus|hence|therefore|and|finally)\b[,:]?[ \t]{1,9})?(?:(?:my|the|our)[ \t]{1,9})?"
_COLON = rf"(?:{_NOISE}(?:[:=|\uff1a\u2013\u2014\u2192]|->|[ ]-[ ])|{_NOISE}$)"
_VERB = r"[*_`\t ]{1,9}(?P<verb>is|was|(?:would|must|should|seems to|appears to) be)\b"
#: The head of an answer: "ANSWER:", "**Final answer** =", "My answer is", "## Answer".
_HEAD = re.compile(
    rf"{_START}{_SAY}(?:final[ \t]{{1,9}})?answer(?![>\]])(?:[ \t]?\([^()\n]{{0,40}}\))?"
    rf"(?:{_COLON}|{_VERB})",
    re.IGNORECASE | re.MULTILINE,
)
#: What only counts where nothing is called the answer.
_CONCLUSION = re.compile(
    rf"{_START}{_SAY}(?:final[ \t]{{1,9}})?"
    rf"(?:conclusion|classification|prediction|crystal[ _]system){_COLON}",
    re.IGNORECASE | re.MULTILINE,
)


_WORD = re.compile(r"[^\W_]")
_COMMAND = re.compile(r"\\[a-zA-Z]+")


class Place(NamedTuple):
    """A place that is marked as the answer.

    Attributes
    ----------
    start, end
        In the visible text.
    text
        What stands there.
    marked
        Marked so clearly that it counts even where it holds no label ("ANSWER: unknown").
    """

    start: int
    end: int
    text: str
    marked: bool


def visible(text: str) -> str:
    """A reply without its reasoning.

    A closing mark without an opening one ends reasoning that began before the reply did; reasoning
    that is not closed goes on to the end.
    """
    kept: list[str] = []
    place, thinking = 0, False
    for mark in _MARK.finditer(text):
        if mark["open"]:
            if mark["open"].strip().lower() == "analysis" and not _LOST_CHANNEL.match(text):
                continue
            if not thinking:
                kept.append(text[place : mark.start()])
            thinking = True
        elif mark["close"].lower().startswith("</details") and not thinking:
            continue
        else:
            if not thinking:
                kept.clear()
            thinking, place = False, mark.end()
    return " ".join(kept) if thinking else " ".join([*kept, text[place:]])


def answers(text: str) -> list[Place]:
    """The places of a visible text that are marked as the answer, in order."""
    found = [Place(*mark.span(), mark[2], True) for mark in _TAGGED.finditer(text)]
    found += [Place(*mark.span(), _bare(mark[1]), False) for mark in _BOXED.finditer(text)]
    for mark in _FIELD.finditer(text):
        value = next(filter(None, mark.groups()), "")
        found.append(Place(*mark.span(), value, "answer" in mark[0].lower()))
    for head, place in _headed(_HEAD, text):
        found.append(place._replace(marked=not head["verb"]))
    return sorted(found)


def conclusions(text: str) -> list[Place]:
    """The places that stand for an answer where none is called so, in order."""
    return [place for _, place in _headed(_CONCLUSION, text)]


def _headed(pattern: re.Pattern, text: str) -> Iterator[tuple[re.Match, Place]]:
    """Heads with what follows them on their line, or on the next that has a word."""
    heads = list(pattern.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, last in zip(heads, ends, strict=False):  # without a head there is one end too many
        end = min(last, _line_end(text, head.end()))
        if not (word := _WORD.search(text, head.end(), end)) and (
            word := _WORD.search(text, end, last)
        ):
            end = min(last, _line_end(text, word.start()))
        yield head, Place(head.start(), end, _bare(text[head.end() : end]), False)


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _bare(text: str) -> str:
    r"""Without the commands of LaTeX: \text{cubic} as {cubic}."""
    return _COMMAND.sub(" ", text)
