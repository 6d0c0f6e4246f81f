"""What a model would see and must not: names of structures, ids of scenes, files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.letters import ARMS
from rc_hpc.benchmark.prompts import forbidden, prompt_text, prompt_view
from rc_hpc.benchmark.records import LETTERS, Question

_WORD = re.compile(r"\w+")
#: What names a structure as well as its own name does.
_SYMMETRY = re.compile(r"space group|wyckoff|strukturbericht|pearson symbol|aflow", re.IGNORECASE)
_SYSTEM = re.compile(
    r"\b(triclinic|monoclinic|orthorhombic|tetragonal|trigonal|hexagonal|cubic)\b", re.IGNORECASE
)

#: What announces an answer, and up to so many words between it and the answer.
_ANNOUNCED = r"(?i:\b(?:answer|correct|right|solution|hint)\b)(?:\W+\w+){0,4}?\W+"


def check_leaks(questions: Sequence[Question]) -> Iterator[Finding]:
    """Words in any arm's prompt that name a structure, scene or file of the package.

    Names of all questions are looked for in each of them, whole and in any case; crystal systems
    may stand in options of Q4 alone.
    """
    names: dict[tuple[str, ...], str] = {}
    for q in questions:
        for word in forbidden(q):
            names.setdefault(_words(word), word)
    names.pop((), None)
    lengths = {len(name) for name in names}
    for q in questions:
        own = {_words(text) for text in q.options.values()} - {_words(q.structure)}
        told: set[str] = set()
        for arm in ARMS:
            view = prompt_view(q, arm)
            text = prompt_text(view) if view else ""
            words = _words(text)
            for length in lengths:
                for k in range(len(words) - length + 1):
                    part = words[k : k + length]
                    if part in names and part not in own:
                        told.add(names[part])
            if q.qtype != "Q4":
                told |= {found.lower() for found in _SYSTEM.findall(text)}
            told |= {found.lower() for found in _SYMMETRY.findall(text)}
        for word in sorted(told):
            yield Finding("leak", q.id, f"a model would see {word!r}")
        for field, text in (("question", q.question), ("text_repr", q.text_repr)):
            if _told(q, text):
                yield Finding("leak", q.id, f"{field} tells the answer")


def _told(q: Question, text: str) -> bool:
    """Whether words announce the right option, and not every option alike."""

    def announced(option: str) -> bool:
        pattern = rf"{_ANNOUNCED}{re.escape(option)}(?!\w|\.\d)"
        return bool(re.search(pattern, text))

    for options in (LETTERS, [q.options[x] for x in LETTERS]):
        right = options[LETTERS.index(q.answer)]
        if announced(right) and not all(map(announced, options)):
            return True
    return False


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))
