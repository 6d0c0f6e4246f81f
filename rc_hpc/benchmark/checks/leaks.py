"""What a model would see and must not: names of structures, ids of scenes, files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.letters import ARMS
from rc_hpc.benchmark.prompts import forbidden, prompt_text, prompt_view
from rc_hpc.benchmark.records import Question

_WORD = re.compile(r"\w+")
#: What names a structure as well as its own name does.
_SYMMETRY = re.compile(r"space group|wyckoff|strukturbericht|pearson symbol|aflow", re.IGNORECASE)
_SYSTEM = re.compile(
    r"\b(triclinic|monoclinic|orthorhombic|tetragonal|trigonal|hexagonal|cubic)\b", re.IGNORECASE
)


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


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))
