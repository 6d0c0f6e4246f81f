"""Image points are all that is read: wherever they come from, and at whatever scale they tie."""

import itertools
from dataclasses import replace

import naive
import numpy as np
import oracle_cases as cases
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from test_perspective import MIXED, NEAR

from rc_hpc.core.constants import NUMERICAL_ZERO
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.core.vocabulary import MERGE_RULES
from rc_hpc.geometry.protocol import parse_subsets
from rc_hpc.kernels.records import ImagePoints
from rc_hpc.oracle.geometry import GeometricOracle

few = settings(max_examples=40, deadline=None)
FLAT = st.sampled_from([cases.FROZEN, cases.OFF_AXIS, cases.EXACT, cases.FACING])
ANY = st.sampled_from([cases.FROZEN, cases.OFF_AXIS, cases.FACING, NEAR, MIXED])
REACH = st.sampled_from([0.0077, 0.31])
RULES = st.sampled_from(["dominance", "best-residual", "first"])


def oracle(protocol, merge="dominance", subsets="all", **more):
    return GeometricOracle(protocol, parse_subsets(subsets, protocol.views), merge=merge, **more)


def same_arrays(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def image_points(views, species):
    """`ImagePoints` of what each view shows: symbols (n,) and screen (n, 2), in any order."""
    most = max(len(symbols) for symbols, _ in views)
    screen = np.full((len(views), most, 2), np.nan)
    starts = np.zeros((len(views), len(species) + 1), np.int64)
    for v, (symbols, points) in enumerate(views):
        own = [points[symbols == symbol] for symbol in species]
        starts[v, 1:] = np.cumsum([len(part) for part in own])
        screen[v, : len(symbols)] = np.concatenate(own)
    return ImagePoints(screen, starts, np.array(species, np.int64))


# ------------------------------------------------------------------ one door


@few
@given(cases.cells(), ANY, REACH, RULES)
def test_in_steps_and_at_once(cell, protocol, reach, merge):
    """`run` is `project`, `enumerate`, `compare`, `reconstruct` and `certify`, bit by bit."""
    reader = oracle(protocol, merge)
    whole = reader.run(*cell, reach, 0.4, keep_all=True)
    images, truth = reader.project(*cell)
    found = reader.compare(reader.enumerate(images, reach, 0.4), truth)
    same_arrays(found.candidates, whole.enumeration.candidates)
    np.testing.assert_array_equal(found.points.starts, whole.enumeration.points.starts)
    for v, size in enumerate(found.points.starts[:, -1]):
        for one, other in zip(found.points, whole.enumeration.points, strict=True):
            np.testing.assert_array_equal(one[v, :size], other[v, :size])
    same_arrays(found.truth, whole.enumeration.truth)
    np.testing.assert_array_equal(found.distance, whole.enumeration.distance)
    made = reader.reconstruct(found, reach, keep_all=True)
    for name in ("n_recovered", "reconstruction", "entry", "point_error", "atom_error"):
        np.testing.assert_array_equal(getattr(made, name), getattr(whole, name))
    for one, other in zip(made.cells, whole.cells, strict=True):
        same_arrays(one, other)
    for name, values in reader.certify(found, reach)._asdict().items():
        np.testing.assert_array_equal(values, getattr(whole, name))


@few
@given(cases.cells(), FLAT, REACH)
def test_points_projected_elsewhere(cell, protocol, reach):
    positions, numbers = cell
    reader = oracle(protocol)
    views = [(numbers, (positions @ rotation)[:, :2]) for rotation in protocol.rotations]
    found = reader.enumerate(image_points(views, np.unique(numbers)), reach, reach)
    wanted = reader.enumerate_cell(*cell, reach, reach)
    assume(cases.decided(wanted.candidates.gap, reach))
    every = naive.all_candidates(positions, numbers, list(protocol.rotations))
    assume(cases.decided(every.gap, reach) and cases.decided(every.residuals, reach))
    for name in ("pair", "species", "nearest"):
        one, other = getattr(found.candidates, name), getattr(wanted.candidates, name)
        if name == "nearest":
            one, other = one >= 0, other >= 0
        np.testing.assert_array_equal(np.sort(one, axis=0), np.sort(other, axis=0))
    for k in range(len(found.species)):
        one, other = (c.position[c.species == k] for c in (found.candidates, wanted.candidates))
        assert cases.same_points(one, other)


@few
@given(cases.cells(), ANY, REACH, st.data())
def test_the_order_of_points_is_no_correspondence(cell, protocol, reach, data):
    reader = oracle(protocol)
    images, _ = reader.project(*cell)
    shuffled = images.screen.copy()
    for v, starts in enumerate(images.starts):
        for low, high in itertools.pairwise(starts):
            order = data.draw(st.permutations(range(low, high)))
            shuffled[v, low:high] = images.screen[v, order]
    one, other = (
        reader.enumerate(points, reach, reach)
        for points in (images, images._replace(screen=shuffled))
    )
    # Of points that are one but for rounding another one may stand for them.
    assume(cases.decided(one.candidates.gap, reach))
    assume(one.candidates.gap.size == other.candidates.gap.size)
    np.testing.assert_allclose(one.candidates.position, other.candidates.position, atol=1e-8)
    a, b = (reader.reconstruct(found, reach) for found in (one, other))
    np.testing.assert_array_equal(a.n_recovered, b.n_recovered)


@few
@given(cases.cells(), ANY, REACH, st.sampled_from(MERGE_RULES[:2] + MERGE_RULES[3:]))
def test_points_that_nobody_knows_the_atoms_of(cell, protocol, reach, merge):
    """The same candidates and reconstructions; only what the truth says is missing."""
    reader = oracle(protocol, merge)
    images, truth = reader.project(*cell)
    unknown = reader.enumerate(images, reach, reach)
    known = reader.compare(unknown, truth)
    assert known.candidates is unknown.candidates
    blind, seeing = (reader.reconstruct(found, reach) for found in (unknown, known))
    np.testing.assert_array_equal(blind.n_recovered, seeing.n_recovered)
    assert np.isnan(blind.point_error).all() and np.isnan(blind.atom_error).all()
    for k in range(len(blind.entry)):
        one, other = blind.cells[blind.entry[k]], seeing.cells[seeing.entry[k]]
        same = seeing.reconstruction[k] == 0  # stands for the truth, which it need not be exactly
        assert cases.same_cells(one, other, 1e-7 if same else 0.0)
        for m in range(k):
            assert (blind.reconstruction[k] == blind.reconstruction[m]) == (
                seeing.reconstruction[k] == seeing.reconstruction[m]
            )
    assert sorted(set(blind.reconstruction)) == list(range(len(set(blind.reconstruction))))
    np.testing.assert_array_equal(reader.steps(unknown, np.array([reach])), True)


SPOT = st.integers(-6, 6).map(lambda k: k / 4)


@few
@given(st.data(), FLAT, st.sampled_from([0.0077, 0.31, 1.3]))
def test_points_of_no_atoms_at_all(data, protocol, reach):
    """Each view shows points of its own: candidates by brute force."""
    species = [1, 8]
    views = []
    for _ in protocol.views:
        n = data.draw(st.integers(0, 4))
        points = data.draw(st.lists(st.tuples(SPOT, SPOT), min_size=n, max_size=n, unique=True))
        symbols = data.draw(arrays(np.int64, n, elements=st.sampled_from(species)))
        views.append((symbols, np.array(points, float).reshape(n, 2)))
    wanted = naive.point_candidates(views, list(protocol.rotations), 2 * reach)
    assume(cases.decided([row[4] for row in wanted], reach))
    assume(cases.decided(np.concatenate([np.zeros(1), *(row[5] for row in wanted)]), reach))
    wanted = [row for row in wanted if row[4] <= reach]
    images = image_points(views, species)
    for merge in ("dominance", "first"):  # points once, and one by one
        found = oracle(protocol, merge).enumerate(images, reach, reach)
        c, pairs = found.candidates, protocol.pairs()
        assert c.gap.size == len(wanted)
        mine = {
            (*pairs[c.pair[k]], species[c.species[k]], *np.round(c.position[k], 7) + 0.0): k
            for k in range(c.gap.size)
        }
        for a, b, symbol, position, gap, residuals in wanted:
            k = mine[(a, b, symbol, *np.round(position, 7) + 0.0)]
            assert c.gap[k] == pytest.approx(gap, abs=1e-12)
            within = np.where(np.array(residuals) <= reach, residuals, np.inf)
            assert c.residual[k] == pytest.approx(within, abs=1e-9)


def test_far_too_many_candidates_of_points_are_refused():
    grid = np.stack(np.meshgrid(*[np.arange(6) * 0.3] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    reader = oracle(cases.FROZEN, max_candidates=1000)
    images, _ = oracle(cases.FROZEN).project(grid, np.ones(len(grid), int))
    with pytest.raises(StructureError, match="--max-candidates .1000. or lower") as caught:
        reader.enumerate(images, 0.01, 0.5)
    assert caught.value.status is Status.too_large


# ------------------------------------------------------------------ the scale of ties

HALF_CUBE = np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]], float)


