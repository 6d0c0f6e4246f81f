"""From the text of a reply to a label that is named in it, or None.

Parsing happens offline on stored text, so that a reply can be read again by another parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rc_hpc.answers.places import Place, answers, conclusions, visible

#: Names of the readings of `Words`; the first is the default, the second is for parity with the
#: released study.
PARSERS = ("answer-line", "last-mention")

_EDGE = r"(?<![^\W\d_])"
_NOT = (
    r"not|non|no|never|neither|cannot|[a-z]{2,7}n['\u2019]t|without|(?:rather|other) than|"
    r"instead of|anything but|except(?: for)?|unlikely|ruled? out"
)
_BETWEEN = (
    r"an?|the|to|be|it|is|as|look|have|show|fit|exactly|quite|really|truly|necessarily|likely|"
    r"strictly|perfectly|(?:consistent|compatible) with"
)
#: A denial in front of a name: "not cubic", "non-cubic", "isn't a cubic", "cannot be cubic".
_DENIAL = rf"{_EDGE}(?:{_NOT})(?:[\s*_-]+(?:{_BETWEEN}))*[\s*_-]+"
#: A denial behind a name: "cubic is ruled out", "cubic can be excluded", "cubic? No".
_DENIED = (
    r"(?:[*_`]*\s+(?:system|symmetry|lattice|cell))?[*_`\"']*"
    r"(?:\s*\?\s*no\b|:\s*no\b|\s+(?:is|was|are|would be|can be|could be|must be|has been)\s+"
    r"(?:therefore\s+|thus\s+|also\s+)?"
    r"(?:(?:ruled out|excluded|impossible|incorrect|wrong|unlikely|dropped|rejected|false)\b"
    r"|not\s+(?:possible|correct|right|it|the answer|the case|likely|supported|allowed)\b))"
)
#: What makes two names one undecided answer.
_MAYBE = (
    r"or|and|nor|possibly|maybe|perhaps|alternatively|otherwise|vs|versus|(?:could|might|may) be"
)
_FILL = r"[\s*_`,(\[\"'{}]|\b(?:but|an?|the|it|is|also|else|even|more|less|likely|then)\b"
_HEDGE = rf"(?:{_FILL})*(?:\b(?:{_MAYBE})\b|[/|&])(?:{_FILL}|\b(?:{_MAYBE})\b)*"
#: A list does the same, where it ends behind the second name: "cubic, tetragonal", not
#: "cubic, tetragonal would need another edge".
_LISTED = r"[*_`\"'}\s]*[,(\[][*_`\"'{\s]*"
_LIST_ENDS = r"(?=[*_`\"'}\s]*(?:[,.;)\]]|$|\band\b|\bor\b))"
#: What may stand between the head and a name that leads the answer.
_LEAD = re.compile(
    r"(?:[\W_]|\b(?:an?|the|is|it|crystal|system|class|lattice|of)\b)*", re.IGNORECASE
)
#: What stands between two places that are one answer told twice.
_JOINT = re.compile(r"(?:[\W_]|\b(?:or|and)\b)*", re.IGNORECASE)


class Words:
    """Readers of labels that are words: whatever their case, and none within another word.

    Parameters
    ----------
    labels
    synonyms
        Other words for labels, each a pattern.
    """

    def __init__(self, labels: Sequence[str], synonyms: Mapping[str, str] | None = None):
        self.labels = tuple(labels)
        self._by_word = {label.lower(): label for label in labels}
        self._synonyms = [
            (re.compile(pattern, re.IGNORECASE), label)
            for pattern, label in (synonyms or {}).items()
        ]
        words = "|".join([*map(_word, labels), *(synonyms or {})])
        bare = rf"{_EDGE}(?:{words})(?![^\W\d_])"
        name = rf"{_EDGE}({words})(?![^\W\d_])"
        self._name = re.compile(name, re.IGNORECASE)
        self._denied = re.compile(
            rf"{_DENIAL}{bare}(?:[\s,*_`]*\bn?or\b[\s*_`]*(?:an?\s+)?{bare})*|{bare}{_DENIED}",
            re.IGNORECASE,
        )
        self._hedge = re.compile(rf"{_HEDGE}{name}|{_LISTED}{name}{_LIST_ENDS}", re.IGNORECASE)

    def answer_line(self, text: str) -> str | None:
        """The label at the last place that is marked as the answer, outside any reasoning.

        Such a place is a line or sentence that starts with "answer:" (an empty one takes the next
        line), a box, a tag or a field of JSON. Labels denied there ("not cubic") do not count.
        Several left are only an answer when one leads ("trigonal rather than hexagonal") and none
        stands beside it ("trigonal or hexagonal"). Without any such place a label counts that
        follows "crystal system:" or its kin, or else if the whole reply affirms no other.
        """
        text = visible(text)
        if places := [one for one in answers(text) if one.marked or self._name.search(one.text)]:
            return self._last(places, text)
        for place in reversed(conclusions(text)):
            label = self._affirmed(place.text)
            if label and self._affirmed_in(text[place.end :]) <= {label}:
                return label
        return self._only(text)

    def _last(self, places: Sequence[Place], text: str) -> str | None:
        """What the last place says, unless the one right before it says something else."""
        *before, last = places
        label = self._affirmed(last.text)
        if before and before[-1].end <= last.start:
            joint = _JOINT.fullmatch(text, before[-1].end, last.start)
            if joint and self._affirmed(before[-1].text) not in (None, label):
                return None
        return label

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
        if leading is None:
            return self._only(line)
        label = self._label(leading[1])
        beside = self._hedge.match(line, leading.end())
        while beside is not None:
            if self._label(beside[1] or beside[2]) != label:
                return self._only(line)
            beside = self._hedge.match(line, beside.end())
        return label

    def _only(self, text: str) -> str | None:
        labels = self._affirmed_in(text)
        return labels.pop() if len(labels) == 1 else None

    def _affirmed_in(self, text: str) -> set[str]:
        return set(map(self._label, self._name.findall(self._denied.sub(" ", text))))

    def _label(self, word: str) -> str:
        label = self._by_word.get(word.lower())
        return label or next(one for pattern, one in self._synonyms if pattern.match(word))


def readers(
    labels: Sequence[str], synonyms: Mapping[str, str] | None = None
) -> dict[str, Callable[[str, Sequence[str]], str | None]]:
    """Both readings of labels that stand for themselves, by the names in `PARSERS`."""
    words = Words(labels, synonyms)
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
