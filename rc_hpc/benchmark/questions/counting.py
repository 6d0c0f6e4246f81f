"""Q1a, how many atoms are displayed; Q1b, how many of each element one cell holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from math import gcd

import numpy as np

from rc_hpc.benchmark.questions.balance import Wrong
from rc_hpc.benchmark.questions.texts import composition, counts_of
from rc_hpc.benchmark.questions.world import Candidate, Stratum, World, one_group, visible
from rc_hpc.benchmark.records import BaseStructure, DisplayedScene

#: Atoms nearer than this to a face of the cell, along its vectors, lie on it, Å.
ON_FACE = 0.01
#: Sums of shares are whole to within this.
WHOLE = 1e-6
#: From this number on wrong counts stay within `FARTHEST` of the right one, relative.
SPACED_FROM, FARTHEST = 23, 0.4
#: How ratios of elements are spread over the options of Q1b, and how often (see `_contents`).
PATTERNS = {"one ratio": 0.40, "others alike": 0.15, "truth alike": 0.45}
#: Formula units of a wrong content at most, relative to the right one.
LARGEST = 4
#: Contents of a cell next in size differ at most by this factor.
FARTHEST_SIZES = 3


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
            "all",
            (scene.id, views),
            (scene,),
            (views,),
            composition(cell),
            facts={"formula_units": gcd(*cell.values())},
            base=(cell, Counter(scene.numbers.tolist())),
        )


def _contents(candidate: Candidate, world: World, truths, rng) -> list[tuple[Wrong, ...]]:
    """Contents of a cell whose ratios tell nothing about which is right.

    Either all four have one ratio of elements; or three have, with the right one among them in
    three questions of four, so that neither the ratio of the many nor the odd one is the better
    guess. Who knows the formula is left with four options, with three, or with one.
    """
    cell, displayed = candidate.base
    names = list(PATTERNS)
    pattern = names[int(rng.choice(len(names), p=list(PATTERNS.values())))]
    others = _other_ratios(cell, displayed)
    if not others:
        pattern = "one ratio"
    unit = _reduced(cell)
    times = sum(cell.values()) // sum(unit.values())
    same = [
        Wrong(composition({e: n * k for e, n in unit.items()}), f"same ratio, {k} formula units")
        for k in range(1, LARGEST * times + 1)
        if k != times
    ]
    found = []
    for _ in range(world.options.option_sets):
        if pattern == "one ratio":
            made = _some(same, 3, times, rng)
        elif pattern == "truth alike":
            odd, rule = others[int(rng.integers(len(others)))]
            made = [*_some(same, 2, times, rng), Wrong(composition(odd), rule)]
        else:
            odd, rule = others[int(rng.integers(len(others)))]
            odd_unit = _reduced(odd)
            near = max(1, round(sum(cell.values()) / sum(odd_unit.values())))
            made = [
                Wrong(composition({e: n * k for e, n in odd_unit.items()}), rule)
                for k in _near(near, 3, rng)
            ]
        contents = {w.text: _atoms(w.text) for w in made} | {candidate.truth: sum(cell.values())}
        sizes = sorted(contents.values())
        if len(sizes) == 4 and all(b <= FARTHEST_SIZES * a for a, b in pairwise(sizes)):
            found.append(tuple(made))
    return found


def _atoms(text: str) -> int:
    return sum((counts_of(text) or {}).values())


def _other_ratios(cell, displayed) -> list[tuple[dict[int, int], str]]:
    """Contents of another ratio, with what mistake leads to each."""
    elements = sorted(cell)
    made = [(dict(displayed), "displayed atoms, not shared among cells")]
    for k, one in enumerate(elements):
        for other in elements[k + 1 :]:
            swapped = dict(cell)
            swapped[one], swapped[other] = cell[other], cell[one]
            made.append((swapped, "two elements exchanged"))
    if len(elements) > 1:
        for one in elements:
            made.append(({**cell, one: cell[one] + 1}, "one atom too many"))
            if cell[one] > 1:
                made.append(({**cell, one: cell[one] - 1}, "one atom too few"))
    return [(other, rule) for other, rule in made if _reduced(other) != _reduced(cell)]


def _reduced(cell) -> dict[int, int]:
    divisor = gcd(*cell.values())
    return {element: number // divisor for element, number in sorted(cell.items())}


def _some(wrong: list[Wrong], number: int, times: int, rng) -> list[Wrong]:
    """Some of fewer and of more formula units, the nearest of both; so many fewer as comes."""
    below = int(rng.integers(min(number, times - 1) + 1))
    fewer, more = wrong[: times - 1][::-1], wrong[times - 1 :]
    return [
        *(fewer[k] for k in _first_ones(len(fewer), below, rng)),
        *(more[k] for k in _first_ones(len(more), number - below, rng)),
    ]


def _near(middle: int, number: int, rng) -> list[int]:
    window = sorted(range(1, LARGEST * middle + 3), key=lambda k: abs(np.log(k / middle)))
    return [window[k] for k in _first_ones(len(window), number, rng)]


def _first_ones(there: int, number: int, rng) -> list[int]:
    """Some of the first few."""
    window = min(there, number + 2)
    return sorted(int(k) for k in rng.choice(window, number, replace=False))


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
    one_group,
    _contents,
    lambda candidate, world: (
        "How many atoms of each element does the unit cell whose edges are drawn hold? Atoms on "
        "its faces, edges and corners are shared with the neighbouring cells."
    ),
)
