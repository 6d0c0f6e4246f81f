"""Q4, to which crystal system a structure belongs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import combinations

import numpy as np

from rc_hpc.benchmark.questions.balance import Wrong
from rc_hpc.benchmark.questions.world import Candidate, Stratum, World
from rc_hpc.benchmark.records import DisplayedScene
from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.symmetry.labels import label_cell

#: Displayed atoms nearer than this, after both are moved into the cell, are one, Å.
SAME_PLACE = 0.01


def folded(
    lattice: np.ndarray, fractional: np.ndarray, numbers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Places (in [0, 1)) and numbers of the atoms of a cell of which displayed ones are images."""
    places: list[np.ndarray] = []
    kept: list[int] = []
    for k, place in enumerate(np.mod(fractional, 1.0)):
        apart = np.array([place - other for other in places]).reshape(-1, 3)
        away = np.linalg.norm((apart - np.round(apart)) @ lattice, axis=1)
        if not (away < SAME_PLACE).any():
            places.append(place)
            kept.append(k)
    return np.array(places), np.asarray(numbers)[kept]


def system_of(scene: DisplayedScene, symprec: float) -> str:
    """Crystal system of what is displayed, by spglib; empty where it finds none."""
    fractional = scene.positions @ np.linalg.inv(scene.lattice)
    places, numbers = folded(scene.lattice, fractional, scene.numbers)
    label, _ = label_cell(scene.lattice, places, numbers, symprec)
    return label.crystal_system if label else ""


def _named(world: World, number: int) -> Iterator[Candidate]:
    views, symprec = world.views(number), world.options.system_symprec
    for scene in world.plain("cell", "supercell"):
        system = world.bases[scene.structure].system
        again = world.once(("system", scene.id), partial(system_of, scene, symprec))
        if again != system:
            world.refused["Q4: two computations disagree"] += 1
            continue
        yield Candidate(
            scene.structure,
            system,
            (scene.id, views),
            (scene,),
            (views,),
            system,
            facts={"crystal_system": system},
        )


def _limits(total: int, candidates, limit: int) -> dict[str, int]:
    """The same number of each system."""
    systems = sorted({candidate.group for candidate in candidates})
    return {system: total // len(systems) for system in systems} if systems else {}


def _others(candidate: Candidate, world: World, truths: Counter[str], rng):
    """Systems that are right elsewhere; others only where these are fewer than four."""
    known = sorted(truths)
    known += [name for name in CRYSTAL_SYSTEMS if name not in known][: max(0, 4 - len(known))]
    wrong = [Wrong(name, "crystal system of others") for name in known if name != candidate.truth]
    return list(combinations(wrong, 3))


SYSTEMS = Stratum(
    _named,
    _limits,
    _others,
    lambda candidate, world: "To which crystal system does the displayed structure belong?",
)
