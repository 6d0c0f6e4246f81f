"""What is displayed of a structure: its cell with boundary images, supercells, environments."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from rc_hpc.benchmark.bonds import (
    ROUNDING,
    bond_limits,
    bonded,
    coordination_numbers,
    periodic_neighbours,
)
from rc_hpc.benchmark.cameras import candidate_views, strict_views
from rc_hpc.benchmark.drawing import (
    drawn_scene,
    fitting_scale,
    lettered,
    smallest_fill,
    visible_shares,
)
from rc_hpc.benchmark.palette import alike
from rc_hpc.benchmark.records import BaseStructure, Camera, DisplayedScene, Variant
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.core.constants import TAU
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.symmetry.guard import NULL_RECORDER
from rc_hpc.symmetry.orbits import orbits

#: An atom this near to a face of the cell is shown on the opposite face too, Å.
ON_FACE = 0.01
#: Repetitions along an axis of a supercell at most.
LONGEST = 4


def display(
    base: BaseStructure,
    settings: DisplaySettings,
    variants: Sequence[Variant] = (),
    recorder=NULL_RECORDER,
    left_out: list[DisplayedScene] | None = None,
) -> list[DisplayedScene]:
    """Every scene of a structure of which questions may be asked.

    In this order: the cell with its candidate views; the cell from the strict views, its edges
    named; supercells, the smallest first; the environment of one atom of each orbit that has two
    bonds or more, where coordination is asked about; and the cells of variants. Those whose
    smallest disc has less colour than `DisplaySettings.least_fill` are left out.

    Parameters
    ----------
    left_out
        Takes them.

    Raises
    ------
    StructureError
        Its elements have no colours that are told apart, or the discs of its cell are too small.
    """
    if why := alike(tuple(sorted(set(base.numbers.tolist()))), settings.fog):
        raise StructureError(Status.undrawable, f"{why}; leave it out, or take less --fog")
    source = _Source.of(base, settings)
    scenes = [_cell(source, (1, 1, 1), settings)]
    if why := too_small(scenes[0], settings):
        raise StructureError(
            Status.undrawable,
            f"its cell cannot be drawn: {why}; leave it out, or take a larger --size or --radii",
        )
    scenes.append(_strict(source, settings))
    for repeats in supercells(base, settings):
        scenes.append(_cell(source, repeats, settings))
    if base.coordination:
        for atom in coordination_centres(base, settings, recorder):
            scenes.append(_environment(source, atom, settings))
    for one in variants:
        scenes.append(_cell(_Source.of(base, settings, one), (1, 1, 1), settings))
    drawable = [scene for scene in scenes if not too_small(scene, settings)]
    if left_out is not None:
        left_out += [scene for scene in scenes if too_small(scene, settings)]
    return drawable


def too_small(scene: DisplayedScene, settings: DisplaySettings) -> str:
    """Why the discs of a scene show too little colour, in words; empty where they show enough."""
    fill = smallest_fill(scene, settings)
    if fill >= settings.least_fill:
        return ""
    return (
        f"at {scene.px_per_angstrom:.3g} px/Å its smallest disc is coloured {max(fill, 0):.1f} px "
        f"across, and {settings.least_fill:g} px are needed (--least-fill)"
    )


def marked(scene: DisplayedScene, marks: Mapping[str, int], settings) -> DisplayedScene:
    """The same scene with atoms highlighted, under an id of its own.

    A mark whose name is one letter shows it; any other is a ring. Marks lie within their atoms'
    discs. Letters are written over everything, and cover what else is there.
    """
    marks = {name: int(marks[name]) for name in sorted(marks)}
    made = replace(scene, id=_id(scene.id, marks, settings), marks=marks)
    return replace(made, visible=visible_shares(made, settings)) if lettered(made) else made


def at_scale(scene: DisplayedScene, px_per_angstrom: float, settings) -> DisplayedScene:
    """The same scene at another scale, under an id of its own; the same where it has that scale.

    Parameters
    ----------
    px_per_angstrom
        Not above the scene's own, or it would not fit into its pictures.
    """
    if px_per_angstrom == scene.px_per_angstrom:
        return scene
    scaled = replace(
        scene,
        id=_id(scene.id, float(px_per_angstrom).hex(), settings),
        px_per_angstrom=float(px_per_angstrom),
    )
    return replace(scaled, visible=visible_shares(scaled, settings))


def displayed_again(
    base: BaseStructure,
    scene: DisplayedScene,
    settings: DisplaySettings,
    variants: Sequence[Variant] = (),
) -> DisplayedScene:
    """What is displayed of a structure in the place of a scene: of its mode, marks and scale.

    Parameters
    ----------
    variants
        Among which that of the scene is, where it has one.

    Raises
    ------
    LookupError
        No variant is that of the scene.
    """
    source = _Source.of(base, settings)
    if scene.mutation:
        named = {(one.mutation, one.detail): one for one in variants}
        source = _Source.of(base, settings, named[scene.mutation, scene.detail])
    if scene.label_edges:
        made = _strict(source, settings)
    elif scene.mode == "environment":
        made = _environment(source, int(scene.index[scene.centre]), settings)
    else:
        made = _cell(source, scene.repeats, settings)
    if scene.marks:
        made = marked(made, scene.marks, settings)
    return at_scale(made, scene.px_per_angstrom, settings)


def displayed_atoms(lattice, fractional, repeats):
    """Atoms of a repeated cell with their images on its far faces.

    Parameters
    ----------
    lattice : (3, 3), fractional : (n, 3)
        Å; in [0, 1).

    Returns
    -------
    index : (k,), translation : (k, 3) int64
        Atom and lattice translation of each, by translation, then index.
    """
    near = ON_FACE / np.linalg.norm(lattice, axis=1)
    atoms, shifts = [], []
    for atom, at in enumerate(fractional):
        ways = [
            [t for t in range(-1, count + 1) if -tol <= f + t <= count + tol]
            for f, count, tol in zip(at, repeats, near, strict=True)
        ]
        for shift in itertools.product(*ways):
            atoms.append(atom)
            shifts.append(shift)
    translation = np.array(shifts, np.int64).reshape(-1, 3)
    index = np.array(atoms, np.int64)
    order = np.lexsort((index, *translation.T[::-1]))
    return index[order], translation[order]


def supercells(base: BaseStructure, settings: DisplaySettings) -> list[tuple[int, int, int]]:
    """Repetitions of the supercells that are displayed: those of the fewest atoms, then compact."""
    found = []
    near = ON_FACE / np.linalg.norm(base.lattice, axis=1)
    on_face = (base.fractional <= near) | (base.fractional >= 1 - near)
    for repeats in itertools.product(range(1, LONGEST + 1), repeat=3):
        count = int((np.array(repeats) + on_face).prod(axis=1).sum())
        if repeats != (1, 1, 1) and count <= settings.max_displayed:
            edges = np.linalg.norm(base.lattice, axis=1) * repeats
            found.append((float(edges.max() / edges.min()), count, repeats))
    chosen = sorted(found)[: settings.supercells]
    return [(a, b, c) for _, _, (a, b, c) in sorted(chosen, key=lambda one: one[1:])]


def coordination_centres(base: BaseStructure, settings, recorder=NULL_RECORDER) -> list[int]:
    """The first atom of each orbit whose atoms have two bonds or more."""
    counts = coordination_numbers(
        base.lattice, base.fractional, base.numbers, base.pairs, settings.bond_factor
    )
    of = orbits(base.lattice, base.fractional @ base.lattice, base.numbers, TAU, recorder)
    firsts = np.unique(of, return_index=True)[1]
    return sorted(int(atom) for atom in firsts if counts[atom] >= 2)


@dataclass(frozen=True)
class _Source:
    """A cell, the longest bonds in it, the elements of its base structure, what was changed."""

    cell: BaseStructure
    limits: dict[tuple[int, int], float]
    elements: tuple[int, ...]
    variant: Variant | None = None

    @classmethod
    def of(
        cls, base: BaseStructure, settings: DisplaySettings, variant: Variant | None = None
    ) -> Self:
        cell = base if variant is None else variant.cell
        limits = bond_limits(
            cell.lattice, cell.fractional, cell.numbers, cell.pairs, settings.bond_factor
        )
        elements = tuple(sorted(set(base.numbers.tolist())))
        return cls(cell, limits, elements, variant)


def _cell(source: _Source, repeats, settings: DisplaySettings) -> DisplayedScene:
    cell, variant = source.cell, source.variant
    mode = "cell" if repeats == (1, 1, 1) else "supercell"
    key = f"{mode} {repeats}"
    if variant is not None:
        key += f" {variant.mutation} {variant.detail}"
    shown = displayed_atoms(cell.lattice, cell.fractional, repeats)
    cameras = candidate_views(cell.lattice, _draws(cell.name, key, settings), settings)
    return _scene(source, mode, repeats, shown, cameras, key, settings)


def _strict(source: _Source, settings: DisplaySettings) -> DisplayedScene:
    cell = source.cell
    shown = displayed_atoms(cell.lattice, cell.fractional, (1, 1, 1))
    return _scene(source, "cell", (1, 1, 1), shown, strict_views(cell.lattice), "strict", settings)


def _environment(source: _Source, atom: int, settings: DisplaySettings) -> DisplayedScene:
    base, limits = source.cell, source.limits
    first, second, shift, distance = periodic_neighbours(
        base.lattice, base.fractional, max(limits.values()) + 2 * ROUNDING
    )
    shell = (first == atom) & bonded(base.numbers[first], base.numbers[second], distance, limits)
    index, translation = second[shell], shift[shell]
    order = np.lexsort((index, *translation.T[::-1]))
    shown = (
        np.concatenate(([atom], index[order])).astype(np.int64),
        np.concatenate((np.zeros((1, 3), np.int64), translation[order])),
    )
    key = f"environment {atom}"
    cameras = candidate_views(base.lattice, _draws(base.name, key, settings), settings)
    return _scene(source, "environment", (1, 1, 1), shown, cameras, key, settings)


def _scene(
    source: _Source,
    mode: str,
    repeats: tuple[int, int, int],
    shown: tuple[np.ndarray, np.ndarray],
    cameras: tuple[Camera, ...],
    key: str,
    settings: DisplaySettings,
) -> DisplayedScene:
    cell, variant, (index, translation) = source.cell, source.variant, shown
    positions = (cell.fractional[index] + translation) @ cell.lattice
    numbers = cell.numbers[index]
    scene = DisplayedScene(
        _id(cell.name, key, settings),
        cell.name,
        mode,
        cell.lattice,
        repeats,
        positions,
        numbers,
        index,
        translation,
        displayed_bonds(positions, numbers, source.limits),
        0 if mode == "environment" else -1,
        cameras,
        np.empty((len(cameras), len(index))),
        label_edges=key == "strict",
        mutation="" if variant is None else variant.mutation,
        detail="" if variant is None else variant.detail,
        elements=source.elements,
    )
    scale = fitting_scale(drawn_scene(scene, settings), scene, settings)
    scene = replace(scene, px_per_angstrom=scale)
    return replace(scene, visible=visible_shares(scene, settings))


def displayed_bonds(positions, numbers, limits) -> np.ndarray:
    """Bonds between displayed atoms, (m, 2) int64, the smaller index first."""
    from scipy.spatial import cKDTree

    if not limits:
        return np.empty((0, 2), np.int64)
    reach = max(limits.values()) + 2 * ROUNDING
    pairs = cKDTree(positions).query_pairs(reach, output_type="ndarray").reshape(-1, 2)
    distance = np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1)
    joined = np.sort(
        pairs[bonded(numbers[pairs[:, 0]], numbers[pairs[:, 1]], distance, limits)], axis=1
    ).astype(np.int64)
    return joined[np.lexsort(joined.T[::-1])]


def _hash(settings: DisplaySettings, *words) -> bytes:
    text = "\0".join(map(str, (settings.seed, *words)))
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


def _id(name: str, key, settings: DisplaySettings) -> str:
    """An id that tells nothing of what it is made of."""
    return "s" + _hash(settings, "scene", name, key)[:6].hex()


def _draws(name: str, key: str, settings: DisplaySettings) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(_hash(settings, "views", name, key), "big"))
