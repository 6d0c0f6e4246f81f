"""Every kernel against its slow twin, on small cells full of coincidences.

The whole file also runs without compilation (see the last test).
"""

import itertools
import os
import subprocess
import sys

import naive
import numpy as np
import oracle_cases as cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse.csgraph import connected_components

from rc_hpc.core.constants import NUMERICAL_ZERO
from rc_hpc.geometry.pairs import cameras_of, pair_frames
from rc_hpc.kernels import candidates as found_by
from rc_hpc.kernels import certificate, merge, points, search

JIT = os.environ.get("NUMBA_DISABLE_JIT") != "1"
few = settings(max_examples=60 if JIT else 8, deadline=None)

COORDINATES = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0]) | st.floats(-2, 2)


def clouds(dimension, max_size=40):
    """Points (n, dimension) with many equal coordinates."""
    return st.integers(0, max_size).flatmap(
        lambda n: arrays(float, (n, dimension), elements=COORDINATES)
    )


def ranges(draw, n):
    """Species ranges of n points, empty species among them."""
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=3)))
    return np.array([0, *cuts, n])


# ------------------------------------------------------------------ search


@few
@given(arrays(float, st.integers(0, 80), elements=COORDINATES))
def test_stable_order(values):
    assert np.array_equal(search.stable_order(values), np.argsort(values, kind="stable"))


@few
@given(arrays(float, st.integers(0, 20), elements=COORDINATES).map(np.sort), COORDINATES, st.data())
def test_lower_bound(heights, value, data):
    low = data.draw(st.integers(0, heights.size))
    high = data.draw(st.integers(low, heights.size))
    assert search.lower_bound(heights, low, high, value) == low + np.searchsorted(
        heights[low:high], value
    )


@pytest.mark.parametrize("seed", range(4))
def test_stable_order_of_many(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=search.MANY + seed) * 10.0 ** rng.integers(-9, 9)
    values[rng.integers(0, values.size, 400)] = rng.choice([0.0, -0.0, 1.0, np.inf, -np.inf], 400)
    assert np.array_equal(search.stable_order(values), np.argsort(values, kind="stable"))


@few
@given(arrays(float, st.integers(2, 60), elements=COORDINATES).map(np.sort), COORDINATES, st.data())
def test_bound_from_a_table(heights, value, data):
    low = data.draw(st.integers(0, heights.size - 2))
    high = data.draw(st.integers(low + 2, heights.size))
    table, scale = (f(heights, low, high) for f in (search.bounds_table, search.height_scale))
    wanted = search.lower_bound(heights, low, high, value)
    assert search.bound_from(table, scale, heights, low, high, value) == wanted


def sorted_plane(points):
    heights = points @ [np.cos(1), np.sin(1)]
    order = np.argsort(heights, kind="stable")
    return np.ascontiguousarray(points[order]), np.ascontiguousarray(heights[order])


@few
@given(
    clouds(2),
    st.tuples(COORDINATES, COORDINATES),
    st.sampled_from([0.01, 0.25, 0.5, 1.0, 9.0]),
    st.data(),
)
def test_nearest_point_of_a_view(points, spot, bound, data):
    points, heights = sorted_plane(points)
    low = data.draw(st.integers(0, len(points)))
    high = data.draw(st.integers(low, len(points)))
    index, distance = search.nearest2(heights, points, low, high, *spot, bound)
    away = np.linalg.norm(points[low:high] - spot, axis=1)
    nearest = away.min(initial=np.inf)
    if abs(nearest - bound) < 1e-12 and nearest != bound:
        return
    if nearest <= bound:
        assert distance == pytest.approx(nearest, abs=1e-12)
        assert low <= index < high and away[index - low] == pytest.approx(nearest, abs=1e-12)
    else:
        assert (index, distance) == (-1, np.inf)


