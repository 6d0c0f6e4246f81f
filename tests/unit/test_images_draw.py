"""Pixels: the fast path against ASE, the tie rule, and the geometry against the picture."""

import io
import subprocess
import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from ase import Atoms
from ase.data.colors import jmol_colors
from ase.io.utils import PlottingVariables
from images_cases import FROZEN, prototypes, rock_salt, triclinic
from PIL import Image

from rc_hpc.core.errors import UsageError
from rc_hpc.core.vocabulary import Renderer
from rc_hpc.images import draw as draw_module
from rc_hpc.images.build import crystal_scene
from rc_hpc.images.draw import Drawing, Style
from rc_hpc.images.fast import FastRenderer
from rc_hpc.images.files import PICTURE_NAME, encode_png, picture_folder, picture_name
from rc_hpc.images.reference import AseRenderer
from rc_hpc.images.ties import reaches, tied_pairs, tied_pixels
from rc_hpc.images.view import project

pytestmark = pytest.mark.long

TWELVE = prototypes(12)


def in_ases_order(scene, view):
    """The view, but painted in ASE's order: its depths, and numpy's argsort."""
    atoms = Atoms(scene.discs.numbers, positions=scene.discs.positions, cell=scene.cell)
    ase = PlottingVariables(atoms, rotation=view.rotation, scale=1, radii=scene.discs.radii)
    order = ase.positions[:, 2].argsort()
    hidden = np.concatenate((np.zeros(len(atoms), bool), ase.T == -1))
    return replace(view, order=order[~hidden[order]])


def painted(scene, view, item, points):
    """Whether the paint of a disc or segment may reach points, px (k, 2)."""
    n, reach = len(view.radii), reaches(scene)[item]
    if item < n:
        return np.linalg.norm(points - view.centres[item], axis=1) < view.radii[item] + reach
    half, away = view.halves[item - n], points - view.middles[item - n]
    along = np.clip(away @ half / max(half @ half, 1e-30), -1, 1)
    return np.linalg.norm(away - along[:, None] * half, axis=1) < reach


@pytest.mark.parametrize("number", range(len(TWELVE)), ids=[id_ for id_, *_ in TWELVE])
def test_fast_is_ase(number):
    _, *cell = TWELVE[number]
    fast, ase = FastRenderer(), AseRenderer()
    scene = crystal_scene(*cell)
    for camera in (number % 3, 3 + number % 2):
        view = project(scene, FROZEN.rotations[camera])
        reference = ase.draw(scene, view)
        np.testing.assert_array_equal(fast.draw(scene, in_ases_order(scene, view)), reference)
        # By our own rule for equal depths, only what lies at one depth may look different.
        differing = np.argwhere((fast.draw(scene, view) != reference).any(axis=2))[:, ::-1] + 0.5
        explained = np.zeros(len(differing), bool)
        for first, second in tied_pairs(scene, view):
            explained |= painted(scene, view, first, differing) & painted(
                scene, view, second, differing
            )
        assert explained.all()
        assert len(differing) < 0.0005 * 768**2


def test_there_are_ties_and_pictures_without():
    fast, ase = FastRenderer(), AseRenderer()
    scene = crystal_scene(*triclinic())
    free = [
        view
        for view in (project(scene, rotation) for rotation in FROZEN.rotations)
        if not len(tied_pairs(scene, view))
    ]
    assert free
    np.testing.assert_array_equal(fast.draw(scene, free[0]), ase.draw(scene, free[0]))
    scene = crystal_scene(*rock_salt(), radii_factor=1.2)
    ties = tied_pairs(scene, project(scene, FROZEN.rotations[2]))
    hidden = np.flatnonzero(scene.segments.hidden) + len(scene.discs.radii)
    assert len(ties) and len(hidden) and not np.isin(ties, hidden).any()


@pytest.mark.parametrize("size", [57, 116, 300])
def test_other_sizes_and_radii_are_ases_too(size):
    scene = crystal_scene(*triclinic(), (1, 2, 1), 0.22)
    view = project(scene, FROZEN.rotations[4], size)
    drawn = FastRenderer().draw(scene, in_ases_order(scene, view))
    assert drawn.shape == (size, size, 3)
    np.testing.assert_array_equal(drawn, AseRenderer().draw(scene, view))