def blurred(images, size, seed):
    """Image points with errors of at most `size` a coordinate."""
    rng = np.random.default_rng(seed)
    return images._replace(screen=images.screen + rng.uniform(-size, size, images.screen.shape))


def test_blur_breaks_ties_and_their_scale_mends_them():
    """Two halves of a cube explain exact pictures equally well, blurred ones do not."""
    reader = oracle(cases.FROZEN, subsets="axis_a+axis_b+axis_c")
    exact, _ = reader.project(HALF_CUBE, [1] * 4)
    assert reader.reconstruct(reader.enumerate(exact, 0.01, 0.01), 0.01).n_recovered == [8]
    for seed in range(20):
        images = blurred(exact, 1e-5, seed)
        sharp = reader.reconstruct(reader.enumerate(images, 0.01, 0.01), 0.01)
        assert sharp.n_recovered != [8]
        found = reader.enumerate(images, 0.01, 0.01, tie=1e-4)
        made = reader.reconstruct(found, 0.01)
        assert made.n_recovered == [8]
        both = np.ones(8), np.concatenate([HALF_CUBE, 1 - HALF_CUBE])
        assert cases.same_cells(made.cells[0], both, 1e-4)


@few
@given(cases.cells(), st.sampled_from([cases.OFF_AXIS, cases.FROZEN]), RULES, st.integers(0, 99))
def test_blurred_points_read_at_their_scale_are_the_exact_ones(cell, protocol, merge, seed):
    positions, numbers = cell
    delta, tie, blur = 0.031, 2e-4, 1e-6
    every = naive.all_candidates(positions, numbers, list(protocol.rotations))
    for values in (every.gap, every.residuals):  # nothing is nearly one, or nearly accepted
        assume(not ((values > 1e-9) & (values < 0.003)).any())
        assume(not (np.abs(values - delta) < 0.003).any())
    between = np.linalg.norm(every.positions[:, None] - every.positions[None], axis=2)
    assume(not ((between > 1e-9) & (np.abs(between - delta) < 0.003)).any())
    assume(not ((between > 1e-9) & (between < 0.003)).any())
    reader = oracle(protocol, merge)
    exact, _ = reader.project(*cell)
    sharp = reader.enumerate(exact, delta, delta)
    found = reader.enumerate(blurred(exact, blur, seed), delta, delta, tie)
    np.testing.assert_array_equal(found.points.starts, sharp.points.starts)
    wanted, made = reader.reconstruct(sharp, delta), reader.reconstruct(found, delta)
    np.testing.assert_array_equal(made.n_recovered, wanted.n_recovered)
    for k in range(len(made.entry)):
        assert cases.same_cells(made.cells[made.entry[k]], wanted.cells[wanted.entry[k]], 1e-3)


