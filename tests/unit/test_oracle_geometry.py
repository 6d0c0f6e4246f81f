"""The geometric oracle on all view subsets: against the twins, and what must not matter."""

import naive
import numpy as np
import oracle_cases as cases
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rc_hpc.core.constants import CENSUS_ZERO, NUMERICAL_ZERO
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.core.vocabulary import ENUMERATIONS, MERGE_RULES
from rc_hpc.geometry.cameras import rotation_from_direction
from rc_hpc.geometry.protocol import Protocol, parse_subsets
from rc_hpc.oracle import geometry
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.structures.synthetic import random_cell

few = settings(max_examples=25, deadline=None)
PROTOCOLS = st.sampled_from([cases.FROZEN, cases.OFF_AXIS, cases.EXACT, cases.FACING])
DELTA = st.sampled_from([1e-6, 0.0077, 0.031, 0.31])


def oracle(protocol, subsets="all", *rules, **options):
    options.setdefault("tie", NUMERICAL_ZERO)  # that of the twins
    return GeometricOracle(protocol, parse_subsets(subsets, protocol.views), *rules, **options)


def cell_of(found, k):
    return found.cells[found.entry[k]]


# ------------------------------------------------------------------ against the twins


def check_reconstruction(made, accepted, cell, cameras, kappas, delta, merge):
    """What a merge rule makes of the accepted candidates, against the definitions."""
    positions, numbers = cell
    if merge in ("first", "mean"):
        points, symbols = naive.merged(accepted, positions, numbers, cameras, delta, merge)
        for kind in set(numbers):  # species by species in the order in which they were met
            mine, wanted = made[1][made[0] == kind], points[symbols == kind]
            assert mine.shape == wanted.shape and mine == pytest.approx(wanted, abs=1e-9)
        return
    if merge == "dominance":
        kept = accepted[naive.undominated(accepted, positions, numbers, cameras)]
        chosen = cases.distinct(kept.positions, kept.symbols, 1e-7)
        assert cases.same_cells(made, (kept.symbols[chosen], kept.positions[chosen]))
        return
    chosen = accepted[cases.best_of_each(accepted, kappas, delta)]
    if merge == "best-residual":
        assert cases.same_cells(made, (chosen.symbols, chosen.positions))
        return
    assert len(made[1]) == len(chosen)
    left = list(range(len(chosen)))
    for kind, point in zip(*made):
        fits = (
            c
            for c in left
            if chosen.symbols[c] == kind
            for choice in cases.least_squares_choices(
                chosen.positions[c],
                [(positions[numbers == kind] @ r)[:, :2] for r in cameras],
                cameras,
            )
            if np.linalg.norm(choice - point) < 1e-9
        )
        left.remove(next(fits))


def check(cell, protocol, delta, enumeration, merge):
    """Every subset of one cell against the twins."""
    positions, numbers = cell
    every = naive.all_candidates(positions, numbers, list(protocol.rotations))
    assume(
        cases.clear_of(
            every,
            naive.distance_to_atoms(every.positions, every.symbols, positions, numbers),
            delta,
        )
    )
    reader = oracle(protocol, "all", enumeration, merge)
    found = reader.run(positions, numbers, delta, 0.4, keep_all=True)
    for k, subset in enumerate(parse_subsets("all", protocol.views)):
        cameras = [protocol.rotations[v] for v in subset]
        candidates, lower, upper, _ = naive.delta_intervals(
            positions, numbers, protocol.rotations, subset
        )
        accepted = candidates[lower <= delta]

        far, _ = naive.phantoms_by_acceptance(
            positions, numbers, protocol.rotations, subset, delta, candidates=candidates
        )
        assert found.n_phantoms[k] == len(cases.distinct(far.positions, far.symbols))
        _, exact = naive.phantoms_by_definition7(
            positions, numbers, protocol.rotations, subset, delta, candidates
        )
        assert found.n_exact[k] == len(exact)
        gap, distance = found.enumeration.candidates.gap, found.enumeration.distance
        assert np.array_equal(found.phantoms, np.flatnonzero((gap <= delta) & (distance > delta)))
        real = (lower < upper - NUMERICAL_ZERO) & (lower <= 0.4)
        assert found.phantom_delta[k] == pytest.approx(lower[real].min(initial=np.inf), abs=1e-12)
        real &= candidates.gap <= CENSUS_ZERO
        assert found.phantom_delta_exact[k] == pytest.approx(
            lower[real].min(initial=np.inf), abs=1e-12
        )

        if enumeration == "anchor":
            accepted = accepted[(accepted.views == [0, 1]).all(axis=1)]
        made = cell_of(found, k)
        assert found.n_recovered[k] == len(made[1])
        pairs = map(tuple, reader.cameras.pairs.tolist())
        kappas = dict(zip(pairs, reader.cameras.kappa, strict=True))
        local = {
            (subset.index(v), subset.index(w)): value
            for (v, w), value in kappas.items()
            if v in subset and w in subset
        }
        check_reconstruction(made, accepted, cell, cameras, local, delta, merge)
        if len(made[1]):
            assert found.point_error[k] == pytest.approx(
                naive.distance_to_atoms(made[1], made[0], positions, numbers).max(), abs=1e-9
            )
            assert found.atom_error[k] == pytest.approx(
                naive.distance_to_atoms(positions, numbers, made[1], made[0]).max(), abs=1e-9
            )
        else:
            assert found.point_error[k] == found.atom_error[k] == np.inf
        assert (found.reconstruction[k] == 0) == cases.same_cells(made, (numbers, positions), 1e-8)


