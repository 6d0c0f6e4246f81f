"""The reader's kernels against their slow twins."""

import naive_read as naive
import numpy as np
import pytest
import read_cases as cases
from hypothesis import given, settings
from hypothesis import strategies as st

from rc_hpc.kernels.bundle import normal_equations
from rc_hpc.kernels.copies import (
    base_points,
    blank_within,
    blanks_before,
    nearest_mark,
    refit,
    support,
)
from rc_hpc.kernels.displacements import carried, dash_scores, ink_of, layer_shift
from rc_hpc.kernels.registration import differing, rings, stroke_shift, tie_votes
from rc_hpc.reader.convention import named
from rc_hpc.reader.frame import Frame, rows_of
from rc_hpc.reader.marked import marked

SIZE = 192
seeds = st.integers(0, 10**6)


@pytest.fixture(scope="module")
def scene():
    """Marks, frame, and the same as the kernels take them."""
    drawn = cases.made("skew", size=SIZE, noise=0.02, least=10)
    joined = marked(drawn.pictures, drawn.marks, named("C1"), 1)
    scales = np.array([view.px_per_angstrom for view in drawn.views])
    origins = np.array([view.origin for view in drawn.views])
    frame = Frame(cases.ROTATIONS, drawn.lattice, scales, origins, (2, 2, 2))
    return drawn, joined, frame, frame.lens, joined.blanks(scales)


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_blank_pixels_within_a_disc(seed):
    rng = np.random.default_rng(seed)
    blank = rng.random((20, 30)) < 0.5
    u, v, radius = rng.uniform((-3, -3, 0), (33, 23, 12))
    counted = blank_within(blanks_before(blank), u, v, radius, 10**6)
    assert counted == naive.blank_within(blank, u, v, radius)


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_the_nearest_mark(scene, seed):
    _, joined, _, _, _ = scene
    rng, marks = np.random.default_rng(seed), joined.marks
    view, s = rng.integers(5), rng.integers(len(joined.species))
    rows = range(marks.starts[view, s], marks.starts[view, s + 1])
    place = marks.centres[rng.choice(rows)] + rng.normal(size=2) * rng.choice((0.02, 1.0, 10.0))
    for blur2, gate2 in ((0.0, 25.0), (1.0, 9.0)):
        row, misfit = nearest_mark(marks, view, s, *place, blur2, gate2)
        twin = naive.nearest_mark(marks.centres, marks.covariance, rows, *place, blur2, gate2)
        assert row == twin[0]
        assert misfit == pytest.approx(twin[1], rel=1e-9)


def test_support_of_places_right_and_wrong(scene):
    drawn, joined, frame, lens, blanks = scene
    rng = np.random.default_rng(0)
    index = np.searchsorted(joined.species, drawn.numbers)
    places = np.concatenate(
        (drawn.positions, drawn.positions + 0.02, rng.uniform(size=(20, 3)) @ drawn.lattice)
    )
    species = np.concatenate((index, index, rng.integers(len(joined.species), size=20)))
    for blur, least in ((0.02, 2), (0.5, 4)):
        rows, score = support(
            places, species, joined.marks, lens, blanks, np.full(len(places), blur), 5.0, least
        )
        twin_rows, twin_score = naive.support(
            places, species, joined.marks, lens, joined.blank, blanks.radii, blanks.most,
            blur, 5.0, least,
        )  # fmt: skip
        assert np.array_equal(np.isinf(score), np.isinf(twin_score))
        good = np.isfinite(score)
        assert good[: len(index)].all() or least == 4
        assert np.array_equal(rows[good], twin_rows[good])
        assert score[good] == pytest.approx(twin_score[good])


def test_sites_places_in_one_picture(scene):
    drawn, joined, frame, lens, blanks = scene
    for view in range(5):
        places, starts = base_points(joined.marks, lens, blanks, view, 0.5, 0.02, 5.0)
        twin = naive.base_points(
            joined.marks, lens, joined.blank, blanks.radii, blanks.most, view, 0.5, 0.02, 5.0
        )
        assert np.diff(starts).tolist() == [len(one) for one in twin]
        assert places == pytest.approx(np.concatenate(twin))


def test_the_sites_own_places_are_among_them(scene):
    drawn, joined, frame, lens, blanks = scene
    seen = frame.pixels(drawn.positions)
    for view in range(5):
        places, starts = base_points(joined.marks, lens, blanks, view, 0.5, 0.02, 5.0)
        for s, number in enumerate(joined.species):
            for place in seen[view, drawn.numbers == number]:
                mine = places[starts[s] : starts[s + 1]]
                row = np.hypot(*(mine - place).T).min(initial=np.inf)
                copies = place + lens.shifts[view]
                marks = joined.marks.centres[
                    joined.marks.starts[view, s] : joined.marks.starts[view, s + 1]
                ]
                met = np.hypot(*(copies[:, None] - marks[None]).transpose(2, 0, 1)).min() < 0.1
                assert row < 0.1 or not met


