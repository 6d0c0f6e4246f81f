"""Numbers of a package: rows, strata, letters, what each base structure carries, the subset."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rc_hpc.benchmark.card import Card
from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.questions.identity import SAME
from rc_hpc.benchmark.questions.options import QuestionOptions, quotas
from rc_hpc.benchmark.records import LETTERS, STRATA, Question


class Expected(NamedTuple):
    """Numbers that a package should have.

    Attributes
    ----------
    strata, mini
        Questions by stratum, of all and of the subset.
    per_structure, per_difficulty
        Of a type, and of a difficulty of Q2, of a base structure at most.
    released
        Whether it has the size of the released benchmark: then what the card counts is asked for
        exactly.
    """

    strata: dict[str, int]
    mini: dict[str, int]
    per_structure: int
    per_difficulty: int
    released: bool


def expected(questions: Sequence[Question], card: Card, recorded: QuestionOptions) -> Expected:
    """What the card states, or what its shares make of another size.

    Parameters
    ----------
    recorded
        Under which the package was built, or the card's.
    """
    if recorded.questions == card.full.rows:
        return Expected(
            dict(card.full.strata),
            dict(card.mini.strata),
            max(card.per_structure, recorded.per_structure),
            max(card.per_difficulty, recorded.per_difficulty),
            True,
        )
    systems = {q.answer_text for q in questions if q.stratum == "Q4"}
    strata = quotas(recorded, max(1, len(systems)))
    mini = {name: min(recorded.mini, number) for name, number in strata.items()}
    # of all difficulties of Q2 together: twice what one may have
    return Expected(
        strata, mini, max(recorded.most("Q1a"), 2 * recorded.most("Q2")), recorded.most("Q2"), False
    )


def check_quotas(questions: Sequence[Question], want: Expected, card: Card) -> Iterator[Finding]:
    """Strata, letters, halves and what each base structure carries."""
    total = sum(want.strata.values())
    if len(questions) != total:
        yield Finding("rows", "questions", f"{len(questions)} rows, not {total}")
    yield from _strata(questions, want.strata, "questions")
    letters = Counter(q.answer for q in questions)
    if max(letters.values()) - min(letters[x] for x in LETTERS) > (len(questions) % 4 > 0):
        told = ", ".join(f"{x} {letters[x]}" for x in LETTERS)
        yield Finding("letters", "questions", f"right letters are not balanced: {told}")
    yield from _of_structures(questions, want)
    yield from _halves(questions)
    if want.released:
        yield from _structures(questions, card)


def _strata(questions, wanted: dict[str, int], where: str) -> Iterator[Finding]:
    there = Counter(q.stratum for q in questions)
    for name in STRATA:
        if there[name] != wanted.get(name, 0):
            yield Finding("stratum", where, f"{name} has {there[name]}, not {wanted.get(name, 0)}")


def _of_structures(questions, want: Expected) -> Iterator[Finding]:
    types = Counter((q.qtype, q.cluster) for q in questions)
    strata = Counter((q.stratum, q.cluster) for q in questions if q.qtype == "Q2")
    for counts, most in ((types, want.per_structure), (strata, want.per_difficulty)):
        for (name, cluster), number in sorted(counts.items()):
            if number > most:
                yield Finding(
                    "per-structure", cluster, f"{number} questions of {name}, {most} at most"
                )


def _halves(questions) -> Iterator[Finding]:
    traps = Counter(q.depth_trap for q in questions if q.qtype == "Q3")
    if traps[True] != traps[False]:
        yield Finding(
            "depth-traps", "Q3", f"{traps[True]} depth traps and {traps[False]} others, not half"
        )
    pairs = Counter(_same(q) for q in questions if q.qtype == "Q5")
    if pairs[True] != pairs[False]:
        yield Finding(
            "pairs", "Q5", f"{pairs[True]} pairs of the same and {pairs[False]} others, not half"
        )
    systems = Counter(q.answer_text for q in questions if q.qtype == "Q4")
    if len(set(systems.values())) > 1:
        told = ", ".join(f"{name} {number}" for name, number in sorted(systems.items()))
        yield Finding("systems", "Q4", f"systems are not equally often right: {told}")


def _same(q: Question) -> bool:
    """Whether both groups of a pair show one structure."""
    mutation = q.meta.get("mutation")
    if mutation is not None:
        return mutation in ("none", "", "same")
    return q.answer_text == SAME or "same structure" in q.answer_text.casefold()


def _structures(questions, card: Card) -> Iterator[Finding]:
    clusters = {q.cluster for q in questions}
    if len(clusters) != sum(card.structures.values()):
        yield Finding(
            "structures",
            "questions",
            f"{len(clusters)} base structures, not {sum(card.structures.values())}",
        )
    system_of = {q.cluster: str(q.meta.get("crystal_system") or "") for q in questions}
    system_of |= {q.cluster: q.answer_text for q in questions if q.qtype == "Q4"}
    there = Counter(name for name in system_of.values() if name)
    for name, number in sorted(card.structures.items()):
        if there and there[name] != number:
            yield Finding(
                "structures", "questions", f"{there[name]} {name} base structures, not {number}"
            )
    asked = {q.cluster for q in questions if q.qtype == "Q2"}
    if len(asked) > card.coordination:
        yield Finding(
            "coordination",
            "Q2",
            f"asks of {len(asked)} base structures, of which {card.coordination} are suitable",
        )


def check_mini(
    mini: Sequence[tuple[Question, dict[str, Any]]],
    full: Sequence[tuple[Question, dict[str, Any]]],
    want: Expected,
) -> Iterator[Finding]:
    """The subset: its strata, its letters, and that each row is one of the full set's."""
    rows = {q.id: row for q, row in full}
    yield from _strata([q for q, _ in mini], want.mini, "mini")
    for name, number in Counter(q.id for q, _ in mini).items():
        if number > 1:
            yield Finding("mini-row", name, f"stands {number} times in the subset")
    place = {name: k for k, name in enumerate(rows)}
    places = [place[q.id] for q, _ in mini if q.id in place]
    if places != sorted(places):
        yield Finding("mini-row", "mini", "its rows are in another order than the full set's")
    for q, row in mini:
        if q.id not in rows:
            yield Finding("mini-row", q.id, "stands in the subset and not in the full set")
        elif json.dumps(row) != json.dumps(rows[q.id]):
            differ = sorted(
                k for k in row.keys() | rows[q.id].keys() if row.get(k) != rows[q.id].get(k)
            )
            told = ", ".join(differ) or "the order of its fields"
            yield Finding("mini-row", q.id, f"differs from the full set's row in {told}")
    letters = Counter(q.answer for q, _ in mini)
    share = len(mini) / 4
    off = [x for x in LETTERS if abs(letters[x] - share) > max(2.0, 0.35 * share)]
    if mini and off:
        told = ", ".join(f"{x} {letters[x]}" for x in LETTERS)
        yield Finding("mini-letters", "mini", f"right letters are far from balanced: {told}")


def check_twice(questions: Sequence[Question]) -> Iterator[Finding]:
    """Ids, and questions that are asked twice."""
    ids = Counter(q.id for q in questions)
    for name, number in ids.items():
        if number > 1:
            yield Finding("id-twice", name, f"the id stands {number} times")
    asked: dict[object, list[str]] = defaultdict(list)
    for q in questions:
        asked[(q.question, tuple(sorted(q.image_paths)), q.answer_text)].append(q.id)
    for same in asked.values():
        if len(same) > 1:
            yield Finding("asked-twice", same[0], f"the same question as {', '.join(same[1:])}")
