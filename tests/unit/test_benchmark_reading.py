"""What pictures determine: points, cells, counts and options against slow twins and by hand."""

from dataclasses import replace
from functools import cache

import naive_reading as naive
import numpy as np
import pytest
from ase.data import covalent_radii
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rc_hpc.benchmark.cameras import TILTED, camera, strict_views
from rc_hpc.benchmark.catalogue import catalogue_structures
from rc_hpc.benchmark.display import display, displayed_atoms, displayed_bonds
from rc_hpc.benchmark.questions.directions import text_of
from rc_hpc.benchmark.questions.texts import ARRANGEMENT, EXCHANGE, LATTICE, SAME, describe
from rc_hpc.benchmark.reading import answers
from rc_hpc.benchmark.reading.cells import Cell, alike, fold, read_cells
from rc_hpc.benchmark.reading.exact import named
from rc_hpc.benchmark.reading.floors import own_floors, priors
from rc_hpc.benchmark.reading.meanings import Ratio, meanings
from rc_hpc.benchmark.reading.points import SPOTS, _Paint, least_cover, merged, reconstruct
from rc_hpc.benchmark.reading.reader import COUNTS, Reach, read_question
from rc_hpc.benchmark.reading.sights import Pictures, Sight, sights
from rc_hpc.benchmark.reading.told import scenes_of_texts
from rc_hpc.benchmark.records import DisplayedScene, Question
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.core.errors import RcError
from rc_hpc.kernels.occlusion import discs_painted
from rc_hpc.kinds.determined.source import asked_of

EXACT, PIXELS = Sight("centres"), Sight("pixels", pixels=True)
SALT = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
SALT = np.concatenate([SALT, (SALT + [0.5, 0, 0]) % 1])
NA, CL = 11, 17
OF_SALT = np.array([NA] * 4 + [CL] * 4)


def scene(lattice, fractional, numbers, cameras=None, repeats=(1, 1, 1), limits=None, **more):
    """A displayed cell, all of it visible, 40 px an Å."""
    lattice = np.asarray(lattice, float)
    index, shift = displayed_atoms(lattice, np.asarray(fractional, float), repeats)
    positions = (np.asarray(fractional)[index] + shift) @ lattice
    cameras = cameras or views(lattice)
    made = DisplayedScene(
        id="s0",
        structure="x",
        mode="cell",
        lattice=lattice,
        repeats=repeats,
        positions=positions,
        numbers=np.asarray(numbers)[index],
        index=index,
        translation=shift,
        bonds=displayed_bonds(positions, np.asarray(numbers)[index], limits or {}),
        centre=-1,
        cameras=tuple(cameras),
        visible=np.ones((len(cameras), len(index))),
        px_per_angstrom=40.0,
    )
    return replace(made, **more)


def views(lattice, seed=1):
    """Three tilted views and five random ones."""
    rng = np.random.default_rng(seed)
    found = [camera(f"v{k:02}", one, lattice, 8.0) for k, one in enumerate(TILTED)]
    return found + [camera(f"v{k:02}", rng.uniform(-1, 1, 3), lattice) for k in range(3, 8)]


def points_scene(points, numbers, cameras):
    """Points that are no crystal's."""
    n = len(points)
    return DisplayedScene(
        *("s0", "x", "cell", np.eye(3), (1, 1, 1), points, numbers, np.arange(n)),
        *(np.zeros((n, 3), int), np.empty((0, 2), int), -1, tuple(cameras)),
        np.ones((len(cameras), n)),
        px_per_angstrom=40.0,
    )


def salt(**more):
    return scene(5.64 * np.eye(3), SALT, OF_SALT, limits={(NA, CL): 3.1}, **more)


def question(qtype, options, answer, shown, view_ids=("v00", "v01", "v02"), difficulty="standard"):
    ids = [one.id for one in shown]
    return Question(
        *("q", qtype, difficulty, "x", ids[0] if len(ids) == 1 else ids, list(view_ids)),
        *([], "?", dict(zip("ABCD", options)), answer, "", {}, ""),
    )


def remaining(asked, ways=(EXACT,), counts=COUNTS):
    """Options that remain, as letters, by sight and views."""
    found = read_question(asked, ways, Reach(), counts)
    return {
        key: "".join(x for x, one in zip("ABCD", outcome.remain) if one) if outcome.known else None
        for key, outcome in found.items()
    }


