"""What a scene of the benchmark shows: catalogue, atoms, bonds, cameras, visibility."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from rc_hpc.benchmark.bonds import (
    coordination_numbers,
    default_pairs,
    shortest_distances,
    unambiguous_coordination,
)
from rc_hpc.benchmark.cameras import STRICT, TILTED
from rc_hpc.benchmark.catalogue import base_structure, catalogue_structures, entries
from rc_hpc.benchmark.checks.scenes import check_drawable
from rc_hpc.benchmark.display import at_scale, display, displayed_atoms, marked, supercells
from rc_hpc.benchmark.drawing import drawn_scene, edge_letters, smallest_fill, view_of
from rc_hpc.benchmark.palette import FAR, least_distance
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.images.scene import DPI

pytestmark = pytest.mark.long

SETTINGS = DisplaySettings()


@pytest.fixture(scope="module")
def bases():
    return {base.name: base for base in catalogue_structures(SETTINGS)}


@pytest.fixture(scope="module")
def rutile(bases):
    return display(bases["rutile"], SETTINGS)


def test_the_catalogue_is_what_it_says(bases):
    assert set(bases) == set(entries()) and len(bases) == 48
    for name, entry in entries().items():
        base = bases[name]
        assert (base.formula, base.system, base.number) == (
            *(entry.formula, entry.system, entry.space_group),
        )
        shown = displayed_atoms(base.lattice, base.fractional, (1, 1, 1))
        assert len(shown[0]) == entry.displayed, name
        clear = unambiguous_coordination(base.lattice, base.fractional, base.numbers, base.pairs)
        assert clear == entry.coordination, name
    systems = [base.system for base in bases.values()]
    assert {system: systems.count(system) for system in systems} == {
        "cubic": 12,
        "hexagonal": 8,
        "monoclinic": 8,
        "orthorhombic": 8,
        "tetragonal": 6,
        "trigonal": 6,
    }
    assert sum(base.coordination for base in bases.values()) == 39


def test_no_cell_of_the_catalogue_has_strange_bonds(bases):
    """Broken entries of the collection show by bonds far from the sum of covalent radii."""
    from ase.data import covalent_radii

    for base in bases.values():
        shortest = shortest_distances(base.lattice, base.fractional, base.numbers, base.pairs)
        ratios = [
            distance / (covalent_radii[a] + covalent_radii[b])
            for (a, b), distance in shortest.items()
        ]
        assert min(ratios) > 0.83 and max(ratios) < 1.17, base.name


def images_by_brute_force(base, repeats):
    """Every image within the closed block of cells."""
    found = set()
    near = 0.01 / np.linalg.norm(base.lattice, axis=1)
    for shift in itertools.product(*(range(-1, count + 2) for count in repeats)):
        for atom, at in enumerate(base.fractional):
            where = at + shift
            if np.all(where >= -near) and np.all(where <= np.array(repeats) + near):
                found.add((atom, *shift))
    return found


def test_displayed_atoms_are_all_within_the_cells(bases):
    for base in list(bases.values())[::5]:
        for repeats in ((1, 1, 1), *supercells(base, SETTINGS)[:1]):
            index, translation = displayed_atoms(base.lattice, base.fractional, repeats)
            shown = {(int(a), *map(int, t)) for a, t in zip(index, translation, strict=True)}
            assert shown == images_by_brute_force(base, repeats)
            assert len(shown) == len(index)
        for repeats in supercells(base, SETTINGS):
            count = len(displayed_atoms(base.lattice, base.fractional, repeats)[0])
            assert count <= SETTINGS.max_displayed
        bigger = {
            repeats: len(displayed_atoms(base.lattice, base.fractional, repeats)[0])
            for repeats in itertools.product(range(1, 4), repeat=3)
        }
        everything = supercells(base, replace(SETTINGS, supercells=99))
        fits = {repeats for repeats, count in bigger.items() if count <= SETTINGS.max_displayed}
        assert fits - {(1, 1, 1)} == {repeats for repeats in everything if max(repeats) < 4}


def slow_neighbours(base, atom):
    """Distances and elements around an atom, by going through many cells."""
    here = base.fractional[atom] @ base.lattice
    for shift in itertools.product(range(-2, 3), repeat=3):
        apart = np.linalg.norm((base.fractional + shift) @ base.lattice - here, axis=1)
        for distance, number in zip(apart.tolist(), base.numbers.tolist(), strict=True):
            if distance > 1e-6:
                yield distance, number


def test_coordination_is_that_of_the_catalogue_and_of_a_slow_count(bases):
    for name in ("fluorite", "AlB2", "cotunnite", "grey selenium"):
        base = bases[name]
        counts = coordination_numbers(base.lattice, base.fractional, base.numbers, base.pairs, 1.10)
        least = {}
        around = [list(slow_neighbours(base, atom)) for atom in range(len(base.numbers))]
        for atom, its in enumerate(around):
            for distance, number in its:
                pair = tuple(sorted((int(base.numbers[atom]), number)))
                least[pair] = min(least.get(pair, np.inf), distance)
        for atom, its in enumerate(around):
            slow = 0
            for distance, number in its:
                pair = tuple(sorted((int(base.numbers[atom]), number)))
                slow += pair in base.pairs and distance <= 1.10 * least[pair] + 1e-8
            assert counts[atom] == slow


def test_default_pairs():
    assert default_pairs([11, 17], 0.5) == ((11, 17),)
    assert default_pairs([8, 20, 22], 0.5) == ((8, 20), (8, 22))  # no bond between cations
    assert default_pairs([29, 79, 29], 0.7) == ((29, 29), (29, 79), (79, 79))
    assert default_pairs([6], 0.5) == ((6, 6),)
    assert default_pairs([2, 8], 0.5) == ((2, 2), (2, 8), (8, 8))  # helium has no value


def test_scenes_of_a_structure(bases, rutile):
    cell, strict, *others = rutile
    assert (cell.mode, len(cell.numbers), len(cell.cameras)) == ("cell", 15, 8)
    assert [one.id for one in cell.cameras] == [f"v{k:02}" for k in range(8)]
    assert strict.label_edges and len(strict.cameras) == len(STRICT)
    environments = [one for one in others if one.mode == "environment"]
    assert sorted(len(one.numbers) for one in environments) == [4, 7]
    for one in environments:
        assert one.centre == 0 and len(one.bonds) == len(one.numbers) - 1
        assert set(one.bonds[:, 0]) == {0}
    for one in rutile:
        assert np.allclose(
            one.positions,
            (bases["rutile"].fractional[one.index] + one.translation) @ one.lattice,
        )
        assert one.visible.shape == (len(one.cameras), len(one.numbers))
        assert len(one.numbers) <= SETTINGS.max_displayed
    ids = [one.id for one in rutile]
    assert len(set(ids)) == len(ids) and all(id_[0] == "s" and len(id_) == 13 for id_ in ids)


def test_cameras_look_where_they_say(bases):
    for name in ("rutile", "calcite", "AlCl3"):
        cell, strict, *_ = display(bases[name], SETTINGS)
        for one in (*cell.cameras, *strict.cameras):
            assert np.allclose(one.rotation @ one.rotation.T, np.eye(3))
            assert np.linalg.det(one.rotation) == pytest.approx(1)
            towards = one.direction @ cell.lattice
            cosine = one.rotation[2] @ towards / np.linalg.norm(towards)
            assert np.degrees(np.arccos(min(cosine, 1))) == pytest.approx(
                one.tilt_degrees, abs=1e-5
            )
        assert [tuple(one.direction) for one in cell.cameras[:3]] == list(TILTED)
        assert {one.tilt_degrees for one in cell.cameras[:3]} == {8.0}
        axes = np.array([one.rotation[2] for one in cell.cameras])
        between = np.degrees(np.arccos(np.clip(np.abs(axes @ axes.T), 0, 1)))
        assert between[3:][~np.eye(8, dtype=bool)[3:]].min() >= SETTINGS.view_angle - 1e-6


def test_labelled_edges_tell_the_direction(bases):
    """The drawn letters a, b, c give the coefficients, as a null vector of the edges' pictures."""
    for name in ("rock salt", "calcite", "AlCl3"):
        strict = display(bases[name], SETTINGS)[1]
        drawn = drawn_scene(strict, SETTINGS)
        for k, camera in enumerate(strict.cameras):
            view = view_of(drawn, strict, k, SETTINGS)
            edges = (strict.lattice @ camera.rotation.T)[:, :2]
            assert np.allclose(camera.direction @ edges, 0, atol=1e-9)
            for centre, box in edge_letters(strict, k, view):
                assert np.all(box > 0) and np.all(box < (512, 472, 512, 472))
                assert np.all(np.abs(centre - (box[:2] + box[2:]) / 2) < 1e-9)