def test_refit_is_least_squares(scene):
    drawn, joined, frame, lens, blanks = scene
    index = np.searchsorted(joined.species, drawn.numbers)
    rows, _ = support(
        drawn.positions, index, joined.marks, lens, blanks, np.full(len(index), 0.05), 5.0, 2
    )
    start = drawn.positions + 0.001
    moved, square = refit(start, rows, joined.marks, lens)
    plain = rows_of(frame.rotations, np.ones(5))
    for c in range(len(index)):
        others = rows[c : c + 1]

        def off(x, others=others):
            return naive.misfits(
                x[None], others, joined.marks, plain, frame.scales, frame.origins, frame.lattice,
                frame.tiles,
            )  # fmt: skip

        slope = np.stack(
            [(off(start[c] + 1e-5 * e) - off(start[c] - 1e-5 * e)) / 2e-5 for e in np.eye(3)], 1
        )
        step = np.linalg.lstsq(slope, -off(start[c]), rcond=None)[0]
        assert moved[c] == pytest.approx(start[c] + step, abs=1e-8)
        assert square[c] == pytest.approx(np.sum(off(moved[c]) ** 2), rel=1e-6)


def test_normal_equations_are_those_of_the_misfits(scene):
    drawn, joined, frame, lens, blanks = scene
    index = np.searchsorted(joined.species, drawn.numbers)
    positions = drawn.positions[:3] + 0.001
    rows, _ = support(positions, index[:3], joined.marks, lens, blanks, np.full(3, 0.1), 5.0, 2)
    plain, tiles = rows_of(frame.rotations, np.ones(5)), frame.tiles.astype(float)
    start = np.concatenate(
        (frame.origins.ravel(), frame.scales, frame.lattice.ravel(), positions.ravel())
    )

    def off(x):
        return naive.misfits(
            x[24:].reshape(-1, 3), rows, joined.marks, plain, x[10:15], x[:10].reshape(5, 2),
            x[15:24].reshape(3, 3), tiles,
        )  # fmt: skip

    slope = np.stack(
        [(off(start + 1e-5 * e) - off(start - 1e-5 * e)) / 2e-5 for e in np.eye(len(start))], 1
    )
    left, right = slope.T @ slope, -slope.T @ off(start)
    site, mixed, block, right_site, right_frame, square, count = normal_equations(
        positions, rows, np.ones(rows.shape), joined.marks, plain, frame.scales, frame.origins,
        frame.lattice, tiles,
    )  # fmt: skip
    near = {"rel": 1e-5, "abs": 1e-5 * np.abs(left).max()}
    assert block == pytest.approx(left[:24, :24], **near)
    assert right_frame == pytest.approx(right[:24], rel=1e-5, abs=1e-5 * np.abs(right).max())
    for c in range(3):
        own = slice(24 + 3 * c, 27 + 3 * c)
        assert site[c] == pytest.approx(left[own, own], **near)
        assert mixed[c] == pytest.approx(left[own, :24], **near)
        assert right_site[c] == pytest.approx(right[own], rel=1e-5, abs=1e-5 * np.abs(right).max())
    assert square == pytest.approx(np.sum(off(start) ** 2))
    assert 2 * count == len(off(start))


def test_displacements_that_carry_a_picture_onto_itself(scene):
    drawn, joined, frame, lens, blanks = scene
    rng = np.random.default_rng(3)
    for view in range(5):
        vectors = frame.rows[view] @ drawn.lattice.T
        tried = [*vectors.T, vectors[:, 0] + vectors[:, 1], *rng.normal(size=(6, 2)) * 20]
        for shift in tried:
            met, _ = carried(joined.marks, blanks, joined.strong, view, shift, 0.05, 5.0, 0.02)
            twin = naive.carried(
                joined.marks, joined.blank, blanks.radii, blanks.most, joined.strong, view, shift,
                0.05, 5.0, 0.02,
            )  # fmt: skip
            assert met == pytest.approx(twin)
        assert all(
            carried(joined.marks, blanks, joined.strong, view, v, 0.05, 5.0, 0.02)[0] > 0.2
            for v in vectors.T
        )


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_scores_of_dashes(seed):
    rng = np.random.default_rng(seed)
    ink = rng.integers(-1, 2, (30, 40)).astype(np.int8)
    dashes, gaps = rng.uniform(0, 40, (12, 2)), rng.uniform(0, 40, (7, 2))
    low, step = rng.uniform(0, 5, 2), 0.5
    planes = np.array([[1.0, 0.3, low[0] + 1.5], [-1.0, 0.2, 3.0]])
    scores = dash_scores(ink, dashes, gaps, planes, low, (5, 4), step)
    for a, b in np.ndindex(5, 4):
        offset = low + step * np.array((a, b))
        if np.all(planes[:, :2] @ offset <= planes[:, 2]):
            assert scores[a, b] == naive.dash_score(ink, dashes, gaps, offset)
        else:
            assert scores[a, b] == -np.inf