def test_reference_is_what_plot_atoms_and_savefig_give():
    from ase.visualize.plot import plot_atoms

    matplotlib.use("agg")
    from matplotlib import pyplot

    lattice, numbers, positions = triclinic()
    atoms = Atoms(numbers, positions=positions, cell=lattice, pbc=True).repeat((2, 2, 2))
    scene = crystal_scene(lattice, numbers, positions)
    for text, rotation in (
        ("0x,-90y,0z", FROZEN.rotations[0]),
        ("-60x,-30y,-15z", FROZEN.rotations[3]),
    ):
        figure, axes = pyplot.subplots(figsize=(7.68, 7.68), dpi=100)
        figure.subplots_adjust(0, 0, 1, 1)
        plot_atoms(atoms, axes, rotation=text, radii=0.5, show_unit_cell=2)
        axes.set_axis_off()
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=100)
        pyplot.close(figure)
        expected = np.asarray(Image.open(file).convert("RGB"))
        np.testing.assert_array_equal(AseRenderer().draw(scene, project(scene, rotation)), expected)


def test_a_users_style_changes_no_picture():
    scene = crystal_scene(*triclinic())
    view = project(scene, FROZEN.rotations[4], 200)
    plain = AseRenderer().draw(scene, view), FastRenderer().draw(scene, view)
    with matplotlib.rc_context(
        {
            "patch.linewidth": 4.0,
            "patch.antialiased": False,
            "figure.facecolor": "red",
            "path.snap": False,
        }
    ):
        styled = AseRenderer().draw(scene, view), FastRenderer().draw(scene, view)
    np.testing.assert_array_equal(styled[0], plain[0])
    np.testing.assert_array_equal(styled[1], plain[1])


@pytest.mark.parametrize("cell", [rock_salt(), *(tuple(cell) for _, *cell in TWELVE[:3])])
def test_noise_in_the_positions_changes_no_picture(cell):
    lattice, numbers, positions = cell
    fast, rng = FastRenderer(), np.random.default_rng(0)
    moved = positions + rng.uniform(-1, 1, np.shape(positions)) * 1e-12
    for rotation in FROZEN.rotations:
        pictures = [
            fast.draw(scene, project(scene, rotation, 384))
            for scene in (crystal_scene(lattice, numbers, p) for p in (positions, moved))
        ]
        np.testing.assert_array_equal(*pictures)


@pytest.mark.parametrize("number", range(0, len(TWELVE), 3))
def test_disc_centres_have_the_colour_of_what_lies_on_top(number):
    _, *cell = TWELVE[number]
    scene = crystal_scene(*cell)
    n, checked, reach = len(scene.discs.numbers), 0, reaches(scene)[0]
    for rotation in FROZEN.rotations:
        view = project(scene, rotation)
        pixels = FastRenderer().draw(scene, view)
        for centre in view.centres:
            top = next(
                (item for item in view.order[::-1] if painted(scene, view, item, centre[None])[0]),
                None,
            )
            if top >= n or np.linalg.norm(centre - view.centres[top]) > view.radii[top] - reach:
                continue  # a line is near
            colour = np.round(jmol_colors[scene.discs.numbers[top]] * 255)
            found = pixels[int(np.floor(centre[1])), int(np.floor(centre[0]))]
            assert np.abs(found - colour).max() <= 1
            checked += 1
    assert checked > n


def pictures_of(cell, size=64, **style):
    return Drawing(FROZEN, Style(size, **style)).draw("x", crystal_scene(*cell))


def test_wide_structures_are_left_to_ase(monkeypatch):
    pictures = pictures_of(rock_salt(), compare=True)
    assert {picture.renderer for picture in pictures} == {Renderer.fast}
    monkeypatch.setattr(draw_module, "ASE_WIDTH", 5.0)
    pictures = pictures_of(rock_salt(), compare=True)
    assert {picture.renderer for picture in pictures} == {Renderer.ase}
    assert all(picture.pixels_not_ase == 0 for picture in pictures)


def test_geometry_holds_where_ase_rescales():
    lattice, numbers, positions = (
        np.diag([520.0, 3, 3]),
        [26, 79],
        [[50.0, 1.5, 1.5], [300, 1.5, 1.5]],
    )
    scene = crystal_scene(lattice, numbers, positions, (1, 1, 1), 4.0)
    view = project(scene, FROZEN.rotations[2])
    atoms = Atoms(numbers, positions=positions, cell=lattice)
    assert (
        view.width > draw_module.ASE_WIDTH
        and PlottingVariables(atoms, scale=1, radii=4.0).scale < 1
    )
    pixels = AseRenderer().draw(scene, view)
    for number, centre in zip(numbers, view.centres, strict=True):
        assert (
            np.abs(
                pixels[int(centre[1]), int(centre[0])] - np.round(jmol_colors[number] * 255)
            ).max()
            <= 1
        )


