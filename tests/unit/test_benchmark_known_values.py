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


def shown(base, cameras):
    index, shift = displayed_atoms(base.lattice, base.fractional, (1, 1, 1))
    n = len(index)
    return DisplayedScene(
        *("s0", base.name, "cell", base.lattice, (1, 1, 1)),
        *((base.fractional[index] + shift) @ base.lattice, base.numbers[index], index, shift),
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


@pytest.mark.slow  # about three minutes on an idle core, most of it in the twin
def test_shares_of_cells_whose_displayed_atoms_are_reconstructed(bases):
    """By the twin's rule the study's 0.372, 0.640, 1.000; ours explains near misses away."""
    scenes = {
        tilt: [
            one
            for base in bases
            if len((one := shown(base, eight(base.lattice, tilt))).numbers) <= MOST
        ]
        for tilt in (0.0, 8.0)
    }
    assert len(scenes[0.0]) == 258

    def share(tilt, views, twin):
        right = 0
        for one in scenes[tilt]:
            rotations = [camera.rotation.T for camera in one.cameras[:views]]
            if twin:
                right += naive.exact(one.positions, one.numbers, rotations, 0.01)
            else:
                right += whole(one, views)
        return right

    found = {
        (tilt, views): (share(tilt, views, twin=True), share(tilt, views, twin=False))
        for tilt, views in ((0.0, 3), (8.0, 2), (8.0, 3))
    }
    assert found == KNOWN
    assert share(8.0, 8, twin=False) == 258


#: Scenes of 258, by the twin's rule and by ours: strict views, two and three tilted ones.
KNOWN = {(0.0, 3): (96, 99), (8.0, 2): (165, 188), (8.0, 3): (258, 258)}


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
        read += whole(shown(base, eight(base.lattice, 8.0)), 3)
        for one in strict_views(base.lattice):
            edges = (one.rotation @ base.lattice.T)[:2]
            null = np.linalg.svd(edges)[2][-1]
            directions += np.allclose(np.cross(null, one.direction), 0, atol=1e-9)
    assert (done, read, directions) == (48, 48, 48 * 13)