def asked(qtype, options, answer, *shown, **more):
    return asked_of(
        question(qtype, options, answer, shown, **more),
        {one.id: one for one in shown},
        complete=True,
    )


# ------------------------------------------------------------------ points

GRID = st.integers(1, 6).flatmap(lambda n: arrays(int, (n, 3), elements=st.integers(0, 2)))
DIRECTIONS = st.lists(
    st.sampled_from([(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1), (2, 1, 0), (1, 2, 3)]),
    min_size=2,
    max_size=4,
    unique=True,
)


@settings(max_examples=40, deadline=None)
@example(np.array([[0, 2, 2], [2, 2, 2], [2, 2, 0]]), [(1, 1, 1), (1, 2, 3)])  # far phantoms
@given(GRID, DIRECTIONS)
def test_points_and_counts_against_the_twin(grid, directions):
    """On a grid, where rays meet by chance all the time."""
    points = np.unique(grid, axis=0) * 1.7
    cameras = [camera(f"v{k}", one, np.eye(3)) for k, one in enumerate(directions)]
    shown = points_scene(points, np.full(len(points), 6), cameras)
    pictures = Pictures(shown, tuple(range(len(cameras))), EXACT)
    found = reconstruct(pictures, [len(cameras)], 0.01)[len(cameras)]
    images = naive.seen(points, pictures.rotations)
    every = naive.points_of(images, pictures.rotations, 1e-5)
    assert len(found.numbers) == len(every)
    if len(every):
        apart = np.linalg.norm(found.positions[:, None] - every[None], axis=-1)
        assert apart.min(axis=1).max() < 1e-6 and apart.min(axis=0).max() < 1e-6
    if len(every) <= 8:
        sets = list(naive.explanations(found.positions, images, pictures.rotations))
        sizes = {len(one) for one in sets}
        low, high = answers.displayed_range(found)
        assert sizes == set(range(low, high + 1)) and low <= len(points) <= high
        always = set.intersection(*map(set, sets))
        assert set(np.flatnonzero(found.forced).tolist()) == always
        cell = Cell(np.zeros(3), np.eye(3) * 3.4)
        contents = {
            naive.sites(found.positions[list(one)], found.numbers[list(one)], cell.lattice, 0.01)[6]
            for one in sets
        }
        low, high = answers.content_range(found, cell, 0.01)[6]
        assert contents == set(range(low, high + 1))


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 7).flatmap(lambda m: arrays(bool, st.tuples(st.integers(1, 7), st.just(m)))))
def test_least_cover_and_open_sets_against_all_sets(covers):
    rows = covers[covers.any(axis=1)]
    subsets = [
        np.array([bool(k >> j & 1) for j in range(covers.shape[1])])
        for k in range(2 ** covers.shape[1])
    ]
    good = [one for one in subsets if rows[:, one].any(axis=1).all()]
    assert least_cover(covers) == min(one.sum() for one in good)
    sets = answers.open_sets(covers)
    forced = rows[rows.sum(axis=1) == 1].any(axis=0)
    if sets is None:
        assert (~forced).sum() > answers.MOST_OPEN
    else:
        assert {tuple(one) for one in sets} == {tuple(one) for one in good}


def test_hidden_centres_are_forgiven_where_there_is_paint_and_only_there():
    shown = salt()
    visible = shown.visible.copy()
    visible[0, 5] = 0.2  # one atom is not read in one view
    hidden = replace(shown, visible=visible)
    radii = np.full(len(shown.numbers), 0.5)
    pictures = Pictures(hidden, tuple(range(8)), Sight("half", least=0.5))
    found = reconstruct(pictures, [3, 8], 0.01, radii=radii)
    assert [len(found[n].numbers) for n in (3, 8)] == [27, 27]
    assert not found[8].rays.any()
    unforgiven = reconstruct(pictures, [3], 0.01)[3]
    assert len(unforgiven.numbers) == 26


