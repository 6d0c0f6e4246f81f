"""The delta profile and the steps of dominance, against brute force."""

import itertools

import naive
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle_cases import FACING, FROZEN, OFF_AXIS, cells, same_cells

from rc_hpc.core.constants import CENSUS_ZERO, NUMERICAL_ZERO
from rc_hpc.geometry.protocol import parse_subsets
from rc_hpc.kernels.profile import union
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.structures.sources import iter_items

#: Up to where profiles are followed, Å: no length of the cells, at which rounding would decide.
REACH = 0.4731
LENGTH = st.floats(0, 1).map(lambda x: round(x, 2))
SLOWLY = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def brute_intervals(positions, numbers, protocol, subset):
    """Where each candidate of a subset is a phantom.

    (lower, upper), by acceptance and by Definition 7.
    """
    c, lower, upper, _ = naive.delta_intervals(positions, numbers, list(protocol.rotations), subset)
    real = lower < upper - NUMERICAL_ZERO
    exact = real & (c.gap <= CENSUS_ZERO)
    return (lower[real], upper[real]), (lower[exact], upper[exact])


def holds(lower, upper, deltas):
    """Whether any interval holds each delta."""
    return ((lower[:, None] <= deltas) & (deltas < upper[:, None])).any(axis=0)


def of_subset(profile, k):
    starts, lower, upper = profile
    return lower[starts[k] : starts[k + 1]], upper[starts[k] : starts[k + 1]]


@SLOWLY
@given(st.lists(st.tuples(LENGTH, LENGTH), max_size=12))
def test_union_holds_exactly_what_its_intervals_hold(pairs):
    lower = np.array([min(pair) for pair in pairs], float)
    upper = np.array([max(pair) for pair in pairs], float)
    low, high = union(lower, upper, 0.0)
    assert (low[1:] > high[:-1]).all() and (low <= high).all()
    deltas = np.arange(-1, 102) / 100.0 + 0.005
    np.testing.assert_array_equal(holds(low, high, deltas), holds(lower, upper, deltas))


def test_union_closes_holes_of_rounding_only():
    low, high = union(np.array([0.2, 0.1, 0.5]), np.array([0.3, 0.2 - 1e-10, 0.6]), NUMERICAL_ZERO)
    assert low.tolist() == [0.1, 0.5] and high.tolist() == [0.3, 0.6]


@pytest.mark.long
@pytest.mark.parametrize("protocol", [FROZEN, OFF_AXIS, FACING], ids=lambda p: p.name)
@SLOWLY
@given(cells(max_atoms=7), st.integers(0, 2**32 - 1))
def test_profile_is_presence_at_random_deltas(protocol, cell, seed):
    positions, numbers = cell
    subsets = parse_subsets("all", protocol.views)
    oracle = GeometricOracle(protocol, subsets)
    found = oracle.enumerate_cell(positions, numbers, REACH, REACH)
    by_acceptance, exact = oracle.profile(found), oracle.profile(found, CENSUS_ZERO)
    rng = np.random.default_rng(seed)
    deltas = rng.uniform(1e-6, REACH, 20)
    points = [oracle.certify(found, delta) for delta in deltas]
    for k, subset in enumerate(subsets):
        brute = brute_intervals(positions, numbers, protocol, subset)
        for profile, (lower, upper), counts in zip(
            (by_acceptance, exact),
            brute,
            ([p.n_phantoms[k] for p in points], [p.n_exact[k] for p in points]),
            strict=True,
        ):
            low, high = of_subset(profile, k)
            assert (low[1:] > high[:-1]).all()
            np.testing.assert_array_equal(holds(low, high, deltas), holds(lower, upper, deltas))
            np.testing.assert_array_equal(holds(low, high, deltas), np.array(counts) > 0)
            smallest = lower[lower <= REACH].min(initial=np.inf)
            assert low[:1].tolist() == pytest.approx(
                [smallest] if smallest < np.inf else [], abs=NUMERICAL_ZERO
            )