def test_comparison_counts_the_pixels():
    ase = AseRenderer()
    for picture in pictures_of(rock_salt(), 128, compare=True):
        pixels = np.asarray(Image.open(io.BytesIO(picture.png))).astype(int)
        apart = np.abs(pixels - ase.draw(picture.scene, picture.view)).max(axis=2)
        assert picture.pixels_not_ase == np.count_nonzero(apart)
        assert picture.largest_not_ase == apart.max()
        tied = tied_slowly(picture, np.argwhere(apart))
        assert picture.tied_not_ase == tied == picture.pixels_not_ase
        if picture.tied_pairs == 0:
            assert picture.pixels_not_ase == 0
    assert {picture.pixels_not_ase for picture in pictures_of(rock_salt())} == {-1}
    assert {picture.tied_not_ase for picture in pictures_of(rock_salt())} == {-1}


def tied_slowly(picture, pixels):
    """Pixels that both things of a tied pair may paint: a disc, or what lies along a segment."""
    scene, view = picture.scene, picture.view
    n, reach, count = len(view.radii), reaches(scene), 0

    def paints(item, point):
        if item < n:
            return np.hypot(*(point - view.centres[item])) <= view.radii[item] + reach[item]
        middle, half = view.middles[item - n], view.halves[item - n]
        along = np.linspace(-1, 1, 2001)[:, None] * half
        return np.hypot(*(point - middle - along).T).min() <= reach[item] + 1e-3

    for row, column in pixels:
        point = np.array([column + 0.5, row + 0.5])
        count += any(paints(a, point) and paints(b, point) for a, b in tied_pairs(scene, view))
    return count


def test_a_pixel_elsewhere_is_no_tie():
    picture, *_ = (one for one in pictures_of(rock_salt(), 128) if one.tied_pairs)
    pairs = tied_pairs(picture.scene, picture.view)
    inside = np.concatenate([picture.view.centres, picture.view.middles])[pairs[0, 0]]
    pixels = np.array([[0, 0], np.round(inside[::-1]).astype(int)])
    found = tied_pixels(picture.scene, picture.view, pairs, pixels)
    assert not found[0] and tied_slowly(picture, pixels) == found.sum()


def chunks(png):
    kinds, at = [], 8
    while at < len(png):
        length = int.from_bytes(png[at : at + 4])
        kinds.append(png[at + 4 : at + 8])
        at += 12 + length
    return kinds


def test_png_holds_the_picture_and_nothing_else():
    pixels = np.random.default_rng(0).integers(0, 256, (31, 47, 3)).astype(np.uint8)
    png = encode_png(pixels)
    image = Image.open(io.BytesIO(png))
    image.verify()
    image = Image.open(io.BytesIO(png))
    assert (image.mode, image.size, image.info) == ("RGB", (47, 31), {})
    np.testing.assert_array_equal(np.asarray(image), pixels)
    assert chunks(png) == [b"IHDR", b"IDAT", b"IEND"]


def test_names_tell_neither_structure_nor_camera():
    views = FROZEN.views
    names = {
        (id_, view): picture_name("", id_, view)
        for id_ in (f"mp-{i}" for i in range(300))
        for view in views
    }
    assert len(set(names.values())) == len(names)
    assert all(PICTURE_NAME.fullmatch(name) for name in names.values())
    # Each camera comes at each place among a structure's five names about equally often.
    places = np.zeros((5, 5), int)
    for i in range(300):
        ranked = sorted(views, key=lambda view, i=i: names[f"mp-{i}", view])
        for place, view in enumerate(ranked):
            places[views.index(view), place] += 1
    assert places.min() > 30 and places.max() < 95
    # Nor do neighbours in the list of ids stay neighbours.
    first = [names[f"mp-{i}", views[0]] for i in range(300)]
    assert abs(np.corrcoef(np.argsort(np.argsort(first)), np.arange(300))[0, 1]) < 0.25


def test_names_follow_the_seed_and_only_it():
    assert picture_name("a", "mp-1", "axis_a") == picture_name("a", "mp-1", "axis_a")
    assert picture_name("a", "mp-1", "axis_a") != picture_name("b", "mp-1", "axis_a")
    assert picture_name("", "b c", "a") != picture_name("", "c", "a b")
    assert PICTURE_NAME.fullmatch(picture_name("x" * 200, "Å\ud800", "v"))


def test_pictures_lie_beside_their_manifest(tmp_path):
    assert picture_folder(tmp_path / "a.h5") == tmp_path / "a"
    with pytest.raises(UsageError, match="must end in"):
        picture_folder(tmp_path / "renders")


def test_no_pyplot():
    program = (
        "import sys, numpy as np\n"
        "from rc_hpc.images.fast import FastRenderer\n"
        "from rc_hpc.images.reference import AseRenderer\n"
        "from rc_hpc.images.build import crystal_scene\n"
        "from rc_hpc.images.view import project\n"
        "scene = crystal_scene(4 * np.eye(3), [26], [[0, 0, 0]], (1, 1, 1))\n"
        "view = project(scene, np.eye(3), 32)\n"
        "assert (FastRenderer().draw(scene, view) == AseRenderer().draw(scene, view)).all()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
