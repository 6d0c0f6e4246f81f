"""The search for crystals with the same pictures: its bounds, its hidden places, its words."""

import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import read_cases as cases
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from rc_hpc.reader.convention import named
from rc_hpc.structures.sources import iter_items
from rc_hpc.symmetry.conventional import conventional_cell

pytestmark = pytest.mark.long
SIZE = 384


@pytest.fixture(scope="module")
def bench():
    """The bench module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[2]))
        return importlib.import_module("bench.reader_equal")


PICTURE = arrays(np.uint8, (2, 9, 7, 3), elements=st.sampled_from([0, 3, 100, 107, 109, 255]))


@settings(max_examples=60, deadline=None)
@given(PICTURE, PICTURE, st.integers(0, 6))
def test_signatures_never_tell_of_more_pixels_than_differ(bench, one, other, kept):
    other[:, :kept] = np.clip(one[:, :kept].astype(int) + 8, 0, 255)  # forgiven
    levels = bench.LIMITS.levels
    differing = np.sum(np.abs(one.astype(int) - other).max(3) > levels)
    first, second = (bench.signature(list(pictures)) for pictures in (one, other))
    assert bench.least_differing(first, second[None])[0] <= differing
    assert bench.least_differing(first, first[None])[0] == 0


def test_pairs_that_signatures_leave_are_those_that_may_be_the_same(bench):
    white = np.full((5, 40, 40, 3), 255, np.uint8)
    red, near = white.copy(), white.copy()
    red[:, 10:30, 10:30] = (255, 0, 0)
    near[0, :10, :10] = 0  # a hundred pixels
    signatures = np.array([bench.signature(list(one)) for one in (white, red, near, white)])
    assert set(bench.possible_pairs(signatures)) == {(0, 2), (0, 3), (2, 3)}


def cell_of(name):
    """One of the cases as a packed cell."""
    lattice, numbers, fractional, group = cases.cells()[name]
    return SimpleNamespace(
        id=name, lattice=lattice, numbers=np.array(numbers),
        positions=np.asarray(fractional) @ lattice, space_group_conventional=group,
    )  # fmt: skip


def test_depths_are_those_of_the_nearest_disc(bench):
    drawings = bench.Drawings(SIZE)
    scene, views, _ = drawings.of(cell_of("skew"))
    view, size = views[3], int(SIZE * bench.COARSE)
    n = len(scene.discs.numbers)
    found = bench.depths(view, n, size)
    depth = scene.discs.positions @ view.rotation[:, 2]
    centres, radii = view.centres * bench.COARSE, view.radii * bench.COARSE
    for i in range(0, size, 7):
        for j in range(0, size, 5):
            on = np.hypot(*(centres - (j + 0.5, i + 0.5)).T) <= radii
            assert found[i, j] == pytest.approx(depth[on].max() if on.any() else -np.inf)


def test_a_disc_at_a_hidden_place_is_not_seen(bench):
    drawings = bench.Drawings(SIZE)
    lattice = 6.0 * np.eye(3)
    fractional = np.array([(x, y, z) for x in (0.4, 0.9) for y in (0.1, 0.6) for z in (0.4, 0.9)])
    cell = SimpleNamespace(lattice=lattice, positions=fractional @ lattice, numbers=np.full(8, 55))
    scene, views, pictures = drawings.of(cell)
    convention = named("C1")
    radius = float(convention.radii_A[8])
    places = bench.hidden_places(cell, scene, views, radius, convention.line_px)
    assert len(places)
    redrawing = drawings.redrawing(pictures)
    for place in places[:: max(1, len(places) // 5)]:
        more = np.vstack((cell.positions, place))
        assert redrawing.draw(lattice, np.append(cell.numbers, 8), more).total == 0
    share, near = bench.apart(cell, cell.numbers, places, 8)
    images = np.array([(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)])
    atoms = (cell.positions[:, None] + images @ lattice).reshape(-1, 3)
    away = np.linalg.norm(places[:, None] - atoms, axis=2).min(1)
    assert np.allclose(near, away) and np.allclose(share, away / (2.44 + 0.66))


def test_one_structure_is_searched_whole(bench):
    row, signature = bench.one(cell_of("rutile"), bench.Drawings(SIZE), moves=True)
    assert row["least"]["seen"] > 0 and row["label"] == 136
    assert row["moved"]["atom"] > bench.LIMITS.max_pixels
    assert row["moved"]["vector"] > bench.LIMITS.max_pixels
    assert signature.shape == (5, 3, 32) and (signature[..., -1] <= SIZE**2).all()
    lines = bench.told([row], [])
    assert "1 structures" in lines[0] and "1 structures, 0 not noticed" in lines[-1]


def test_a_site_that_is_not_seen_is_found_out_and_drawn(bench, tmp_path):
    hidden = SimpleNamespace(**vars(cell_of("rutile")))
    hidden.numbers = np.append(hidden.numbers, 8)
    hidden.positions = np.vstack((hidden.positions, hidden.positions[0] - (0.05, -0.05, 0.05)))
    hidden.space_group_conventional = 1
    drawings = bench.Drawings(SIZE)
    scene, views, pictures = drawings.of(hidden)
    seen = bench.seen_of_sites(scene, views, drawings.convention, len(hidden.numbers))
    assert seen.argmin() == len(hidden.numbers) - 1 and seen.min() == 0
    found = bench.little_seen(hidden, hidden.numbers, seen, drawings.redrawing(pictures))
    other, pixels, group = found["tried"][0]
    assert (other, pixels, group) == (0, 0, 136)
    row = {"id": "x", "label": 1, "least": found, "further": [], "hydrogen": []}
    told = bench.told([row], [["x", "y", 3, 1, 2]])
    assert "1 draw the same pictures, 1 of these have two labels" in told[1]
    assert "1 unseen" in "\n".join(told)
    witness = importlib.import_module("bench.reader_witness")
    row |= {"id": hidden.id, "further": [8, 0.2, 0.09, 0, 1, hidden.positions[-1].tolist()]}
    found = witness.witnesses([row], None, {hidden.id: hidden}, bench.LIMITS.max_pixels)
    paths = witness.draw(drawings, found, tmp_path)
    assert [path.stem for path in paths] == ["rutile_without", "rutile_further_8"]
    for path in paths:
        first, second, differing = np.split(np.asarray(Image.open(path)), 3)
        assert np.array_equal(first, second) and (differing == 255).all()


@pytest.mark.data
def test_a_hydrogen_can_hide_at_a_physical_distance(bench, shared):
    """Two crystals with two labels, the same pictures: what the README says."""
    for item in iter_items([str(shared / "data" / "e3" / "structures.json")]):
        if item.id == "mp-1183051":
            data = item.read(item, item.blob())
            found = conventional_cell(data.lattice, data.frac, data.numbers)
    cell = SimpleNamespace(
        lattice=found.lattice, positions=found.positions, numbers=np.asarray(found.numbers, int)
    )
    drawings = bench.Drawings(768)
    scene, views, pictures = drawings.of(cell)
    row = bench.further(cell, cell.numbers, scene, views, drawings.redrawing(pictures), (1,))
    _, share, near, pixels, group, _ = row
    assert pixels == 0 and near > 1.5 and share > 0.6
    assert (found.label.number, group) == (194, 1)