@pytest.mark.long
@few
@given(
    cases.cells(7), PROTOCOLS, DELTA, st.sampled_from(ENUMERATIONS), st.sampled_from(MERGE_RULES)
)
def test_every_subset_against_the_twins(cell, protocol, delta, enumeration, merge):
    check(cell, protocol, delta, enumeration, merge)


@few
@given(
    cases.cells(6, dyadic=True),
    st.sampled_from([0.25, 0.5]),
    st.sampled_from(ENUMERATIONS),
    st.sampled_from(MERGE_RULES),
)
def test_lengths_exactly_at_delta(cell, delta, enumeration, merge):
    """Accepting at delta, merging at it (`first`: below it): nothing here rounds."""
    positions, numbers = cell
    found = oracle(cases.EXACT, "all", enumeration, merge).run(
        positions, numbers, delta, keep_all=True
    )
    for k, subset in enumerate(parse_subsets("all", cases.EXACT.views)):
        cameras = [cases.EXACT.rotations[v] for v in subset]
        candidates, lower, upper, _ = naive.delta_intervals(
            positions, numbers, cases.EXACT.rotations, subset
        )
        accepted = candidates[lower <= delta]
        far = accepted[upper[lower <= delta] > delta]
        assert found.n_phantoms[k] == len(cases.distinct(far.positions, far.symbols))
        if enumeration == "anchor":
            accepted = accepted[(accepted.views == [0, 1]).all(axis=1)]
        kappas = {(v, w): 1.0 for v in range(3) for w in range(v + 1, 3)}
        check_reconstruction(cell_of(found, k), accepted, cell, cameras, kappas, delta, merge)


# ------------------------------------------------------------------ theorems


@few
@given(cases.cells(), PROTOCOLS, st.lists(DELTA, min_size=2, max_size=2, unique=True))
def test_dominance_reads_exact_pictures_whatever_delta_is(cell, protocol, deltas):
    """Every image is that of an atom, which fits it exactly: only exact candidates stay."""
    small, large = (oracle(protocol).run(*cell, delta, keep_all=True) for delta in sorted(deltas))
    for k, subset in enumerate(parse_subsets("all", protocol.views)):
        if not any(pair in protocol.pairs() for pair in [subset[:2], subset[1:3], subset[::2]]):
            continue
        assert same(cell_of(small, k), cell_of(large, k))
        assert small.atom_error[k] < 1e-9 and large.atom_error[k] < 1e-9
        assert small.n_recovered[k] >= len(cell[0])


def same(one, other, tolerance=1e-9):
    return cases.same_cells(one, other, tolerance)


