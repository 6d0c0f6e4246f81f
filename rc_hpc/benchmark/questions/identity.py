"""Q5, whether two groups of pictures show one structure, and what else has changed."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from rc_hpc.benchmark.display import too_small
from rc_hpc.benchmark.questions.balance import Wrong
from rc_hpc.benchmark.questions.options import MUTATIONS
from rc_hpc.benchmark.questions.systems import folded
from rc_hpc.benchmark.questions.texts import ARRANGEMENT, EXCHANGE, LATTICE, SAME
from rc_hpc.benchmark.questions.variants import same_crystal
from rc_hpc.benchmark.questions.world import Candidate, Stratum, World
from rc_hpc.benchmark.records import DisplayedScene

OPTIONS = (SAME, EXCHANGE, LATTICE, ARRANGEMENT)
#: The right option of each mutation; of pairs that are the same, the empty one.
CATEGORY = {
    "": SAME,
    "exchange": EXCHANGE,
    "deletion": ARRANGEMENT,
    "stretch": LATTICE,
    "polymorph": ARRANGEMENT,
}
#: Lattices and places are the same to within this, Å.
EQUAL = 0.005


def category(lattices, fractionals, numbers) -> str:
    """The right option of two displayed blocks of cells, from their atoms alone.

    Parameters
    ----------
    lattices : two of (3, 3)
        Rows, Å.
    fractionals : two of (n, 3)
        Not wrapped.
    numbers : two of (n,)
        Atomic numbers.
    """
    equal_lattice = np.abs(lattices[0] - lattices[1]).max() < EQUAL
    places, species = [], []
    for fractional, own in zip(fractionals, numbers, strict=True):
        order = np.lexsort(np.round(fractional, 3).T)
        places.append(fractional[order])
        species.append(np.asarray(own)[order])
    equal_places = (
        places[0].shape == places[1].shape
        and np.abs((places[0] - places[1]) @ lattices[0]).max() < EQUAL
    )
    if not equal_places:
        return ARRANGEMENT
    if np.array_equal(species[0], species[1]):
        return SAME if equal_lattice else LATTICE
    return EXCHANGE if equal_lattice and _exchanged(*species) else ARRANGEMENT


def _exchanged(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two elements have changed places throughout."""
    moved = {(a, b) for a, b in zip(first.tolist(), second.tolist(), strict=True) if a != b}
    return len(moved) == 2 and {(b, a) for a, b in moved} == moved


def category_of(first: DisplayedScene, second: DisplayedScene) -> str:
    """`category` of two scenes."""
    scenes = (first, second)
    return category(
        [one.lattice for one in scenes],
        [one.positions @ np.linalg.inv(one.lattice) for one in scenes],
        [one.numbers for one in scenes],
    )


def _compared(world: World, number: int) -> Iterator[Candidate]:
    if number >= len(world.pairs_of_views):
        return
    pair = world.pairs_of_views[number]
    ways = (pair, pair[::-1])
    cells = {s.structure: s for s in world.plain("cell")}
    for name, scene in cells.items():
        for views in ways:
            yield _candidate(scene, scene, "", views, (name, "same", number))
        for other in world.by_structure[name]:
            if other.mutation and _differ(world, scene, other):
                for views in ways:
                    key = (name, other.mutation, other.detail, number)
                    yield _candidate(scene, other, other.mutation, views, key)
                    yield _candidate(other, scene, other.mutation, views, key)
    for names in combinations(cells, 2):
        if len({world.bases[name].formula for name in names}) == 1:
            # which comes first, and is counted, is a matter of chance
            turn = zlib.crc32("\0".join(names).encode()) % 2
            scene, other = (cells[name] for name in (names[::-1] if turn else names))
            if _differ(world, scene, other):
                for views in ways:
                    key = ("polymorph", *names, number)
                    yield _candidate(scene, other, "polymorph", views, key)


def _candidate(first, second, mutation, views, key) -> Candidate:
    facts = {"mutation": mutation or "none", "second_structure": second.structure}
    return Candidate(
        first.structure,
        mutation or "same",
        key,
        (first, second),
        views,
        CATEGORY[mutation],
        facts=facts,
    )


def _differ(world: World, plain: DisplayedScene, other: DisplayedScene) -> bool:
    """Whether two scenes differ as they are meant to; once for each pair."""
    mutation = other.mutation or "polymorph"
    key = ("differ", *sorted((plain.id, other.id)))
    why = world.once(key, lambda: _fault(world, plain, other, mutation))
    if why:
        world.refused[f"Q5 {mutation}: {why}"] += 1
    return not why


def _fault(world: World, plain, other, mutation: str) -> str:
    if category_of(plain, other) != CATEGORY[mutation]:
        return "two computations disagree"
    if mutation == "stretch" and _bonded(plain) != _bonded(other):
        return "the bonds drawn have changed too"
    scale = min(plain.px_per_angstrom, other.px_per_angstrom)
    if any(
        too_small(replace(one, px_per_angstrom=scale), world.settings) for one in (plain, other)
    ):
        return "discs are too small at one scale"
    base, own = world.bases[plain.structure], []
    for scene in (plain, other):
        fractional = scene.positions @ np.linalg.inv(scene.lattice)
        places, numbers = folded(scene.lattice, fractional, scene.numbers)
        own.append(replace(base, lattice=scene.lattice, fractional=places, numbers=numbers))
    return "the crystal is the same" if same_crystal(*own) else ""


def _bonded(scene: DisplayedScene) -> set[frozenset[tuple[int, ...]]]:
    """Bonds by the atoms and translations that they join."""
    named = [(int(k), *t) for k, t in zip(scene.index, scene.translation.tolist(), strict=True)]
    return {frozenset((named[a], named[b])) for a, b in scene.bonds.tolist()}


def _limits(total: int, candidates, limit: int) -> dict[str, int]:
    """Half are the same; the others are shared among the mutations that there are."""
    there = {candidate.group for candidate in candidates}
    shares = {name: share for name, share in MUTATIONS.items() if name in there}
    half, whole = total // 2, sum(shares.values())
    exact = {name: half * share / whole for name, share in shares.items()}
    most = {name: int(number) for name, number in exact.items()}
    for name in sorted(most, key=lambda n: most[n] - exact[n])[: half - sum(most.values())]:
        most[name] += 1
    return {"same": half, **most}


def _rest(candidate: Candidate, world: World, truths, rng) -> list[tuple[Wrong, ...]]:
    return [tuple(Wrong(text, "the fixed four") for text in OPTIONS if text != candidate.truth)]


IDENTITY = Stratum(
    _compared,
    _limits,
    _rest,
    lambda candidate, world: (
        "Two groups of three pictures each show a structure, both at one scale. Is it the same "
        "structure, or what has changed from the first group to the second? A change of absolute "
        "size counts as a change; turning the whole structure does not."
    ),
)
