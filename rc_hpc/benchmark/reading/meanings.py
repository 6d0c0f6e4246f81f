"""What the four options of a question mean, from their texts: ours, and others of like form."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from rc_hpc.benchmark.questions.texts import ARRANGEMENT, EXCHANGE, LATTICE, SAME
from rc_hpc.benchmark.records import LETTERS, Question
from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import RcError

_COUNT = re.compile(r"\d+")
_CONTENT = re.compile(r"([A-Z][a-z]?)\s*[:=]?\s*(\d*)")
_DIRECTION = re.compile(r"\[?\(?\s*(-?\d+)[\s,]*(-?\d+)[\s,]*(-?\d+)\s*\)?\]?")
_PERCENT = re.compile(r"(less|more) than (\d+(?:\.\d+)?)\s*%")
_LONGER = re.compile(r"A\s*[-–]?\s*([BC]).*?(longer|greater|larger|shorter|smaller|nearer|closer)")
#: What an option of Q5 is about, by what its first clause speaks of; the first that fits.
_CHANGES = (
    (EXCHANGE, r"exchang|swap|element|species|chang\w* places"),
    (LATTICE, r"lattice|cell|size|stretch|axis"),
    (ARRANGEMENT, r"arrangement|atom|polymorph|missing|vacan|delet"),
    (SAME, r"same|identical|no change|unchanged"),
)


class Ratio(NamedTuple):
    """What an option says of the distance A-B over the distance A-C: between two bounds.

    Empty where `low` exceeds `high`: of what is never so.
    """

    low: float
    high: float


def count(text: str) -> int:
    """``12``, ``12 atoms``."""
    numbers = _COUNT.findall(text)
    if len(numbers) != 1:
        raise ValueError("one whole number")
    return int(numbers[0])


def content(text: str) -> dict[int, int]:
    """``Ca4 F8``, ``Ca4F8``, ``Ca: 4, F: 8``, by atomic number."""
    from ase.data import atomic_numbers

    stripped = _CONTENT.sub("", text)
    found = {name: int(number or 1) for name, number in _CONTENT.findall(text)}
    if not found or re.search(r"\w", stripped) or not found.keys() <= atomic_numbers.keys():
        raise ValueError("elements with numbers, such as Ca4 F8")
    return {int(atomic_numbers[name]): number for name, number in found.items()}


def ratio(text: str) -> Ratio:
    """Which distance is the longer and by how much: ``A-B is longer than A-C, by ...``."""
    if re.search(r"cannot|undetermined|not determined", text, re.IGNORECASE):
        return Ratio(1.0, 0.0)
    found = _LONGER.search(text)
    if found is None:
        if re.search(r"equal|same", text, re.IGNORECASE):
            return Ratio(1.0, 1.0)
        raise ValueError("which of A-B and A-C is longer")
    longer = found[2] in ("longer", "greater", "larger")
    first = (found[1] == "B") == longer
    low, high = 1.0, float("inf")
    for which, percent in _PERCENT.findall(text):
        bound = 1 + float(percent) / 100
        low, high = (low, bound) if which == "less" else (bound, high)
    return Ratio(low, high) if first else Ratio(1 / high, 1 / low)


def system(text: str) -> str:
    """``cubic``."""
    named = [name for name in CRYSTAL_SYSTEMS if name in text.lower()]
    if len(named) != 1:
        raise ValueError("one crystal system")
    return str(named[0])


def change(text: str) -> str:
    """What has changed between two structures: one of our four texts."""
    if text in (SAME, EXCHANGE, LATTICE, ARRANGEMENT):
        return text
    clause = re.split(r"[;:]", text)[0].lower()
    for meaning, words in _CHANGES:
        if re.search(words, clause):
            return meaning
    raise ValueError("whether two structures are the same or what has changed")


def direction(text: str) -> tuple[int, int, int]:
    """``[1 1 0]``, ``[110]``."""
    bare = text.strip().strip("[]()")
    found = _DIRECTION.fullmatch(bare) or re.fullmatch(r"(-?\d)(-?\d)(-?\d)", bare)
    if found is None or not any(int(found[k]) for k in (1, 2, 3)):
        raise ValueError("a lattice direction, such as [1 1 0]")
    return int(found[1]), int(found[2]), int(found[3])


_MEANING: dict[str, Callable[[str], Any]] = {
    "Q1a": count,
    "Q1b": content,
    "Q2": count,
    "Q3": ratio,
    "Q4": system,
    "Q5": change,
    "Q6": direction,
}


def meanings(question: Question) -> list[Any]:
    """What the options A to D mean.

    Raises
    ------
    RcError
        A text that says nothing of that sort.
    """
    found = []
    for letter in LETTERS:
        try:
            found.append(_MEANING[question.qtype](question.options[letter]))
        except ValueError as error:
            raise RcError(
                f"{question.id}: option {letter} is {question.options[letter]!r}, where {error} "
                f"is expected of {question.qtype}: what it means cannot be told"
            ) from error
    return found
