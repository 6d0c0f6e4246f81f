"""What a model is asked, and how its answer is read and scored.

Parsers, votes, prediction files and files of answers take a task and know no labels themselves.
Made for three: the crystal system of a crystal, the point group of a molecule, the letter of a
multiple-choice question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

from rc_hpc.answers.parsers import readers
from rc_hpc.answers.votes import GATES, TIE_RULES, Gates
from rc_hpc.core.constants import CRYSTAL_SYSTEMS

#: From the text of a reply, and what each label stands for in this question, to a label or None.
Parser = Callable[[str, Sequence[str]], str | None]

#: Tie rules that predictions can follow, in words.
RULES = {
    "first": "a tie goes to the tied label that was seen first",
    "wrong": "a tie is a miss",
}
#: What a model is shown of a crystal.
ARMS = ("pixels", "coordinates", "question-only", "formula-only", "extraction", "answer-from-text")


@dataclass(frozen=True)
class Task:
    """One kind of question with its vocabulary, its readings and its score.

    Attributes
    ----------
    name
        As files store it.
    noun, axis
        What a label is in words, and as the name of a dimension: ``crystal system``, ``system``.
    truth
        What the right label is, in words; it stands under `key` in a record (JSON).
    key
    labels
        The vocabulary, in its order; one of them is the truth.
    parsers
        By name; the first is the default. All of them read each reply.
    arms
        What a model may be shown, in the order of the stored codes.
    ties
        What a tie is worth (`rc_hpc.answers.votes.TIE_RULES`): the first is the rule of the
        predictions, one of `RULES`; the others are readings beside it.
    gates
        What may be lost of a row that is scored.
    choices
        Whether each question says what its labels stand for.
    """

    name: str
    noun: str
    axis: str
    truth: str
    key: str
    labels: tuple[str, ...]
    parsers: Mapping[str, Parser]
    arms: tuple[str, ...]
    ties: tuple[str, ...] = TIE_RULES
    gates: Gates = GATES
    choices: bool = False

    def __post_init__(self):
        folded = {label.lower() for label in self.labels}
        if len(folded) < len(self.labels) or "none" in folded or len(folded) > 255:
            raise ValueError(f"{self.name}: labels must differ, 255 at most, and none be 'none'")
        if self.ties[0] not in RULES:
            raise ValueError(f"{self.name}: predictions follow one of {', '.join(RULES)}")
        if any(label.split() != [label] for label in self.labels):
            raise ValueError(f"{self.name}: labels hold no blanks")

    @property
    def chance(self) -> float:
        """Share right of answers drawn evenly."""
        return 1 / len(self.labels)

    @property
    def parser(self) -> str:
        """Name of the default parser."""
        return next(iter(self.parsers))

    @cached_property
    def codes(self) -> type[IntEnum]:
        """The labels as stored: 0 is none, then their order."""
        names = ("none", *self.labels)
        return _enum(self.axis.capitalize(), names)

    @cached_property
    def arm_codes(self) -> type[IntEnum]:
        """The arms as stored."""
        names = (name.replace("-", "_") for name in self.arms)
        return _enum("Arm", names)

    def code(self, label: str | None) -> int:
        """A label as stored."""
        return 0 if label is None else self.labels.index(label) + 1

    def label(self, code: int) -> str | None:
        """The label of a stored code; None of 0."""
        return self.labels[code - 1] if code else None

    def read(self, reply: str, parser: str = "", choices: Sequence[str] = ()) -> str | None:
        """The label that a reply gives; None where it gives none.

        Parameters
        ----------
        parser
            By default the task's.
        choices
            What each label stands for in this question; empty where they stand for themselves.
        """
        return self.parsers[parser or self.parser](reply, choices)

    def readings(self, reply: str, choices: Sequence[str] = ()) -> dict[str, str | None]:
        """The same by every parser."""
        return {name: self.read(reply, name, choices) for name in self.parsers}


def _enum(name: str, names: Iterable[str]) -> type[IntEnum]:
    """An enum of these names, in their order from 0."""
    make: Any = IntEnum
    enum: type[IntEnum] = make(name, {one: code for code, one in enumerate(names)})
    return enum


#: Other words for a system, as patterns; an isometric view is a way of drawing.
SYNONYMS = {
    r"isometric(?!\s+(?:view|projection|drawing|perspective|image|picture|angle))": "cubic",
    "rhombohedral": "trigonal",
    "anorthic": "triclinic",
}
#: What the released study asks.
SEVEN_SYSTEMS = Task(
    name="seven-systems",
    noun="crystal system",
    axis="system",
    truth="True crystal system.",
    key="crystal_system",
    labels=CRYSTAL_SYSTEMS,
    parsers=readers(CRYSTAL_SYSTEMS, SYNONYMS),
    arms=ARMS,
)
