"""Q6, along which lattice direction a picture looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np

from rc_hpc.benchmark.questions.balance import Wrong
from rc_hpc.benchmark.questions.world import SYMPREC, Candidate, Stratum, World, evenly
from rc_hpc.benchmark.records import BaseStructure, Camera

Indices = tuple[int, int, int]


def laue_rotations(base: BaseStructure) -> np.ndarray:
    """Matrices (k, 3, 3) that map coefficients of equivalent lattice directions on each other.

    The rotation parts of the space group, and their negatives: an orthographic view from behind
    is the mirror image of the one from the front.
    """
    import spglib

    cell = (base.lattice, base.fractional, base.numbers)
    found = spglib.get_symmetry(cell, symprec=SYMPREC)
    rotations = np.unique(found["rotations"], axis=0)
    return np.unique(np.concatenate([rotations, -rotations]), axis=0)


def direction_class(indices: Indices, rotations: np.ndarray) -> Indices:
    """One name for all directions that are equivalent to this one."""
    rows = (rotations @ np.array(indices)).tolist()
    return max(tuple(row) for row in rows)


def seen_along(lattice: np.ndarray, camera: Camera, most: int = 4) -> Indices | None:
    """Indices of the direction along which a camera looks, from the projected edges alone.

    u e_a + v e_b + w e_c = 0 for the edges as they are seen; None where no indices up to `most`
    fulfil that.
    """
    edges = (camera.rotation @ lattice.T)[:2]
    u = np.linalg.svd(edges)[2][-1]
    u = u / np.abs(u).max()
    for scale in range(1, most + 1):
        whole = np.round(u * scale)
        if np.abs(u * scale - whole).max() < 1e-6:
            signed = whole if whole[np.flatnonzero(whole)[0]] > 0 else -whole
            return int(signed[0]), int(signed[1]), int(signed[2])
    return None


def text_of(indices: Indices) -> str:
    """``[1 1 0]``."""
    return f"[{' '.join(map(str, indices))}]"


def kind_of(indices: Indices) -> str:
    """Indices by size: directions of one kind are as simple as each other."""
    return "".join(map(str, sorted((abs(k) for k in indices), reverse=True)))


def _looked(world: World, number: int) -> Iterator[Candidate]:
    if number:
        return
    for name, scenes in world.by_structure.items():
        base = world.bases[name]
        for scene in scenes:
            strict = [c for c in scene.cameras if scene.label_edges and not c.tilt_degrees]
            if not strict or scene.mutation:
                continue
            pool = {c.id: _indices(c) for c in strict}
            classes = world.once(("classes", name), partial(_classes, base, pool))
            if len(set(classes.values())) < 4:
                world.refused["Q6: fewer than four inequivalent directions"] += 1
                continue
            for camera in strict:
                if seen_along(scene.lattice, camera) != pool[camera.id]:
                    world.refused["Q6: two computations disagree"] += 1
                    continue
                yield Candidate(
                    name,
                    kind_of(pool[camera.id]),
                    (scene.id, camera.id),
                    (scene,),
                    ((camera.id,),),
                    text_of(pool[camera.id]),
                    facts={"direction": list(pool[camera.id])},
                    base=(pool[camera.id], classes),
                )


def _indices(camera: Camera) -> Indices:
    u, v, w = (round(float(one)) for one in camera.direction)
    return u, v, w


def _classes(base: BaseStructure, pool) -> dict[Indices, Indices]:
    rotations = laue_rotations(base)
    return {indices: direction_class(indices, rotations) for indices in pool.values()}


def _others(candidate: Candidate, world: World, truths: Counter[str], rng):
    """Three of other classes than the right one and each other."""
    true, classes = candidate.base
    others: dict[Indices, list[Indices]] = {}
    for indices, name in classes.items():
        if name != classes[true]:
            others.setdefault(name, []).append(indices)
    names = sorted(others)
    found = []
    for _ in range(world.options.option_sets):
        chosen = [names[k] for k in rng.permutation(len(names))[:3].tolist()]
        members = [others[name][int(rng.integers(len(others[name])))] for name in chosen]
        found.append(tuple(Wrong(text_of(m), "another Laue class") for m in sorted(members)))
    return found


def inequivalent(options: list[Indices], rotations: np.ndarray) -> bool:
    """Whether no two of these directions are equivalent."""
    names = sorted(direction_class(one, rotations) for one in options)
    return all(a != b for a, b in pairwise(names))


DIRECTIONS = Stratum(
    _looked,
    evenly,
    _others,
    lambda candidate, world: (
        "The picture looks exactly along a lattice direction [u v w] = u a + v b + w c; the "
        "cell's edges are labelled a, b and c. Which direction is it (up to its sign and to the "
        "structure's symmetry)?"
    ),
)