def test_white_anywhere_on_a_disc_says_that_no_atom_is_there():
    """A big disc at the origin, and a bond to a small one: where an atom of the small may hide."""
    along_z = camera("v00", (0, 0, 1), np.eye(3))
    points = np.array([[0.0, 0, 0], [3.0, 0, 0]])
    shown = replace(
        points_scene(points, np.array([55, 6]), [along_z]),
        mode="environment",
        bonds=np.array([[0, 1]]),
    )
    pictures = Pictures(shown, (0,), Sight("half", least=0.5))
    paint = _Paint(pictures, pictures.rotations, np.array([1.0, 0.3]))
    across = along_z.rotation[0]  # to the right in the picture

    def may_be(right, up=0.0):
        places = np.array([across * right + along_z.rotation[1] * up]) - 2 * along_z.rotation[2]
        return bool(paint.at(places, np.array([6]), np.ones((1, 1), bool))[0, 0])

    edge = 0.85 * 0.3
    assert [may_be(x) for x in (0.0, 0.99 - edge, 1.05 - edge, 1.05, 2.0)] == [
        *(True, True, False, False),  # its middle is on the big disc, its rim beside it: no
        *(False,),  # the bond is thinner than the disc
    ]
    paint.half_widths = np.array([0.4])
    assert [may_be(x, up) for x, up in ((2.0, 0.0), (2.0, 0.2), (0.0, 1.2))] == [True, False, False]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_painted_discs_against_the_twin(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 6), rng.integers(0, 4)
    rotations = np.array([camera("v", one, np.eye(3)).rotation.T for one in ((1, 0, 0), (1, 1, 1))])
    places, reach = rng.uniform(-1, 1, (5, 3)), rng.uniform(0.05, 0.4, 5)
    screen, radii = rng.uniform(-1, 1, (2, n, 2)), rng.uniform(0.2, 1.2, n)
    ends, widths = rng.uniform(-2, 2, (2, m, 4)), rng.uniform(0.05, 0.6, m)
    asked = rng.random((5, 2)) < 0.8
    given_ = (screen, radii, ends, widths, rotations)
    found = discs_painted(places, reach, asked, SPOTS, *given_)
    assert (found == (naive.painted(places, reach, SPOTS, *given_) & asked)).all()


@pytest.mark.long
@pytest.mark.parametrize("name", ["fluorite", "rutile", "wurtzite", "AlB2", "calcite"])
def test_the_truth_remains_wherever_every_centre_is_read_somewhere(name):
    """Real scenes with what is really visible, from both sets of three views."""
    base, count = catalogue_of()[name], 0
    for shown in display(base, DisplaySettings(supercells=2)):
        for three in ((0, 1, 2), (3, 4, 5)) if shown.mode != "environment" else ():
            pictures = Pictures(shown, three, Sight("half", least=0.5))
            if shown.label_edges or not pictures.read.any(axis=0).all():
                continue
            count += 1
            radii = covalent_radii[shown.numbers] * 0.4
            points = reconstruct(pictures, [3], 0.01, radii=radii)[3]
            low, high = answers.displayed_range(points)
            assert low <= len(shown.numbers) <= high, (shown.mode, three)
            true = {int(z): int((base.numbers == z).sum()) for z in np.unique(base.numbers)}
            (cell,) = read_cells(pictures, (3,), 0.01)[3]
            ranges = answers.content_range(points, cell, 0.02)
            assert answers.contents_that_agree([true], [ranges]) == [True], (shown.mode, three)
    assert count


@cache
def catalogue_of():
    return {base.name: base for base in catalogue_structures(DisplaySettings())}


def test_an_atom_that_one_view_shows_alone_is_a_ray():
    shown = salt()
    visible = shown.visible.copy()
    visible[1:, 5] = 0.0
    pictures = Pictures(replace(shown, visible=visible), (0, 1, 2), Sight("half", least=0.5))
    found = reconstruct(pictures, [3], 0.01, radii=np.full(27, 0.5))[3]
    low, high = answers.displayed_range(found)
    assert found.rays.sum() >= 1 and low <= 27 <= high


def test_to_the_pixel_an_atom_is_one_point():
    shown = salt()
    found = reconstruct(Pictures(shown, tuple(range(8)), PIXELS), [3, 8], 0.05)
    assert [len(found[n].numbers) for n in (3, 8)] == [27, 27]
    doubled = found[3]._replace(
        numbers=np.repeat(found[3].numbers, 2),
        positions=np.repeat(found[3].positions, 2, axis=0),
        covers=np.repeat(found[3].covers, 2, axis=1),
    )
    assert len(merged(doubled, 0.1).numbers) == 27