@few
@given(st.floats(1e-6, 2), st.floats(0, 7), st.integers(-3, 3))
def test_a_point_at_the_bound_is_found_whatever_the_bound_is(radius, angle, ulps):
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    points, heights = np.zeros((1, 2)), np.zeros(1)
    distance = search.nearest2(heights, points, 0, 1, x, y, 9.0)[1]
    bound = distance
    for _ in range(abs(ulps)):
        bound = np.nextafter(bound, np.inf if ulps > 0 else 0)
    assert search.nearest2(heights, points, 0, 1, x, y, bound) == (
        (0, distance) if ulps >= 0 else (-1, np.inf)
    )


@few
@given(clouds(3), st.tuples(COORDINATES, COORDINATES, COORDINATES))
def test_nearest_point_in_space(points, spot):
    starts = np.array([0, len(points)])
    ordered, heights, *_ = search.sort_in_space(points, starts)
    away = np.linalg.norm(points - spot, axis=1).min(initial=np.inf)
    assert search.nearest3(heights, ordered, 0, len(points), *spot) == pytest.approx(
        away, abs=1e-12
    )


@few
@given(clouds(3), st.data())
def test_sorting_in_space(points, data):
    starts = ranges(data.draw, len(points))
    ordered, heights, order, _ = search.sort_in_space(points, starts)
    assert np.array_equal(ordered, points[order])
    assert heights == pytest.approx(points[order] @ np.sqrt([1 / 6, 2 / 6, 3 / 6]), abs=1e-12)
    for low, high in itertools.pairwise(starts):
        assert sorted(order[low:high]) == list(range(low, high))
        assert (np.diff(heights[low:high]) >= 0).all()


@few
@given(clouds(3, 12), st.data())
def test_worst_partner(points, data):
    points = np.unique(np.round(points, 2), axis=0)
    starts = ranges(data.draw, len(points))
    moves = data.draw(
        arrays(float, points.shape, elements=st.sampled_from([0.0, 1e-9, -2e-9, 6e-9, 2e-8]))
    )
    shuffled = np.concatenate(
        [
            low + np.random.default_rng(0).permutation(high - low)
            for low, high in itertools.pairwise(starts)
        ]
    ).astype(int)
    a, b = (
        search.sort_in_space(np.ascontiguousarray(p), starts)
        for p in (points, (points + moves)[shuffled])
    )
    worst = search.worst_partner(a, b, 1e-8)
    largest = np.linalg.norm(moves, axis=1).max(initial=0.0)
    assert worst == (np.inf if largest > 1e-8 else pytest.approx(largest, abs=1e-15))
    other = starts.copy()
    other[-1] += 1
    assert search.worst_partner(a, b._replace(starts=other), 1e-8) == np.inf


# ------------------------------------------------------------------ image points and candidates


class Prepared:
    """Arrays of the candidate kernels for one cell, as the oracle prepares them."""

    def __init__(self, positions, numbers, protocol, once):
        kinds, species = np.unique(numbers, return_inverse=True)
        order = np.argsort(species, kind="stable")
        self.starts = np.searchsorted(species[order], np.arange(kinds.size + 1))
        self.positions = np.ascontiguousarray(positions[order])
        self.numbers = kinds[species[order]]
        self.cameras = cameras_of(protocol)
        self.screen = points.project(self.positions, self.cameras.rotations)
        self.images = points.shown_by_all(self.screen, self.starts, kinds)
        self.points = points.sort_points(self.images, once, NUMERICAL_ZERO)


@few
@given(st.lists(st.integers(1, 9), max_size=12))
def test_species_ranges(listed):
    numbers = np.array(listed, dtype=np.int64)
    for as_listed in (False, True):
        order, starts, kinds = points.species_ranges(numbers, as_listed)
        assert kinds.tolist() == (list(dict.fromkeys(listed)) if as_listed else sorted(set(listed)))
        for s, kind in enumerate(kinds):
            assert (
                order[starts[s] : starts[s + 1]].tolist()
                == np.flatnonzero(numbers == kind).tolist()
            )
        assert starts[0] == 0 and starts[-1] == order.size == numbers.size


