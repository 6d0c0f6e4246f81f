"""Conditioning of cameras and the noise budgets that follow from it."""

import numpy as np
import pytest

from rc_hpc.geometry import conditioning
from rc_hpc.geometry.cameras import rotation_from_direction
from rc_hpc.geometry.pairs import least_squares_inverse
from rc_hpc.geometry.protocol import Protocol, load_protocol

FROZEN, OFF_AXIS = load_protocol("frozen"), load_protocol("off-axis")


def kappa_of_angle(angle):
    """kappa of two view lines at an angle, degrees: 1 / (sqrt(2) sin(acute / 2))."""
    acute = min(angle % 180.0, 180.0 - angle % 180.0)
    return 1.0 / (np.sqrt(2.0) * np.sin(np.radians(acute) / 2.0))


def covariance(protocol, views):
    """Covariance of the least-squares position per sigma^2 of a screen coordinate, (3, 3)."""
    return least_squares_inverse(protocol, [views])[0]


@pytest.mark.parametrize(
    "angle, kappa",
    [
        (90, 1.0),
        (45, 1.8477590651),
        (10, 8.1131404414),
        (5, 16.2108370589),
        (1, 81.0294969084),
        (135, 1.8477590651),
    ],
)
def test_kappa_depends_on_the_acute_angle_alone(angle, kappa):
    turned = [[np.cos(np.radians(angle)), np.sin(np.radians(angle)), 0.0], [1.0, 0.0, 0.0]]
    rotations = np.array([rotation_from_direction(direction) for direction in turned])
    protocol = Protocol("two", ("a", "b"), rotations)
    assert protocol.kappas()[0, 1] == pytest.approx(kappa, rel=1e-9)
    assert kappa_of_angle(angle) == pytest.approx(kappa, rel=1e-9)


def test_parallel_views_amplify_without_bound():
    same = Protocol("same", ("a", "b", "c"), FROZEN.rotations[[0, 0, 1]])
    assert conditioning.gain(same, (0, 1)) == np.inf


@pytest.mark.parametrize(
    "protocol, largest, all_views", [(FROZEN, 2.7321, 0.6754), (OFF_AXIS, 8.4258, 0.6647)]
)
def test_recorded_conditioning(protocol, largest, all_views):
    found = conditioning.distribution(protocol)
    assert found["max"] == pytest.approx(largest, abs=5e-5)
    assert found["all_views"] == pytest.approx(all_views, abs=5e-5)
    kappas, angles = protocol.kappas(), conditioning.separation_angles(protocol)
    assert len(kappas) == 10
    for pair, kappa in kappas.items():
        assert conditioning.gain(protocol, pair) == pytest.approx(kappa, rel=1e-12)
        assert kappa_of_angle(angles[pair]) == pytest.approx(kappa, rel=1e-9)


def test_median_and_mean_of_the_frozen_pairs():
    found = conditioning.distribution(FROZEN)
    assert (found["min"], found["median"], found["mean"]) == pytest.approx(
        (1.0, 1.3280, 1.5239), abs=5e-5
    )


@pytest.mark.parametrize("views", [(0, 1), (0, 4), (0, 1, 2, 3, 4)])
def test_measured_amplification_comes_near_its_bound_and_keeps_it(views):
    measured, bound = conditioning.amplification(FROZEN, views), conditioning.gain(FROZEN, views)
    assert 0.9 * bound < measured.max() <= bound * (1 + 1e-12)


@pytest.mark.parametrize("views", [(0, 4), (0, 1, 2, 3, 4)])
def test_covariance_is_that_of_simulated_positions(views):
    stacked = conditioning.stacked_projection(OFF_AXIS, views)
    errors = np.random.default_rng(3).standard_normal((len(stacked), 40_000))
    moved = np.linalg.lstsq(stacked, errors, rcond=None)[0]
    assert np.cov(moved) == pytest.approx(covariance(OFF_AXIS, views), rel=0.05, abs=0.02)


def test_budgets():
    kappa = conditioning.distribution(FROZEN)["max"]
    assert conditioning.record_budget([2.45, 0.005, np.inf], 0.01, kappa) == pytest.approx(
        [2.44 / (2 * kappa), 0.0, np.inf]
    )
    certain = conditioning.certain_budget(2.45, 0.01, kappa, 2)
    probable = conditioning.probable_budget(2.45, 0.01, covariance(FROZEN, (0, 4)), 16)
    assert 0 < probable < certain == pytest.approx(2.44 / (2 * kappa * np.sqrt(2)))


def test_certain_budget_holds_for_the_worst_errors_and_not_beyond():
    views, separation = (0, 4), 2.0
    gain = conditioning.gain(FROZEN, views)
    stacked = conditioning.stacked_projection(FROZEN, views)
    errors = np.random.default_rng(0).standard_normal((20_000, 2, 2))
    errors /= np.linalg.norm(errors, axis=2, keepdims=True)  # every centroid off by exactly 1
    moved = np.linalg.lstsq(stacked, errors.reshape(-1, 4).T, rcond=None)[0]
    reached = np.linalg.norm(moved, axis=0).max() * conditioning.certain_budget(
        separation, 0.0, gain, 2
    )
    assert 0.95 * separation / 2 < reached <= separation / 2 * (1 + 1e-12)


def test_probable_budget_fails_no_more_often_than_it_says():
    views, n, failure = (0, 1, 2, 3, 4), 12, 0.05
    spread = covariance(FROZEN, views)
    sigma = conditioning.probable_budget(2.0, 0.0, spread, n, failure)
    positions = np.random.default_rng(1).multivariate_normal(
        np.zeros(3), sigma**2 * spread, (20_000, n)
    )
    failed = (np.linalg.norm(positions, axis=2) > 1.0).any(axis=1).mean()
    assert failure / 20 < failed <= failure
