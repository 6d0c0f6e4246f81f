"""Scores from logits, worked by hand."""

import numpy as np
import pytest

from rc_hpc.answers.votes import count_votes, winner
from rc_hpc.training import scores


def one_hot(codes, strength=1.0):
    return strength * np.eye(4)[np.asarray(codes)]


def test_mean_logit_and_votes_differ_where_one_view_is_sure():
    logits = one_hot([[0, 0, 1]])
    logits[0, 2, 1] = 9.0
    assert scores.answers(logits, "mean-logit").tolist() == [1] and scores.answers(
        logits, "votes"
    ).tolist() == [0]


def test_a_tie_goes_to_the_earliest_view():
    assert scores.answers(
        one_hot([[2, 1, 1, 2, 0], [0, 3, 1, 3, 1], [3, 2, 1, 0, 0]]), "votes"
    ).tolist() == [2, 3, 0]


def test_votes_are_those_of_the_prediction_files():
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(200, 5, 4))
    expected = [winner(count_votes([str(code) for code in row])) for row in logits.argmax(-1)]
    assert [str(code) for code in scores.answers(logits, "votes")] == expected


def test_leading_axes_are_kept():
    logits = np.random.default_rng(3).normal(size=(3, 7, 5, 4))
    for rule in scores.RULES:
        assert np.array_equal(
            scores.answers(logits, rule), np.stack([scores.answers(one, rule) for one in logits])
        )


def test_confusion_rows_are_the_truth():
    assert scores.confusion(np.array([0, 0, 1]), np.array([1, 1, 1]), 2).tolist() == [
        [0, 2],
        [0, 1],
    ]


def test_calibration_error_by_hand():
    probability = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.5, 0.5]])
    found = scores.calibration(probability, np.array([0, 1, 1, 0]), bins=10)
    # bins (0.8, 0.9], (0.5, 0.6], (0.4, 0.5]: confidence 0.9, 0.6, 0.5, accuracy 0.5, 1, 1
    assert found.count.tolist() == [0, 0, 0, 0, 1, 1, 0, 0, 2, 0]
    assert found.error == pytest.approx((2 * 0.4 + 0.4 + 0.5) / 4)
    assert np.isnan(found.accuracy[0]) and found.accuracy[8] == 0.5


def test_perfect_calibration_has_no_error():
    rng = np.random.default_rng(4)
    confidence = rng.uniform(0.5, 1, 200_000)
    truth = (rng.random(200_000) > confidence).astype(int)
    found = scores.calibration(np.stack([confidence, 1 - confidence], 1), truth)
    assert found.error < 0.01


def test_probabilities_are_those_of_the_mean_logits():
    logits = np.array([[[2.0, 0.0], [0.0, 0.0]]])
    assert scores.probabilities(logits)[0] == pytest.approx([np.e / (1 + np.e), 1 / (1 + np.e)])
    assert scores.probabilities(1e4 * logits)[0].tolist() == [1.0, 0.0]