def test_too_many_candidates_and_parallel_views_give_nothing():
    shown = salt()
    assert reconstruct(Pictures(shown, (0, 1, 2), EXACT), [3], 0.01, max_candidates=1)[3] is None
    same = replace(shown, cameras=(shown.cameras[0],) * 3)
    assert reconstruct(Pictures(same, (0, 1, 2), EXACT), [3], 0.01)[3] is None


# ------------------------------------------------------------------ cells


@settings(max_examples=15, deadline=None)
@given(arrays(float, (3, 3), elements=st.floats(-1, 1)), st.sampled_from([EXACT, PIXELS]))
def test_the_cell_drawn_is_found_without_knowing_corners(strain, sight):
    lattice = np.diag([5.0, 6.0, 7.5]) + 0.4 * strain
    shown = scene(lattice, [[0.1, 0.2, 0.3]], [6])
    pictures = Pictures(shown, tuple(range(8)), sight)
    for n, cells in read_cells(pictures, (3, 8), 0.05 if sight.pixels else 0.01).items():
        assert len(cells) == 1, n
        turned = alike(cells[0], Cell(np.zeros(3), lattice))
        assert np.abs(turned.lattice - lattice).max() < (0.05 if sight.pixels else 1e-6)


def test_no_cell_where_none_is_drawn_or_one_view_shows_it():
    shown = salt()
    assert read_cells(Pictures(shown, (0, 1, 2), EXACT), (1, 3), 0.01)[1] == []
    alone = replace(shown, mode="environment")
    assert read_cells(Pictures(alone, (0, 1, 2), EXACT), (3,), 0.01)[3] == []


def test_folding_against_the_twin():
    rng = np.random.default_rng(5)
    lattice = np.array([[4.0, 0, 0], [1.0, 5.0, 0], [0.5, 1.0, 6.0]])
    base = rng.random((5, 3))
    shifts = rng.integers(-1, 2, (40, 3))
    which = rng.integers(0, 5, 40)
    points = (base[which] + shifts) @ lattice
    numbers = np.array([6, 6, 8, 8, 8])[which]
    site = fold(points, numbers, Cell(np.array([0.3, -0.2, 0.1]), lattice), 0.01)
    same = site[:, None] == site[None]
    assert (same == (which[:, None] == which[None])).all()


@pytest.mark.parametrize(
    "change, expected",
    [
        (lambda f, n, c: (f, n, c), SAME),
        (lambda f, n, c: ((f + [1, 0, -2]) % 1, n, c), SAME),
        (lambda f, n, c: (f, np.where(n == 6, 8, 6), c), EXCHANGE),
        (lambda f, n, c: (f, n, c * [[1.08], [1], [1]]), LATTICE),
        (lambda f, n, c: (f[1:], n[1:], c), ARRANGEMENT),
        (lambda f, n, c: ((f + [[0.1, 0, 0], [0, 0, 0], [0, 0, 0]]) % 1, n, c), ARRANGEMENT),
        (lambda f, n, c: (f, np.array([6, 6, 6]), c), ARRANGEMENT),
    ],
)
def test_what_has_changed_between_two_cells(change, expected):
    lattice = np.array([[4.0, 0, 0], [1.0, 5.0, 0], [0.5, 1.0, 6.0]])
    fractional = np.array([[0.1, 0.2, 0.3], [0.6, 0.7, 0.4], [0.3, 0.9, 0.8]])
    numbers = np.array([6, 8, 8])
    first = answers.Sites(numbers, fractional, Cell(np.zeros(3), lattice))
    f, n, other = change(fractional, numbers, lattice)
    # The second is read with other names of edges and from another corner.
    renamed = Cell(other[0].copy(), np.array([-other[0], other[2], other[1]]))
    places = (f @ other - renamed.origin) @ np.linalg.inv(renamed.lattice)
    second = answers.Sites(np.asarray(n), places % 1, renamed)
    assert answers.change_between(first, second, 0.01) == expected