@few
@given(cases.cells(), PROTOCOLS, DELTA)
def test_phantoms_exist_from_their_smallest_delta_on(cell, protocol, delta):
    found = oracle(protocol).run(*cell, delta, 0.4)
    assert (found.phantom_delta[found.n_phantoms > 0] <= delta).all()
    assert (found.n_exact <= found.n_phantoms).all()
    assert (found.phantom_delta <= found.phantom_delta_exact).all()
    for k in np.flatnonzero(np.isfinite(found.phantom_delta)):
        at = max(found.phantom_delta[k] + 1e-10, NUMERICAL_ZERO)
        subset = parse_subsets("all", protocol.views)[k]
        there = GeometricOracle(protocol, [subset]).run(*cell, at)
        assert there.n_phantoms[0] > 0


def test_atoms_are_no_phantoms_at_any_delta():
    """Their own candidates miss them by rounding, which is no interval of delta."""
    rng = np.random.default_rng(3)
    positions, numbers = 20 * rng.random((40, 3)), np.arange(40) + 1
    found = oracle(cases.OFF_AXIS).run(positions, numbers, 0.01, 0.5)
    assert np.isinf(found.phantom_delta).all() and not found.n_phantoms.any()
    assert (found.n_recovered == 40).all() and found.reconstruction.max() == 0


def test_a_skew_ghost_from_its_gap_on():
    atoms = [[0, 0, 0], [1, 1, 0.1]]
    for delta, count in ((0.09, 0), (0.11, 2)):
        found = oracle(cases.FROZEN, "axis_a+axis_b").run(atoms, [1, 1], delta, 0.5)
        assert found.phantom_delta == pytest.approx(0.1) and found.phantom_delta_exact == np.inf
        assert (found.n_phantoms[0], found.n_exact[0], found.n_recovered[0]) == (count, 0, 2)


def test_halves_of_a_cube():
    """Three axis cameras cannot tell the halves of a cube's corners; a fourth can."""
    half = np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]], float)
    views = "axis_a+axis_b+axis_c"
    found = oracle(cases.FROZEN, f"{views},{views}+oblique2").run(half, [1] * 4, 0.01)
    assert found.n_recovered.tolist() == [8, 4] and found.n_exact.tolist() == [4, 0]
    assert found.reconstruction.tolist() == [1, 0]
    assert same(cell_of(found, 0), (np.ones(8), np.concatenate([half, 1 - half])))


# ------------------------------------------------------------------ what must not matter


@few
@given(
    cases.cells(),
    PROTOCOLS,
    DELTA,
    st.sampled_from(MERGE_RULES[:3]),
    st.randoms(use_true_random=False),
)
def test_order_of_atoms(cell, protocol, delta, merge, random):
    positions, numbers = cell
    order = random.sample(range(len(numbers)), len(numbers))
    reader = oracle(protocol, "all", "all-pairs", merge)
    one = reader.run(positions, numbers, delta, 0.4, keep_all=True)
    other = reader.run(positions[order], numbers[order], delta, 0.4, keep_all=True)
    for field in ("n_recovered", "n_phantoms", "n_exact", "reconstruction"):
        assert np.array_equal(getattr(one, field), getattr(other, field)), field
    for field in ("phantom_delta", "point_error", "atom_error"):
        assert getattr(one, field) == pytest.approx(getattr(other, field), abs=1e-12), field
    for k in range(len(one.entry)):  # the points in one order too, for the label
        assert np.array_equal(cell_of(one, k)[0], cell_of(other, k)[0])
        assert cell_of(one, k)[1] == pytest.approx(cell_of(other, k)[1], abs=1e-9)


def turned(protocol, rotation):
    return Protocol(
        "turned", protocol.views, np.array([rotation.T @ camera for camera in protocol.rotations])
    )


@pytest.mark.long
@few
@given(cases.cells(), PROTOCOLS, DELTA, st.tuples(*[st.floats(-3, 3)] * 3))
def test_rigid_motion_of_cameras_and_cell(cell, protocol, delta, shift):
    positions, numbers = cell
    every = naive.all_candidates(positions, numbers, list(protocol.rotations))
    assume(
        cases.clear_of(
            every,
            naive.distance_to_atoms(every.positions, every.symbols, positions, numbers),
            delta,
        )
    )
    rotation = rotation_from_direction((1.0, -2.0, 0.7), (0.3, 0.1, 2.0))
    one = oracle(protocol).run(positions, numbers, delta, 0.4, keep_all=True)
    other = oracle(turned(protocol, rotation)).run(
        (positions + shift) @ rotation, numbers, delta, 0.4, keep_all=True
    )
    for field in ("n_recovered", "n_phantoms", "n_exact"):
        assert np.array_equal(getattr(one, field), getattr(other, field)), field
    assert np.array_equal(one.reconstruction == 0, other.reconstruction == 0)
    for k in range(len(one.entry)):
        kinds, points = cell_of(other, k)
        assert same(cell_of(one, k), (kinds, points @ rotation.T - shift), 1e-8)


