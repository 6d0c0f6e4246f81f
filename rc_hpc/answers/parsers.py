"""From the text of a reply to a label that is named in it, or None.

Parsing happens offline on stored text, so that a reply can be read again by another parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

#: Names of the readings of `Words`; the first is the default, the second is for parity with the
#: released study.
PARSERS = ("answer-line", "last-mention")

#: A denial in front of a name: "not cubic", "non-cubic", "isn't a cubic".
_DENIAL = r"(?<![^\W\d_])(?:not|non|isn['\u2019]?t)(?:[\s*_-]+(?:an?|the))?[\s*_-]+"
#: What makes two names one undecided answer.
_OR = r"[*_`\s]*(?:\bor\b|/|\|)[*_`\s]*"
#: The head of an answer line, whatever marks surround it: "ANSWER:", "**Final answer** =".
_ANSWER = re.compile(r"[\W_]*(?:final\s+)?answer[*_`\s]*(?:[:=\uff1a]|\bis\b)(.*)", re.IGNORECASE)
#: What may stand between the head and a name that leads the answer.
_LEAD = re.compile(r"(?:[\W_]|\b(?:an?|the|is)\b)*", re.IGNORECASE)


class Words:
    """Readers of labels that are words: whatever their case, and none within another word."""

    def __init__(self, labels: Sequence[str]):
        self.labels = tuple(labels)
        self._by_word = {label.lower(): label for label in labels}
        name = rf"(?<![^\W\d_])({'|'.join(map(_word, labels))})(?![^\W\d_])"
        self._name = re.compile(name, re.IGNORECASE)
        self._denied = re.compile(_DENIAL + name, re.IGNORECASE)
        self._hedge = re.compile(_OR + name, re.IGNORECASE)

    def answer_line(self, text: str) -> str | None:
        """The label on the last line that starts with "answer:".

        Labels denied on that line ("not cubic") do not count. Several left are only an answer when
        one leads the line ("trigonal rather than hexagonal") and none stands beside it ("trigonal
        or hexagonal"). An empty answer line takes the next line. Without any answer line a label
        counts if the whole reply affirms no other.
        """
        lines = text.splitlines()
        for number in reversed(range(len(lines))):
            head = _ANSWER.match(lines[number])
            if head is None:
                continue
            rest = head.group(1)
            if not re.search(r"\w", rest):
                rest = next((line for line in lines[number + 1 :] if re.search(r"\w", line)), "")
            return self._affirmed(rest)
        return self._only(text)

    def last_mention(self, text: str) -> str | None:
        """The label whose last mention is latest, denied or not, also inside a word.

        This is how the released replies were read: "..., not cubic" is read as cubic.
        """
        lower = text.lower()
        last = max(self._by_word, key=lambda word: (lower.rfind(word), len(word)))
        return self._by_word[last] if last in lower else None

    def _affirmed(self, line: str) -> str | None:
        line = self._denied.sub(" ", line)
        lead = _LEAD.match(line)
        leading = self._name.match(line, lead.end() if lead else 0)
        if leading is None or self._hedge.match(line, leading.end()):
            return self._only(line)
        return self._by_word[leading.group(1).lower()]

    def _only(self, text: str) -> str | None:
        words = {word.lower() for word in self._name.findall(self._denied.sub(" ", text))}
        return self._by_word[words.pop()] if len(words) == 1 else None


def readers(labels: Sequence[str]) -> dict[str, Callable[[str, Sequence[str]], str | None]]:
    """Both readings of labels that stand for themselves, by the names in `PARSERS`."""
    words = Words(labels)
    by_text = (words.answer_line, words.last_mention)
    return {name: partial(_alone, read) for name, read in zip(PARSERS, by_text, strict=True)}


def _alone(read: Callable[[str], str | None], text: str, _choices: Sequence[str]) -> str | None:
    """A reading that does not depend on choices."""
    return read(text)


def _word(label: str) -> str:
    """Pattern of a label; one that begins or ends with a digit is not part of a longer number."""
    before = r"(?<!\d)" if label[0].isdigit() else ""
    after = r"(?!\d)" if label[-1].isdigit() else ""
    return before + re.escape(label) + after
