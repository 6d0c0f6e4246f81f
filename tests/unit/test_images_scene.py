"""Geometry of the pictures, against ASE's own and against the obvious."""

import itertools

import numpy as np
import pytest
from ase import Atoms
from ase.data import covalent_radii
from ase.io.utils import PlottingVariables
from images_cases import FROZEN, prototypes, rock_salt, triclinic

from rc_hpc.images.build import crystal_scene
from rc_hpc.images.conventions import CONVENTIONS, CUSTOM, name_of
from rc_hpc.images.overlap import overlap_fraction, overlapping
from rc_hpc.images.view import SAME_DEPTH, paint_order, project

CELLS = [rock_salt(), triclinic()]


def ase_view(cell, tiling, rotation, factor=0.5):
    """ASE's own tiling and its plotting variables."""
    lattice, numbers, positions = cell
    atoms = Atoms(numbers, positions=positions, cell=lattice, pbc=True).repeat(tiling)
    return atoms, PlottingVariables(
        atoms, rotation=rotation, scale=1, radii=factor, show_unit_cell=2
    )


@pytest.mark.parametrize("tiling", [(2, 2, 2), (1, 1, 1), (1, 3, 2)])
@pytest.mark.parametrize("cell", CELLS, ids=["cubic", "triclinic"])
def test_tiling_is_ases(cell, tiling):
    scene = crystal_scene(*cell, tiling, 0.5)
    atoms, _ = ase_view(cell, tiling, np.eye(3))
    np.testing.assert_array_equal(scene.discs.positions, atoms.positions)
    np.testing.assert_array_equal(scene.discs.numbers, atoms.numbers)
    np.testing.assert_array_equal(scene.cell, atoms.cell[:])
    n = len(cell[1])
    np.testing.assert_array_equal(scene.discs.site, np.arange(len(atoms)) % n)
    np.testing.assert_array_equal(scene.discs.radii, covalent_radii[atoms.numbers] * 0.5)


@pytest.mark.parametrize("cell", CELLS, ids=["cubic", "triclinic"])
@pytest.mark.parametrize("camera", range(5))
def test_view_is_ases(cell, camera):
    rotation, size = FROZEN.rotations[camera], 768
    scene = crystal_scene(*cell)
    view = project(scene, rotation, size)
    _, ase = ase_view(cell, (2, 2, 2), rotation)
    side = max(ase.w, ase.h)
    u = (ase.positions[:, 0] + (side - ase.w) / 2) / side * size
    v = size - (ase.positions[:, 1] + (side - ase.h) / 2) / side * size
    n = len(scene.discs.numbers)
    np.testing.assert_allclose(
        np.concatenate((view.centres, view.middles)), np.column_stack((u, v)), atol=1e-9
    )
    np.testing.assert_allclose(view.radii, ase.d[:n] / 2 * size / side, rtol=1e-13)
    np.testing.assert_array_equal(view.depth - ase.offset[2], ase.positions[:, 2])
    np.testing.assert_array_equal(scene.segments.hidden, ase.T == -1)
    assert scene.segments.hidden.any() or cell is CELLS[1]
    halves = ase.D[[0, 1, 2]][
        np.repeat(
            np.arange(3), [4 * max(2, int(np.linalg.norm(edge) / 0.3)) for edge in scene.cell]
        )
    ]
    np.testing.assert_allclose(view.halves * (1, -1) * side / size, halves, atol=1e-12)


def test_origin_and_scale_project_any_position():
    scene = crystal_scene(*triclinic())
    for rotation in FROZEN.rotations:
        view = project(scene, rotation, 500)
        screen = scene.discs.positions @ rotation
        expected = view.origin + view.px_per_angstrom * screen[:, :2] * (1, -1)
        np.testing.assert_allclose(view.centres, expected, atol=1e-9)
        np.testing.assert_array_equal(
            view.depth[: len(screen)],
            (np.concatenate((scene.discs.positions, scene.segments.middles)) @ rotation)[
                : len(screen), 2
            ],
        )


@pytest.mark.parametrize("cell", CELLS, ids=["cubic", "triclinic"])
def test_picture_fits_with_five_percent_of_room(cell):
    scene = crystal_scene(*cell)
    for rotation in FROZEN.rotations:
        view = project(scene, rotation)
        corners = np.array(list(itertools.product((0, 1), repeat=3))) @ scene.cell @ rotation
        corners = view.origin + view.px_per_angstrom * corners[:, :2] * (1, -1)
        low = np.minimum((view.centres - view.radii[:, None]).min(0), corners.min(0))
        high = np.maximum((view.centres + view.radii[:, None]).max(0), corners.max(0))
        assert max(high - low) * 1.05 == pytest.approx(768)
        assert (low + high) / 2 == pytest.approx([384, 384])
        frame = view.frame  # its v runs upwards
        assert [frame[2] - frame[0], frame[3] - frame[1]] == pytest.approx(1.05 * (high - low))


def test_farther_is_painted_first_and_one_depth_by_index():
    depth = np.array([3.0, 1.0, 2.0, 1.0, -4.0, 2.0])
    assert paint_order(depth).tolist() == [4, 1, 3, 2, 5, 0]


