"""Q1b's wrong options: so many formula units that no number of them tells anything.

Structures share sets of four numbers, each of which is right equally often among the questions
of its set, as nearly as numbers of questions allow. All questions of a structure offer the same
four contents, so that how often a text is shown tells nothing either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from math import gcd
from typing import NamedTuple

import numpy as np

from rc_hpc.benchmark.questions.balance import Wrong
from rc_hpc.benchmark.questions.rules import CHANCE, hits, seen
from rc_hpc.benchmark.questions.texts import counts_of
from rc_hpc.benchmark.questions.world import Candidate

#: Contents of a cell next in size differ at most by this factor.
FARTHEST_SIZES = 3
#: Numbers that are right nowhere are taken from so many times, or parts, of a right one.
FACTORS = (2, 3, 4)
#: Sets kept for a number that shares none with three others that are right.
OWN_SETS = 12
#: Weight of a hit of a rule of thumb, against a question more in which a number is right.
RULES = 2.0
#: Draws from which the descent begins, and rounds through all structures at most.
BEGINNINGS, ROUNDS = 24, 30

Numbers = tuple[int, ...]


def formula_units(text: str) -> int:
    """Of ``Ca4 F8``, 4; 0 of what is no content."""
    return gcd(*(counts_of(text) or {}).values())


def quarter_each(total: int, candidates: Sequence[Candidate], limit: int) -> dict[str, int]:
    """No number of formula units is right in more than a quarter, where there are enough others.

    One that no set of four right ones holds is asked about only where the others do not suffice.
    """
    structures: dict[int, set[str]] = {}
    for one in candidates:
        structures.setdefault(int(one.group), set()).add(one.structure)
    room = {units: len(own) * limit for units, own in structures.items()}
    held = {units for numbers in _plausible(tuple(sorted(room))) for units in numbers}
    asked = held if sum(room[units] for units in held) >= total else set(room)
    most = -(-total // max(1, min(4, len(asked))))
    while most < total and sum(min(most, room[units]) for units in asked) < total:
        most += 1
    return {str(units): most * (units in asked) for units in sorted(room)}


def _plausible(numbers: Numbers) -> list[Numbers]:
    """Fours whose neighbours in size are not far apart."""
    return [
        four
        for four in combinations(numbers, 4)
        if all(b <= FARTHEST_SIZES * a for a, b in pairwise(four))
    ]


@lru_cache(maxsize=8)
def sets_of_multiples(right: tuple[tuple[int, int], ...]) -> tuple[Numbers, ...]:
    """Sets of four numbers into which questions can be sorted, each number right equally often.

    Parameters
    ----------
    right
        Numbers of formula units, each with how many questions it is right in.
    """
    left = dict(right)
    fours = _plausible(tuple(sorted(left)))
    members = np.array([[units in four for units in left] for four in fours], bool)
    found: set[Numbers] = set()
    rest = np.array(list(left.values()), np.int64)
    while fours:
        # one question of each of the four that have most left
        there = np.where(members, rest, rest.max()).min(axis=1) > 0
        if not there.any():
            break
        best = int(np.argmax(np.where(there, members @ rest, -1)))
        found.add(fours[best])
        rest = rest - members[best]
    for units in left:
        if not any(units in four for four in found):
            found.update(_own(units, tuple(left)))
    return tuple(sorted(found))


def _own(units: int, known: Numbers) -> list[Numbers]:
    """Sets that hold a number, with few that are right nowhere; where that can be, with none.

    One more than has to be is allowed, so that the right one may have any rank.
    """
    near = {k * factor for k in known for factor in FACTORS}
    near |= {k // factor for k in known for factor in FACTORS} - {0}
    fours = [four for four in _plausible(tuple(sorted({*known, *near}))) if units in four]
    nowhere = [sum(k not in known for k in four) for four in fours]
    most = min(nowhere) + bool(min(nowhere))
    fours = [four for four, none in zip(fours, nowhere, strict=True) if none <= most]
    return sorted(fours, key=lambda four: (four[-1] / four[0], four))[:OWN_SETS]


class _Unit(NamedTuple):
    """A structure: its questions, its sets, and what each adds to what should be nothing."""

    questions: list[int]
    sets: Sequence[tuple[Wrong, ...]]
    places: np.ndarray  # (s,) of the set of numbers
    units: np.ndarray  # (s, k) excess of each number of formula units
    others: np.ndarray  # (s, m) the same of rules of thumb and of texts


def one_each(
    candidates: Sequence[Candidate],
    sets: Sequence[Sequence[tuple[Wrong, ...]]],
    rng: np.random.Generator,
) -> list[tuple[Wrong, ...]]:
    """Three wrong options for each structure, the same in all its questions.

    Coordinate descent from several random beginnings on the sum of squares of (times right less
    a quarter of the times shown) of each number of formula units, within each set of four numbers
    and in all, and of each text; and of (hits less a quarter) of the rules of thumb.

    Parameters
    ----------
    sets
        Those that each question may have, one or more; alike for questions of one structure.
    """
    units, held = _units_of(candidates, sets)
    best: tuple[float, list[int]] = (np.inf, [])
    for _ in range(BEGINNINGS):
        taken = [int(rng.integers(len(one.sets))) for one in units]
        cost = _descend(units, held, taken, rng)
        if cost < best[0] - 1e-9:
            best = (cost, taken)
    found: list[tuple[Wrong, ...]] = [()] * len(candidates)
    for one, place in zip(units, best[1], strict=True):
        for question in one.questions:
            found[question] = one.sets[place]
    return found


def _units_of(candidates, sets) -> tuple[list[_Unit], int]:
    """Structures with their questions, and how many sets of numbers there are."""
    questions: dict[tuple[str, str], list[int]] = {}
    for k, candidate in enumerate(candidates):
        questions.setdefault((candidate.structure, candidate.truth), []).append(k)
    offered = {
        (structure, truth): [[truth, *(w.text for w in one)] for one in sets[own[0]]]
        for (structure, truth), own in questions.items()
    }
    every = {text for own in offered.values() for texts in own for text in texts}
    known = {text: (seen(text), formula_units(text)) for text in sorted(every)}
    shared = Counter(t for own in offered.values() for t in {x for texts in own for x in texts})
    column = {t: k for k, t in enumerate(t for t in known if shared[t] > 1)}
    numbers = {n: k for k, n in enumerate(sorted({n for _, n in known.values()}))}
    place_of: dict[Numbers, int] = {}
    found = []
    for key, own in questions.items():
        n, options = len(own), offered[key]
        excess = np.zeros((len(options), len(numbers)))
        texts = np.zeros((len(options), len(column)))
        places = []
        for row, four in enumerate(options):
            for k, text in enumerate(four):
                more = n * (1.0 - CHANCE if k == 0 else -CHANCE)
                excess[row, numbers[known[text][1]]] += more
                if text in column:
                    texts[row, column[text]] += more
            held = tuple(sorted(known[text][1] for text in four))
            places.append(place_of.setdefault(held, len(place_of)))
        rules = hits([[known[t][0] for t in four] for four in options], [0] * len(options))
        others = np.hstack([RULES * n * (rules - CHANCE), texts])
        found.append(_Unit(own, sets[own[0]], np.array(places), excess, others))
    return found, len(place_of)


def _descend(units: list[_Unit], held: int, taken: list[int], rng: np.random.Generator) -> float:
    """Take better sets until none is, and what is left of the cost."""
    within = np.zeros((held, units[0].units.shape[1]))
    others = np.zeros(units[0].others.shape[1])
    for one, place in zip(units, taken, strict=True):
        within[one.places[place]] += one.units[place]
        others += one.others[place]
    for _ in range(ROUNDS):
        changed = False
        for k in rng.permutation(len(units)).tolist():
            one, place = units[k], taken[k]
            within[one.places[place]] -= one.units[place]
            others -= one.others[place]
            before = within[one.places]
            cost = ((before + one.units) ** 2).sum(axis=1) - (before**2).sum(axis=1)
            cost += ((within.sum(axis=0) + one.units) ** 2).sum(axis=1)
            cost += ((others + one.others) ** 2).sum(axis=1)
            best = int(np.argmin(cost))
            if cost[best] < cost[place] - 1e-9:
                taken[k] = place = best
                changed = True
            within[one.places[place]] += one.units[place]
            others += one.others[place]
        if not changed:
            break
    return float((within**2).sum() + (within.sum(axis=0) ** 2).sum() + (others**2).sum())
