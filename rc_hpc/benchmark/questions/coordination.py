"""Q2, how many neighbours an atom has: alone with them, or within a cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np

from rc_hpc.benchmark.questions.balance import Wrong
from rc_hpc.benchmark.questions.texts import CENTRE, bond_rule
from rc_hpc.benchmark.questions.world import Candidate, Stratum, World, markable
from rc_hpc.benchmark.records import BaseStructure, DisplayedScene

#: Numbers that are asked about.
NUMBERS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14)
#: Sets of views that are tried before one number may be right more often than others.
PATIENCE = 12
#: Å: a distance at the limit counts, and one below the second is none.
ROUNDING, NOTHING = 1e-8, 1e-6


def neighbours(base: BaseStructure, factor: float) -> np.ndarray:
    """Neighbours of each atom of the crystal, (n,) int64, from its lattice alone.

    Distances to all images in so many cells around that no pair's shortest distance, times
    `factor`, reaches beyond.
    """
    places = base.fractional @ base.lattice
    heights = 1 / np.linalg.norm(np.linalg.inv(base.lattice), axis=0)
    count = np.zeros(len(places), np.int64)
    for pair in base.pairs:
        one, other = (np.flatnonzero(base.numbers == element) for element in pair)
        if not (len(one) and len(other)):
            continue
        reach, shortest = float(heights.min()), np.inf
        while not shortest * factor + ROUNDING <= reach:
            reach *= 2
            apart = _distances(base.lattice, places[one], places[other], reach / heights)
            shortest = apart[apart > NOTHING].min(initial=np.inf)
        near = (apart > NOTHING) & (apart <= shortest * factor + ROUNDING)
        count[one] += near.sum(axis=(1, 2))
        if pair[0] != pair[1]:
            count[other] += near.sum(axis=(0, 2))
    return count


def _distances(lattice, first, second, layers) -> np.ndarray:
    """(n, m, images), Å."""
    around = [range(-k, k + 1) for k in (np.ceil(layers) + 1).astype(int)]
    shifts = np.array(list(product(*around))) @ lattice
    apart = second[None, :, None] + shifts[None, None] - first[:, None, None]
    found: np.ndarray = np.linalg.norm(apart, axis=-1)
    return found


def displayed_neighbours(scene: DisplayedScene) -> np.ndarray:
    """Bonds that are drawn at each displayed atom, (n,) int64."""
    return np.bincount(np.ravel(scene.bonds), minlength=len(scene.numbers))


def _alone(world: World, number: int) -> Iterator[Candidate]:
    for scene in world.plain("environment"):
        yield from _of(scene, world, number, [scene.centre])


def _within(world: World, number: int) -> Iterator[Candidate]:
    for scene in world.plain("cell", "supercell"):
        yield from _of(scene, world, number, range(len(scene.numbers)))


def _of(scene: DisplayedScene, world: World, number: int, atoms) -> Iterator[Candidate]:
    """Atoms whose whole shell is displayed, that are visible enough, with a number asked about."""
    base = world.bases[scene.structure]
    if not base.coordination:
        return
    views = world.views(number)
    count = world.once(
        ("neighbours", base.name), lambda: neighbours(base, world.settings.bond_factor)
    )
    shown, enough = displayed_neighbours(scene), markable(scene, views, world.options)
    orbit = world.orbits(base.name)
    for atom in atoms:
        true = int(count[scene.index[atom]])
        if true not in NUMBERS:
            world.refused["Q2: a number that is not asked about"] += 1
        elif shown[atom] != true:
            world.refused["Q2: not the whole shell is displayed"] += 1
        elif not enough[atom]:
            world.refused["Q2: the centre is hidden"] += 1
        else:
            yield Candidate(
                base.name,
                str(true),
                (base.name, int(orbit[scene.index[atom]]), views),
                (scene,),
                (views,),
                str(true),
                {CENTRE: int(atom)},
                {"coordination_number": true},
                true,
            )


def _limits(total: int, candidates, limit: int) -> dict[str, int]:
    """No number is right in more than a quarter of the questions, where there are four or more.

    Only where further sets of views have not filled the others is one asked about more often.
    """
    keys: dict[str, set] = {}
    for one in candidates:
        keys.setdefault(one.group, set()).add(one.key)
    most = -(-total // max(1, min(4, len(keys))))
    if len({views for own in keys.values() for *_, views in own}) >= PATIENCE:
        while sum(min(most, len(own)) for own in keys.values()) < total and most < total:
            most += 1
    return {group: min(most, len(keys[group])) for group in sorted(keys, key=int)}


def _others(candidate: Candidate, world: World, truths: Counter[str], rng):
    """Other coordination numbers: those that are right elsewhere, so that none is never right."""
    known = sorted({int(text) for text in truths})
    for number in sorted(NUMBERS, key=lambda n: (abs(n - candidate.base), n)):
        if len(known) < 4 and number not in known:
            known.append(number)
    wrong = [Wrong(str(n), "coordination number of others") for n in known if n != candidate.base]
    return list(combinations(wrong, 3))


def _words(candidate: Candidate, world: World) -> str:
    rule = bond_rule(world.bases[candidate.structure].pairs, world.settings.bond_factor)
    return f"How many nearest neighbours does the highlighted atom have? {rule}"


EASY = Stratum(_alone, _limits, _others, _words)
HARD = Stratum(_within, _limits, _others, _words)
