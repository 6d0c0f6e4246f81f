"""The sweep, its summaries, and quarantine."""

import numpy as np
import pytest

from rc_hpc.symmetry import stability
from rc_hpc.symmetry.labels import label
from rc_hpc.symmetry.stability import (
    LabelFlag,
    flipped,
    neighbourhood_stable,
    quarantine,
    settings,
    sweep,
)

CUBIC = np.eye(3) * 4.0


@pytest.mark.parametrize(
    ("found", "stable", "flips"),
    [
        ([225] * 7, True, False),
        ([1, 1, 1, 9, 1, 1, 1], True, True),  # only ten times tau differs: not in it
        ([1, 2, 1, 1, 1, 1, 1], True, True),  # only a tenth of tau differs: not in it either
        ([2, 1, 225, 225, 2, 2, 2], False, True),  # mp-1078353
        ([12, 12, 12, 12, 5, 12, 12], False, True),  # the angle tolerance alone
        ([139, 139, 139, 139, 139, 139, 69], False, True),  # spglib's own angle rule alone
        ([12, 0, 0, 0, 12, 0, 0], True, False),  # failed settings are dropped
        ([0, 12, 0, 12, 0, 0, 0], False, False),  # nothing in the neighbourhood
        ([0] * 7, False, False),
        ([5, 5, 5, 12, 12, 12, 5], False, True),
    ],
)
def test_summaries(found, stable, flips):
    found = np.array(found, np.int16)
    assert neighbourhood_stable(found) is stable
    assert flipped(found) is flips


def test_quarantine_reasons():
    firm, shaky = np.array([225] * 7), np.array([2, 1, 225, 225, 2, 2, 2])
    assert quarantine(firm) == LabelFlag(0)
    assert quarantine(firm, 225) == LabelFlag(0)
    assert quarantine(firm, 221) == LabelFlag.source_disagrees
    assert quarantine(shaky, 2) == LabelFlag.unstable
    assert quarantine(shaky, 225) == LabelFlag.unstable | LabelFlag.source_disagrees
    # an unlabelled cell is unstable; it cannot disagree
    assert quarantine(np.zeros(7), 225) == LabelFlag.unstable
    assert quarantine(firm, 225, ordered=True) == LabelFlag.order_dependent


def test_flag_values_are_stored_and_fixed():
    assert {flag.name: flag.value for flag in LabelFlag} == {
        "unstable": 1,
        "source_disagrees": 2,
        "order_dependent": 4,
    }


def test_sweep_follows_the_tolerance():
    """A copper atom 0.03 Å off its site: cubic only where symprec exceeds it."""
    frac = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0.03 / 4]])
    found = sweep(CUBIC, frac, [29] * 4)
    assert found.dtype == np.int16 and found.shape == (7,)
    assert found[2] == found[3] == 225
    assert all(number not in (0, 225) for number in found[[0, 1, 4, 5, 6]])
    assert not neighbourhood_stable(found)


@pytest.mark.parametrize("canonical", [221, 0])
def test_canonical_label_is_not_computed_twice(monkeypatch, canonical):
    asked = []

    def spy(lattice, frac, numbers, symprec, angle_tolerance, *, recorder):
        asked.append((symprec, angle_tolerance))
        return (None, "failed") if symprec == 0.1 else (label(221), "")

    monkeypatch.setattr(stability, "label_cell", spy)
    found = sweep(CUBIC, [[0, 0, 0]], [29], canonical=canonical)
    assert asked == list(settings()[1:])
    assert found.tolist() == [canonical, 221, 221, 0, 221, 221, 221]
    asked.clear()
    assert sweep(CUBIC, [[0, 0, 0]], [29])[0] == 221
    assert asked == list(settings())


def test_the_sweep_follows_tau():
    five = ((0.01, 5), (0.001, 5), (0.05, 5), (0.1, 5), (0.01, 1), (0.01, 10), (0.01, -1))
    assert settings() == five
    assert settings(1e-5, 2) == (
        *((1e-5, 2), (1e-6, 2), (5e-5, 2), (1e-4, 2)),
        *((1e-5, 1), (1e-5, 10), (1e-5, -1)),
    )


def test_spglibs_own_angle_rule_flags_what_only_angles_hide():
    """Axes of equal length but half a degree, 0.035 Å, off: tetragonal to any degree."""
    lattice = np.array([[4, 0, 0], [0, 4, 0], [0, 0, 6]]) + 0.0
    lattice[1] = 4 * np.array([np.sin(np.radians(0.5)), np.cos(np.radians(0.5)), 0])
    found = sweep(lattice, [[0, 0, 0]], [29])
    assert set(found[:6]) == {123} and found[6] != 123
    assert quarantine(found) == LabelFlag.unstable