PROTOCOLS = st.sampled_from([cases.FROZEN, cases.OFF_AXIS, cases.EXACT, cases.FACING])


@few
@given(cases.cells(), PROTOCOLS)
def test_image_points(cell, protocol):
    made = Prepared(*cell, protocol, True)
    starts, screen = made.starts, made.screen
    assert screen == pytest.approx(
        np.stack([(made.positions @ r)[:, :2] for r in protocol.rotations]), abs=1e-12
    )
    seen, heights, view_starts, source = made.points
    for v in range(len(screen)):
        for s, (low, high) in enumerate(itertools.pairwise(view_starts[v])):
            images = screen[v, starts[s] : starts[s + 1]]
            near = (
                np.linalg.norm(images[:, None] - seen[v, low:high][None], axis=2)
                <= 2 * NUMERICAL_ZERO
            )
            assert (near.sum(axis=1) == 1).all()  # every atom is seen, at one point
            assert np.array_equal(source[v, low:high], starts[s] + near.argmax(axis=0))
            assert (np.diff(heights[v, low:high]) >= 0).all()
    seen, heights, view_starts, source = Prepared(*cell, protocol, False).points
    for v in range(len(screen)):
        assert np.array_equal(view_starts[v], starts)
        assert sorted(source[v]) == list(range(len(made.positions)))
        assert np.array_equal(seen[v], screen[v, source[v]])


@few
@given(cases.cells(), PROTOCOLS, st.sampled_from([1e-9, 0.03, 0.3]), st.data())
def test_points_that_views_show_by_themselves(cell, protocol, tie, data):
    """Every view may show another number of points; those that steps of the tie join are one."""
    made = Prepared(*cell, protocol, True)
    shown = data.draw(arrays(bool, made.screen.shape[:2]))
    screen, view_starts = np.full_like(made.screen, np.nan), np.zeros_like(made.images.starts)
    for v, own in enumerate(shown):
        screen[v, : own.sum()] = made.screen[v, own]
        view_starts[v] = [own[:start].sum() for start in made.starts]
    images = made.images._replace(screen=screen, starts=view_starts)
    seen, _, starts, source = points.sort_points(images, True, tie)
    for v in range(len(shown)):
        for s, (low, high) in enumerate(itertools.pairwise(starts[v])):
            own, kept = screen[v, view_starts[v, s] : view_starts[v, s + 1]], seen[v, low:high]
            near = np.linalg.norm(own[:, None] - own, axis=2) <= tie
            n_groups, group = connected_components(near, directed=False)
            assert len(kept) == n_groups
            heights = own @ [search.SCREEN_X, search.SCREEN_Y]
            for point, first in zip(kept, source[v, low:high] - view_starts[v, s], strict=True):
                members = np.flatnonzero(group == group[first])
                assert first == members[0]
                lowest = members[heights[members] <= heights[members].min() + 1e-12]
                assert np.abs(own[lowest] - point).max(axis=1).min() == 0


def enumerated(cell, protocol, reach, by_atom):
    """Candidates by the kernels, their distances from the atoms, and how many each pair has."""
    made = Prepared(*cell, protocol, not by_atom)
    frames, cameras = pair_frames(protocol), made.cameras
    along, order = found_by.normal_heights(made.points, cameras.pairs, frames.screen_normal)
    counts = found_by.count_candidates(along, order, made.points.starts, cameras.pairs, reach)
    candidates = found_by.fill_candidates(
        made.points, (along, order), cameras, frames, counts, reach, by_atom, NUMERICAL_ZERO
    )
    atoms = search.sort_in_space(made.positions, made.starts)
    return candidates, found_by.candidate_distances(candidates, atoms), counts


REACH = st.sampled_from([1e-6, 0.0077, 0.31, 5.0])


