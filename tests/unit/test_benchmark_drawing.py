"""How scenes are drawn: as ASE draws, in colours that can be told apart, marks within discs."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from bench.drawing import differing, in_ases_order
from rc_hpc.benchmark.catalogue import catalogue_structures
from rc_hpc.benchmark.display import display, marked
from rc_hpc.benchmark.drawing import ScenePainter, drawn_scene, view_of
from rc_hpc.benchmark.palette import CHOICES, HIGHLIGHT, fogged, least_distance, palette
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.images.build import dashed_edges
from rc_hpc.images.fast import FastRenderer, pieces
from rc_hpc.images.reference import AseRenderer
from rc_hpc.images.scene import NO_SEGMENTS, NO_TEXTS, Texts
from rc_hpc.images.ties import tied_pairs
from rc_hpc.images.view import project

pytestmark = pytest.mark.long

SETTINGS = DisplaySettings(supercells=2)


@pytest.fixture(scope="module")
def bases():
    return {base.name: base for base in catalogue_structures(SETTINGS)}


@pytest.fixture(scope="module")
def marcasite(bases):
    return display(bases["marcasite"], SETTINGS)


def body(painter, scene, camera):
    """Discs and edges of a picture, in fog: what ASE knows how to draw."""
    drawn, view = painter.body(scene, camera)
    edges = NO_SEGMENTS if drawn.cell is None else dashed_edges(drawn.cell, drawn.discs)
    bare = replace(drawn, segments=edges, texts=NO_TEXTS)
    return bare, project(bare, view.rotation, view.size, view.window)


def different(scene, view):
    """Pixels that the two renderers draw differently, ties painted in ASE's order."""
    fast = FastRenderer().draw(scene, in_ases_order(scene, view))
    return differing(fast, AseRenderer().draw(scene, view))


def test_the_body_is_ases(marcasite):
    painter = ScenePainter(SETTINGS)
    cell, strict, *_, environment = [scene for scene in marcasite if not scene.mutation]
    for scene, camera in ((cell, 2), (cell, 5), (strict, 4), (environment, 1)):
        assert different(*body(painter, scene, camera)) == 0
    # With bonds and letters put into ASE's list the whole picture is too, but for ties.
    for scene, camera in ((strict, 12), (environment, 4)):
        drawn, view = painter.body(scene, camera)
        assert not len(tied_pairs(drawn, view))
        assert differing(FastRenderer().draw(drawn, view), AseRenderer().draw(drawn, view)) == 0


@pytest.mark.slow
def test_200_bodies_are_ases(bases):
    """Some minute and a half of one core's work."""
    painter = ScenePainter(SETTINGS)
    count = 0
    for number, base in enumerate(bases.values()):
        scenes = display(base, SETTINGS)
        for turn, scene in enumerate((scenes[0], scenes[1], scenes[-2], scenes[-1])):
            camera = (3 * number + turn) % len(scene.cameras)
            assert different(*body(painter, scene, camera)) == 0, (base.name, scene.mode, camera)
            count += 1
    extra = display(bases["rutile"], SETTINGS)[0]
    for camera in range(8):
        assert different(*body(painter, extra, camera)) == 0
        count += 1
    assert count == 200


def test_elements_can_be_told_apart_in_any_fog(bases):
    """Every pair within a structure differs by 25 or more (CIE 1976), whatever fog is on either."""
    for base in bases.values():
        elements = tuple(sorted(set(base.numbers.tolist())))
        assert least_distance(elements, SETTINGS.fog) >= 25, base.name
    for elements in itertools.combinations((1, 6, 8, 16, 20, 22, 26, 29), 5):
        assert least_distance(elements, SETTINGS.fog) >= 20, elements
    many = palette(tuple(range(1, 15)), SETTINGS.fog)
    assert len(many) == 14 and set(many.values()) <= set(CHOICES)
    assert len(set(list(many.values())[: len(CHOICES)])) == len(CHOICES)


def test_colours_depend_on_the_elements_alone(bases):
    assert palette((8, 22), 0.55) == palette((8, 22), 0.55)
    assert HIGHLIGHT not in CHOICES
    grey = fogged(np.array([[0.0, 0.5, 1.0]]), 0.5)
    assert np.allclose(grey, [[0.5, 0.75, 1.0]])


def test_a_mark_changes_its_own_disc_alone(marcasite):
    painter = ScenePainter(SETTINGS)
    cell = marcasite[0]
    marks = {"A": 0, "B": 4, "centre": 9}
    for view_id in ("v01", "v04"):
        plain, view = painter.draw(cell, view_id)
        shown, _ = painter.draw(marked(cell, marks, SETTINGS), view_id)
        changed = np.argwhere((plain != shown).any(axis=2))[:, ::-1] + 0.5
        assert len(changed)
        near = np.zeros(len(changed), bool)
        for atom in marks.values():
            away = np.linalg.norm(changed - view.centres[atom], axis=1)
            near |= away <= view.radii[atom] + 0.5
        assert near.all()