def slow_visible(scene, k, settings):
    """Share of each disc's pixels over which nothing later is painted: disc by disc."""
    drawn = drawn_scene(scene, settings)
    view = view_of(drawn, scene, k, settings)
    rows, columns = np.mgrid[: view.size[1], : view.size[0]] + 0.5
    n = len(view.radii)
    covers = []
    for item in view.order:
        if item < n:
            (x, y), r = view.centres[item], view.radii[item] + 0.5 * DPI / 72
            covers.append((columns - x) ** 2 + (rows - y) ** 2 <= r * r)
        else:
            (x, y), (dx, dy) = view.middles[item - n], view.halves[item - n]
            length = max(np.hypot(dx, dy), 1e-12)
            along = ((columns - x) * dx + (rows - y) * dy) / length
            across = ((columns - x) * dy - (rows - y) * dx) / length
            half = drawn.segments.widths[item - n] * DPI / 72 / 2
            covers.append((np.abs(along) <= length) & (np.abs(across) <= half))
    letters = np.zeros(rows.shape, bool)
    for _, (left, upper, right, lower) in edge_letters(scene, k, view):
        letters |= (columns >= left) & (columns <= right) & (rows >= upper) & (rows <= lower)
    for letter, atom in scene.marks.items():
        high = min(1.25 * view.radii[atom], 20.0)  # a capital, and most of its width
        across, up = np.abs(columns - view.centres[atom, 0]), np.abs(rows - view.centres[atom, 1])
        letters |= (across <= 0.85 * high / 2) & (up <= high / 2) & (len(letter) == 1)
    shares = np.zeros(n)
    for place, item in enumerate(view.order):
        if item < n:
            left = covers[place] & ~(letters & (item not in scene.marks.values()))
            for later in covers[place + 1 :]:
                left &= ~later
            shares[item] = left.sum() / covers[place].sum()
    return shares


