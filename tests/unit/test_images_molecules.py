"""Scenes that are no crystals: molecules with bonds, and scenes as a benchmark has them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from ase.build import molecule
from ase.data import covalent_radii
from images_cases import FROZEN, rock_salt

from rc_hpc.core.vocabulary import Renderer
from rc_hpc.images.build import atom_discs, bonds, crystal_scene, dashed_edges
from rc_hpc.images.draw import Drawing, Style
from rc_hpc.images.fast import FastRenderer
from rc_hpc.images.reference import AseRenderer
from rc_hpc.images.scene import NO_TEXTS, Scene, Segments, Texts
from rc_hpc.images.ties import tied_pairs
from rc_hpc.images.view import project

#: Cameras along which nothing of the scenes below is at one depth with what it meets.
OBLIQUE = FROZEN.rotations[3:]
RED = (1.0, 0.0, 0.0)


def pairs_of(numbers, positions, largest=1.2):
    """Pairs of atoms up to this factor of their covalent radii apart, (b, 2)."""
    pairs = np.array(list(itertools.combinations(range(len(numbers)), 2))).reshape(-1, 2)
    apart = np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1)
    return pairs[apart < largest * covalent_radii[numbers][pairs].sum(1)]


def molecule_scene(name, radii_factor=0.4):
    atoms = molecule(name)
    discs = atom_discs(atoms.numbers, atoms.positions, radii_factor)
    return Scene(discs, bonds(discs, pairs_of(atoms.numbers, atoms.positions)))


def two_atoms(tilt, apart=3.0):
    """A bond between carbon atoms, the second farther the larger the tilt, degrees."""
    along = np.array([np.cos(np.radians(tilt)), 0.0, -np.sin(np.radians(tilt))])
    discs = atom_discs([6, 6], np.array([0 * along, apart * along]), 0.8)
    return Scene(discs, bonds(discs, [[0, 1]]))


def pixel(pixels, point):
    return pixels[int(point[1]), int(point[0])].tolist()


@pytest.mark.parametrize("name", ["CH3CH2OH", "C6H6", "C60"])
def test_a_molecule_is_drawn_alike_by_both_renderers(name):
    scene = molecule_scene(name)
    assert scene.cell is None and len(scene.segments.middles) > len(scene.discs.radii)
    for rotation in OBLIQUE:
        view = project(scene, rotation, 300)
        pixels = FastRenderer().draw(scene, view)
        assert not len(tied_pairs(scene, view))
        np.testing.assert_array_equal(pixels, AseRenderer().draw(scene, view))
        # Without its bonds there is less black.
        bare = Scene(scene.discs)
        bare = FastRenderer().draw(bare, project(bare, rotation, 300))
        assert (pixels == 0).all(axis=2).sum() > 1.1 * (bare == 0).all(axis=2).sum()


def test_one_atom_is_a_molecule_too():
    discs = atom_discs([10], [[0, 0, 0]], 0.5)
    for scene in (Scene(discs), Scene(discs, bonds(discs, []))):
        view = project(scene, np.eye(3), 64)
        pixels = FastRenderer().draw(scene, view)
        np.testing.assert_array_equal(pixels, AseRenderer().draw(scene, view))
        assert view.radii[0] * 2 * 1.05 == pytest.approx(64)
        assert not len(tied_pairs(scene, view))


def test_molecules_become_picture_files_like_crystals():
    scene = molecule_scene("CH3CH2OH")
    fast = Drawing(FROZEN, Style(64, compare=True)).draw("ethanol", scene)
    ase = Drawing(FROZEN, Style(64, Renderer.ase)).draw("ethanol", scene)
    assert [picture.camera for picture in fast] == list(range(5))
    for one, other in zip(fast, ase, strict=True):
        assert one.file == other.file
        if not one.tied_pairs:
            assert one.pixels_not_ase == 0 and one.png == other.png


def test_a_bond_goes_over_the_farther_atom_and_under_the_nearer():
    scene = two_atoms(50)
    view = project(scene, np.eye(3), 400)
    pixels = FastRenderer().draw(scene, view)
    (near, far), carbon = view.centres, np.round(scene.discs.colours[0] * 255).tolist()
    assert view.depth[0] > view.depth[1]
    along = (far - near) / np.linalg.norm(far - near)
    # Where it leaves the spheres, which is within the discs.
    leaves = np.cos(np.radians(50)) * view.radii[0]
    assert pixel(pixels, near + (leaves + 5) * along) == carbon
    assert pixel(pixels, far - (leaves + 5) * along) == [0, 0, 0]
    assert pixel(pixels, far - (leaves - 5) * along) == carbon
    assert pixel(pixels, (near + far) / 2) == [0, 0, 0]


def test_a_bond_is_the_line_between_the_spheres():
    scene = two_atoms(20)
    discs, pieces = scene.discs, scene.segments
    along = (discs.positions[1] - discs.positions[0]) / 3.0
    start, end = discs.radii[0], 3.0 - discs.radii[1]
    # Each piece is longer by a tenth than what it stands for.
    reach = np.abs(pieces.halves @ along) / 1.1
    middle = pieces.middles @ along
    np.testing.assert_allclose(np.cross(pieces.middles, along), 0, atol=1e-12)
    np.testing.assert_allclose(middle[0] - reach[0], start)
    np.testing.assert_allclose(middle[-1] + reach[-1], end)
    np.testing.assert_allclose((middle + reach)[:-1], (middle - reach)[1:])
    assert reach.max() <= 0.15 and not pieces.hidden.any()


def test_a_bond_through_an_atom_is_hidden_there():
    discs = atom_discs([6, 6, 6], [[0, 0, 0], [6, 0, 0], [3, 0.1, 0]], 0.8)
    pieces = bonds(discs, [[0, 1]])
    within = np.abs(pieces.middles[:, 0] - 3) < 0.4
    assert pieces.hidden[within].all() and within.any()
    assert not pieces.hidden[np.abs(pieces.middles[:, 0] - 3) > 0.7].any()


def test_atoms_that_touch_have_no_bond_between_them():
    discs = atom_discs([6, 6, 1], [[0, 0, 0], [1.4, 0, 0], [4, 0, 0]], 1.0)
    assert not len(bonds(discs, [[0, 1]]).middles)
    pieces = bonds(discs, [[0, 1], [1, 2]])
    assert len(pieces.middles) and (pieces.middles[:, 0] > 1.4).all()


def joined(*parts: Segments) -> Segments:
    names = ("middles", "halves", "colours", "widths", "hidden")
    return Segments(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))


def benchmark_scene():
    """A cell with bonds, its edges, two atoms ringed and lettered, and words at the edges."""
    lattice, numbers, positions = rock_salt()
    crystal = crystal_scene(lattice, numbers, positions, (1, 1, 1), 0.4)
    discs = crystal.discs
    edges, widths = discs.edge_colours.copy(), discs.edge_widths.copy()
    edges[[0, 6]], widths[[0, 6]] = RED, 3.0
    discs = replace(discs, edge_colours=edges, edge_widths=widths)
    segments = joined(
        dashed_edges(lattice, discs), bonds(discs, pairs_of(discs.numbers, discs.positions, 1.1))
    )
    places = np.concatenate((discs.positions[[0, 6]], lattice / 2))
    texts = Texts(tuple("ABabc"), places, np.tile(RED, (5, 1)), np.full(5, 14.0))
    return Scene(discs, segments, texts, lattice)


def fogged(scene, rotation, share=0.55):
    """Colours fade towards white with depth, to this share."""

    def faded(colours, positions):
        depth = positions @ rotation[:, 2]
        clear = share + (1 - share) * (depth - low) / (high - low)
        return 1 - np.clip(clear, share, 1.0)[:, None] * (1 - colours)

    discs, segments = scene.discs, scene.segments
    depths = discs.positions @ rotation[:, 2]
    low, high = depths.min(), depths.max()
    discs = replace(discs, colours=faded(discs.colours, discs.positions))
    segments = replace(segments, colours=faded(segments.colours, segments.middles))
    return replace(scene, discs=discs, segments=segments)


def test_a_benchmarks_scene_is_data_to_both_renderers():
    rotation = OBLIQUE[1]
    plain = benchmark_scene()
    scene = fogged(plain, rotation)
    view = project(scene, rotation, (512, 472))
    pixels = FastRenderer().draw(scene, view)
    assert pixels.shape == (472, 512, 3)
    np.testing.assert_array_equal(pixels, AseRenderer().draw(scene, view))

    # Fog: the nearest disc has its element's colour, the farthest less of it.
    far, *_, near = view.order[view.order < 8]
    for disc, share in ((near, 1.0), (far, 0.55)):
        expected = 255 * (1 - share * (1 - plain.discs.colours[disc]))
        np.testing.assert_allclose(pixel(pixels, view.centres[disc] + (2, -9)), expected, atol=1)

    # Rings and words are red, and every word is where it belongs, over all else.
    for place in view.texts:
        box = pixels[int(place[1]) - 9 : int(place[1]) + 9, int(place[0]) - 9 : int(place[0]) + 9]
        assert (box == (255, 0, 0)).all(axis=2).sum() > 10
    without = FastRenderer().draw(replace(scene, texts=NO_TEXTS), view)
    changed = np.argwhere((pixels != without).any(axis=2))[:, ::-1] + 0.5
    apart = np.linalg.norm(changed[:, None] - view.texts, axis=2).min(axis=1)
    assert 0 < apart.max() < 14
    ring = view.centres[0] + view.radii[0] * np.array([np.cos(2.2), np.sin(2.2)])
    assert pixel(pixels, ring) == [255, 0, 0]


def test_a_legend_is_a_scene_in_a_strip_of_its_own():
    numbers = np.array([11, 17])
    places = np.array([[0.0, 0, 0], [8.0, 0, 0]])
    beside = places + np.array([2.0, 0, 0])
    legend = Scene(
        atom_discs(numbers, places, 0.5),
        texts=Texts(("Na", "Cl"), beside, np.zeros((2, 3)), np.full(2, 12.0)),
    )
    view = project(legend, np.eye(3), (512, 40))
    strip = FastRenderer().draw(legend, view)
    np.testing.assert_array_equal(strip, AseRenderer().draw(legend, view))
    body = benchmark_scene()
    body = FastRenderer().draw(body, project(body, OBLIQUE[0], (512, 472)))
    assert np.concatenate((body, strip)).shape == (512, 512, 3)
    for centre, colour in zip(view.centres, legend.discs.colours, strict=True):
        np.testing.assert_allclose(pixel(strip, centre), 255 * colour, atol=1)


def test_one_renderer_draws_pictures_of_any_size_in_turn():
    scene = molecule_scene("CH3CH2OH")
    fast = FastRenderer()
    for size in (64, (80, 50), 64):
        view = project(scene, OBLIQUE[0], size)
        np.testing.assert_array_equal(fast.draw(scene, view), FastRenderer().draw(scene, view))


def test_a_users_style_changes_no_word():
    import matplotlib

    scene = benchmark_scene()
    view = project(scene, OBLIQUE[0], 200)
    plain = FastRenderer().draw(scene, view)
    with matplotlib.rc_context({"font.family": "serif", "font.size": 30.0, "text.color": "blue"}):
        np.testing.assert_array_equal(FastRenderer().draw(scene, view), plain)
        np.testing.assert_array_equal(AseRenderer().draw(scene, view), plain)
