"""A displayed scene as a picture: discs, bonds, edges, fog, marks, and a legend below."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rc_hpc.benchmark.palette import HIGHLIGHT, fogged, palette
from rc_hpc.benchmark.records import DisplayedScene
from rc_hpc.benchmark.settings import BOND_POINTS, DisplaySettings
from rc_hpc.images.build import atom_discs, bonds, dashed_edges
from rc_hpc.images.fast import FastRenderer
from rc_hpc.images.scene import BLACK, DPI, LINE_WIDTH, NO_TEXTS, Discs, Scene, Segments, Texts
from rc_hpc.images.view import View, bounds, project
from rc_hpc.kernels.painting import seen_pixels

#: Of bonds: red, green and blue alike.
BOND_GREY = 0.30
#: Width of the ring around what is asked about, px.
RING = 2.5
#: Height of a mark's letter in radii of its disc, within which it lies, and at most, px; and the
#: width of a capital letter in its height, at most.
LETTER, LARGEST_LETTER, LETTER_WIDTH = 1.25, 20.0, 0.85
#: Height of a capital letter in sizes of its font (DejaVu Sans).
CAPITAL = 0.729
#: Letters of the cell's edges: size, points; from the corner's disc, px; room around them, px.
EDGE_POINTS, EDGE_AWAY, EDGE_ROOM = 13.0, 14.0, 26
#: An atom this near to the end of an edge lies there, Å.
SAME_PLACE = 0.05
#: In the legend: radius of a disc, from one element to the next, and size of a symbol.
LEGEND_RADIUS, LEGEND_STEP, LEGEND_POINTS = 10.0, 76.0, 13.0


def drawn_scene(scene: DisplayedScene, settings: DisplaySettings) -> Scene:
    """What all pictures of a scene have in common: no fog, no marks, no letters."""
    colour_of = palette(scene.elements, settings.fog)
    discs = atom_discs(scene.numbers, scene.positions, settings.radii, scene.index)
    colours = np.array([colour_of[int(number)] for number in scene.numbers])
    discs = replace(discs, colours=colours)
    cell = None if scene.mode == "environment" else scene.lattice
    parts = [] if cell is None else [dashed_edges(cell, discs)]
    if len(scene.bonds):
        joined = bonds(discs, scene.bonds, BOND_POINTS)
        grey = np.full_like(joined.colours, BOND_GREY)
        parts.append(replace(joined, colours=grey))
    return Scene(discs, _joined(parts), cell=cell)


def _joined(parts: list[Segments]) -> Segments:
    if not parts:
        return Scene.segments
    names = ("middles", "halves", "colours", "widths", "hidden")
    return Segments(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def fitting_scale(drawn: Scene, scene: DisplayedScene, settings: DisplaySettings) -> float:
    """Largest scale at which every view of a scene fits into its picture, px/Å."""
    room = np.array(settings.room) - 2 * (settings.margin + EDGE_ROOM * scene.label_edges)
    sizes = [np.subtract(*bounds(drawn, one.rotation.T)[::-1])[:2] for one in scene.cameras]
    return float((room / np.array(sizes)).min())


def smallest_fill(scene: DisplayedScene, settings: DisplaySettings) -> float:
    """Coloured part within the outline of a scene's smallest disc, px across."""
    from ase.data import covalent_radii

    radius = float(covalent_radii[scene.numbers].min()) * settings.radii * scene.px_per_angstrom
    return 2 * radius - LINE_WIDTH * DPI / 72


def view_of(drawn: Scene, scene: DisplayedScene, camera: int, settings: DisplaySettings) -> View:
    """A scene on the screen of one of its cameras, at the scene's scale, in the middle.

    Parameters
    ----------
    camera
        Index in `DisplayedScene.cameras`.
    """
    rotation = scene.cameras[camera].rotation.T
    low, high = bounds(drawn, rotation)
    middle, half = (low + high)[:2] / 2, np.array(settings.room) / scene.px_per_angstrom / 2
    return project(drawn, rotation, settings.room, np.concatenate((middle - half, middle + half)))


