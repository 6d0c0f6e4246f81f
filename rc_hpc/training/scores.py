"""Scores of a pixel network from its logits: views joined in two ways, confusions, calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: How the views of a structure become one answer: largest mean logit, or most views.
RULES = ("mean-logit", "votes")
#: Bins of the calibration, of equal width.
BINS = 15


def view_answers(logits: np.ndarray) -> np.ndarray:
    """Class of each view; of logits (..., v, classes) gives (..., v)."""
    return np.asarray(logits).argmax(-1)


def answers(logits: np.ndarray, rule: str) -> np.ndarray:
    """Class of each structure; of logits (..., v, classes) gives (...).

    A tie of the votes goes to the class of the earliest view that voted for one of the tied.
    """
    logits = np.asarray(logits, dtype=np.float64)
    if rule == "mean-logit":
        return logits.mean(-2).argmax(-1)
    votes = view_answers(logits)
    counts = (votes[..., :, None] == votes[..., None, :]).sum(
        -1
    )  # of each view: views that agree with it
    first = counts.argmax(-1)  # argmax gives the earliest
    return np.take_along_axis(votes, first[..., None], -1)[..., 0]


def confusion(truth: np.ndarray, answer: np.ndarray, n_classes: int) -> np.ndarray:
    """Counts, (classes, classes) int64: rows are the truth, columns the answer."""
    counts = np.zeros((n_classes, n_classes), np.int64)
    np.add.at(counts, (truth, answer), 1)
    return counts


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Softmax of the mean logits of a structure; of (..., v, classes) gives (..., classes)."""
    mean = np.asarray(logits, dtype=np.float64).mean(-2)
    powers = np.exp(mean - mean.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@dataclass(frozen=True)
class Calibration:
    """How far stated confidence and accuracy agree.

    Attributes
    ----------
    count : (b,) int64
        Structures by confidence in bins of equal width from 0 to 1, upper ends included.
    confidence, accuracy : (b,) float64
        Mean of each bin; NaN in empty ones.
    error
        Expected calibration error: mean of their absolute difference, weighted by count.
    """

    count: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray
    error: float


def calibration(probability: np.ndarray, truth: np.ndarray, bins: int = BINS) -> Calibration:
    """Calibration of the answers with the largest probability.

    Parameters
    ----------
    probability : (n, classes)
    truth : (n,)
    """
    confidence, right = probability.max(-1), probability.argmax(-1) == truth
    which = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    count = np.bincount(which, minlength=bins)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(which, confidence, bins) / count
        accuracy = np.bincount(which, right, bins) / count
    error = (
        float(np.nansum(count * np.abs(mean - accuracy)) / count.sum())
        if count.sum()
        else float("nan")
    )
    return Calibration(count, mean, accuracy, error)
