"""Known values of a feasibility study of the benchmark: reconstruction, directions, matchers."""

import naive_reading as naive
import numpy as np
import pytest

from rc_hpc.benchmark.bases import base_structure
from rc_hpc.benchmark.cameras import TILTED, camera, strict_views
from rc_hpc.benchmark.catalogue import catalogue_structures
from rc_hpc.benchmark.display import displayed_atoms
from rc_hpc.benchmark.questions.variants import same_crystal, variants
from rc_hpc.benchmark.reading.points import reconstruct
from rc_hpc.benchmark.reading.sights import Pictures, Sight
from rc_hpc.benchmark.records import DisplayedScene
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.structures.sources import iter_items
from rc_hpc.symmetry.conventional import conventional_cell

#: Displayed atoms at most.
MOST = 60
#: What is upwards in the study.
UP = np.array([0.0, 0.0, 1.0])


@pytest.fixture(scope="module")
def bases():
    """All 288 prototypes of pymatgen as base structures."""
    settings, found = DisplaySettings(), []
    for item in iter_items(["prototypes"]):
        made = item.read(item, item.blob())
        found.append(base_structure(item.id, made.lattice, made.frac, made.numbers, settings))
    return found


def shown(name, lattice, fractional, numbers, cameras):
    index, shift = displayed_atoms(lattice, fractional, (1, 1, 1))
    n = len(index)
    return DisplayedScene(
        *("s0", name, "cell", lattice, (1, 1, 1)),
        *((fractional[index] + shift) @ lattice, numbers[index], index, shift),
        *(np.empty((0, 2), int), -1, tuple(cameras), np.ones((len(cameras), n))),
        px_per_angstrom=40.0,
    )


def eight(lattice, tilt, up=None, seed=3):
    rng = np.random.default_rng(seed)
    found = [camera(f"v{k:02}", one, lattice, tilt, up) for k, one in enumerate(TILTED)]
    return found + [camera(f"v{k:02}", rng.uniform(-1, 1, 3), lattice) for k in range(3, 8)]


def whole(scene, views):
    """Whether the points of the first views are the displayed atoms."""
    pictures = Pictures(scene, tuple(range(8)), Sight("centres"))
    points = reconstruct(pictures, [views], 0.01)[views]
    if len(points.numbers) != len(scene.numbers):
        return False
    apart = np.linalg.norm(points.positions[:, None] - scene.positions[None], axis=-1)
    apart[points.numbers[:, None] != scene.numbers[None]] = np.inf
    return apart.min(axis=0).max() < 0.01 and apart.min(axis=1).max() < 0.01


#: Scenes of 258 by tilt, views and delta in Å that the twin's rule has whole. The study's shares of
#: strict ones are 96 and 92, of three tilted ones 258, 242 and 186, of two 165, 112 and 40.
KNOWN = {
    (0.0, 3): {0.01: 96, 0.05: 92},
    (-8.0, 3): {0.01: 258, 0.05: 244, 0.1: 186},
    (-8.0, 2): {0.01: 165, 0.05: 112, 0.1: 40},
}
#: The same by our rule, at 0.01 Å.
OURS = {(0.0, 3): 100, (-8.0, 3): 258, (-8.0, 2): 188}


@pytest.mark.slow  # half a minute, most of it in the twin
def test_shares_of_cells_whose_displayed_atoms_are_reconstructed():
    """Of pymatgen's conventional cells, the Cartesian z upwards, tilted so that viewers are lower.

    At 0.01 Å these are the study's 0.372, 1.000 and 0.640, and the kappa of the worst pair of three
    views is its median and maximum. Our rule explains near misses away.
    """
    scenes = {tilt: [] for tilt in (0.0, -8.0)}
    kappas = []
    for item in iter_items(["prototypes"]):
        made = item.read(item, item.blob())
        cell = conventional_cell(made.lattice, made.frac, made.numbers, 0.01)
        fractional = np.mod(cell.positions @ np.linalg.inv(cell.lattice), 1.0)
        fractional[fractional > 1 - 1e-6] = 0.0
        numbers = np.asarray(cell.numbers).astype(int)
        for tilt, own in scenes.items():
            one = shown(item.id, cell.lattice, fractional, numbers, eight(cell.lattice, tilt, UP))
            if len(one.numbers) <= MOST:
                own.append(one)
                towards = np.array([camera.rotation[2] for camera in one.cameras[:3]])
                apart = np.abs(towards @ towards.T)[np.triu_indices(3, 1)]
                kappas += [1 / np.sqrt(1 - apart.max())] if tilt else []
    assert len(scenes[0.0]) == 258
    assert np.round([np.median(kappas), max(kappas)], 2).tolist() == [1.98, 6.16]
    found, ours = {}, {}
    for (tilt, views), known in KNOWN.items():
        ours[tilt, views] = sum(whole(one, views) for one in scenes[tilt])
        found[tilt, views] = dict.fromkeys(known, 0)
        for delta in known:
            for one in scenes[tilt]:
                rotations = [camera.rotation.T for camera in one.cameras[:views]]
                found[tilt, views][delta] += naive.exact(
                    one.positions, one.numbers, rotations, delta
                )
    assert (found, ours) == (KNOWN, OURS)
    assert all(whole(one, 8) for one in scenes[-8.0])


@pytest.mark.slow  # half a minute: pymatgen's matcher
def test_the_loose_matcher_calls_stretched_cells_the_same(bases):
    from pymatgen.analysis.structure_matcher import StructureMatcher
    from pymatgen.core import Structure

    loose, tight, count = 0, 0, 0
    for base in bases:
        for variant in variants(base):
            if variant.mutation != "stretch" or len(base.numbers) > 24 or count == 80:
                continue
            made = [Structure(x.lattice, x.numbers, x.fractional) for x in (base, variant.cell)]
            loose += StructureMatcher().fit(*made)
            tight += same_crystal(base, variant.cell)
            count += 1
    assert (count, loose, tight) == (80, 80, 0)


@pytest.mark.long
def test_three_tilted_views_and_named_edges_of_the_catalogue():
    done = read = directions = 0
    for base in catalogue_structures():
        done += 1
        read += whole(
            shown(
                *(base.name, base.lattice, base.fractional, base.numbers),
                eight(base.lattice, 8.0),
            ),
            3,
        )
        for one in strict_views(base.lattice):
            edges = (one.rotation @ base.lattice.T)[:2]
            null = np.linalg.svd(edges)[2][-1]
            directions += np.allclose(np.cross(null, one.direction), 0, atol=1e-9)
    assert (done, read, directions) == (48, 48, 48 * 13)