@pytest.mark.parametrize(
    "sides, angles, named",
    [
        ((4, 4, 4), (90, 90, 90), "cubic"),
        ((4, 5, 4.01), (90, 90, 90), "tetragonal"),
        ((4, 5, 6), (90, 90, 90), "orthorhombic"),
        ((4, 4, 6), (90, 90, 120), "hexagonal"),
        ((4, 5, 6), (90, 100, 90), "monoclinic"),
        ((4, 4, 4), (80, 80, 80), "trigonal"),
        ((4, 5, 6), (80, 85, 95), "triclinic"),
    ],
)
def test_systems_of_the_metric_alone(sides, angles, named):
    from ase.geometry import cellpar_to_cell

    assert answers.metric_systems(np.array(cellpar_to_cell([*sides, *angles])))[0] == named


# ------------------------------------------------------------------ distances and directions


def test_marks_fix_places_from_two_views_and_errors_bound_them():
    rng = np.random.default_rng(0)
    rotations = np.array([one.rotation.T for one in views(np.diag([4.0, 5.0, 6.0]))])
    for _ in range(200):
        point = rng.uniform(-5, 5, 3)
        k = rng.choice(8, rng.integers(2, 9), replace=False)
        screen = np.einsum("vij,i->vj", rotations[k], point)[:, :2]
        assert np.allclose(answers.triangulated(screen, rotations[k]), point, atol=1e-6)
        other = point + rng.uniform(-3, 3, 3)
        again = np.einsum("vij,i->vj", rotations[k], other)[:, :2]
        places = [
            answers.triangulated(s + rng.choice([-0.01, 0.01], s.shape), rotations[k])
            for s in (screen, again)
        ]
        length = np.linalg.norm(other - point)
        more, less = answers.length_error(other - point, rotations[k], 0.01)
        assert length - less <= np.linalg.norm(places[1] - places[0]) <= length + more
    assert answers.triangulated(screen[:1], rotations[:1]) is None
    assert answers.triangulated(screen[[0, 0]], rotations[[0, 0]]) is None


def test_ratios_within_their_bounds():
    a, b, c = np.zeros(3), np.array([3.0, 0, 0]), np.array([0, 2.0, 0])
    axes = np.array([camera("v", one, np.eye(3)).rotation.T for one in np.eye(3)])
    assert answers.ratio_range((a, b, c), axes, 0.0) == pytest.approx((1.5, 1.5))
    low, high = answers.ratio_range((a, b, c), axes, 0.1)
    # Each coordinate is seen twice: a difference of two places is off by 0.2 along each axis.
    bent = 0.04 * 3 / 2
    assert low == pytest.approx(2.8 / (2.2 + bent / 1.8))
    assert high == pytest.approx((3.2 + bent / 2.8) / 1.8)
    options = [Ratio(1, 1.5), Ratio(1.5, np.inf), Ratio(0, 1), Ratio(1, 0)]
    assert answers.ratios_that_agree(options, 1.2, 1.4) == [True, False, False, False]
    assert answers.ratios_that_agree(options, low, high) == [True, True, False, False]


def test_every_strict_direction_is_read_from_named_edges_also_to_the_pixel():
    lattice = np.array([[4.0, 0, 0], [-2.0, 3.4641016, 0], [0, 0, 6.0]])
    shown = replace(salt(), lattice=lattice, cameras=strict_views(lattice), label_edges=True)
    names = [tuple(int(x) for x in one.direction) for one in shown.cameras]
    for k, one in enumerate(names):
        others = [names[(k + step) % len(names)] for step in (1, 2, 3)]
        options = [text_of(other) for other in (one, *others)]
        item = asked("Q6", options, "A", shown, view_ids=[shown.cameras[k].id])
        left = remaining(item, (EXACT, PIXELS), (1, 2))
        assert left["centres", 1] == left["pixels", 1] == "A" and left["centres", 2] is None
    unnamed = replace(shown, label_edges=False)
    item = asked("Q6", ["[1 0 0]", "[0 1 0]", "[1 1 1]", "[2 1 0]"], "A", unnamed, view_ids=["s00"])
    assert remaining(item, counts=(1,))["centres", 1] == "AB"


# ------------------------------------------------------------------ questions