def test_visible_shares_by_a_slow_twin(bases):
    small = replace(SETTINGS, size=160)
    cell, strict, *_, environment = display(bases["rutile"], small)
    for scene, k in ((cell, 0), (cell, 4), (strict, 5), (environment, 3)):
        assert np.allclose(scene.visible[k], slow_visible(scene, k, small), atol=1e-12)
        assert scene.visible[k].min() < scene.visible[k].max() <= 1
    # letters cover what else is there, but no marked disc; rings cover nothing
    nearest = np.argsort(-cell.positions @ cell.cameras[4].rotation[2])
    shown = marked(cell, dict(zip("ABC", nearest[::-4].tolist(), strict=False)), small)
    assert np.allclose(shown.visible[4], slow_visible(shown, 4, small), atol=1e-12)
    own = list(shown.marks.values())
    assert (shown.visible <= cell.visible).all() and (shown.visible < cell.visible).any()
    assert (shown.visible[:, own] == cell.visible[:, own]).all()
    assert (marked(cell, {"centre": 3}, small).visible == cell.visible).all()


def test_marks_and_scales_are_scenes_of_their_own(rutile):
    cell = rutile[0]
    one = marked(cell, {"A": 3, "B": 4}, SETTINGS)
    assert one.id != cell.id and dict(one.marks) == {"A": 3, "B": 4}
    assert one.id == marked(cell, {"B": 4, "A": 3}, SETTINGS).id
    assert one.id != marked(cell, {"A": 4, "B": 3}, SETTINGS).id
    assert at_scale(cell, cell.px_per_angstrom, SETTINGS) is cell
    small = at_scale(cell, cell.px_per_angstrom * 0.9, SETTINGS)
    assert small.id != cell.id and np.allclose(small.visible, cell.visible, atol=0.1)


