"""Right options computed again from what a row itself tells: its text of the displayed atoms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rc_hpc.benchmark.bonds import bonded
from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.questions import distances, identity
from rc_hpc.benchmark.questions.options import QuestionOptions
from rc_hpc.benchmark.questions.systems import folded
from rc_hpc.benchmark.questions.texts import CENTRE, Described, composition, described, symbol_of
from rc_hpc.benchmark.records import Question
from rc_hpc.core.errors import RcError
from rc_hpc.symmetry.labels import label_cell

#: Coordinates stand in texts with so many decimals: distances are known to about this, Å.
WRITTEN = 1e-4
_PAIRS = re.compile(r"one of the pairs (.+?) and their distance is at most (\d\.\d+) times")


def check_answers(questions: Sequence[Question]) -> Iterator[Finding]:
    """Rows whose right option is not what their own text makes right.

    Rows of another form than ours (another text, other options) are passed over.
    """
    for q in questions:
        if q.qtype not in _AGAIN or not q.text_repr:
            continue
        try:
            shown = described(q.text_repr)
        except RcError:
            continue
        again = _AGAIN[q.qtype](q, shown)
        if again is not None and again != q.options[q.answer]:
            yield Finding(
                "answer",
                q.id,
                f"{q.options[q.answer]!r} counts as right; its own text makes {again!r} right",
            )


def _content(q: Question, shown: list[Described]) -> str | None:
    one = shown[0]
    _, numbers = folded(one.lattice, one.fractional, one.numbers)
    return composition(Counter(numbers.tolist()))


def _neighbours(q: Question, shown: list[Described]) -> str | None:
    """Atoms within reach of the marked one; the shortest distances are those displayed."""
    one, told = shown[0], _PAIRS.search(q.question)
    if not told or CENTRE not in one.marks:
        return None
    numbers = {symbol_of(int(n)): int(n) for n in np.unique(one.numbers)}
    centre, factor = one.marks[CENTRE], float(told[2])
    apart = np.linalg.norm(one.positions - one.positions[centre], axis=1)
    apart[centre] = np.inf
    limits = {}
    for pair in re.findall(r"([A-Z][a-z]?)-([A-Z][a-z]?)", told[1]):
        if set(pair) <= set(numbers):
            a, b = sorted(numbers[name] for name in pair)
            between = _shortest(one, a, b)
            if np.isfinite(between):
                limits[a, b] = factor * between + WRITTEN
    kinds = np.full(len(apart), one.numbers[centre])
    return str(int(bonded(kinds, one.numbers, apart, limits).sum()))


def _shortest(one: Described, a: int, b: int) -> float:
    first, second = (np.flatnonzero(one.numbers == n) for n in (a, b))
    apart = np.linalg.norm(one.positions[first][:, None] - one.positions[second][None], axis=-1)
    return float(apart[apart > WRITTEN].min(initial=np.inf))


def _longer(q: Question, shown: list[Described]) -> str | None:
    one = shown[0]
    if not {"A", "B", "C"} <= set(one.marks) or not set(distances.OPTIONS.values()) & set(
        q.options.values()
    ):
        return None
    a, b, c = (one.positions[one.marks[x]] for x in "ABC")
    return distances.answer_of(float(np.linalg.norm(a - b)), float(np.linalg.norm(a - c)))


def _system(q: Question, shown: list[Described]) -> str | None:
    one = shown[0]
    places, numbers = folded(one.lattice, one.fractional, one.numbers)
    label, _ = label_cell(one.lattice, places, numbers, QuestionOptions().system_symprec)
    return label.crystal_system if label else None


def _changed(q: Question, shown: list[Described]) -> str | None:
    if len(shown) != 2 or not set(identity.OPTIONS) & set(q.options.values()):
        return None
    return identity.category(
        [one.lattice for one in shown],
        [one.fractional for one in shown],
        [one.numbers for one in shown],
    )


_AGAIN: dict[str, Callable[[Question, list[Described]], str | None]] = {
    "Q1b": _content,
    "Q2": _neighbours,
    "Q3": _longer,
    "Q4": _system,
    "Q5": _changed,
}