def visible_shares(scene: DisplayedScene, settings: DisplaySettings) -> np.ndarray:
    """Share of each disc that nothing painted later covers, (cameras, n).

    Discs, bonds and edges cover, and what is written: letters of the edges, and those of marks,
    which lie within their own discs and cover what is beside them, but no marked disc.
    """
    drawn = drawn_scene(scene, settings)
    spared = np.zeros(len(scene.numbers), bool)
    spared[list(scene.marks.values())] = True
    shares = np.empty((len(scene.cameras), len(scene.numbers)))
    for k in range(len(scene.cameras)):
        view = view_of(drawn, scene, k, settings)
        boxes = [one[1] for one in edge_letters(scene, k, view)]
        boxes += [_box_of_letter(view, atom) for atom in lettered(scene).values()]
        seen, whole = seen_pixels(
            view.order,
            view.centres,
            view.radii + drawn.discs.edge_widths * (DPI / 72 / 2),
            view.middles,
            view.halves,
            drawn.segments.widths * (DPI / 72 / 2),
            np.array(boxes).reshape(-1, 4),
            spared,
            *view.size,
        )
        shares[k] = seen / np.maximum(whole, 1)
    return shares


def edge_letters(scene: DisplayedScene, camera: int, view: View):
    """Where a, b and c stand: centre, px (2,), and the box of each, px (4,).

    Beyond the end of each edge from the corner at the origin, along the edge's own picture; of an
    edge that is seen as a point, below that.
    """
    if not scene.label_edges:
        return []
    rotation, scale = scene.cameras[camera].rotation, scene.px_per_angstrom
    found = []
    half = np.array((0.5, 0.55)) * EDGE_POINTS * DPI / 72
    for vector in scene.lattice:
        there = np.linalg.norm(scene.positions - vector, axis=1) < SAME_PLACE
        away = EDGE_AWAY + float(view.radii[there].max(initial=0.0))
        along = (rotation @ vector)[:2] * (scale, -scale)
        length = np.linalg.norm(along)
        outwards = along / length if length > 1.0 else np.array((0.0, 1.0))
        centre = view.origin + along + away * outwards
        found.append((centre, np.concatenate((centre - half, centre + half))))
    return found


def lettered(scene: DisplayedScene) -> dict[str, int]:
    """Marked atoms that show a letter, by it."""
    named = sorted(scene.marks.items())
    return {word: int(atom) for word, atom in named if len(word) == 1 and word.isalpha()}


def letter_heights(radii: np.ndarray) -> np.ndarray:
    """Of letters in discs of these radii; both px."""
    return np.minimum(radii * LETTER, LARGEST_LETTER)


def _box_of_letter(view: View, atom: int) -> np.ndarray:
    half = letter_heights(view.radii[atom]) / 2 * np.array((LETTER_WIDTH, 1.0))
    return np.concatenate((view.centres[atom] - half, view.centres[atom] + half))


class ScenePainter:
    """Draws pictures of displayed scenes; a pure function of scene, view and settings."""

    def __init__(self, settings: DisplaySettings):
        self.settings = settings
        self._body, self._legend = FastRenderer(), FastRenderer()
        self._strips: dict[tuple, np.ndarray] = {}

    def body(self, scene: DisplayedScene, camera: int) -> tuple[Scene, View]:
        """What is drawn above the legend, and where everything lies."""
        settings = self.settings
        plain = drawn_scene(scene, settings)
        view = view_of(plain, scene, camera, settings)
        misty = _in_fog(plain, view, settings.fog)
        whole = _marked(misty, scene, view)
        if scene.label_edges:
            letters = _edge_texts(scene, camera, view)
            whole = replace(whole, texts=_with_texts(whole.texts, letters))
        return whole, project(whole, view.rotation, settings.room, view.window)

    def draw(self, scene: DisplayedScene, view_id: str) -> tuple[np.ndarray, View]:
        """The picture, (size, size, 3) uint8 RGB, rows from the top, and where everything lies.

        Parameters
        ----------
        view_id
            Id of one of its cameras.
        """
        camera = [one.id for one in scene.cameras].index(view_id)
        drawn, view = self.body(scene, camera)
        return np.concatenate((self._body.draw(drawn, view), self._strip(scene))), view

    def _strip(self, scene: DisplayedScene) -> np.ndarray:
        shown = tuple(sorted(set(scene.numbers.tolist())))
        key = (shown, scene.elements)
        if key not in self._strips:
            drawn = legend(shown, scene.elements, self.settings)
            size = (self.settings.size, self.settings.strip)
            view = project(drawn, np.eye(3), size, (0, 0, *size))
            self._strips[key] = self._legend.draw(drawn, view)
        return self._strips[key]


