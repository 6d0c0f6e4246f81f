"""The detector of discs: kernels beside slow twins, calibration, scales, and whole pictures."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rc_hpc.core.errors import UsageError
from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.images.fast import FastRenderer
from rc_hpc.images.view import project
from rc_hpc.kernels import discs, edges
from rc_hpc.kernels.discs import Outline
from rc_hpc.reader import calibration
from rc_hpc.reader.convention import EXAMPLE, load_convention, named
from rc_hpc.reader.detector import detect
from rc_hpc.reader.edges import Edges, edges_of, fills_of
from rc_hpc.reader.records import Knowledge, NotReadError
from rc_hpc.reader.scales import _rough

SIZE = 384
#: A cell without symmetry that shows, hides and overlaps: lattice, numbers, fractional positions.
LATTICE = np.array(((5.1, 0.0, 0.0), (0.4, 5.6, 0.0), (-0.3, 0.7, 6.2)))
NUMBERS = (26, 8, 8, 56, 1)
FRACTIONAL = np.array(
    ((0.1, 0.2, 0.3), (0.45, 0.1, 0.7), (0.8, 0.65, 0.2), (0.5, 0.55, 0.55), (0.9, 0.1, 0.95))
)


def drawn(convention, numbers=NUMBERS, fractional=FRACTIONAL, lattice=LATTICE, size=SIZE):
    """Pictures, scene and views of a cell with the frozen cameras."""
    scene = convention.scene(lattice, numbers, fractional @ lattice)
    rotations = load_protocol("frozen").rotations
    views = [convention.view(scene, rotation, size) for rotation in rotations]
    return [FastRenderer().draw(scene, view) for view in views], scene, views


def known(convention, size=SIZE, **more):
    return Knowledge(
        more.pop("level", "K0"), load_protocol("frozen").rotations, size, convention, **more
    )


@pytest.fixture(scope="module")
def example():
    convention = named("C1")
    return convention, *drawn(convention)


# Kernels beside twins.


def area_below(way, x, y, steps=400):
    """Share of the unit square on the inner side of a line, by counting."""
    at = (np.arange(steps) + 0.5) / steps - 0.5
    return np.mean(at[:, None] * x + at[None, :] * y < way)


@given(st.floats(0.02, 0.98), st.floats(0, 2 * math.pi))
@settings(max_examples=60, deadline=None)
def test_distance_of_an_edge_is_the_inverse_of_the_area(share, angle):
    x, y = math.cos(angle), math.sin(angle)
    way = edges.edge_distance(share, x, y)
    assert area_below(way, x, y) == pytest.approx(share, abs=0.006)


def naive_codes(pixels, fills):
    codes = np.zeros(pixels.shape[:2], np.uint8)
    for code, colour in fills.items():
        codes[(pixels == colour).all(axis=2)] = code
    flat = np.zeros(256, int)
    for i in range(1, len(codes) - 1):
        for j in range(1, codes.shape[1] - 1):
            patch = codes[i - 1 : i + 2, j - 1 : j + 2]
            flat[codes[i, j]] += codes[i, j] > 0 and (patch == codes[i, j]).all()
    return codes, flat


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_codes_and_edges_are_those_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    fills = {7: (200, 100, 40), 9: (10, 240, 90)}
    colours = np.array((*fills.values(), (0, 0, 0), (100, 50, 20), (40, 20, 8), (255, 255, 255)))
    pixels = colours[rng.choice(6, (14, 17), p=(0.4, 0.15, 0.1, 0.1, 0.1, 0.15))].astype(np.uint8)
    table = np.zeros(1 << 24, np.uint8)
    by_code = np.zeros((256, 3))
    for code, (r, g, b) in fills.items():
        table[r << 16 | g << 8 | b] = code
        by_code[code] = r, g, b
    codes, flat = edges.fill_codes(pixels, table)
    twin, twin_flat = naive_codes(pixels, fills)
    assert np.array_equal(codes, twin) and np.array_equal(flat, twin_flat)
    wanted = np.zeros(256, bool)
    wanted[list(fills)] = True
    places, code, share, normals = edges.edge_pixels(pixels, codes, wanted, by_code, 4.0, 0.03)
    found = {(x, y): (c, s) for (x, y), c, s in zip(places.tolist(), code, share, strict=True)}
    assert np.allclose(np.linalg.norm(normals, axis=1), 1)
    for y in range(1, 13):
        for x in range(1, 16):
            expected = naive_edge(pixels, twin, fills, x, y)
            # A flat surrounding has no normal and is left out.
            assert (x, y) not in found or found[x, y][0] == expected[0]
            if (x, y) in found:
                assert found[x, y][1] == pytest.approx(expected[1])


def naive_edge(pixels, codes, fills, x, y):
    """Fill beside a mixed pixel, and its share; None where it is none."""
    if codes[y, x]:
        return None
    for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        code = codes[y + dy, x + dx]
        around = codes[max(0, y + dy - 1) : y + dy + 2, max(0, x + dx - 1) : x + dx + 2]
        if code and (around == code).sum() - 1 >= 2:
            fill, pixel = np.array(fills[code], float), pixels[y, x].astype(float)
            share = pixel @ fill / (fill @ fill)
            mixed = np.abs(pixel - share * fill).max() <= 4 and 0.03 <= share <= 0.97
            return (code, share) if mixed else None
    return None


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_a_circle_is_found_through_points(seed):
    rng = np.random.default_rng(seed)
    middle, radius = rng.uniform(-5, 5, 2), rng.uniform(2, 60)
    angle = rng.uniform(0, 2 * math.pi) + np.linspace(0, rng.uniform(1, 6), 20)
    points = middle + radius * np.column_stack((np.cos(angle), np.sin(angle)))
    x, y, size, rms = edges.circle_through(points)
    assert np.allclose((x, y, size), (*middle, radius), atol=1e-6) and rms < 1e-6


def test_points_of_a_line_have_no_circle():
    assert edges.circle_through(np.column_stack((np.arange(9.0), np.arange(9.0))))[2] == 0


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_peaks_are_those_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    votes = np.concatenate((rng.uniform(0, 20, (60, 2)), rng.normal((7, 11), 0.4, (20, 2))))
    free = rng.random(len(votes)) < 0.8
    grid = np.zeros((22, 22), int)
    inside = free & ((votes >= 0) & (votes < 20)).all(axis=1)
    for u, v in votes[inside]:
        grid[int(v) + 1, int(u) + 1] += 1
    block = np.array(
        [
            [grid[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2].sum() for j in range(22)]
            for i in range(22)
        ]
    )
    block[[0, -1]] = 0
    block[:, [0, -1]] = 0
    expected = {}
    for i in range(1, 21):
        for j in range(1, 21):
            around = [
                (block[a, b], (a, b))
                for a in range(i - 1, i + 2)
                for b in range(j - 1, j + 2)
                if (a, b) != (i, j)
            ]
            beaten = any(n > block[i, j] or (n == block[i, j] and at < (i, j)) for n, at in around)
            if block[i, j] >= 4 and not beaten:
                cell = np.floor(votes) + 1
                own = inside & (np.abs(cell - (j, i)) <= 1).all(axis=1)
                expected[i, j] = (votes[own].mean(axis=0), block[i, j])
    places, counts = discs.vote_peaks(votes, free, (20, 20), 4)
    found = sorted(zip(places.round(9).tolist(), counts.tolist(), strict=True))
    twin = sorted((place.round(9).tolist(), int(count)) for place, count in expected.values())
    assert found == twin


# The installed renderer.


@pytest.mark.parametrize("radius", [3.3, 9.55, 21.0, 38.6, 70.2])
def test_profiles_are_what_the_renderer_draws(radius):
    """Of discs that were not measured the edge is told to a hundredth of a pixel."""
    fill = (255, 13, 13)
    pixels, centres, step = calibration.drawn_discs(radius, 1.0, 500, fill)
    table = np.zeros(1 << 24, np.uint8)
    table[fill[0] << 16 | fill[1] << 8 | fill[2]] = 1
    by_code, wanted = np.zeros((256, 3)), np.arange(256) == 1
    by_code[1] = fill
    codes, _ = edges.fill_codes(pixels, table)
    places, _, share, normals = edges.edge_pixels(pixels, codes, wanted, by_code, 4.0, 0.03)
    cell = places // step
    mine = cell[:, 0] + cell[:, 1] * (pixels.shape[1] // step)
    turn, off = edges.outline_offsets(places, share, normals, centres[mine], radius - 50 / 72)
    shape = calibration.profile(radius, 1.0, fill)
    told = np.interp((turn % 1) * len(shape), np.arange(len(shape) + 1), [*shape, shape[0]])
    near = np.abs(off) < 0.5
    assert near.mean() > 0.9
    assert np.abs(np.mean((off - told)[near])) < 0.001
    assert np.std((off - told)[near]) < 0.012


def test_a_shift_is_below_a_digit_of_the_renderer():
    assert np.abs(calibration.drawn_shift(1.0)).max() < 1 / 256


# Whole pictures.


def nearest(marks, scene, view):
    """Distance of every mark from the nearest centre of its element, px."""
    far = np.linalg.norm(marks.centres_px[:, None] - view.centres, axis=2)
    far[marks.species[:, None] != scene.discs.numbers] = np.inf
    return far.min(axis=1)


def test_discs_are_where_they_were_drawn(example):
    convention, pictures, scene, views = example
    for marks, view in zip(detect(pictures, known(convention)), views, strict=True):
        off = nearest(marks, scene, view)
        sure = marks.arc_px >= 20
        assert sure.sum() > 8
        assert off[sure].max() < 0.03
        assert np.median(off) < 0.006
        error = marks.scale_px_per_A - view.px_per_angstrom
        assert abs(error) < 5 * marks.scale_sigma < 5e-3 * view.px_per_angstrom
        assert (np.linalg.eigvalsh(marks.covariance_px2) > 0).all()
        assert ((marks.visible > 0) & (marks.visible <= 1)).all()


def test_white_discs_are_found_on_white(example):
    convention, pictures, scene, views = example
    marks = detect(pictures, known(convention))
    assert sum((one.species == 1).sum() for one in marks) > 10
    for one, view in zip(marks, views, strict=True):
        assert nearest(one, scene, view)[one.species == 1].max(initial=0) < 0.1


def test_known_scales_are_taken(example):
    convention, pictures, _, views = example
    scales = np.array([view.px_per_angstrom for view in views])
    knowledge = known(
        convention, level="K1", lattice_A=LATTICE, pixels_per_A=scales,
        origins_px=np.array([view.origin for view in views]),
    )  # fmt: skip
    for marks, scale in zip(detect(pictures, knowledge), scales, strict=True):
        assert (marks.scale_px_per_A, marks.scale_sigma) == (scale, 0)


def test_errors_are_as_large_as_said(example):
    """Squared errors in units of their covariances are some two for each centre, or below."""
    convention, pictures, scene, views = example
    squares = []
    for marks, view in zip(detect(pictures, known(convention)), views, strict=True):
        far = np.linalg.norm(marks.centres_px[:, None] - view.centres, axis=2)
        far[marks.species[:, None] != scene.discs.numbers] = np.inf
        off = marks.centres_px - view.centres[far.argmin(axis=1)]
        solved = np.linalg.solve(marks.covariance_px2, off[..., None])[..., 0]
        squares.append((off * solved).sum(axis=1)[marks.arc_px >= 20])
    assert 0.2 < np.mean(np.concatenate(squares)) < 4


def test_the_order_of_atoms_and_vectors_changes_no_mark(example):
    """Pictures of the same crystal told otherwise are the same but for ties."""
    convention, pictures, _, _ = example
    order = [3, 0, 4, 2, 1]
    other, _, _ = drawn(convention, np.array(NUMBERS)[order], FRACTIONAL[order])
    first, second = (detect(each, known(convention)) for each in (pictures, other))
    for one, two in zip(first, second, strict=True):
        assert np.array_equal(one.species, two.species)
        assert np.allclose(one.centres_px, two.centres_px, atol=1e-9)


@pytest.mark.parametrize("spoilt", ["size", "number", "blank", "equal", "type"])
def test_pictures_that_cannot_be_are_refused(example, spoilt):
    convention, pictures, _, _ = example
    pictures = list(pictures)
    if spoilt == "size":
        pictures[2] = pictures[2][:-1]
    elif spoilt == "number":
        pictures.pop()
    elif spoilt == "blank":
        pictures[4] = np.full_like(pictures[4], 255)
    elif spoilt == "equal":
        pictures = [pictures[0]] * 5
    else:
        pictures[0] = pictures[0].astype(float)
    with pytest.raises(NotReadError, match=r"picture|same") as error:
        detect(pictures, known(convention))
    assert error.value.status == "refused"


def test_pictures_without_colours_have_no_scale(example):
    convention, pictures, _, _ = example
    lined = np.full_like(pictures[1], 255)
    lined[100:103, 20:300] = 0
    with pytest.raises(NotReadError, match="picture 2 shows no disc") as error:
        detect([pictures[0], lined, *pictures[2:]], known(convention))
    assert error.value.status == "no_scale"


def test_no_disc_is_larger_than_its_picture():
    """Local circles through straight edges are huge; a disc so large would not fit in."""
    radius = np.repeat((SIZE * 5.0, 20.0), (60, 40))
    none = np.zeros((0, 2))
    own = Edges(Outline(none, none[:, 0], none, np.zeros(1, int)), radius, radius, 0 * radius)
    convention = named("C3")
    (scale,) = _rough({26: own}, convention, SIZE)
    wanted = (20 + convention.line_px / 2) / convention.radii_A[26]
    assert scale == pytest.approx(wanted, rel=0.03)


# Conventions.


def test_a_convention_redraws_what_the_renderer_draws():
    from rc_hpc.images.build import crystal_scene

    convention = named("C1")
    scene = convention.scene(LATTICE, NUMBERS, FRACTIONAL @ LATTICE)
    own = crystal_scene(LATTICE, NUMBERS, FRACTIONAL @ LATTICE)
    for rotation in load_protocol("frozen").rotations:
        pictures = [
            FastRenderer().draw(scene, convention.view(scene, rotation, 128)),
            FastRenderer().draw(own, project(own, rotation, 128)),
        ]
        assert np.array_equal(*pictures)


def test_a_file_tells_a_convention(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text(EXAMPLE)
    example, c1 = load_convention(path), named("C1")
    assert np.array_equal(example.fills, c1.fills)
    assert np.allclose(example.radii_A, c1.radii_A)
    same = {"name": "C1", "colours_and_radii": c1.identity()["colours_and_radii"]}
    assert example.identity() | same == c1.identity()
    path.write_text(
        "tiling = [1, 1, 1]\nline_pt = 2.0\nbox = false\nmargin = 1.2\n[palette]\nO = [9, 8, 7]\n"
    )
    other = load_convention(path)
    assert other.fill(8) == (9, 8, 7) and other.name == "c" and other.fill(26) == (224, 102, 51)
    pictures, scene, views = drawn(other)
    assert scene.cell is None and len(scene.segments.middles) == 0
    reach = np.abs(views[0].centres - SIZE / 2).max(axis=1) + views[0].radii
    assert reach.max() == pytest.approx(SIZE / 2 / 1.2)
    for marks, view in zip(detect(pictures, known(other)), views, strict=True):
        assert nearest(marks, scene, view)[marks.arc_px >= 20].max() < 0.05


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tiling = [0, 1, 1]", "three whole numbers"),
        ("colour = 3", "unknown key 'colour'"),
        ("line_pt = -1", "line_pt"),
        ('order = "index"', "only 'depth'"),
        ("box = 1", "box"),
        ("[palette]\nXx = [1, 2, 3]", "Xx"),
        ("[palette]\nFe = [1, 2]", "palette Fe"),
        ("[radii_A]\nFe = 0.0", "radii_A Fe"),
        ("a = ", "not valid TOML"),
    ],
)
def test_a_file_that_tells_none_is_refused(tmp_path, text, told):
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=told) as error:
        load_convention(path)
    assert str(path) in str(error.value)


def test_elements_of_one_colour_are_no_convention(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text("[palette]\nFe = [255, 13, 13]\n")
    with pytest.raises(NotReadError, match="one colour") as error:
        fills_of(load_convention(path))
    assert error.value.status == "convention"


def test_elements_that_are_known_are_the_only_ones(example):
    convention, pictures, _, _ = example
    coloured, white = edges_of(pictures[0], fills_of(convention, (8, 26)))
    assert set(coloured) == {8, 26} and not white


def test_knowledge_is_whole_or_refused():
    convention = named("C1")
    with pytest.raises(ValueError, match="from level K1 on"):
        known(convention, lattice_A=LATTICE)
    with pytest.raises(ValueError, match="at level K2"):
        known(convention, species=(8,))
    with pytest.raises(ValueError, match="K3"):
        known(convention, level="K3")