@few
@given(
    cases.cells(),
    st.sampled_from([cases.FROZEN, cases.OFF_AXIS]),
    DELTA,
    st.sampled_from(MERGE_RULES[:3]),
    st.permutations(range(5)),
)
def test_order_of_views(cell, protocol, delta, merge, order):
    positions, numbers = cell
    every = naive.all_candidates(positions, numbers, list(protocol.rotations))
    assume(
        cases.clear_of(
            every,
            naive.distance_to_atoms(every.positions, every.symbols, positions, numbers),
            delta,
        )
    )
    shuffled = Protocol(
        "shuffled", tuple(protocol.views[v] for v in order), protocol.rotations[list(order)]
    )
    subsets = parse_subsets("all", protocol.views)
    again = [tuple(sorted(order.index(v) for v in subset)) for subset in subsets]
    one = GeometricOracle(protocol, subsets, merge=merge).run(
        positions, numbers, delta, 0.4, keep_all=True
    )
    other = GeometricOracle(shuffled, again, merge=merge).run(
        positions, numbers, delta, 0.4, keep_all=True
    )
    for field in ("n_recovered", "n_phantoms", "n_exact"):
        assert np.array_equal(getattr(one, field), getattr(other, field)), field
    assert one.phantom_delta == pytest.approx(other.phantom_delta, abs=1e-12)
    for k in range(len(subsets)):
        assert same(cell_of(one, k), cell_of(other, k))


@few
@given(cases.cells(), PROTOCOLS, DELTA, st.sampled_from(ENUMERATIONS), st.sampled_from(MERGE_RULES))
def test_keeping_every_reconstruction_changes_nothing(cell, protocol, delta, enumeration, merge):
    reader = oracle(protocol, "all", enumeration, merge)
    distinct, every = (reader.run(*cell, delta, keep_all=keep) for keep in (False, True))
    for field in (
        "n_recovered",
        "n_phantoms",
        "n_exact",
        "reconstruction",
        "point_error",
        "atom_error",
    ):
        assert np.array_equal(getattr(distinct, field), getattr(every, field)), field
    assert np.array_equal(distinct.set_numbers, np.arange(len(distinct.cells)))
    assert np.array_equal(distinct.entry, distinct.reconstruction)
    assert np.array_equal(every.entry, np.arange(1, len(every.entry) + 1))
    assert np.array_equal(every.set_numbers[every.entry], every.reconstruction)
    for k in range(len(every.entry)):
        assert same(cell_of(distinct, k), cell_of(every, k), 1e-8)


@few
@given(cases.cells(), PROTOCOLS, DELTA)
def test_the_horizon_of_the_profile_changes_nothing_below_it(cell, protocol, delta):
    reader = oracle(protocol)
    near, far = reader.run(*cell, delta), reader.run(*cell, delta, 0.77)
    assert near.enumeration.reach == delta and far.enumeration.reach == 0.77
    for field in ("n_recovered", "n_phantoms", "n_exact", "reconstruction", "entry"):
        assert np.array_equal(getattr(near, field), getattr(far, field)), field
    within = np.where(far.phantom_delta <= delta, far.phantom_delta, np.inf)
    assert np.array_equal(near.phantom_delta, within)


# ------------------------------------------------------------------ small, empty, too large


@pytest.mark.parametrize("merge", MERGE_RULES)
def test_one_atom_and_none(merge):
    reader = oracle(cases.FROZEN, "all", "all-pairs", merge)
    one = reader.run([[1, 2, 3]], [5], 0.01)
    assert (
        (one.n_recovered == 1).all()
        and not one.reconstruction.any()
        and one.atom_error.max() < 1e-14
    )
    none = reader.run(np.empty((0, 3)), np.empty(0, int), 0.01)
    assert not none.n_recovered.any() and not none.n_phantoms.any() and len(none.cells[0][1]) == 0


