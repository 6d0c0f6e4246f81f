"""Scales at which things count as equal, and whose label counts as true: as the README says."""

import numpy as np
import pytest
from test_frontier import options_of

from rc_hpc.answers.votes import leaders, score, winner
from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.images.view import depth_groups
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.oracle import CensusOracle
from rc_hpc.kinds.occlusion.oracle import picture
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.oracle.labels import SpaceGroupLabel

FROZEN = load_protocol("frozen")
CUBE = 3.0 * np.eye(3)


def copper(separation=np.inf, stored=221, conventional=221):
    """One atom in a cube."""
    return PackedCell("x", CUBE, np.zeros((1, 3)), np.array([29]), stored, conventional, separation)


def test_residuals_tie_within_a_millionth_of_an_angstrom():
    oracle = GeometricOracle(FROZEN, ((0, 1),))
    images, _ = oracle.project([[0.0, 0.0, 0.0]], [29])
    assert oracle.enumerate(images, 0.01, 0.01).tie == 1e-6
    assert oracle.run([[0.0, 0.0, 0.0]], [29], 0.01).enumeration.tie == 1e-6


@pytest.mark.parametrize("apart, hides", [(5e-7, False), (5e-6, True)])
def test_a_disc_hides_another_that_is_farther_by_more_than_a_millionth(apart, hides):
    """Two atoms behind each other along the first camera's line of sight."""
    rotations = FROZEN.rotations[:1]
    positions = np.array([np.zeros(3), apart * rotations[0][:, 2]])
    drawn = picture(CUBE, positions, np.array([29, 29]), rotations, (1, 1, 1), 0.5, np.arange(2))
    assert drawn.occluded.tolist() == [[hides, False]]


def test_discs_within_a_millionth_are_painted_at_one_depth():
    assert depth_groups(np.array([0.0, 5e-7]))[1].tolist() == [0, 0]
    assert depth_groups(np.array([0.0, 5e-6]))[1].tolist() == [0, 1]


@pytest.mark.parametrize("separation, certified", [(0.0199, False), (0.0201, True)])
def test_certificates_want_atoms_more_than_two_deltas_apart(separation, certified):
    oracle = CensusOracle(FROZEN, options_of(CensusOptions, delta=0.01))
    fields, _ = oracle.run(copper(separation))
    assert set(fields["cells/certified"].tolist()) == {certified}


@pytest.mark.parametrize("truth, right", [("stored", False), ("conventional", True)])
def test_the_true_label_is_that_of_the_cell_that_is_named(truth, right):
    assert SpaceGroupLabel().truth(copper(stored=1), truth) == {"stored": 1}.get(truth, 221)
    oracle = CensusOracle(FROZEN, options_of(CensusOptions, subsets="full", truth=truth))
    fields, _ = oracle.run(copper(stored=1))
    assert fields["cells/correct_space_group"].tolist() == [right]


def test_votes_that_tie():
    votes = {"cubic": 1, "trigonal": 1}
    assert leaders(votes) == ("cubic", "trigonal")
    assert (winner(votes), winner(votes, "wrong")) == ("cubic", None)
    assert [score(votes, "trigonal", rule) for rule in ("first", "wrong", "expected", "any")] == [
        *(0.0, 0.0, 0.5, 1.0)
    ]