@pytest.mark.parametrize("merge", ["best-residual", "dominance"])
def test_of_equal_residuals_the_best_conditioned_pair_counts(merge):
    """At their scale residuals are equal, and the pair decides; below it the residual does."""
    reader = oracle(cases.OFF_AXIS, merge, "full")
    exact, _ = reader.project([[0.3, 0.2, 0.1]], [1])
    differing = 0
    for seed in range(10):
        images = blurred(exact, 1e-5, seed)
        found = reader.enumerate(images, 0.01, 0.01, NUMERICAL_ZERO)
        c, worst = found.candidates, found.candidates.residual.max(axis=1)
        smallest = reader.reconstruct(found, 0.01).cells[0][1]
        np.testing.assert_array_equal(smallest, c.position[[worst.argmin()]])
        found = reader.enumerate(images, 0.01, 0.01, 1e-3)
        best = np.argmin(reader.cameras.kappa[found.candidates.pair])
        made = reader.reconstruct(found, 0.01).cells[0][1]
        np.testing.assert_array_equal(made, found.candidates.position[[best]])
        differing += not np.array_equal(made, smallest)
    assert differing > 5


@few
@given(
    cases.cells(),
    st.sampled_from([NUMERICAL_ZERO, 1e-3]),
    st.lists(st.floats(1e-5, 0.6), min_size=2, max_size=6, unique=True),
    st.integers(0, 99),
)
def test_steps_and_merging_judge_ties_at_one_scale(cell, tie, deltas, seed):
    deltas, reader = np.sort(deltas), oracle(cases.FROZEN)
    images, _ = reader.project(*cell)
    found = reader.enumerate(blurred(images, tie / 4, seed), deltas[-1], deltas[-1], tie)
    assert found.tie == tie and found.within(deltas[0]).tie == tie
    changed = reader.steps(found, deltas)
    made = [reader.reconstruct(found.within(delta), delta, keep_all=True) for delta in deltas]
    for d in range(1, len(deltas)):
        for k in np.flatnonzero(~changed[:, d]):
            before, now = (m.cells[m.entry[k]] for m in (made[d - 1], made[d]))
            assert cases.same_cells(before, now, 1e-12)


