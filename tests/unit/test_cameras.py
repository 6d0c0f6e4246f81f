"""Cameras, kappa, protocols and view subsets."""

import json

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rc_hpc.core.errors import UsageError
from rc_hpc.geometry import pairs as pairs_module
from rc_hpc.geometry.cameras import (
    kappa,
    rotation_from_direction,
    rotation_from_matrix,
    rotation_from_string,
)
from rc_hpc.geometry.protocol import EXAMPLE, Protocol, load_protocol, parse_subsets, parse_tiling

ANGLES = st.floats(-720, 720).map(lambda a: round(a, 3))


def proper(rotation, slack=1e-14):
    off = np.abs(rotation.T @ rotation - np.eye(3)).max()
    return off < slack and np.linalg.det(rotation) > 0


# ------------------------------------------------------------------ one camera


@given(st.lists(st.tuples(ANGLES, st.sampled_from("xyz")), min_size=1, max_size=5))
def test_a_string_turns_as_ase_does(items):
    from ase.utils import rotate

    text = ",".join(f"{angle}{axis}" for angle, axis in items)
    rotation = rotation_from_string(text)
    assert rotation == pytest.approx(rotate(text), abs=1e-13)
    assert rotation == pytest.approx(naive.ase_rotation(text), abs=1e-13)


def test_spellings_of_a_string():
    wanted = rotation_from_string("-60x,0y")
    for text in (" -60x , +0y", "-60.x,.0y", "-6e1x,0.0e3y"):
        assert np.array_equal(rotation_from_string(text), wanted)


@pytest.mark.parametrize(
    "text", ["", "x", "60", "60w", "60X", "60x,", "60x;30y", "60x30y", "nanx", "--6x"]
)
def test_strings_that_say_nothing(text):
    with pytest.raises(UsageError, match="cannot read .*expected degrees and an axis"):
        rotation_from_string(text)


@given(st.tuples(*[st.floats(-5, 5)] * 3), st.tuples(*[st.floats(-5, 5)] * 3))
def test_a_direction_is_the_third_column_and_up_points_up(direction, up):
    if min(np.linalg.norm(direction), np.linalg.norm(up)) < 1e-3:
        return
    rotation = rotation_from_direction(direction, up)
    d, u = np.array(direction), np.array(up)
    # the less `up` is across the direction, the more of it cancels
    across = np.linalg.norm(np.cross(d, u)) / (np.linalg.norm(d) * np.linalg.norm(u))
    assert proper(rotation, 1e-14 / max(across, 1e-9))
    assert rotation[:, 2] == pytest.approx(d / np.linalg.norm(d), abs=1e-13)
    if np.linalg.norm(np.cross(d, u)) > 1e-6 * np.linalg.norm(d) * np.linalg.norm(u):
        assert u @ rotation[:, 1] > 0 and abs(u @ rotation[:, 0]) < 1e-9 * np.linalg.norm(u)


@pytest.mark.parametrize(
    "direction, up, screen_up",
    [
        ((0, 0, 2), (0, 0, 1), (0, 1, 0)),
        ((0, 0, -2), (0, 0, 1), (0, 1, 0)),
        ((0, 3, 0), (0, 5, 0), (0, 0, -1)),
        ((1, 0, 0), (0, 0, 1), (0, 0, 1)),
    ],
)
def test_up_along_the_direction(direction, up, screen_up):
    rotation = rotation_from_direction(direction, up)
    assert proper(rotation) and rotation[:, 1] == pytest.approx(screen_up, abs=1e-15)


@pytest.mark.parametrize("direction", [(0, 0, 0), (1, 2), (1, np.nan, 0), (np.inf, 0, 0)])
def test_directions_that_point_nowhere(direction):
    with pytest.raises(UsageError, match="three finite numbers, not all zero"):
        rotation_from_direction(direction)
    with pytest.raises(UsageError, match="camera up"):
        rotation_from_direction((1, 0, 0), direction)