def test_ink_and_rings_leave_outlines_out():
    rng = np.random.default_rng(2)
    centres, radii = rng.uniform(0, 60, (6, 2)), rng.uniform(3, 12, 6)
    surely, perhaps = naive.near_outline(50, 60, centres, radii, 2.5)
    near = rings(50, 60, centres, radii, 2.5)
    assert near[surely].all() and not near[~perhaps].any()
    dark = rng.random((50, 60)) < 0.5
    blank = ~dark & (rng.random((50, 60)) < 0.5)
    ink = ink_of(dark, blank, centres, radii, 2.5)
    assert (ink[blank] == -1).all() and (ink[~dark & ~blank] == 0).all()
    assert (ink[dark & surely] == 0).all() and (ink[dark & ~perhaps] == 1).all()


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_layers_are_laid_on_layers(seed):
    rng = np.random.default_rng(seed)
    layers = np.sort(np.cumsum(rng.uniform(5, 20, 9)))
    shift = rng.uniform(-2, 2)
    first = layers[np.sort(rng.choice(9, 7, replace=False))]
    second = layers[np.sort(rng.choice(9, 7, replace=False))] - shift
    found, count = layer_shift(first, second, 3.0, 0.05, 1.5)
    # Those of 9 that both of two sets of 7 hold are 5 at least, and no others lie so near.
    assert found == pytest.approx(shift, abs=1e-6)
    assert count == len(np.intersect1d(np.round(first, 6), np.round(second + shift, 6)))


def test_pixels_that_differ():
    rng = np.random.default_rng(4)
    one = rng.integers(0, 256, (12, 9, 3)).astype(np.uint8)
    other = np.clip(one.astype(int) + rng.integers(-12, 13, one.shape), 0, 255).astype(np.uint8)
    apart = np.abs(one.astype(int) - other).max(axis=2)
    for levels in (0, 8, 12):
        assert differing(one, other, levels) == np.sum(apart > levels)


def test_the_shift_of_strokes():
    """Soft strokes of a Gaussian profile, drawn at two places."""
    y, x = np.mgrid[:60, :80] + 0.5
    middle, half = np.array([[40.0, 30.0], [25.0, 20.0]]), np.array([[12.0, 5.0], [-4.0, 9.0]])

    def draw(shift):
        ink = np.zeros((60, 80))
        for m, h in zip(middle + shift, half, strict=True):
            length = np.hypot(*h)
            along = ((x - m[0]) * h[0] + (y - m[1]) * h[1]) / length
            across = ((x - m[0]) * -h[1] + (y - m[1]) * h[0]) / length
            ends = 1 / (1 + np.exp((np.abs(along) - length) * 2))
            ink = np.maximum(ink, ends * np.exp(-(across**2) / 2))
        return np.repeat(np.round(255 * (1 - ink)).astype(np.uint8)[:, :, None], 3, axis=2)

    shift = np.array((0.21, -0.13))
    nothing = np.zeros((60, 80), bool)
    found = np.zeros(2)
    for _ in range(3):
        left, right = stroke_shift(draw(shift), draw(found), nothing, middle + found, half, 4.0)
        found += np.linalg.solve(left, right)
    assert found == pytest.approx(shift, abs=0.005)
    left, _ = stroke_shift(draw(shift), draw((0, 0)), ~nothing, middle, half, 4.0)
    assert not left.any()


def test_votes_on_ties_are_for_what_the_picture_shows():
    """Two tied discs, either of which may lie on top."""
    y, x = np.mgrid[:40, :40] + 0.5
    centres, radii = np.array([[15.0, 20.0], [24.0, 20.0]]), np.array([9.0, 9.0])

    def draw(order):
        picture = np.full((40, 40, 3), 255, np.uint8)
        for k in order:
            picture[np.hypot(x - centres[k, 0], y - centres[k, 1]) <= 9] = (
                40,
                200 - 90 * k,
                90 * k,
            )
        return picture

    pairs = np.array([[0, 1]])
    apart = np.any(draw((0, 1)) != draw((1, 0)), axis=2).sum()
    assert tie_votes(draw((0, 1)), draw((0, 1)), draw((1, 0)), pairs, centres, radii)[0] == apart
    assert tie_votes(draw((1, 0)), draw((0, 1)), draw((1, 0)), pairs, centres, radii)[0] == -apart