@few
@given(cases.cells(), PROTOCOLS, REACH)
def test_candidates_of_atoms_one_by_one(cell, protocol, reach):
    candidates, distance, counts = enumerated(cell, protocol, reach, True)
    pair, species, met, position, height, gap, residual, nearest = candidates
    made = Prepared(*cell, protocol, False)
    positions, numbers = made.positions, made.numbers
    twin = naive.all_candidates(positions, numbers, list(protocol.rotations))
    if not cases.decided(twin.gap, reach) or not cases.decided(twin.residuals, reach):
        return
    twin = twin[twin.gap <= reach]
    pairs = protocol.pairs()
    which = [pairs.index(tuple(views)) for views in twin.views.tolist()]
    order = np.lexsort((twin.atoms[:, 1], twin.atoms[:, 0], which))
    twin, which = twin[order], np.array(which)[order]
    assert counts.sum() == len(pair) == len(twin)
    inverse = np.argsort(met)
    assert np.array_equal(np.sort(met), np.arange(len(met)))
    assert np.array_equal(pair[inverse], which)
    assert np.array_equal(np.unique(numbers)[species[inverse]], twin.symbols)
    assert position[inverse] == pytest.approx(twin.positions, abs=1e-9)
    assert gap[inverse] == pytest.approx(twin.gap, abs=1e-12)
    within = np.where(twin.residuals <= reach, twin.residuals, np.inf)
    assert residual[inverse] == pytest.approx(within, abs=1e-9)
    assert np.array_equal(nearest >= 0, np.isfinite(residual))
    away = naive.distance_to_atoms(twin.positions, twin.symbols, positions, numbers)
    assert distance[inverse] == pytest.approx(away, abs=1e-9)
    for s in range(len(counts.T)):
        own = species == s
        assert own.sum() == counts[:, s].sum() and (np.diff(height[own]) >= 0).all()
    assert (np.diff(species) >= 0).all()


@few
@given(cases.cells(), PROTOCOLS, REACH)
def test_candidates_of_coincident_images_come_once(cell, protocol, reach):
    once, *_ = enumerated(cell, protocol, reach, False)
    (pair_all, species_all, _, every, *_), *_ = enumerated(cell, protocol, reach, True)
    pair, species, position, nearest = once.pair, once.species, once.position, once.nearest
    key, key_all = (
        np.column_stack(columns).astype(int)
        for columns in ((pair, species), (pair_all, species_all))
    )
    for combination in np.unique(np.concatenate([key, key_all]), axis=0):
        mine, twins = (
            position[(key == combination).all(axis=1)],
            every[(key_all == combination).all(axis=1)],
        )
        assert len(mine) <= len(twins)
        mine, twins = (p[cases.distinct(p, np.zeros(len(p)), 1e-7)] for p in (mine, twins))
        assert cases.same_points(mine, twins, 1e-8)
    seen, _, view_starts, _ = Prepared(*cell, protocol, True).points
    for c in range(len(pair)):
        for v in np.flatnonzero(nearest[c] >= 0):
            assert view_starts[v, species[c]] <= nearest[c, v] < view_starts[v, species[c] + 1]
            away = np.linalg.norm(
                seen[v, nearest[c, v]] - position[c] @ protocol.rotations[v][:, :2]
            )
            assert once.residual[c, v] == pytest.approx(away, abs=1e-12)


@few
@given(cases.cells(dyadic=True), st.sampled_from([0.25, 0.5, 0.75, 1.0]))
def test_gaps_exactly_at_the_reach_count(cell, reach):
    made = Prepared(*cell, cases.EXACT, False)
    twin = naive.all_candidates(made.positions, made.numbers, list(cases.EXACT.rotations))
    candidates, *_ = enumerated(cell, cases.EXACT, reach, True)
    assert np.array_equal(np.sort(candidates.gap), np.sort(twin.gap[twin.gap <= reach]))


# ------------------------------------------------------------------ merging


