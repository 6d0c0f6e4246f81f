"""Pinhole cameras: candidates by brute force, the theorem, and what it loses."""

from dataclasses import replace

import naive_perspective as twin
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle_cases import FROZEN, cells, decided
from test_frontier import options_of, packed

from rc_hpc.core.errors import Status, StructureError, UsageError
from rc_hpc.geometry.cameras import kappa, pinhole_centre, rotation_from_direction
from rc_hpc.geometry.pairs import pair_frames, pinholes_of
from rc_hpc.geometry.protocol import Protocol, load_protocol
from rc_hpc.kernels.perspective import project_pinhole
from rc_hpc.kernels.points import project, shown_by_all, sort_points, species_ranges
from rc_hpc.kernels.records import Pinholes
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.oracle import CensusOracle
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.frontier.options import FrontierOptions
from rc_hpc.kinds.frontier.oracle import FrontierOracle
from rc_hpc.oracle.cell import tile
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.oracle.noise import NoisyOracle
from rc_hpc.structures.synthetic import random_crystal


def pinholes(distance, protocol=FROZEN, which=None):
    """A protocol's cameras at a distance from the origin; of those that are not in `which` none."""
    centres = protocol.rotations[:, :, 2] * distance
    if which is not None:
        centres[[v for v in range(len(centres)) if v not in which]] = np.nan
    return replace(protocol, name=f"{protocol.name}-{distance}", centres=centres)


#: Two parallel cameras side by side, one across, one orthographic, and two that face each other.
STEREO = Protocol(
    "stereo",
    ("left", "right", "across", "flat", "front", "back"),
    np.array(
        [
            rotation_from_direction(d)
            for d in ([0, 0, 1], [0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 2, 3], [-1, -2, -3])
        ]
    ),
    centres=np.array(
        [[-3, 0, 20], [3, 0, 20], [15, 1, 0], [np.nan] * 3, [4, 8, 12], [-4, -8, -12]], float
    ),
)
NEAR, MIXED = pinholes(9.0), pinholes(30.0, which=(0, 3))


def cameras_of(protocol):
    return [
        (r, c if p else None)
        for r, c, p in zip(protocol.rotations, protocol.centres, protocol.pinhole, strict=True)
    ]


# ------------------------------------------------------------------ candidates


@given(
    cell=cells(max_atoms=6),
    protocol=st.sampled_from([NEAR, MIXED, STEREO]),
    reach=st.sampled_from([0.013, 0.3]),
)
@settings(max_examples=40, deadline=None)
def test_candidates_are_the_twins(cell, protocol, reach):
    positions, numbers = cell
    cameras = cameras_of(protocol)
    assert protocol.pairs() == twin.sees_from_two_places(cameras)
    assume(not twin.through_a_camera(positions, cameras, protocol.pairs()))
    wanted = twin.candidates(positions, numbers, cameras, protocol.pairs(), reach + 1e-6)
    assume(
        decided([one[4] for one in wanted], reach) and decided([one[5] for one in wanted], reach)
    )
    # Where rays are nearly parallel, rounding moves the place where they meet.
    assume(all(one[6] > 1e-3 for one in wanted))
    wanted = [one for one in wanted if one[4] <= reach]
    oracle = GeometricOracle(protocol, (tuple(range(len(cameras))),), merge="first")
    enumeration = oracle.enumerate_cell(positions, numbers, reach, reach)
    found = enumeration.candidates
    order = np.argsort(found.met)
    assert found.pair[order].tolist() == [one[0] for one in wanted]
    if wanted:
        np.testing.assert_allclose(found.position[order], [one[3] for one in wanted], atol=1e-9)
        np.testing.assert_allclose(found.gap[order], [one[4] for one in wanted], atol=1e-10)
        residuals = np.array([one[5] for one in wanted])
        np.testing.assert_allclose(
            found.residual[order], np.where(residuals <= reach, residuals, np.inf), atol=1e-9
        )
        distances = [
            min(
                np.linalg.norm(one[3] - positions[k])
                for k in np.flatnonzero(numbers == numbers[one[1]])
            )
            for one in wanted
        ]
        np.testing.assert_allclose(enumeration.distance[order], distances, atol=1e-9)
    assert ((found.nearest >= 0) == np.isfinite(found.residual)).all()
    own = oracle.cameras.pairs[found.pair]
    assert (
        np.take_along_axis(found.residual, own, axis=1) <= found.gap[:, None] / 2 + 1e-9
    ).all(), "a ray is half a gap away"


def test_from_afar_a_pinhole_is_orthographic():
    positions = np.random.default_rng(1).uniform(-5, 5, (40, 3))
    far = pinholes(1e9)
    screen, depth = project_pinhole(positions, far.rotations, pinholes_of(far))
    np.testing.assert_allclose(screen, project(positions, FROZEN.rotations), atol=1e-6)
    np.testing.assert_allclose(depth, 1e9, rtol=1e-7)
    mixed, depth = project_pinhole(positions, FROZEN.rotations, pinholes_of(MIXED))
    np.testing.assert_array_equal(mixed[1], project(positions, FROZEN.rotations)[1])
    assert np.isinf(depth[1]).all()