def test_a_printed_matrix_becomes_a_rotation():
    exact = rotation_from_string("-60x,-30y,-15z")
    for digits in range(9, 15):
        rotation = rotation_from_matrix(np.round(exact, digits).tolist())
        assert proper(rotation)
        assert rotation == pytest.approx(exact, abs=2 * 10.0**-digits)
    for kept in (np.eye(3), np.eye(3)[[1, 2, 0]], exact):
        assert np.array_equal(rotation_from_matrix(kept), kept)


@pytest.mark.parametrize(
    "matrix, message",
    [
        (np.eye(2), "three rows"),
        ([1, 0, 0], "three rows"),
        (np.full((3, 3), np.nan), "three rows of three finite"),
        (2 * np.eye(3), "proper rotation"),
        (np.diag([1, 1, -1]), "determinant"),
        (np.round(rotation_from_string("-60x,-30y,-15z"), 3), "orthonormal"),
    ],
)
def test_matrices_that_are_no_camera(matrix, message):
    with pytest.raises(UsageError, match=message):
        rotation_from_matrix(matrix)


# ------------------------------------------------------------------ kappa

TABLE = {
    "frozen": (1.0, 1.0, 1.4142, 2.7321, 1.0, 2.0, 1.1547, 1.3280, 1.3280, 2.2823),
    "off-axis": (1.0975, 1.0001, 1.9308, 8.4258, 1.0072, 1.4398, 1.0066, 1.1117, 1.0291, 2.4638),
}


@pytest.mark.parametrize("name", TABLE)
def test_kappa_table(name):
    protocol = load_protocol(name)
    found = protocol.kappas()
    assert list(found) == [(v, w) for v in range(5) for w in range(v + 1, 5)]
    assert list(found.values()) == pytest.approx(TABLE[name], abs=5e-5)
    for (v, w), value in found.items():
        assert value == pytest.approx(
            naive.kappa(protocol.rotations[v], protocol.rotations[w]), rel=1e-12
        )


@given(st.floats(1e-4, 90))
def test_kappa_of_an_angle(degrees):
    angle = np.radians(degrees)
    value = kappa((0, 0, 1), (0, np.sin(angle), np.cos(angle)))
    assert value == pytest.approx(1 / (np.sqrt(2) * np.sin(angle / 2)), rel=1e-9)
    assert value == kappa((0, 0, -3), (0, np.sin(angle), np.cos(angle)))


def test_kappa_of_parallel_views_is_infinite():
    assert kappa((1, 2, 3), (-2, -4, -6)) == np.inf


@pytest.mark.data
def test_cameras_of_the_records(shared):
    expected = json.loads((shared / "expected" / "geometry.json").read_text())
    for name, key in (("frozen", "frozen"), ("off-axis", "offaxis")):
        protocol = load_protocol(name)
        record = expected["cameras"][key]
        for view, rotation in zip(protocol.views, protocol.rotations, strict=True):
            assert rotation == pytest.approx(np.array(record["matrix"][view]), abs=1e-15)
        for view, direction in zip(protocol.views, protocol.directions, strict=True):
            assert direction == pytest.approx(record["direction"][view], abs=1e-15)
        for pair, value in expected["kappa"][key]["per_pair"].items():
            v, w = map(protocol.views.index, pair.split("|"))
            assert protocol.kappas()[v, w] == pytest.approx(value, rel=1e-12)


# ------------------------------------------------------------------ frames of pairs


@pytest.mark.parametrize("name", ["frozen", "off-axis"])
def test_frames_give_back_a_point_from_its_images(name):
    protocol = load_protocol(name)
    frames = pairs_module.pair_frames(protocol)
    point = np.array([3.1, -2.7, 11.3])
    for p, (v, w) in enumerate(protocol.pairs()):
        images = [point @ protocol.rotations[x][:, :2] for x in (v, w)]
        heights = [image @ normal for image, normal in zip(images, frames.screen_normal[p])]
        sides = [image @ side for image, side in zip(images, frames.screen_side[p])]
        assert heights[0] == pytest.approx(heights[1], abs=1e-13)
        back = frames.normal[p] * heights[0] + frames.dual[p].T @ sides
        assert back == pytest.approx(point, abs=1e-12)