@st.composite
def live_candidates(draw, max_size=14):
    """Sorted candidates (species, position, height) of two species, and their number."""
    positions = draw(clouds(3, max_size))
    species = np.sort(draw(arrays(np.int32, len(positions), elements=st.sampled_from([0, 1]))))
    starts = np.searchsorted(species, [0, 1, 2])
    position, height, *_ = search.sort_in_space(positions, starts)
    return species, position, height


RADIUS = st.sampled_from([0.25, 0.5, 0.30001, 1.0])
#: Scales at which ties are judged: that of exact points, and of points with errors.
TIE = st.sampled_from([NUMERICAL_ZERO, 1e-3])


@few
@given(live_candidates(), RADIUS, st.booleans(), st.data())
def test_clusters(candidates, radius, strict, data):
    species, position, height = candidates
    n = len(species)
    order = np.array(data.draw(st.permutations(range(n))), np.int64)
    between = np.linalg.norm(position[:, None] - position[None], axis=2)
    if (np.abs(between - radius)[between != radius] < 1e-12).any():
        return
    leader, leaders = merge.clusters(np.arange(n), order, species, position, height, radius, strict)
    if strict:
        kept = order[naive.merge_first(position[order], species[order], radius)]
        assert np.array_equal(leaders, np.sort(kept))
    means, symbols = naive.merge_mean(position[order], species[order], radius)
    if not strict:
        found = merge.cluster_means(np.arange(n), leader, leaders, position)
        assert cases.same_cells((species[leaders], found), (symbols, means))
    assert np.array_equal(np.unique(leader), leaders)
    assert certificate.count_distinct(np.arange(n), species, position, height, radius) == len(
        cases.distinct(position, species, radius)
    )


@few
@given(st.data(), st.integers(1, 12), st.integers(1, 3), TIE)
def test_undominated(data, n, n_views, tie):
    """By the definition: some nearest image is explained by no clearly better candidate."""
    steps = arrays(float, n, elements=st.sampled_from([0.0, 0.5, 1.0, 1.6, 100.0, 200.0]))
    worst = tie * data.draw(steps)
    nearest = data.draw(arrays(np.int32, (n, 3), elements=st.integers(0, 3)))
    views = np.array([0, 2, 1][:n_views])
    keep = merge.undominated(np.arange(n), worst, nearest, views, 4, tie)
    for k in range(n):
        better = worst < worst[k] - tie
        assert keep[k] == any(nearest[k, u] not in nearest[better, u] for u in views)


@few
@given(st.data(), st.integers(0, 14), TIE)
def test_merge_by_image_points(data, n, tie):
    steps = data.draw(arrays(float, n, elements=st.sampled_from([0.0, 0.4, 10.0, 20.0])))
    kappas = data.draw(arrays(float, n, elements=st.sampled_from([1.0, 2.0])))
    nearest = data.draw(arrays(np.int32, (n, 3), elements=st.integers(0, 1)))
    keep = data.draw(arrays(np.bool_, n))
    own = np.arange(n)
    chosen = merge.merge_by_image_points(
        own, tie * steps, keep, nearest, np.arange(3), own, kappas, tie
    )
    groups = {}
    for k in np.flatnonzero(keep):
        groups.setdefault(tuple(nearest[k]), []).append(k)
    steps = np.floor(steps + 0.5)
    assert chosen.tolist() == sorted(
        min(group, key=lambda k: (steps[k], kappas[k], k)) for group in groups.values()
    )


@few
@given(st.data(), st.integers(0, 40), TIE)
def test_best_first(data, n, tie):
    worst = tie * data.draw(arrays(float, n, elements=st.sampled_from([0.0, 0.4, 3.0, 100.0])))
    kappas = data.draw(arrays(float, n, elements=st.sampled_from([1.0, 1.5, 2.0])))
    steps = np.round(worst / tie)
    assert np.array_equal(merge.best_first(worst, kappas, tie), np.lexsort((kappas, steps)))