def test_the_same_twice_and_another_with_another_seed(bases, rutile):
    again = display(bases["rutile"], SETTINGS)
    assert [one.id for one in again] == [one.id for one in rutile]
    for one, other in zip(again, rutile, strict=True):
        assert np.array_equal(one.visible, other.visible)
    other = display(bases["rutile"], replace(SETTINGS, seed=1))
    assert not {one.id for one in other} & {one.id for one in rutile}
    assert not np.allclose(other[0].cameras[3].direction, rutile[0].cameras[3].direction)


def test_a_name_of_the_catalogue_alone_decides_nothing(bases):
    """The bonds of an entry belong to its formula and space group."""
    other = bases["orthorhombic perovskite"]
    made = base_structure(
        "cubic perovskite", other.lattice, other.fractional, other.numbers, SETTINGS
    )
    assert made.number == 62 and made.pairs == ((8, 20), (8, 22))
    assert bases["cubic perovskite"].pairs == ((8, 22),)


def mixed(numbers, side):
    """A cubic cell of different elements on a diagonal."""
    places = np.arange(len(numbers))[:, None] / len(numbers) * np.ones(3)
    return base_structure("mixed", side * np.eye(3), places, list(numbers), SETTINGS)


def test_elements_that_no_colours_tell_apart_are_refused():
    """Five elements have colours of their own under fog, and eight or sixteen have not."""
    assert display(mixed((11, 17, 20, 8, 26), 9.0), replace(SETTINGS, supercells=0))
    for count in (8, 16):
        with pytest.raises(StructureError, match=f"colours of its {count} elements") as told:
            display(mixed(range(20, 20 + count), 12.0), SETTINGS)
        assert told.value.status == Status.undrawable
        assert all(name in str(told.value) for name in ("Ca, Sc, Ti", "--fog"))
    assert least_distance((20, 21), SETTINGS.fog) >= FAR > least_distance((20, 21), 0.99)
    with pytest.raises(StructureError, match="under a fog of 0.99"):
        display(mixed((20, 21), 5.0), replace(SETTINGS, fog=0.99))


def test_discs_that_show_no_colour_are_refused():
    """Rock salt in a cell of 60 Å; supercells whose discs are too small are left out."""
    side, places = 60.0, np.array(list(np.ndindex(2, 2, 2))) / 2
    numbers = [(11, 17)[int(2 * place.sum()) % 2] for place in places]
    base = base_structure("salt", side * np.eye(3), places, numbers, SETTINGS)
    with pytest.raises(StructureError, match="px/Å its smallest disc is coloured .*--least-fill"):
        display(base, SETTINGS)
    assert display(base, replace(SETTINGS, least_fill=0.0))
    small = base_structure("salt", 6 * np.eye(3), places, numbers, SETTINGS)
    whole = display(small, SETTINGS)
    fills = sorted(smallest_fill(scene, SETTINGS) for scene in whole)
    left_out = []
    narrower = replace(SETTINGS, least_fill=fills[0] + 1e-6)
    kept = display(small, narrower, left_out=left_out)
    assert len(kept) + len(left_out) == len(whole) and left_out
    assert min(smallest_fill(scene, SETTINGS) for scene in kept) > fills[0]
    scenes = {scene.id: scene for scene in whole}
    assert {one.rule for one in check_drawable(scenes, narrower)} == {"discs"}
    assert not list(check_drawable(scenes, SETTINGS))
    assert {one.rule for one in check_drawable(scenes, replace(SETTINGS, fog=0.99))} == {"colours"}
