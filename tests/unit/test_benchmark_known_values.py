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


def eight(lattice, tilt, seed=3):
    rng = np.random.default_rng(seed)
    found = [camera(f"v{k:02}", one, lattice, tilt) for k, one in enumerate(TILTED)]
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


#: Scenes of 258 by tilt and views, by the twin's rule and by ours.
KNOWN = {
    (0.0, 3): (96, 100),
    (-8.0, 3): (258, 258),
    (8.0, 3): (252, 258),
    (8.0, 2): (178, 188),
    (-8.0, 2): (177, 188),
}


@pytest.mark.slow  # a minute on an idle core, most of it in the twin
def test_shares_of_cells_whose_displayed_atoms_are_reconstructed():
    """On pymatgen's conventional cells: 96 of 258 from strict views are the study's 0.372, all from
    three tilted ones its 1.000, where the tilt lowers the viewer. Our rule explains near misses
    away, and has all of them whichever way the tilt is.

    The study's 0.640 (165) for the first two tilted ones is not found: the twin has 177 and 178, by
    the tilt's sign, and the same without merging, with the images merged within delta, and with
    points compared as sets. Other conventions give it neither: with c upwards and the tilt about
    the screen's y axis 40 and 41; with the Cartesian z upwards 176, 174 and 30, 30; y 42, 43 and
    176, 175; a 113, 109 and 239, 235. The study states neither which way is up nor the tilt's sign.
    """
    scenes = {tilt: [] for tilt in (0.0, 8.0, -8.0)}
    for item in iter_items(["prototypes"]):
        made = item.read(item, item.blob())
        cell = conventional_cell(made.lattice, made.frac, made.numbers, 0.01)
        fractional = np.mod(cell.positions @ np.linalg.inv(cell.lattice), 1.0)
        fractional[fractional > 1 - 1e-6] = 0.0
        numbers = np.asarray(cell.numbers).astype(int)
        for tilt, own in scenes.items():
            one = shown(item.id, cell.lattice, fractional, numbers, eight(cell.lattice, tilt))
            if len(one.numbers) <= MOST:
                own.append(one)
    assert len(scenes[0.0]) == 258
    found = {}
    for tilt, views in KNOWN:
        by_twin = by_us = 0
        for one in scenes[tilt]:
            rotations = [camera.rotation.T for camera in one.cameras[:views]]
            by_twin += naive.exact(one.positions, one.numbers, rotations, 0.01)
            by_us += int(whole(one, views))
        found[tilt, views] = by_twin, by_us
    assert found == KNOWN
    assert all(whole(one, 8) for one in scenes[8.0])


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
