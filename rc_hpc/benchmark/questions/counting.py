"""Q1a, how many atoms are displayed; Q1b, how many of each element one cell holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from math import gcd

import numpy as np

from rc_hpc.benchmark.questions.balance import Wrong
from rc_hpc.benchmark.questions.multiples import (
    formula_units,
    one_each,
    quarter_each,
    sets_of_multiples,
)
from rc_hpc.benchmark.questions.texts import composition
from rc_hpc.benchmark.questions.world import Candidate, Stratum, World, one_group, visible
from rc_hpc.benchmark.records import BaseStructure, DisplayedScene

#: Atoms nearer than this to a face of the cell, along its vectors, lie on it, Å.
ON_FACE = 0.01
#: Sums of shares are whole to within this.
WHOLE = 1e-6
#: From this number on wrong counts stay within `FARTHEST` of the right one, relative.
SPACED_FROM, FARTHEST = 23, 0.4


def images(base: BaseStructure, repeats: tuple[int, int, int]) -> int:
    """Atoms of a block of cells with its boundary, counted from the structure alone."""
    sides = np.linalg.norm(base.lattice, axis=1)
    total = 0
    for place in base.fractional:
        number = 1
        for axis in range(3):
            away = abs(place[axis] - round(place[axis])) * sides[axis]
            number *= repeats[axis] + (away <= ON_FACE)
        total += number
    return total


def shared_counts(scene: DisplayedScene) -> dict[int, float]:
    """Atoms of a cell by element from the displayed ones: halves on faces, quarters on edges."""
    places = scene.positions @ np.linalg.inv(scene.lattice)
    near = ON_FACE / np.linalg.norm(scene.lattice, axis=1) + WHOLE
    on_face = (np.abs(places) <= near) | (np.abs(places - scene.repeats) <= near)
    weights = 0.5 ** on_face.sum(axis=1) / np.prod(scene.repeats)
    return {
        int(number): float(weights[scene.numbers == number].sum())
        for number in np.unique(scene.numbers)
    }


def _displayed(world: World, number: int) -> Iterator[Candidate]:
    options, views = world.options, world.views(number)
    for scene in world.plain("cell", "supercell"):
        base, count = world.bases[scene.structure], len(scene.numbers)
        if count < options.least_displayed:
            world.refused["Q1a: fewer atoms than --least-displayed"] += 1
        elif (visible(scene, views).max(axis=0) < options.visible_count).any():
            world.refused["Q1a: an atom is hidden in all views"] += 1
        elif images(base, scene.repeats) != count:
            world.refused["Q1a: two computations disagree"] += 1
        else:
            yield Candidate(
                scene.structure,
                "all",
                (scene.id, views),
                (scene,),
                (views,),
                str(count),
                facts={"displayed_atoms": count},
                base=count,
            )


def _spaced(candidate: Candidate, world: World, truths, rng) -> list[tuple[Wrong, ...]]:
    """Numbers above and below, the right one at each rank; neighbours a least gap apart.

    Where that can be they are right elsewhere, and none lies beyond all that are: what is never
    right is no option.
    """
    found = []
    right = {int(text) for text in truths}
    for trial in range(world.options.option_sets):
        below = trial % 4
        values = [candidate.base]
        for k in range(3):
            up = k >= below
            here = max(values) if up else min(values)
            gap = max(2, int(np.ceil(world.options.count_gap * here))) + int(rng.integers(2))
            value = here + gap if up else here - gap
            values.append(next((v for v in _near_to(value, up) if v in right), value))
        wrong = values[1:]
        near = all(abs(v / candidate.base - 1) <= FARTHEST for v in wrong)
        if min(wrong) >= 1 and (near or candidate.base < SPACED_FROM):
            found.append(tuple(Wrong(str(value), "spaced count") for value in wrong))
    within = [one for one in found if all(min(right) <= int(w.text) <= max(right) for w in one)]
    return within or found


def _near_to(value: int, up: bool) -> range:
    """A number and the next ones farther from the right one."""
    return range(value, value + 3) if up else range(value, value - 3, -1)


def _content(world: World, number: int) -> Iterator[Candidate]:
    views = world.views(number)
    for scene in world.plain("cell", "supercell"):
        cell: dict[int, int] = {}
        for atom in np.unique(scene.index):
            element = int(scene.numbers[scene.index == atom][0])
            cell[element] = cell.get(element, 0) + 1
        shared = shared_counts(scene)
        if any(abs(shared.get(e, 0.0) - n) > WHOLE for e, n in cell.items()):
            world.refused["Q1b: two computations disagree"] += 1
            continue
        yield Candidate(
            scene.structure,
            str(gcd(*cell.values())),
            (scene.id, views),
            (scene,),
            (views,),
            composition(cell),
            facts={"formula_units": gcd(*cell.values())},
            base=cell,
        )


def _contents(candidate: Candidate, world: World, truths, rng) -> list[tuple[Wrong, ...]]:
    """Contents of a cell in one ratio of elements, so that to know the formula tells nothing.

    Of so many formula units as are right elsewhere; `one_each` takes one set for a structure.
    """
    sets = world.once(("multiples", tuple(sorted(truths.items()))), partial(_multiples, truths))
    units = gcd(*candidate.base.values())
    return [
        tuple(
            Wrong(
                composition({e: n // units * k for e, n in candidate.base.items()}),
                f"same ratio, {k} formula units",
            )
            for k in numbers
            if k != units
        )
        for numbers in sets
        if units in numbers
    ]


def _multiples(truths: Counter[str]) -> tuple[tuple[int, ...], ...]:
    """Sets of numbers of formula units, of how often each content is right."""
    right: Counter[int] = Counter()
    for text, number in truths.items():
        right[formula_units(text)] += number
    return sets_of_multiples(tuple(sorted(right.items())))


DISPLAYED = Stratum(
    _displayed,
    one_group,
    _spaced,
    lambda candidate, world: (
        "How many atoms are displayed in all? Every displayed atom counts as one, also images "
        "of one atom on the boundary of the cell."
    ),
)
CONTENT = Stratum(
    _content,
    quarter_each,
    _contents,
    lambda candidate, world: (
        "How many atoms of each element does the unit cell whose edges are drawn hold? Atoms on "
        "its faces, edges and corners are shared with the neighbouring cells."
    ),
    one_each,
)
