"""The sweep, its summaries, and quarantine."""

import numpy as np
import pytest

from rc_hpc.core.constants import SWEEP
from rc_hpc.symmetry import stability
from rc_hpc.symmetry.labels import label
from rc_hpc.symmetry.stability import (
    QUARANTINE_REASONS,
    LabelFlag,
    flipped,
    label_flags,
    neighbourhood_stable,
    quarantine,
    robust_number,
    sweep,
)

CUBIC = np.eye(3) * 4.0


@pytest.mark.parametrize(
    ("found", "stable", "flips", "robust"),
    [
        ([225] * 6, True, False, 225),
        ([1, 1, 1, 9, 1, 1], True, True, 1),  # only 0.1 differs: outside the neighbourhood
        ([1, 2, 1, 1, 1, 1], True, True, 1),  # only 0.001 differs: outside it too
        ([2, 1, 225, 225, 2, 2], False, True, 2),  # mp-1078353
        ([12, 12, 12, 12, 5, 12], False, True, 12),  # the angle tolerance alone
        ([12, 0, 0, 0, 12, 0], True, False, 12),  # failed settings are dropped
        ([0, 12, 0, 12, 0, 0], False, False, 12),  # nothing in the neighbourhood
        ([0] * 6, False, False, 0),
        ([5, 5, 5, 12, 12, 12], False, True, 5),  # of equals the first met
    ],
)
def test_summaries(found, stable, flips, robust):
    found = np.array(found, np.int16)
    assert neighbourhood_stable(found) is stable
    assert flipped(found) is flips
    assert robust_number(found) == robust


def test_quarantine_reasons():
    firm, shaky = np.array([225] * 6), np.array([2, 1, 225, 225, 2, 2])
    assert quarantine(firm) == LabelFlag(0)
    assert quarantine(firm, 225) == LabelFlag(0)
    assert quarantine(firm, 221) == LabelFlag.source_disagrees
    assert quarantine(shaky, 2) == LabelFlag.unstable
    assert quarantine(shaky, 225) == QUARANTINE_REASONS
    # an unlabelled cell is unstable; it cannot disagree
    assert quarantine(np.zeros(6), 225) == LabelFlag.unstable


def test_labels_of_two_cells_differ_without_quarantine():
    firm = np.array([2] * 6)
    flags = label_flags(firm, 2, conventional_number=225)
    assert flags == LabelFlag.cell_dependent
    assert not flags & QUARANTINE_REASONS
    assert label_flags(firm, 2, conventional_number=2) == LabelFlag(0)
    assert label_flags(firm, 2) == LabelFlag(0)
    assert label_flags(firm, 5, 225) == LabelFlag.cell_dependent | LabelFlag.source_disagrees


def test_flag_values_are_stored_and_fixed():
    assert {flag.name: flag.value for flag in LabelFlag} == {
        "unstable": 1,
        "source_disagrees": 2,
        "cell_dependent": 4,
    }


def test_sweep_follows_the_tolerance():
    """A copper atom 0.03 Å off its site: cubic only where symprec exceeds it."""
    frac = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0.03 / 4]])
    found = sweep(CUBIC, frac, [29] * 4)
    assert found.dtype == np.int16 and found.shape == (6,)
    assert found[2] == found[3] == 225
    assert all(number not in (0, 225) for number in found[[0, 1, 4, 5]])
    assert not neighbourhood_stable(found)


@pytest.mark.parametrize("canonical", [221, 0])
def test_canonical_label_is_not_computed_twice(monkeypatch, canonical):
    asked = []

    def spy(lattice, frac, numbers, symprec, angle_tolerance, *, recorder):
        asked.append((symprec, angle_tolerance))
        return (None, "failed") if symprec == 0.1 else (label(221), "")

    monkeypatch.setattr(stability, "label_cell", spy)
    found = sweep(CUBIC, [[0, 0, 0]], [29], canonical=canonical)
    assert asked == list(SWEEP[1:])
    assert found.tolist() == [canonical, 221, 221, 0, 221, 221]
    asked.clear()
    assert sweep(CUBIC, [[0, 0, 0]], [29])[0] == 221
    assert asked == list(SWEEP)