def legend(shown, elements: tuple[int, ...], settings: DisplaySettings) -> Scene:
    """Discs and symbols of the elements that are shown, one px an Å."""
    from ase.data import chemical_symbols

    count = len(shown)
    step = min(LEGEND_STEP, settings.size / max(count, 1))
    left = (settings.size - step * count) / 2 + LEGEND_RADIUS + 6
    middle = settings.strip / 2
    places = np.array([(left + step * k, middle, 0.0) for k in range(count)]).reshape(-1, 3)
    colour_of = palette(elements, settings.fog)
    discs = Discs(
        places,
        np.full(count, LEGEND_RADIUS),
        np.array(shown, np.int64),
        np.arange(count),
        np.array([colour_of[number] for number in shown]),
        np.tile(BLACK, (count, 1)),
        np.full(count, LINE_WIDTH),
    )
    words = tuple(chemical_symbols[number] for number in shown)
    texts = Texts(
        words,
        places + (LEGEND_RADIUS + 17.0, 0.0, 0.0),
        np.tile(BLACK, (count, 1)),
        np.full(count, LEGEND_POINTS),
    )
    return Scene(discs, texts=texts)


def _in_fog(scene: Scene, view: View, fog: float) -> Scene:
    """Atoms and bonds fade with their distance; outlines and edges of the cell do not."""
    n = len(scene.discs.radii)
    nearest, farthest = view.depth[:n].max(), view.depth[:n].min()
    deep = np.clip((nearest - view.depth) / max(nearest - farthest, 1e-9), 0.0, 1.0) * fog
    colours = scene.segments.colours.copy()
    of_bonds = colours[:, 0] == BOND_GREY
    colours[of_bonds] = fogged(colours[of_bonds], deep[n:][of_bonds])
    discs = replace(scene.discs, colours=fogged(scene.discs.colours, deep[:n]))
    return replace(scene, discs=discs, segments=replace(scene.segments, colours=colours))


def _marked(scene: Scene, displayed: DisplayedScene, view: View) -> Scene:
    """Rings within the discs of marked atoms, painted right after them, and letters on top."""
    marks = sorted(displayed.marks.items())
    if not marks:
        return scene
    atoms = np.array([atom for _, atom in marks])
    old, scale = scene.discs, view.px_per_angstrom
    inner = np.maximum(old.radii[atoms] - (0.5 * RING + 0.5) / scale, 0.2 * old.radii[atoms])
    rings = Discs(
        old.positions[atoms],
        inner,
        old.numbers[atoms],
        old.site[atoms],
        old.colours[atoms],
        np.tile(HIGHLIGHT, (len(atoms), 1)),
        np.full(len(atoms), RING * 72 / DPI),
    )
    names = ("positions", "radii", "numbers", "site", "colours", "edge_colours", "edge_widths")
    discs = Discs(*(np.concatenate((getattr(old, name), getattr(rings, name))) for name in names))
    letters = lettered(displayed)
    below = np.array(list(letters.values()), np.int64)
    light = old.colours[below] @ (0.299, 0.587, 0.114) > 0.5
    texts = Texts(
        tuple(letters),
        old.positions[below],
        np.where(light[:, None], BLACK, 1.0),
        letter_heights(old.radii[below] * scale) / (CAPITAL * DPI / 72),
        (-1,) * len(letters),
    )
    return replace(scene, discs=discs, texts=texts)


def _edge_texts(scene: DisplayedScene, camera: int, view: View) -> Texts:
    centres = np.array([centre for centre, _ in edge_letters(scene, camera, view)])
    on_screen = (centres - view.origin) / (view.px_per_angstrom, -view.px_per_angstrom)
    places = np.column_stack((on_screen, np.zeros(3))) @ scene.cameras[camera].rotation
    return Texts(
        ("a", "b", "c"), places, np.tile(BLACK, (3, 1)), np.full(3, EDGE_POINTS), (-1, -1, -1)
    )


def _with_texts(first: Texts, second: Texts) -> Texts:
    if first is NO_TEXTS:
        return second
    return Texts(
        first.words + second.words,
        np.concatenate((first.positions, second.positions)),
        np.concatenate((first.colours, second.colours)),
        np.concatenate((first.sizes, second.sizes)),
        first.discs + second.discs,
    )
