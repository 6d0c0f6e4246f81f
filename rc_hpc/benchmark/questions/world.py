"""What questions are drawn from: base structures and displayed scenes, in one order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from rc_hpc.benchmark.questions.balance import Wrong, balanced
from rc_hpc.benchmark.questions.options import QuestionOptions
from rc_hpc.benchmark.records import BaseStructure, DisplayedScene
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.symmetry.orbits import orbits

#: Å, for orbits and the operations of a cell.
SYMPREC = 0.01
#: Pictures of one scene in a question.
PICTURES = 3

Views = tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """A question that could be asked.

    Attributes
    ----------
    structure
        Base structure that it counts for.
    group
        Within its stratum, of a quota of its own.
    key
        What must not be asked twice.
    scenes, views
        One scene or two, and the views of each.
    truth
        The right option.
    marks
        Highlighted atoms of the only scene.
    facts
        What else its ``meta`` tells.
    base
        What wrong options are made from.
    """

    structure: str
    group: str
    key: tuple[Any, ...]
    scenes: tuple[DisplayedScene, ...]
    views: tuple[Views, ...]
    truth: str
    marks: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    base: Any = None


@dataclass(frozen=True)
class Stratum:
    """How the questions of one stratum come about.

    Attributes
    ----------
    candidates
        Of the world and a number of a set of views (0: the default ones).
    limits
        Most questions of each group, of the total, of what there is, and of the most that may be
        asked of a structure.
    wrong
        Sets of three wrong options of a candidate, of the world, of how often each text is right
        in the stratum, and of a generator.
    words
        The question of a candidate.
    taken
        One set of wrong options for each candidate, out of those of `wrong`.
    """

    candidates: Callable[[World, int], Iterator[Candidate]]
    limits: Callable[[int, Sequence[Candidate], int], dict[str, int]]
    wrong: Callable[[Candidate, World, Counter[str], np.random.Generator], list[tuple[Wrong, ...]]]
    words: Callable[[Candidate, World], str]
    taken: Callable[
        [Sequence[Candidate], Sequence[Sequence[tuple[Wrong, ...]]], np.random.Generator],
        list[tuple[Wrong, ...]],
    ] = field(
        default=lambda candidates, sets, rng: balanced([c.truth for c in candidates], sets, rng)
    )


@dataclass(frozen=True)
class World:
    """Base structures by name, their scenes by id, and the settings.

    Attributes
    ----------
    refused
        Why scenes and atoms gave no question, and how often: filled while candidates are found.
    """

    bases: Mapping[str, BaseStructure]
    scenes: tuple[DisplayedScene, ...]
    options: QuestionOptions
    settings: DisplaySettings
    refused: Counter[str] = field(default_factory=Counter)
    kept: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        bases: Sequence[BaseStructure],
        scenes: Sequence[DisplayedScene],
        options: QuestionOptions,
        settings: DisplaySettings,
    ) -> World:
        """The world of these, whatever their order."""
        named = {base.name: base for base in sorted(bases, key=lambda base: base.name)}
        known = [scene for scene in scenes if scene.structure in named]
        return cls(named, tuple(sorted(known, key=lambda s: s.id)), options, settings)

    @cached_property
    def by_structure(self) -> dict[str, list[DisplayedScene]]:
        """Scenes of each base structure."""
        found: dict[str, list[DisplayedScene]] = {name: [] for name in self.bases}
        for scene in self.scenes:
            found[scene.structure].append(scene)
        return found

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """Crystal systems that there are, by name."""
        return tuple(sorted({base.system for base in self.bases.values()}))

    def plain(self, *modes: str) -> Iterator[DisplayedScene]:
        """Unchanged, unmarked scenes of these modes without letters at the edges."""
        for scenes in self.by_structure.values():
            for scene in scenes:
                if scene.mode in modes and not (scene.mutation or scene.label_edges or scene.marks):
                    yield scene

    def views(self, number: int) -> Views:
        """A set of three of the eight candidate views: 0 is the default one."""
        return self._sets[number]

    @cached_property
    def pairs_of_views(self) -> tuple[tuple[Views, Views], ...]:
        """Pairs of sets without a common view: the default one, others with its first, the rest."""
        first, second = self.options.first_views, self.options.second_views
        others = [
            pair
            for pair in combinations(self._sets, 2)
            if not set(pair[0]) & set(pair[1]) and set(pair) != {first, second}
        ]
        return ((first, second), *sorted(others, key=lambda pair: first not in pair))

    @cached_property
    def _sets(self) -> tuple[Views, ...]:
        ids = sorted({c.id for s in self.scenes for c in s.cameras if c.id.startswith("v")})
        first = self.options.first_views
        return (first, *(one for one in combinations(ids, PICTURES) if one != first))

    @property
    def view_sets(self) -> int:
        """How many sets of three views there are."""
        return len(self._sets)

    def orbits(self, name: str) -> np.ndarray:
        """Orbit of each atom of a base structure, (n,) int64."""
        base = self.bases[name]
        return self.once(
            ("orbits", name),
            lambda: orbits(base.lattice, base.fractional @ base.lattice, base.numbers, SYMPREC),
        )

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What `make` gives, made once."""
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]


def visible(scene: DisplayedScene, views: Sequence[str] | None = None) -> np.ndarray:
    """Visible shares in some views, by default in the eight candidate ones, (views, n)."""
    wanted = [
        k
        for k, camera in enumerate(scene.cameras)
        if (camera.id in views if views is not None else camera.id.startswith("v"))
    ]
    return np.asarray(scene.visible)[wanted]


def markable(scene: DisplayedScene, views: Sequence[str], options: QuestionOptions) -> np.ndarray:
    """Which atoms are visible enough to be asked about, (n,) bool."""
    shares = visible(scene)
    across = {
        "mean": shares.mean(axis=0),
        "all": shares.min(axis=0),
        "any": shares.max(axis=0),
    }[options.visibility]
    shown = visible(scene, views).max(axis=0)
    least = options.visible_mark
    found: np.ndarray = (across >= least) & (shown >= least)
    return found


def one_group(total: int, candidates: Sequence[Candidate], limit: int) -> dict[str, int]:
    """Limits of a stratum without groups."""
    return {candidate.group: total for candidate in candidates}


def evenly(total: int, candidates: Sequence[Candidate], limit: int) -> dict[str, int]:
    """Limits as even as what there is allows: no group has more than it needs to."""
    there = Counter(candidate.group for candidate in candidates)
    groups = sorted(there)
    most = max(1, -(-total // max(1, len(groups))))
    while sum(min(most, there[g]) for g in groups) < total and most < total:
        most += 1
    return {group: min(most, there[group]) for group in groups}