@pytest.mark.parametrize("enumeration", ["all-pairs", "anchor"])
@SLOWLY
@given(cells(), st.lists(st.floats(1e-6, 0.6), min_size=2, max_size=8, unique=True))
def test_dominance_changes_only_at_its_steps(enumeration, cell, deltas):
    deltas = np.sort(deltas)
    oracle = GeometricOracle(FROZEN, parse_subsets("all", FROZEN.views), enumeration)
    found = oracle.enumerate_cell(*cell, deltas[-1], deltas[-1])
    changed = oracle.steps(found, deltas)
    made = [oracle.reconstruct(found.within(delta), delta, keep_all=True) for delta in deltas]
    assert changed[:, 0].all()
    for d, k in itertools.product(range(1, len(deltas)), range(len(changed))):
        if not changed[k, d]:
            before, now = (m.cells[m.entry[k]] for m in (made[d - 1], made[d]))
            assert same_cells(before, now, 1e-12)


def test_other_rules_may_change_at_every_delta():
    oracle = GeometricOracle(FROZEN, ((0, 1),), merge="least-squares")
    found = oracle.enumerate_cell([[0.0, 0.0, 0.0]], [1], 0.1, 0.1)
    assert oracle.steps(found, np.array([0.01, 0.1])).all()


def test_a_narrowed_enumeration_gives_the_same_and_refuses_more():
    rng = np.random.default_rng(5)
    positions, numbers = rng.uniform(0, 4, (12, 3)), rng.choice([8, 22], 12)
    for merge in ("dominance", "best-residual", "first"):
        oracle = GeometricOracle(FROZEN, parse_subsets("all", FROZEN.views), merge=merge)
        found = oracle.enumerate_cell(positions, numbers, 0.5, 0.5)
        for delta in (0.02, 0.2):
            narrow, direct = found.within(delta), oracle.run(positions, numbers, delta)
            for step, names in (
                (oracle.certify, ("n_phantoms", "n_exact")),
                (
                    oracle.reconstruct,
                    ("n_recovered", "reconstruction", "point_error", "atom_error"),
                ),
            ):
                for one in (step(found, delta), step(narrow, delta)):
                    for name in names:
                        np.testing.assert_array_equal(getattr(direct, name), getattr(one, name))
    for step in (oracle.certify, oracle.reconstruct):
        with pytest.raises(ValueError, match="up to 0.02"):
            step(found.within(0.02), 0.03)


@pytest.mark.slow
def test_profile_of_real_structures_at_200_deltas():
    """288 prototypes and 32 synthetic crystals, every subset, both kinds."""
    rng = np.random.default_rng(20)
    subsets = parse_subsets("all", FROZEN.views)
    oracle = GeometricOracle(FROZEN, subsets)
    compared = present = n = 0
    for item in itertools.chain(iter_items(("prototypes",)), iter_items(("synthetic:32",))):
        structure = item.read(item, item.blob())
        n += 1
        deltas = np.concatenate((rng.uniform(0, 0.5, 150), 10 ** rng.uniform(-3, -0.3, 50)))
        found = oracle.enumerate_cell(structure.positions, structure.numbers, 0.5, 0.5)
        profiles = oracle.profile(found), oracle.profile(found, CENSUS_ZERO)
        candidates, _, upper, _ = naive.delta_intervals(
            structure.positions, structure.numbers, list(FROZEN.rotations), range(5)
        )
        for k, subset in enumerate(subsets):
            inside = np.isin(candidates.views, subset).all(axis=1)
            others = candidates.residuals[inside][
                :, subset
            ]  # of the pair's own views at most half the gap
            entered = np.maximum(candidates.gap[inside], others.max(axis=1, initial=0.0))
            real = entered < upper[inside] - NUMERICAL_ZERO
            exact = real & (candidates.gap[inside] <= CENSUS_ZERO)
            for profile, which in zip(profiles, (real, exact), strict=True):
                wanted = holds(entered[which], upper[inside][which], deltas)
                np.testing.assert_array_equal(
                    holds(*of_subset(profile, k), deltas),
                    wanted,
                    err_msg=f"{structure.id} {subset}",
                )
                compared, present = compared + wanted.size, present + wanted.sum()
    assert n == 320 and 0.02 < present / compared < 0.98