def test_views_along_one_line_give_nothing():
    found = oracle(cases.FACING, "front+back,front+side", "anchor", "first").run(
        [[0, 0, 0], [1, 1, 1]], [1, 2], 0.1
    )
    assert found.n_recovered.tolist() == [0, 2] and found.reconstruction.tolist() == [1, 0]
    assert found.point_error[0] == found.atom_error[0] == found.phantom_delta[0] == np.inf


def test_the_anchor_pair_may_face_itself():
    """The first two views see no depth: nothing is enumerated, all pairs are certified."""
    half = np.array([[0, 0, 0], [1, 1, 0]], float)
    anchor, every = (
        oracle(cases.FACING, "front+side+back", rule).run(half, [1, 1], 0.1)
        for rule in ("anchor", "all-pairs")
    )
    assert anchor.n_recovered[0] == every.n_recovered[0] == 4  # the first two are front and side
    turned_order = Protocol("t", ("front", "back", "side"), cases.FACING.rotations[[0, 2, 1]])
    found = oracle(turned_order, "full", "anchor").run(half, [1, 1], 0.1)
    assert found.n_recovered[0] == 0 and found.n_phantoms[0] == every.n_phantoms[0]


def test_species_keep_apart_and_come_sorted():
    positions = [[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]]
    found = oracle(cases.FROZEN, "axis_a+axis_b+axis_c").run(positions, [26, 8, 1, 7], 0.01)
    kinds, points = cell_of(found, 0)
    assert kinds.tolist() == [1, 7, 8, 26] and found.reconstruction[0] == 0
    assert np.array_equal(points, np.array(positions, float)[[2, 3, 1, 0]])
    found = oracle(cases.FROZEN, "full", "anchor", "first").run(positions, [26, 8, 1, 26], 0.01)
    assert cell_of(found, 0)[0].tolist() == [26, 26, 8, 1]  # as the cell lists them


def layers(side=6):
    return np.stack(np.meshgrid(*[np.arange(side) * 0.3] * 3, indexing="ij"), axis=-1).reshape(
        -1, 3
    )


def test_too_many_candidates_halve_the_horizon(monkeypatch):
    positions = layers()
    reader = oracle(cases.FROZEN, "full")
    whole = reader.run(positions, np.ones(len(positions), int), 0.01, 0.5)
    assert whole.enumeration.reach == 0.5
    many = len(whole.enumeration.candidates.gap) // 3
    monkeypatch.setattr(geometry, "PROFILE_CANDIDATES", many)
    cut = reader.run(positions, np.ones(len(positions), int), 0.01, 0.5)
    assert cut.enumeration.reach in [0.25, 0.125, 0.0625]
    assert len(cut.enumeration.candidates.gap) <= many
    assert np.array_equal(cut.n_recovered, whole.n_recovered)
    monkeypatch.setattr(geometry, "PROFILE_CANDIDATES", 0)
    least = reader.run(positions, np.ones(len(positions), int), 0.01, 0.5)
    assert least.enumeration.reach == 0.01


def test_far_too_many_candidates_are_refused():
    positions = layers()
    reader = oracle(cases.FROZEN, "full", max_candidates=1000)
    with pytest.raises(StructureError, match="--max-candidates .1000. or lower --delta") as caught:
        reader.run(positions, np.ones(len(positions), int), 0.01, 0.5)
    assert caught.value.status is Status.too_large
    assert reader.run(positions[:5], np.ones(5, int), 0.01).n_recovered[0] == 5


# ------------------------------------------------------------------ large


@pytest.mark.parametrize("n_atoms", [400, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_large_cell_is_read_exactly(n_atoms):
    structure = random_cell(n_atoms, 3, seed=1)
    found = oracle(cases.FROZEN).run(structure.positions, structure.numbers, 0.01, 0.01)
    assert (found.n_recovered >= n_atoms).all() and found.atom_error.max() < 1e-9
    assert found.n_recovered[-1] == n_atoms and found.reconstruction[-1] == 0