@few
@given(cases.cells(), PROTOCOLS)
def test_least_squares_of_the_nearest_images(cell, protocol):
    nearest = enumerated(cell, protocol, 0.31, False)[0].nearest
    made = Prepared(*cell, protocol, True)
    rotations, seen = made.cameras.rotations, made.points.screen
    views = np.array([0, 1, len(rotations) - 1])
    chosen = np.flatnonzero((nearest[:, views] >= 0).all(axis=1))
    rows = np.concatenate([rotations[v][:, :2].T for v in views])
    found = merge.least_squares(
        chosen, nearest, views, seen, rotations, np.linalg.inv(rows.T @ rows)
    )
    for k, c in enumerate(chosen):
        images = np.concatenate([seen[v, nearest[c, v]] for v in views])
        assert found[k] == pytest.approx(np.linalg.lstsq(rows, images, rcond=None)[0], abs=1e-9)


# ------------------------------------------------------------------ acceptance and phantoms


@few
@given(cases.cells(), PROTOCOLS, st.sampled_from([1e-6, 0.0077, 0.31]), st.data())
def test_masks_and_the_smallest_phantom_delta(cell, protocol, delta, data):
    candidates, distance, _ = enumerated(cell, protocol, 0.6, True)
    pair, gap, residual = candidates.pair, candidates.gap, candidates.residual
    pairs = cameras_of(protocol).pairs
    accept = certificate.acceptance(candidates, pairs, delta)
    assert np.array_equal(accept.accepted, np.flatnonzero(gap <= delta))
    n_views = len(protocol.views)
    views = np.array(
        data.draw(st.lists(st.integers(0, n_views - 1), min_size=2, unique=True).map(sorted))
    )
    mask = sum(1 << int(v) for v in views)
    assert np.array_equal(certificate.views_of(mask, np.empty(n_views, np.int64)), views)
    inside = [c for c in range(len(pair)) if set(pairs[pair[c]]) <= set(views)]
    limit_of = distance - NUMERICAL_ZERO
    for exact_gap in (np.inf, 1e-6):
        needed = {}
        for c in inside:
            others = [residual[c, v] for v in views if v not in pairs[pair[c]]]
            needed[c] = max([gap[c], *others])
            assert accept.own[c] & ~mask == 0
            assert (mask & ~accept.seen[c] == 0) == (needed[c] <= delta)
        lower = min(
            (
                needed[c]
                for c in inside
                if needed[c] < distance[c] - NUMERICAL_ZERO and gap[c] <= exact_gap
            ),
            default=np.inf,
        )
        suspects = np.flatnonzero(gap < distance - NUMERICAL_ZERO)
        own = accept.own[suspects]
        limit = distance[suspects] - NUMERICAL_ZERO
        blind = certificate.views_beyond(suspects, limit, accept.own, residual)
        found = certificate.smallest_phantom_deltas(
            suspects, own, blind, candidates, pairs, exact_gap, views
        )
        assert lower == found[exact_gap < np.inf]
        chosen = certificate.accepted_on(
            mask, mask, own, blind, suspects, live := np.empty(suspects.size, np.int64)
        )
        assert live[:chosen].tolist() == [
            c for c in suspects if needed.get(c, np.inf) < limit_of[c]
        ]


@few
@given(live_candidates(), live_candidates())
def test_largest_distance(cloud, others):
    starts, other_starts = (np.searchsorted(c[0], [0, 1, 2]) for c in (cloud, others))
    found = search.largest_distance(
        search.sort_in_space(cloud[1], starts), search.sort_in_space(others[1], other_starts)
    )
    away = (
        naive.distance_to_atoms(cloud[1], cloud[0], others[1], others[0])
        if len(others[0])
        else np.full(len(cloud[0]), np.inf)
    )
    assert found == pytest.approx(away.max(initial=0.0), abs=1e-12)


# ------------------------------------------------------------------ without compilation


@pytest.mark.long
@pytest.mark.skipif(not JIT, reason="this is the run without compilation")
def test_all_of_this_without_compilation():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", __file__, "-o", "addopts=", "-p", "no:cacheprovider"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 skipped" in done.stdout