def test_counts_of_a_salt_cell_by_number_of_views():
    shown = salt()
    item = asked("Q1a", ["27", "25", "30", "33"], "A", shown)
    left = remaining(item, sights((0.5,)))
    assert left["centres", 3] == left["pixels", 3] == left["visible-0.5", 8] == "A"
    first = naive.seen(shown.positions, [shown.cameras[0].rotation.T])[0]
    per_species = sum(
        len(naive.seen(shown.positions[shown.numbers == z], [shown.cameras[0].rotation.T])[0])
        for z in (NA, CL)
    )
    assert per_species >= len(first)
    agreeing = "".join(x for x, n in zip("ABCD", (27, 25, 30, 33)) if n >= per_species)
    assert left["centres", 1] == agreeing


def test_contents_systems_and_neighbours_of_salt():
    shown = salt(marks={"*": 13})
    assert (shown.bonds == 13).sum() in (3, 4, 5, 6)
    near = int((shown.bonds == 13).sum())
    contents = ["Cl4 Na4", "Cl14 Na13", "Cl2 Na2", "Cl8 Na8"]
    assert remaining(asked("Q1b", contents, "A", shown))["centres", 3] == "A"
    assert remaining(asked("Q1b", contents, "A", shown))["centres", 1] == "ABCD"
    systems = ["tetragonal", "cubic", "hexagonal", "monoclinic"]
    assert remaining(asked("Q4", systems, "B", shown), (EXACT, PIXELS))["pixels", 3] == "B"
    numbers = [str(near), str(near + 1), str(near + 2), str(near + 3)]
    item = asked("Q2", numbers, "A", shown, difficulty="hard")
    outcome = read_question(item, (EXACT,), Reach())
    assert outcome["centres", 3].remain == (True, False, False, False)
    assert outcome["centres", 3].by_distance == (True, False, False, False)
    assert outcome["centres", 1].remain == (True, True, True, True)
    for qtype, options, right in (("Q1b", contents, 0), ("Q4", systems, 1), ("Q2", numbers, 0)):
        item = asked(qtype, options, "ABCD"[right], shown)
        assert named(item, 0.01) == [k == right for k in range(4)]


def test_distances_need_two_views_that_show_all_three():
    options = [
        "A-B is longer than A-C, by less than 50 %",
        "A-B is longer than A-C, by more than 50 %",
        "A-C is longer than A-B, by less than 50 %",
        "A-C is longer than A-B, by more than 50 %",
    ]
    shown = salt()
    a = int(np.flatnonzero((np.abs(shown.positions) < 1e-9).all(axis=1))[0])
    away = np.linalg.norm(shown.positions - shown.positions[a], axis=1)
    b, c = int(away.argmax()), int(np.flatnonzero(np.isclose(away, 2.82))[0])
    shown = replace(shown, marks={"A": a, "B": b, "C": c})
    item = asked("Q3", options, "B", shown)
    left = remaining(item, (EXACT, PIXELS))
    assert left["centres", 1] == "ABCD" and left["centres", 2] == left["pixels", 2] == "B"
    assert named(item, 0.01) == [False, True, False, False]
    visible = shown.visible.copy()
    visible[1, c] = 0.3
    item = asked("Q3", options, "B", replace(shown, visible=visible))
    left = remaining(item, (Sight("half", least=0.5),))
    assert left["half", 2] == "ABCD" and left["half", 3] == "B"


def test_pairs_of_structures():
    options = [SAME, EXCHANGE, LATTICE, ARRANGEMENT]
    first = salt()
    longer = scene(5.64 * np.diag([1.08, 1, 1]), SALT, OF_SALT, id="s1")
    less = scene(5.64 * np.eye(3), SALT[1:], OF_SALT[1:], id="s2")
    of_views = ["v00", "v01", "v02", "v03", "v04", "v05"]
    for other, right in ((first, "A"), (longer, "C"), (less, "D")):
        item = asked("Q5", options, right, first, other, view_ids=of_views)
        assert item.views[1][:3] == (3, 4, 5) and item.shown == 3
        left = remaining(item, (EXACT, PIXELS))
        assert left["centres", 3] == left["pixels", 8] == right and left["centres", 1] == "ABCD"
        assert named(item, 0.01) == [x == right for x in "ABCD"]


def test_strict_views_leave_more_open_than_tilted_ones():
    lattice = 5.64 * np.eye(3)
    strict = [camera(f"v{k:02}", one, lattice) for k, one in enumerate(TILTED)]
    shown = salt(cameras=strict)
    item = asked("Q1a", ["27", "29", "32", "35"], "A", shown)
    outcome = read_question(item, (EXACT,), Reach(), (3,))["centres", 3]
    assert outcome.phantoms > 0 and sum(outcome.remain) > 1 and outcome.remain[0]