def test_masks_and_least_squares_matrices():
    protocol = load_protocol("frozen")
    subsets = ((0, 1), (1, 3, 4), (0, 1, 2, 3, 4))
    assert pairs_module.subset_masks(subsets).tolist() == [0b00011, 0b11010, 0b11111]
    inverses = pairs_module.least_squares_inverse(protocol, subsets)
    for subset, inverse in zip(subsets, inverses):
        rows = np.concatenate([protocol.rotations[v][:, :2].T for v in subset])
        assert inverse @ rows.T == pytest.approx(np.linalg.pinv(rows), abs=1e-12)


def test_no_least_squares_of_parallel_views():
    rotations = np.array(
        [np.eye(3), rotation_from_direction((0, 0, -1)), rotation_from_direction((1, 0, 0))]
    )
    protocol = Protocol("p", ("u", "v", "w"), rotations)
    assert protocol.pairs() == [(0, 2), (1, 2)] == list(protocol.kappas())
    inverses = pairs_module.least_squares_inverse(protocol, ((0, 1), (0, 2)))
    assert not inverses[0].any() and inverses[1].any()


# ------------------------------------------------------------------ protocols

THREE = """
name = "three"
tiling = [2, 1, 1]
[[camera]]
name = "s"
rotation = "-90x,0y,0z"
[[camera]]
direction = [1, 1, 1]
up = [0, 1, 0]
[[camera]]
name = "m"
matrix = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
"""


def written(folder, text):
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_protocol_file(tmp_path):
    path = written(tmp_path, THREE)
    protocol = load_protocol(path)
    assert (protocol.name, protocol.views, protocol.tiling) == (
        "three",
        ("s", "view1", "m"),
        (2, 1, 1),
    )
    assert np.array_equal(protocol.rotations[0], rotation_from_string("-90x,0y,0z"))
    assert np.array_equal(protocol.rotations[1], rotation_from_direction((1, 1, 1), (0, 1, 0)))
    assert np.array_equal(protocol.rotations[2], np.eye(3))
    assert load_protocol(path, tiling=(3, 3, 3)).tiling == (3, 3, 3)
    example = load_protocol(written(tmp_path, EXAMPLE))
    assert example.views == ("front", "corner")
    assert load_protocol(written(tmp_path, EXAMPLE.replace('name = "mine"', ""))).name == "mine"


def test_what_identifies_a_protocol(tmp_path):
    protocol = load_protocol(written(tmp_path, THREE))
    renamed = load_protocol(written(tmp_path, THREE.replace("three", "four")))
    assert protocol.digest() == renamed.digest()
    for old, new in (("-90x", "-89x"), ("[2, 1, 1]", "2"), ('"s"', '"t"')):
        assert (
            load_protocol(written(tmp_path, THREE.replace(old, new))).digest() != protocol.digest()
        )
    assert json.loads(json.dumps(protocol.identity())) == protocol.identity()


CAMERA = '[[camera]]\nrotation = "0x"\n'