def test_picture_is_to_scale_in_the_plane_of_the_origin():
    camera = Protocol(
        "one",
        ("a", "b"),
        np.array([np.eye(3), FROZEN.rotations[0]]),
        centres=np.array([[0, 0, 50.0], [np.nan] * 3]),
    )
    positions = np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 25.0], [1.0, 2.0, -50.0]])
    screen, depth = project_pinhole(positions, camera.rotations, pinholes_of(camera))
    np.testing.assert_allclose(screen[0], [[1, 2], [2, 4], [0.5, 1]], atol=1e-14)
    np.testing.assert_allclose(depth[0], [50, 25, 100])


# ------------------------------------------------------------------ the theorem, and what it loses


@pytest.fixture(scope="module")
def crystals():
    return [packed(*random_crystal(5, k, 10)[:3], f"c{k}") for k in range(8)]


@pytest.mark.parametrize("rule", ["dominance", "best-residual", "first"])
@pytest.mark.parametrize("distance", [40.0, 200.0])
def test_cells_without_phantoms_return_the_truth(crystals, distance, rule):
    protocol = pinholes(distance)
    oracle = CensusOracle(protocol, options_of(CensusOptions, protocol, "all", merge=rule))
    n_certified = n_phantoms = 0
    for crystal in crystals:
        fields, _ = oracle.run(crystal)
        certified = fields["cells/certified"]
        assert (fields["cells/n_recovered"][certified] == len(crystal.numbers)).all()
        assert (fields["cells/space_group"][certified] == crystal.space_group_conventional).all()
        assert fields["cells/atom_error"][certified].max() <= 0.01
        if rule != "first":  # which keeps a candidate that lies within delta of the atom
            assert (fields["cells/reconstruction"][certified] == 0).all()
        n_certified += certified.sum()
        n_phantoms += (fields["cells/n_phantoms"] > 0).sum()
    assert n_certified > 100 and n_phantoms > 5, "nothing stood against the theorem"


def test_atoms_on_the_line_of_both_cameras_are_not_certified():
    """Two cameras that face each other fix no atom between them, and no phantom says so."""
    facing = Protocol(
        "facing",
        ("front", "back", "side"),
        np.array([rotation_from_direction(d) for d in ([1, 0, 0], [-1, 0, 0], [0, 1, 0])]),
        centres=np.array([[30, 0, 0], [-30, 0, 0], [0, 30, 0]], float),
    )
    crystal = packed(
        np.diag([4.0, 5.0, 6.0]), np.array([[0.0, 0, 0], [0.5, 0.5, 0.4]]), np.array([11, 17])
    )
    assert np.allclose(crystal.positions[crystal.numbers == 11], 0)
    fields, _ = CensusOracle(facing, options_of(CensusOptions, facing, "all")).run(crystal)
    assert fields["cells/n_phantoms"].tolist() == [0, 0, 0, 0]
    assert fields["cells/n_recovered"].tolist() == [1, 2, 2, 2]
    assert fields["cells/certified"].tolist() == [False, True, True, True]
    frontier, _ = FrontierOracle(
        facing, options_of(FrontierOptions, facing, "all", deltas=(0.01,))
    ).run(crystal)
    assert frontier["frontier/certified"].tolist() == [[False, True, True, True]]


@pytest.mark.parametrize("subsets", ["all", "axis_a+axis_b,axis_a+axis_c+oblique2"])
def test_frontier_is_the_census(crystals, subsets):
    protocol = pinholes(60.0)
    deltas = (0.005, 0.01, 0.1)
    oracle = FrontierOracle(protocol, options_of(FrontierOptions, protocol, subsets, deltas=deltas))
    for crystal in crystals[:4]:
        fields, _ = oracle.run(crystal)
        for d, delta in enumerate(deltas):
            wanted, _ = CensusOracle(
                protocol, options_of(CensusOptions, protocol, subsets, delta=delta)
            ).run(crystal)
            for name in ("n_recovered", "certified"):
                got = fields[f"frontier/{name}"]
                np.testing.assert_array_equal(
                    got[d] if name == "certified" else got[0, d], wanted[f"cells/{name}"]
                )
            np.testing.assert_array_equal(
                fields["frontier/space_group"][0, d, 0], wanted["cells/space_group"]
            )


def test_a_pinhole_along_a_lattice_vector_separates_what_differs_by_it(crystals):
    for crystal in crystals:
        _, positions, numbers = tile(
            crystal.lattice, crystal.positions + [0.3, 0.2, 0.1], crystal.numbers, (1, 1, 2)
        )
        along = rotation_from_direction(crystal.lattice[2])
        order, starts, species = species_ranges(np.asarray(numbers, np.int64), False)

        def points(screen, starts=starts, order=order, species=species):
            images = shown_by_all(np.ascontiguousarray(screen[:, order]), starts, species)
            return sort_points(images, True, 1e-9).starts[0, -1]

        orthographic = points(project(positions, along[None]))
        afar = Pinholes(100.0 * along[None, :, 2], np.array([True]), np.array([100.0]))
        screen, _ = project_pinhole(positions, along[None], afar)
        assert orthographic <= len(crystal.numbers), (
            "no two atoms that differ by the vector are apart"
        )
        apart = (
            np.linalg.norm(positions @ along[:, :2], axis=1) > 1e-6
        )  # all but those on the camera's own line
        assert apart.all() and points(screen) == len(numbers)


