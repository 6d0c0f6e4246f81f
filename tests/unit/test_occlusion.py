"""What discs hide and what is read of the rest, against the twin and against the census."""

from dataclasses import replace

import naive_occlusion as twin
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle_cases import FROZEN, OFF_AXIS, cells, same_cells
from test_frontier import options_of, packed

from rc_hpc.core.errors import Status, StructureError, UsageError
from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.kernels.occlusion import hidden_centres, shown_points, spots_covered
from rc_hpc.kernels.records import ImagePoints
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.oracle import CensusOracle
from rc_hpc.kinds.occlusion.options import OcclusionOptions
from rc_hpc.kinds.occlusion.oracle import TIE, OcclusionOracle, picture
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.structures.synthetic import random_crystal
from rc_hpc.symmetry import orbits as orbits_module
from rc_hpc.symmetry.orbits import orbits

VERIFICATIONS = ("covered", "strict", "painted", "2-of-V", "3-of-V", "excused")
EVERY = {
    "verifications": VERIFICATIONS,
    "enumerations": ("all-pairs", "anchor"),
    "rules": ("dominance", "first"),
}
LATTICE = 2.6 * np.eye(3) + 0.1 * np.triu(np.ones((3, 3)), 1)


def cell_of(positions, numbers):
    return PackedCell("x", LATTICE, positions, np.asarray(numbers), 1, 1, 0.1)


def oracle_of(protocol, **more):
    return OcclusionOracle(
        protocol, options_of(OcclusionOptions, protocol, more.pop("subsets", "full"), **more)
    )


def read_of(oracle, cell, condition, reading):
    """What the oracle reconstructs of a cell: numbers and positions."""
    kept = []
    merged = oracle._merged

    def keep(found, live, rule, subset):
        atoms = merged(found, live, rule, subset)
        kept.append((np.repeat(found.species, np.diff(atoms.starts)), atoms.positions))
        return atoms

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(oracle, "_merged", keep)
        patch.setattr(
            oracle,
            "options",
            replace(
                oracle.options,
                conditions=(condition,),
                verifications=reading[:1],
                enumerations=reading[1:2],
                rules=reading[2:],
            ),
        )
        fields, _ = oracle.run(cell)
    ((numbers, positions),) = kept
    assert fields["occlusion/n_recovered"].item() == len(positions)
    return numbers, positions