# ------------------------------------------------------------------ what options mean, floors


@pytest.mark.parametrize(
    "qtype, texts, meaning",
    [
        ("Q1a", ["12", "13 atoms", "14", "N = 15"], [12, 13, 14, 15]),
        ("Q1b", ["Ca4 F8", "Ca4F8", "Ca: 4, F: 8", "F8 Ca4"], [{20: 4, 9: 8}] * 4),
        ("Q4", ["cubic", "Trigonal", "the hexagonal system", "triclinic"], None),
        ("Q6", ["[1 1 0]", "[110]", "1, 1, 0", "[-1 2 0]"], [(1, 1, 0)] * 3 + [(-1, 2, 0)]),
        (
            "Q5",
            ["Same structure", "Two elements swapped", "One axis stretched", "Atomic arrangement"],
            [SAME, EXCHANGE, LATTICE, ARRANGEMENT],
        ),
        (
            "Q3",
            ["A-B is longer", "A–C is shorter", "Both are equal", "Cannot be determined"],
            [Ratio(1, np.inf), Ratio(1, np.inf), Ratio(1, 1), Ratio(1, 0)],
        ),
    ],
)
def test_meanings_of_options(qtype, texts, meaning):
    found = meanings(question(qtype, texts, "A", [salt()]))
    assert found == (meaning or ["cubic", "trigonal", "hexagonal", "triclinic"])


@pytest.mark.parametrize("qtype", ["Q1a", "Q1b", "Q3", "Q4", "Q5", "Q6"])
def test_an_option_without_meaning_is_told(qtype):
    with pytest.raises(RcError, match="q: option A is 'hm', where"):
        meanings(question(qtype, ["hm"] * 4, "A", [salt()]))


def test_floors_by_hand():
    contents = ["Cl4 Na4", "Cl14 Na13", "Cl2 Na2", "Cl8 Na8"]
    assert own_floors(asked("Q1b", contents, "A", salt()))["formula"] == pytest.approx(1 / 3)
    assert own_floors(asked("Q1b", contents, "B", salt()))["formula"] == 1
    for last, right, metric in (("cubic", "D", 1), ("cubic", "A", 0), ("orthorhombic", "B", 1)):
        systems = ["hexagonal", "tetragonal", "trigonal", last]
        assert own_floors(asked("Q4", systems, right, salt()))["metric"] == metric
    item = asked("Q5", [SAME, EXCHANGE, LATTICE, ARRANGEMENT], "C", salt(), salt())
    assert own_floors(item)["same"] == 0
    asks = [
        replace(question("Q4", ["a", "b", "c", "d"], answer, [salt()]), structure=name, id=name)
        for name, answer in (("x", "A"), ("y", "A"), ("z", "B"))
    ]
    # x sees A right once in two and B once in two; y the same; z sees A right twice.
    assert priors(asks).tolist() == [0.5, 0.5, 0.0]


# ------------------------------------------------------------------ without scenes


def test_what_texts_tell_where_scenes_are_missing():
    shown = salt(marks={"A": 0, "B": 5, "C": 20})
    told = replace(
        question("Q1b", ["Cl4 Na4", "Cl14 Na13", "Cl2 Na2", "Cl8 Na8"], "A", [shown]),
        text_repr=describe(shown),
    )
    count = replace(question("Q1a", ["27", "25", "30", "33"], "A", [shown]), id="q2")
    alone = replace(count, id="q3", scene_id="s9")
    known = scenes_of_texts([told, count, alone])
    assert set(known) == {"s0"} and known["s0"].marks.keys() == {"A", "B", "C"}
    for one in (told, count):
        item = asked_of(one, known, complete=False)
        left = remaining(item, sights((0.5,)))
        assert left["centres", 3] == "A"
        assert left["centres", 8] is left["pixels", 3] is left["visible-0.5", 3] is None
    assert asked_of(alone, known, complete=False).scenes == ()
    hard = asked_of(
        question("Q2", ["4", "6", "8", "12"], "B", [shown], difficulty="hard"),
        known,
        complete=False,
    )
    assert remaining(hard)["centres", 3] is None