# ------------------------------------------------------------------ cameras


def test_identity_keeps_orthographic_protocols_as_they_were():
    assert set(FROZEN.identity()) == {"views", "rotations", "tiling"}
    for protocol in (NEAR, MIXED, STEREO):
        again = protocol_of({"name": protocol.name, **protocol.identity()})
        np.testing.assert_array_equal(again.centres, protocol.centres)
        assert again.digest() == protocol.digest() != FROZEN.digest()


def test_kappa_is_that_of_the_rays_to_the_origin():
    assert pinholes(77.0).kappas() == pytest.approx(FROZEN.kappas())
    kappas, (left, right) = STEREO.kappas(), STEREO.centres[:2]
    assert kappas[0, 1] == pytest.approx(kappa(left, right)) and np.isinf(kappas[4, 5])
    at_origin = replace(
        STEREO,
        centres=np.where(
            np.isnan(STEREO.centres), np.nan, STEREO.centres * [[0], [1], [1], [1], [1], [1]]
        ),
    )
    assert at_origin.kappas()[0, 1] == pytest.approx(kappa([0, 0, 1], right))


CAMERA = '[[camera]]\nname = "{0}"\n{1}\n'


def written(tmp_path, *cameras):
    path = tmp_path / "p.toml"
    path.write_text("".join(CAMERA.format(f"v{k}", text) for k, text in enumerate(cameras)))
    return str(path)


def test_protocol_file(tmp_path):
    found = load_protocol(
        written(
            tmp_path,
            'rotation = "-90x,0y,0z"',
            "direction = [1, 1, 0]\ndistance = 50",
            "position = [0, 0, 40.0]",
            "position = [0, 9, 40]\ndirection = [0, 0, 1]",
        )
    )
    assert found.pinhole.tolist() == [False, True, True, True]
    np.testing.assert_allclose(
        found.centres[1:], [[50 / 2**0.5, 50 / 2**0.5, 0], [0, 0, 40], [0, 9, 40]]
    )
    np.testing.assert_allclose(found.directions[2:], [[0, 0, 1], [0, 0, 1]])
    np.testing.assert_allclose(found.focal, [1, 50, 40, 40])
    assert (
        load_protocol(written(tmp_path, "direction = [1, 1, 0]", "direction = [1, 0, 0]")).centres
        is None
    )


@pytest.mark.parametrize(
    "text, message",
    [
        ("distance = 50", "needs exactly one of rotation"),
        ("direction = [1, 0, 0]\ndistance = -1", "positive number of Å"),
        ("direction = [1, 0, 0]\ndistance = true", "positive number of Å"),
        ("direction = [1, 0, 0]\nposition = [1, 2]", "three finite numbers"),
        ("direction = [1, 0, 0]\nposition = [1, 2, 3]\ndistance = 4", "needs exactly one"),
        ("position = [0, 0, 0]", "not all zero"),
        ('rotation = "0x"\nposition = [1, 2, 3]\nup = [0, 0, 1]', "needs exactly one"),
    ],
)
def test_impossible_cameras_say_why(tmp_path, text, message):
    with pytest.raises(UsageError, match=message):
        load_protocol(written(tmp_path, text, "direction = [0, 1, 0]"))


def test_cameras_in_one_place_are_no_pair():
    with pytest.raises(UsageError, match="no two cameras see from different places"):
        Protocol("p", ("a", "b"), FROZEN.rotations[:2], centres=np.ones((2, 3)))
    assert np.isnan(pinhole_centre(np.eye(3))).all()


@pytest.mark.parametrize("distance", [3.0, 3.05])
def test_an_atom_at_or_behind_a_camera_is_named(distance):
    oracle = GeometricOracle(pinholes(distance), ((0, 1),))
    with pytest.raises(
        StructureError,
        match=r"atom 2 at \(3.000, 0.000, 0.000\) Å is behind or at camera 'axis_a' .*farther away",
    ) as caught:
        oracle.run([[0, 0, 0], [3, 0, 0]], [1, 1], 0.01)
    assert caught.value.status == Status.behind_camera


def test_what_has_no_use_for_pinholes_says_so():
    for refuses in (
        lambda: NoisyOracle(NEAR),
        lambda: pair_frames(MIXED),
        lambda: NEAR.require_orthographic("pictures"),
    ):
        with pytest.raises(UsageError, match="camera 'axis_a' is a pinhole camera"):
            refuses()
    with pytest.raises(UsageError, match="least-squares solves for orthographic cameras only"):
        GeometricOracle(NEAR, ((0, 1),), merge="least-squares")