def test_noise_has_no_say_in_the_order():
    rng = np.random.default_rng(3)
    floors = np.sort(rng.random(30) * 20).round(4)
    depth = rng.choice(floors, 400)
    order = paint_order(depth)
    for _ in range(20):
        np.testing.assert_array_equal(paint_order(depth + rng.uniform(-1, 1, 400) * 1e-9), order)
    # ... wherever the grid of a rounding would lie
    shifted = paint_order(depth + SAME_DEPTH / 2 + rng.uniform(-1, 1, 400) * 1e-12)
    np.testing.assert_array_equal(shifted, order)


def test_conventions_have_the_published_values():
    assert (
        CONVENTIONS["C1"].tiling
        == CONVENTIONS["C3"].tiling
        == CONVENTIONS["C4"].tiling
        == (2, 2, 2)
    )
    assert CONVENTIONS["C2"].tiling == CONVENTIONS["C5"].tiling == (1, 1, 1)
    assert [CONVENTIONS[name].radii_factor for name in ("C1", "C2", "C3", "C4", "C5")] == [
        0.5,
        0.5,
        0.22,
        0.5,
        0.22,
    ]
    assert [
        name for name, convention in CONVENTIONS.items() if convention.protocol == "off-axis"
    ] == ["C4"]
    for name, convention in CONVENTIONS.items():
        assert name_of(convention.protocol, convention.tiling, convention.radii_factor) == name
    assert name_of("frozen", (2, 2, 2), 0.3) == CUSTOM
    assert name_of("mine", (2, 2, 2), 0.5) == CUSTOM


def overlapping_pair_by_pair(centres, radii, numbers, same):
    n = len(centres)
    found = [False] * n
    for i, j in itertools.permutations(range(n), 2):
        apart = float(np.hypot(*(centres[i] - centres[j])))
        if (
            numbers[i] == numbers[j]
            and apart < radii[i] + radii[j]
            and not (same is not None and apart <= same)
        ):
            found[i] = True
    return found


@pytest.mark.parametrize("same", [None, 1e-3])
@pytest.mark.parametrize("seed", range(4))
def test_overlap_agrees_with_pair_by_pair(seed, same):
    rng = np.random.default_rng(seed)
    centres = rng.uniform(0, 10, (60, 2))
    centres[10:20] = centres[:10]
    numbers = rng.choice([1, 8, 26], 60)
    numbers[10:20] = numbers[:10]
    radii = 0.4 + 0.1 * np.sqrt(numbers)
    found = overlapping(centres, radii, numbers, same)
    assert found.tolist() == overlapping_pair_by_pair(centres, radii, numbers, same)
    assert 0 < found.sum() < 60


def test_touching_discs_do_not_overlap():
    assert not overlapping([[0, 0], [2, 0]], [1, 1], [6, 6]).any()
    assert overlapping([[0, 0], [2 - 1e-12, 0]], [1, 1], [6, 6]).all()


@pytest.fixture(scope="module")
def overlaps(shared, eval_ids):
    """Function: overlap fractions of evaluation structures, with and without coincident centres."""
    import json

    from rc_hpc.structures.sources import iter_items
    from rc_hpc.symmetry.conventional import conventional_cell

    items = {
        item.id: item for item in iter_items([str(shared / "data" / "e3" / "structures.json")])
    }
    expected = json.loads((shared / "expected" / "geometry.json").read_text())["conventions"][
        "overlap_statistic"
    ]

    def compute(ids):
        rows = []
        for id_ in ids:
            structure = items[id_].read(items[id_], items[id_].blob())
            cell = conventional_cell(structure.lattice, structure.frac, structure.numbers)
            scene = crystal_scene(cell.lattice, cell.numbers, cell.positions)
            views = [project(scene, rotation) for rotation in FROZEN.rotations]
            rows.append(
                (
                    scene,
                    views,
                    [
                        overlap_fraction(views, scene.discs.numbers, coincident)
                        for coincident in (True, False)
                    ],
                )
            )
        return rows

    return compute, expected


@pytest.mark.data
def test_overlap_of_some_released_structures(overlaps, eval_ids):
    compute, _ = overlaps
    for scene, views, (with_all, without) in compute(eval_ids[7::45]):
        naive = [
            np.mean(
                [
                    overlapping_pair_by_pair(
                        view.centres,
                        view.radii,
                        scene.discs.numbers,
                        same and same * view.px_per_angstrom,
                    )
                    for view in views
                ]
            )
            for same in (None, 1e-6)
        ]
        assert (with_all, without) == pytest.approx(naive)
        assert with_all > 0


@pytest.mark.data
@pytest.mark.slow
def test_overlap_of_the_released_structures(overlaps, eval_ids):
    compute, expected = overlaps
    values = np.array([fractions for *_, fractions in compute(eval_ids)])
    for column, name in enumerate(("e3", "e3_excluding_exact_coincidence")):
        assert round(values[:, column].mean(), 4) == expected[name]["mean"]
        assert round(float(np.median(values[:, column])), 4) == expected[name]["median"]
    assert (values[:, 0] > 0).all()


def test_prototypes_project_without_fault():
    for _, lattice, numbers, positions in prototypes(8):
        scene = crystal_scene(lattice, numbers, positions)
        for rotation in FROZEN.rotations:
            view = project(scene, rotation)
            assert np.isfinite(view.centres).all()
            assert (view.centres > 0).all() and (view.centres < 768).all()