@pytest.mark.parametrize("protocol", [cases.FROZEN, NEAR], ids=lambda p: p.name)
def test_points_within_the_tie_are_one(protocol):
    column = np.array([[0, 0, 0], [0, 0, 1], [2, 1, 0.3]], float)  # axis_c sees two of them at once
    reader = oracle(protocol)
    exact, _ = reader.project(column, [7, 7, 7])
    for tie, size, seen in ((NUMERICAL_ZERO, 1e-12, 2), (1e-3, 1e-4, 2), (NUMERICAL_ZERO, 1e-4, 3)):
        found = reader.enumerate(blurred(exact, size, 0), 0.01, 0.01, tie)
        assert found.points.starts[:, 1].tolist() == [3, 3, seen, 3, 3]


def test_what_ties_when_it_comes_in_is_a_step():
    """The other half of the cube comes in later, with residuals that are equal at the scale."""
    reader = oracle(cases.FROZEN, subsets="axis_a+axis_b+axis_c")
    exact, _ = reader.project(HALF_CUBE, [1] * 4)
    deltas, steps = np.geomspace(1e-6, 1e-4, 12), 0
    for seed in range(10):
        found = reader.enumerate(blurred(exact, 2e-5, seed), deltas[-1], deltas[-1], 1e-3)
        changed = reader.steps(found, deltas)[0]
        made = [reader.reconstruct(found.within(delta), delta) for delta in deltas]
        for d in range(1, len(deltas)):
            if made[d].n_recovered[0] != made[d - 1].n_recovered[0]:
                assert changed[d]
                steps += 1
    assert steps > 20


def test_a_narrowed_comparison_keeps_its_distances():
    reader = oracle(cases.FROZEN)
    found = reader.enumerate_cell(3 * np.random.default_rng(1).random((9, 3)), [1] * 9, 0.5, 0.5)
    narrow = found.within(0.1)
    near = found.candidates.gap <= 0.1
    assert type(narrow) is type(found) and narrow.reach == 0.1 and near.any() and not near.all()
    np.testing.assert_array_equal(narrow.distance, found.distance[near])
    same_arrays(narrow.candidates, (array[near] for array in found.candidates))
    assert replace(found, reach=0.05).within(0.1).reach == 0.05
