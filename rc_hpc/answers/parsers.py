"""From the text of a reply to one of the seven crystal systems, or None.

Parsing happens offline on stored text, so that a reply can be read again by another parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rc_hpc.core.constants import CRYSTAL_SYSTEMS

#: A name that stands by itself: no letter of any word touches it.
_NAME = re.compile(rf"(?<![^\W\d_])({'|'.join(CRYSTAL_SYSTEMS)})(?![^\W\d_])", re.IGNORECASE)
#: The same with a denial in front: "not cubic", "non-cubic", "isn't a cubic".
_DENIED = re.compile(
    rf"(?<![^\W\d_])(?:not|non|isn['\u2019]?t)(?:[\s*_-]+(?:an?|the))?[\s*_-]+{_NAME.pattern}",
    re.IGNORECASE,
)
#: The head of an answer line, whatever marks surround it: "ANSWER:", "**Final answer** =".
_ANSWER = re.compile(r"[\W_]*(?:final\s+)?answer[*_`\s]*(?:[:=\uff1a]|\bis\b)(.*)", re.IGNORECASE)
#: What may stand between the head and a name that leads the answer.
_LEAD = re.compile(r"(?:[\W_]|\b(?:an?|the|is)\b)*", re.IGNORECASE)

#: What makes two names one undecided answer.
_HEDGE = re.compile(rf"[*_`\s]*(?:\bor\b|/|\|)[*_`\s]*{_NAME.pattern}", re.IGNORECASE)


def answer_line(text: str) -> str | None:
    """The system on the last line that starts with "answer:".

    Names denied on that line ("not cubic") do not count. Several left are only an answer when
    one leads the line ("trigonal rather than hexagonal") and none stands beside it ("trigonal or
    hexagonal"). An empty answer line takes the next line. Without any answer line a name counts if
    the whole reply affirms no other.
    """
    lines = text.splitlines()
    for number in reversed(range(len(lines))):
        head = _ANSWER.match(lines[number])
        if head is None:
            continue
        rest = head.group(1)
        if not re.search(r"\w", rest):
            rest = next((line for line in lines[number + 1 :] if re.search(r"\w", line)), "")
        return _affirmed(rest)
    return _only(text)


def last_mention(text: str) -> str | None:
    """The system whose last mention is latest, denied or not, also inside a word.

    This is how the released replies were read: "..., not cubic" is read as cubic.
    """
    lower = text.lower()
    found = max(CRYSTAL_SYSTEMS, key=lower.rfind)
    return found if found in lower else None


#: Parsers by name; the first is the default, the second is for parity with the released study.
PARSERS: dict[str, Callable[[str], str | None]] = {
    "answer-line": answer_line,
    "last-mention": last_mention,
}


def _affirmed(line: str) -> str | None:
    line = _DENIED.sub(" ", line)
    leading = _NAME.match(line, _LEAD.match(line).end())
    if leading is None or _HEDGE.match(line, leading.end()):
        return _only(line)
    return leading.group(1).lower()


def _only(text: str) -> str | None:
    names = {name.lower() for name in _NAME.findall(_DENIED.sub(" ", text))}
    return names.pop() if len(names) == 1 else None
