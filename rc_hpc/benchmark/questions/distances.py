"""Q3, which of two distances in space is the longer, and by how much."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rc_hpc.benchmark.drawing import letter_heights
from rc_hpc.benchmark.questions.balance import Wrong
from rc_hpc.benchmark.questions.world import Candidate, Stratum, World, markable, visible
from rc_hpc.benchmark.records import DisplayedScene

#: The four options, by which is longer and whether by half or more.
OPTIONS = {
    ("B", False): "A-B is longer than A-C, by less than 50 %",
    ("B", True): "A-B is longer than A-C, by more than 50 %",
    ("C", False): "A-C is longer than A-B, by less than 50 %",
    ("C", True): "A-C is longer than A-B, by more than 50 %",
}
#: Triples kept of a scene in each group, and tried at most.
KEPT, TRIED = 6, 40_000


def metric_distance(scene: DisplayedScene, one: int, other: int, fractional: np.ndarray) -> float:
    """Distance of two displayed atoms from their places in the cell and its metric, Å.

    Parameters
    ----------
    fractional : (n, 3)
        Of the base structure.
    """
    places = fractional[scene.index] + scene.translation
    apart = places[one] - places[other]
    return float(np.sqrt(apart @ (scene.lattice @ scene.lattice.T) @ apart))


def answer_of(to_b: float, to_c: float) -> str:
    """The option that two distances make right."""
    longer, shorter = max(to_b, to_c), min(to_b, to_c)
    return OPTIONS["B" if to_b > to_c else "C", longer > 1.5 * shorter]


def _compared(world: World, number: int) -> Iterator[Candidate]:
    views = world.views(number)
    for scene in world.plain("cell", "supercell"):
        if len(scene.numbers) < world.options.least_displayed:
            world.refused["Q3: fewer atoms than --least-displayed"] += 1
            continue
        enough = markable(scene, views, world.options)
        enough &= visible(scene, views).min(axis=0) >= world.options.visible_mark
        radii = _radii(scene, world)
        enough &= letter_heights(radii * scene.px_per_angstrom) >= world.options.least_letter
        enough = np.flatnonzero(enough)
        if len(enough) < 3:
            world.refused["Q3: fewer than three atoms are visible"] += 1
            continue
        yield from _of(scene, world, views, enough, number)


def _of(scene, world, views, atoms, number) -> Iterator[Candidate]:
    """Triples of a scene in its four groups, at random."""
    options = world.options
    rng = np.random.default_rng([int(scene.id[1:], 16) % 2**32, number, 3])
    a, b, c = _triples(atoms, rng)
    camera = next(one for one in scene.cameras if one.id == views[0])
    flat = scene.positions @ camera.rotation[:2].T
    true = [_apart(scene.positions, a, other) for other in (b, c)]
    seen = [_apart(flat, a, other) for other in (b, c)]
    longer, shorter = np.maximum(*true), np.minimum(*true)
    ratio = longer / shorter
    clear = longer - shorter >= options.distance_margin * longer
    clear &= (ratio <= options.near) | (ratio >= options.far)
    clear &= np.abs(seen[0] - seen[1]) >= options.projected_margin * np.maximum(*seen)
    apart = _discs_apart(scene, world, views)
    clear &= apart[a, b] & apart[a, c] & apart[b, c]
    trap = (true[0] > true[1]) != (seen[0] > seen[1])
    far = ratio > 1.5
    for of_trap in (True, False):
        for of_far in (True, False):
            chosen = np.flatnonzero(clear & (trap == of_trap) & (far == of_far))[:KEPT]
            for k in chosen.tolist():
                # the longer goes to b; which letter it carries is decided when all are chosen
                first, second = (b[k], c[k]) if true[0][k] > true[1][k] else (c[k], b[k])
                found = _candidate(
                    scene, world, views, (int(a[k]), int(first), int(second)), of_trap, of_far
                )
                if found:
                    yield found


def _radii(scene: DisplayedScene, world: World) -> np.ndarray:
    """Of its discs, (n,), Å."""
    from ase.data import covalent_radii

    return np.asarray(covalent_radii[scene.numbers] * world.settings.radii)


def _discs_apart(scene: DisplayedScene, world: World, views) -> np.ndarray:
    """Which pairs of discs no picture shows one over the other, (n, n): so letters lie apart."""
    radii = _radii(scene, world)
    found = np.ones((len(radii), len(radii)), bool)
    for camera in scene.cameras:
        if camera.id in views:
            flat = scene.positions @ camera.rotation[:2].T
            away = np.linalg.norm(flat[:, None] - flat[None], axis=-1)
            found &= away >= radii[:, None] + radii[None]
    return found


def _candidate(scene, world, views, triple, trap, far) -> Candidate | None:
    base = world.bases[scene.structure]
    start, longer, shorter = triple
    direct = [
        float(np.linalg.norm(scene.positions[start] - scene.positions[k])) for k in triple[1:]
    ]
    again = [metric_distance(scene, start, k, base.fractional) for k in triple[1:]]
    if not np.allclose(direct, again, atol=1e-6) or answer_of(*again) != OPTIONS["B", far]:
        world.refused["Q3: two computations disagree"] += 1
        return None
    return Candidate(
        scene.structure,
        _group(trap, far),
        (scene.id, start, *sorted((longer, shorter))),
        (scene,),
        (views,),
        OPTIONS["B", far],
        {"A": start, "B": longer, "C": shorter},
        {"depth_trap": trap, "distances": [round(d, 4) for d in direct]},
        far,
    )


def _group(trap: bool, far: bool) -> str:
    return f"{'trap' if trap else 'plain'}, {'far' if far else 'near'}"


def turned(candidates: list[Candidate]) -> list[Candidate]:
    """The longer distance leads to C in every second question of a group, so that each option is
    right equally often."""
    found, seen = [], {"near": 0, "far": 0}
    for one in sorted(candidates, key=lambda one: one.group):
        grade = one.group.rpartition(" ")[2]
        if seen[grade] % 2:
            marks = {"A": one.marks["A"], "B": one.marks["C"], "C": one.marks["B"]}
            facts = {**one.facts, "distances": one.facts["distances"][::-1]}
            one = Candidate(
                one.structure,
                one.group,
                one.key,
                one.scenes,
                one.views,
                OPTIONS["C", one.base],
                marks,
                facts,
                one.base,
            )
        seen[grade] += 1
        found.append(one)
    return found


def _triples(atoms: np.ndarray, rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First atom and two others, each once, in random order; a random part where they are many."""
    n = len(atoms)
    first, second, third = np.indices((n, n, n)).reshape(3, -1)
    apart = (second < third) & (first != second) & (first != third)
    places = np.flatnonzero(apart)
    places = rng.permutation(places)[:TRIED]
    return atoms[first[places]], atoms[second[places]], atoms[third[places]]


def _apart(points, one, other) -> np.ndarray:
    found: np.ndarray = np.linalg.norm(points[one] - points[other], axis=1)
    return found


def _limits(total: int, candidates, limit: int) -> dict[str, int]:
    """A quarter each: traps and others, near and far."""
    return {_group(trap, far): total // 4 for trap in (True, False) for far in (True, False)}


def _rest(candidate: Candidate, world: World, truths, rng) -> list[tuple[Wrong, ...]]:
    return [tuple(Wrong(t, "the fixed four") for t in OPTIONS.values() if t != candidate.truth)]


DISTANCES = Stratum(
    _compared,
    _limits,
    _rest,
    lambda candidate, world: (
        "Compare the distances in space from atom A to atom B and from atom A to atom C, as "
        "displayed (no periodic images). Which is longer, and by how much of the shorter?"
    ),
)