@pytest.mark.parametrize(
    "text, message",
    [
        ("name = ", "not valid TOML"),
        ("", r"0 camera\(s\)"),
        (CAMERA, r"1 camera\(s\)"),
        (CAMERA * 17, "17 cameras; at most 16"),
        (CAMERA * 2, "look along one line"),
        (CAMERA + '[[camera]]\nrotation = "180x"', "look along one line"),
        ("views = 3\n" + CAMERA, "unknown key 'views'"),
        ("camera = 3", "cameras are tables"),
        ("camera = [1, 2]", "cameras are tables"),
        ('[camera]\nrotation = "0x"', "cameras are tables"),
        (CAMERA + "[[camera]]\nname = 'b'", "camera 2 needs exactly one of"),
        (
            CAMERA + "[[camera]]\nrotation = '0x'\ndirection = [1, 0, 0]",
            "camera 2 needs exactly one of",
        ),
        (CAMERA + "[[camera]]\nrotation = '0x'\nup = [1, 0, 0]", "camera 2 needs exactly one of"),
        (CAMERA + "[[camera]]\nrotation = '0x'\nfov = 3", "camera 2 has an unknown key 'fov'"),
        (CAMERA + "[[camera]]\nrotation = 'sideways'", "camera 2: rotation string 'sideways'"),
        (CAMERA + "[[camera]]\nrotation = 3", "camera 2: rotation string '3'"),
        (CAMERA + "[[camera]]\ndirection = 'x'", "camera 2: "),
        (CAMERA + "[[camera]]\ndirection = [0, 0, 0]", "camera 2: camera direction"),
        (CAMERA + "[[camera]]\ndirection = [1, 0, 0]\nup = 'z'", "camera 2: "),
        (CAMERA + "[[camera]]\nmatrix = [[1, 0, 0], [0, 1]]", "camera 2: "),
        (
            CAMERA + "[[camera]]\nmatrix = [[1, 0, 0], [0, 1, 0], [0, 0, -1]]",
            "camera 2: .*proper rotation",
        ),
        (CAMERA + "[[camera]]\nname = 'view0'\nrotation = '90x'", "camera names repeat"),
        (CAMERA + "[[camera]]\nname = 'a+b'\nrotation = '90x'", "must not be empty or hold"),
        (CAMERA + "[[camera]]\nname = ''\nrotation = '90x'", "must not be empty or hold"),
        ("tiling = 0\n" + CAMERA + "[[camera]]\nrotation = '90x'", "tiling 0"),
    ],
)
def test_protocol_files_that_cannot_be_used(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(UsageError, match=message) as caught:
        load_protocol(path)
    assert path in str(caught.value) or "mine" in str(caught.value) or "tiling" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="built in are frozen, off-axis") as caught:
        load_protocol("forzen")
    assert "[[camera]]" in str(caught.value)
    with pytest.raises(UsageError, match="no protocol"):
        load_protocol(str(tmp_path))
    path = tmp_path / "latin.toml"
    path.write_bytes('name = "é"'.encode("latin-1"))
    with pytest.raises(UsageError, match="not valid TOML"):
        load_protocol(str(path))

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_text", refuse)
    with pytest.raises(UsageError, match="latin.toml: cannot be read .Permission denied"):
        load_protocol(str(path))


@pytest.mark.parametrize(
    "value, tiling",
    [
        (2, (2, 2, 2)),
        ("2", (2, 2, 2)),
        ("2,1,3", (2, 1, 3)),
        ([2, 1, 3], (2, 1, 3)),
        ((1, 1, 1), (1, 1, 1)),
    ],
)
def test_tilings(value, tiling):
    assert parse_tiling(value) == tiling


@pytest.mark.parametrize(
    "value",
    [0, -1, 2.5, [2, 2.5], [2, 2, 2, 2.0], "2,2", "2;2;2", "", "a", [], [1, 0, 1], None, {}],
)
def test_tilings_that_are_none(value):
    with pytest.raises(UsageError, match="tiling"):
        parse_tiling(value)


# ------------------------------------------------------------------ subsets

VIEWS = ("a", "b", "c", "d")


def test_all_subsets_by_size_in_camera_order():
    subsets = parse_subsets("all", VIEWS)
    assert subsets == tuple(tuple(map(VIEWS.index, names)) for names in naive.subsets_of(VIEWS))
    assert len(parse_subsets("all", tuple("abcde"))) == 26
    assert len(parse_subsets("all", tuple("abcdefghijklmnop"))) == 2**16 - 17


@pytest.mark.parametrize(
    "text, subsets",
    [
        ("full", ((0, 1, 2, 3),)),
        ("a+b", ((0, 1),)),
        ("c+a,a+c,b+d+a", ((0, 2), (0, 1, 3))),
    ],
)
def test_named_subsets(text, subsets):
    assert parse_subsets(text, VIEWS) == subsets


@pytest.mark.parametrize(
    "text, message",
    [
        ("a", "two or more different cameras"),
        ("a+a", "two or more different cameras"),
        ("a+e", "no camera 'e'; the protocol has a, b, c, d"),
        ("a+b,", "no camera ''"),
        ("", "no camera ''"),
        ("a + b", "no camera 'a '"),
    ],
)
def test_subsets_that_are_none(text, message):
    with pytest.raises(UsageError, match=message):
        parse_subsets(text, VIEWS)
