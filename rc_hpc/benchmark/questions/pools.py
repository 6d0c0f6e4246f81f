"""Candidates of each stratum, how many of them can be asked, and how many questions in all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rc_hpc.benchmark.questions.allot import allot
from rc_hpc.benchmark.questions.options import LEAST, QUOTAS, UNIT, QuestionOptions, quotas
from rc_hpc.benchmark.questions.world import Candidate, Stratum, World
from rc_hpc.core.errors import UsageError

Cell = tuple[str, str]


class Allotted(NamedTuple):
    """How far a quota can be filled.

    Attributes
    ----------
    numbers
        Of each group and structure.
    limits
        Of each group at most.
    hopeless
        No further views can help: there are too few structures for such a limit.
    """

    numbers: dict[Cell, int]
    limits: dict[str, int]
    hopeless: bool

    @property
    def total(self) -> int:
        """Questions in all."""
        return sum(self.numbers.values())


class Pool:
    """Candidates of one stratum that have wrong options, from more and more sets of views.

    Parameters
    ----------
    name
        Of the stratum.
    asked
        How its questions come about.
    world
    rng
        Of the stratum; candidates take from it in turn.
    """

    def __init__(self, name: str, asked: Stratum, world: World, rng: np.random.Generator):
        self.name, self.asked, self.world, self.rng = name, asked, world, rng
        self.candidates: list[Candidate] = []
        #: By group and structure, and by what must not be asked twice.
        self.cells: dict[Cell, dict[tuple[Any, ...], list[Candidate]]] = {}
        #: Sets of views that were looked at.
        self.view_sets = 0
        self._dry = False

    def grow(self) -> bool:
        """Add those of the next set of views; whether there were any left to look at."""
        if self._dry or self.view_sets == self.world.view_sets:
            return False
        more = [
            one
            for one in self.asked.candidates(self.world, self.view_sets)
            if self.asked.wrong(one, self.world, Counter({one.truth: 1}), self.rng)
        ]
        if self.view_sets and not more:
            self._dry = True
            return False
        self.view_sets += 1
        self.candidates += more
        for one in more:
            of_cell = self.cells.setdefault((one.group, one.structure), {})
            of_cell.setdefault(one.key, []).append(one)
        return True

    def allotted(self, total: int, limit: int) -> Allotted:
        """As much of a quota as can be filled, so many questions of a structure at most."""
        available = {cell: len(keys) for cell, keys in self.cells.items()}
        limits = self.asked.limits(total, self.candidates, limit)
        numbers = allot(limits, available, total, limit, self.rng)
        hopeless = _hopeless(limits, available, total, limit)
        return Allotted(numbers, limits, hopeless)

    def filled(self, total: int, limit: int) -> Iterator[Allotted]:
        """The same with more and more sets of views, until it is full or cannot be."""
        while self.view_sets or self.grow():
            found = self.allotted(total, limit)
            yield found
            if found.total == total or found.hopeless or not self.grow():
                return


def _hopeless(
    limits: Mapping[str, int], available: Mapping[Cell, int], total: int, limit: int
) -> bool:
    structures = {structure for _, structure in available}
    if len(structures) * limit < total:
        return True
    of_group = Counter(group for group, _ in available)
    exact = sum(limits.values()) == total
    return exact and any(of_group[group] * limit < most for group, most in limits.items())


def shortage(pool: Pool, total: int, limit: int, found: Allotted) -> str:
    """What a stratum lacks, in words."""
    reached: Counter[str] = Counter()
    for (group, _), number in found.numbers.items():
        reached[group] += number
    lacking = {g: n - reached[g] for g, n in sorted(found.limits.items()) if n > reached[g]}
    told = ", ".join(f"{group} {number}" for group, number in lacking.items() if group != "all")
    return (
        f"{pool.name}: {reached.total()} of {total} questions can be drawn of "
        f"{len(pool.world.bases)} base structures at {limit} each"
        f"{f' (lacking: {told})' if told else ''}"
    )


def largest(
    pools: Mapping[str, Pool], first: str, options: QuestionOptions, systems: int
) -> int | None:
    """The most questions below those asked for that can be drawn under the same options.

    Parameters
    ----------
    pools
        Of all strata.
    first
        The stratum that could not be filled.
    systems
        Crystal systems of the structures.

    Returns
    -------
    int or None
        None where not even the fewest that may be asked for can be drawn.
    """
    order = [first, *(name for name in pools if name != first)]
    # from the released size on, other rules hold of how much is asked of a structure
    released = sum(QUOTAS.values())
    for low, high in ((released + UNIT, options.questions - UNIT), (LEAST, released)):
        numbers = range(low, min(high, options.questions - UNIT) + 1, UNIT)
        if found := _last(pools, order, options, systems, numbers):
            return found
    return None


def _last(
    pools: Mapping[str, Pool],
    order: Sequence[str],
    options: QuestionOptions,
    systems: int,
    numbers: Sequence[int],
) -> int:
    """The last of ascending numbers that can be drawn, by halves; 0 where none can."""
    low, high = 0, len(numbers)  # those before `low` can, those from `high` on cannot
    while low < high:
        middle = (low + high) // 2
        if _fits(pools, order, replace(options, questions=numbers[middle]), systems):
            low = middle + 1
        else:
            high = middle
    return numbers[low - 1] if low else 0


def _fits(
    pools: Mapping[str, Pool], order: Sequence[str], options: QuestionOptions, systems: int
) -> bool:
    try:
        wanted = quotas(options, systems)
    except UsageError:
        return False
    for name in order:
        *_, found = pools[name].filled(wanted[name], options.most(name.partition("_")[0]))
        if found.total < wanted[name]:
            return False
    return True