@given(data=st.data(), n=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_hidden_centres_by_brute_force(data, n):
    grid = st.integers(-3, 3).map(lambda k: k / 2)
    points = np.array(data.draw(st.lists(st.tuples(grid, grid, grid), min_size=n, max_size=n)))
    radii = np.array(
        data.draw(st.lists(st.sampled_from([0.0, 0.4, 0.5, 1.1]), min_size=n, max_size=n))
    )
    orbit = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    rotations = np.concatenate((FROZEN.rotations, OFF_AXIS.rotations[:1]))
    screen = np.stack([(points @ r)[:, :2] for r in rotations])
    depth = np.stack([(points @ r)[:, 2] for r in rotations])
    found = hidden_centres(screen, depth, radii, orbit, TIE)
    wanted = [twin.hidden(points[None], radii, orbit, rotation, TIE) for rotation in rotations]
    for k in (0, 1):
        np.testing.assert_array_equal(found[k], [one[k][0] for one in wanted])


@pytest.mark.long
@given(cell=cells(max_atoms=6), protocol=st.sampled_from([FROZEN, OFF_AXIS]), data=st.data())
@settings(max_examples=60, deadline=None)
def test_every_reading_is_the_twins(cell, protocol, data):
    positions, numbers = cell
    protocol = replace(protocol, tiling=(2, 1, 2))
    radii_factor, delta = data.draw(st.sampled_from([0.25, 0.5])), 0.011
    oracle = oracle_of(protocol, delta=delta, radii_factor=radii_factor, **EVERY)
    reading = data.draw(st.sampled_from(oracle.options.readings))
    condition = data.draw(st.sampled_from(["O1", "O2", "O3"]))
    orbit = orbits(LATTICE, positions, numbers, 1e-3)
    drawn = picture(
        LATTICE, positions, numbers, protocol.rotations, protocol.tiling, radii_factor, orbit
    )
    copies = twin.copies_of(LATTICE, positions, protocol.tiling)
    radii = drawn.radii[: len(numbers)]
    masks = [twin.hidden(copies, radii, orbit, rotation, TIE) for rotation in protocol.rotations]
    dropped = np.array([{"O1": o & ~r, "O2": o, "O3": r}[condition] for o, r in masks])
    np.testing.assert_array_equal(drawn.dropped(condition), dropped.reshape(len(dropped), -1))
    try:
        wanted = twin.read(
            copies, numbers, radii, protocol.rotations, dropped, *reading, delta, TIE
        )
    except twin.Undecided:
        assume(False)
    found = read_of(oracle, cell_of(positions, numbers), condition, reading)
    # Where exactly equal candidates compete, the order of the pairs chooses which of them stays.
    assert same_cells(found, (wanted[1], wanted[0]), 1e-9 if reading[2] == "first" else delta)


@pytest.fixture(scope="module")
def crystals():
    """Small crystals, one of them with an atom off its site."""
    found = [packed(*random_crystal(11, k, 8)[:3], f"c{k}") for k in range(4)]
    where = found[1].positions.copy()
    where[0] += [0.003, 0.002, 0.001]
    return [*found, replace(found[1], id="off", positions=where)]


@pytest.mark.parametrize("delta", [0.01, 0.3])
def test_perfect_pictures_return_the_census(crystals, delta):
    """O0, and every condition with discs too small to hide anything: R1, in every reading."""
    subsets = "axis_a+axis_b,axis_a+axis_b+axis_c,axis_a+axis_b+axis_c+body_diagonal+oblique2"
    wrong = 0
    for crystal in crystals:
        wanted = {}
        for radii, conditions in ((0.5, ("O0",)), (1e-7, ("O0", "O1", "O2", "O3"))):
            oracle = oracle_of(
                load_protocol("frozen", (2, 2, 2)),
                subsets=subsets,
                delta=delta,
                radii_factor=radii,
                conditions=conditions,
                **EVERY,
            )
            fields, _ = oracle.run(crystal)
            for r, (_, enumeration, rule) in enumerate(oracle.options.readings):
                if (enumeration, rule) not in wanted:
                    census = CensusOracle(
                        FROZEN,
                        options_of(
                            CensusOptions,
                            FROZEN,
                            subsets,
                            delta=delta,
                            enumeration=enumeration,
                            merge=rule,
                        ),
                    )
                    wanted[enumeration, rule] = census.run(crystal)[0]
                for name in (
                    "n_recovered",
                    "space_group",
                    "label_status",
                    "correct_bravais",
                    "correct_space_group",
                ):
                    for c in range(len(conditions)):
                        np.testing.assert_array_equal(
                            fields[f"occlusion/{name}"][r, c],
                            wanted[enumeration, rule][f"cells/{name}"],
                            err_msg=f"{crystal.id} {name}",
                        )
                for name in ("point_error", "atom_error"):
                    np.testing.assert_allclose(
                        fields[f"occlusion/{name}"][r, 0],
                        wanted[enumeration, rule][f"cells/{name}"],
                        atol=1e-12,
                    )
        wrong += sum((found["cells/point_error"] > 0.01).sum() for found in wanted.values())
    assert wrong > 0 or delta == 0.01, "the crystals are too easy"


def test_what_is_not_shown_is_never_looked_at():
    rng = np.random.default_rng(4)
    screen, starts = rng.uniform(0, 4, (5, 9, 2)), np.tile([0, 5, 9], (5, 1))
    shown = rng.random((5, 9)) < 0.6
    gone = np.where(shown[..., None], screen, np.nan)
    kept = shown_points(ImagePoints(gone, starts, np.array([1, 8])), shown)
    for v in range(5):
        own = screen[v, shown[v]]
        np.testing.assert_array_equal(kept.screen[v, : len(own)], own)
        assert kept.starts[v].tolist() == [0, shown[v, :5].sum(), len(own)]
    places, asked, radii = (
        rng.uniform(-2, 4, (200, 3)),
        np.ones((200, 5), bool),
        rng.uniform(0.3, 1, 9),
    )
    covered = [
        spots_covered(places, asked, np.zeros((1, 3)), seen, radii, shown, FROZEN.rotations, TIE)
        for seen in (gone, screen)
    ]
    np.testing.assert_array_equal(*covered)
    assert 100 < covered[0].sum() < 900


def test_order_of_the_atoms_does_not_matter(crystals):
    oracle = oracle_of(load_protocol("frozen", (2, 2, 2)), verifications=VERIFICATIONS)
    crystal = crystals[2]
    order = np.random.default_rng(1).permutation(len(crystal.numbers))
    found, _ = oracle.run(crystal)
    again, _ = oracle.run(
        replace(crystal, positions=crystal.positions[order], numbers=crystal.numbers[order])
    )
    for name, values in found.items():
        np.testing.assert_allclose(again[name], values, atol=1e-12, err_msg=name)


def test_anchor_goes_on_to_the_first_pair_that_sees_something():
    """Each of two atoms hides the other in one of the first two cameras; the third shows both."""
    cell = PackedCell(
        "x",
        30 * np.eye(3),
        np.array([[0.0, 0.0, 0.0], [0.3, 0.3, 0.0]]),
        np.array([7, 8]),
        1,
        1,
        np.inf,
    )
    oracle = oracle_of(
        FROZEN,
        subsets="axis_a+axis_b+body_diagonal",
        conditions=("O2",),
        verifications=("excused", "strict"),
        enumerations=("anchor", "all-pairs"),
        rules=("first",),
    )
    fields, _ = oracle.run(cell)
    assert fields["visibility/n_hidden"][0][:4].tolist() == [1, 1, 0, 0]
    assert fields["sites/n_clear"].item() == 0 and fields["sites/n_lost"].item() == 0
    assert fields["occlusion/n_recovered"].ravel().tolist() == [1, 2, 0, 0]


def test_no_orbits_is_a_status(monkeypatch):
    import spglib

    monkeypatch.setattr(spglib, "get_symmetry_dataset", lambda *_: None)
    with pytest.raises(StructureError, match="no orbits at symprec 0.001") as caught:
        orbits_module.orbits(np.eye(3), np.zeros((1, 3)), [1], 1e-3)
    assert caught.value.status == Status.label_failed


@pytest.mark.parametrize(
    "more, message",
    [
        ({"verifications": ("covert",)}, "--verify 'covert'"),
        ({"verifications": ("1-of-V",)}, "2 or more as in 3-of-V"),
        ({"verifications": ("9-of-V",)}, "the protocol has 5 views"),
        ({"verifications": ("strict", "strict")}, "each once"),
        ({"conditions": ("O9",)}, "O9"),
        (
            {"rules": ("first",), "verifications": ("covered",)},
            "--rules first reads strict and excused only",
        ),
        ({"radii_factor": 0.0}, "--radii"),
        ({"delta": 0.0}, "--delta"),
    ],
)
def test_impossible_options_say_why(more, message):
    with pytest.raises(UsageError, match=message):
        options_of(OcclusionOptions, **more)