def test_nothing_is_painted_over_a_letter(marcasite):
    """Marks on the farthest atoms, under many others: the letters are whole all the same."""
    painter, cell = ScenePainter(SETTINGS), marcasite[0]
    for view_id in ("v00", "v03"):
        camera = [one.id for one in cell.cameras].index(view_id)
        far = np.argsort(cell.positions @ cell.cameras[camera].rotation[2])[:3].tolist()
        scene = marked(cell, dict(zip("ABC", far, strict=True)), SETTINGS)
        drawn, view = painter.body(scene, camera)
        assert drawn.texts.words == ("A", "B", "C")
        whole = FastRenderer().draw(drawn, view)
        bare = FastRenderer().draw(replace(drawn, texts=NO_TEXTS), view)
        alone = replace(drawn, segments=NO_SEGMENTS)
        # what a letter changes is its own colour, wherever a white sheet would have it
        sheet = replace(alone, discs=_white(alone.discs))
        inked = FastRenderer().draw(
            replace(sheet, texts=replace(drawn.texts, colours=np.zeros((3, 3)))),
            project(sheet, view.rotation, view.size, view.window),
        )
        for k in range(3):
            ink = _near(inked, view.centres[far[k]], 12) & (inked == 0).all(axis=2)
            colour = np.round(255 * drawn.texts.colours[k]).astype(np.uint8)
            assert ink.sum() > 15 and (whole[ink] == colour).all()
        assert (whole != bare).any()


def _white(discs):
    white = np.ones_like(discs.colours)
    return replace(discs, colours=white, edge_colours=white)


def _near(pixels, centre, reach):
    rows, columns = np.mgrid[: pixels.shape[0], : pixels.shape[1]] + 0.5
    return np.hypot(columns - centre[0], rows - centre[1]) <= reach


def test_letters_are_painted_right_after_their_discs():
    order = np.array([3, 0, 5, 2, 1])
    texts = Texts(("x", "y", "z"), np.zeros((3, 3)), np.zeros((3, 3)), np.ones(3), (2, -1, 0))
    parts = [(part.tolist(), written) for part, written in pieces(order, texts)]
    assert parts == [([3, 0], [2]), ([5, 2], [0]), ([1], [1])]
    plain = [(part.tolist(), written) for part, written in pieces(order, replace(texts, discs=()))]
    assert plain == [([3, 0, 5, 2, 1], [0, 1, 2])]


def test_fog_takes_colour_from_what_is_far(marcasite):
    painter = ScenePainter(SETTINGS)
    cell = marcasite[0]
    drawn, view = painter.body(cell, 3)
    n = len(cell.numbers)
    plain = drawn_scene(cell, SETTINGS)
    lost = 1 - (1 - drawn.discs.colours[:n]).sum(1) / (1 - plain.discs.colours).sum(1)
    depth = view.depth[:n]
    assert np.allclose(lost, SETTINGS.fog * (depth.max() - depth) / np.ptp(depth))
    # Edges of the cell and outlines stay black.
    assert (drawn.discs.edge_colours[:n] == 0).all()


def test_every_view_fits_and_is_in_the_middle(bases):
    for name in ("calcite", "AlCl3", "hcp magnesium"):
        for scene in display(bases[name], SETTINGS)[:3]:
            drawn = drawn_scene(scene, SETTINGS)
            for camera in range(len(scene.cameras)):
                view = view_of(drawn, scene, camera, SETTINGS)
                low = (view.centres - view.radii[:, None]).min(0)
                high = (view.centres + view.radii[:, None]).max(0)
                assert (low >= SETTINGS.margin - 1e-6).all()
                assert (high <= np.array(SETTINGS.room) - SETTINGS.margin + 1e-6).all()
                assert view.px_per_angstrom == pytest.approx(scene.px_per_angstrom)


def test_the_picture_is_the_body_and_a_legend(marcasite):
    painter = ScenePainter(SETTINGS)
    pixels, _ = painter.draw(marcasite[0], "v02")
    assert pixels.shape == (512, 512, 3) and pixels.dtype == np.uint8
    strip = pixels[SETTINGS.room[1] :].reshape(-1, 3)
    shown = {tuple(colour) for colour in strip.tolist()}
    for colour in palette(marcasite[0].elements, SETTINGS.fog).values():
        assert tuple(round(255 * part) for part in colour) in shown
