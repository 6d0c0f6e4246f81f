"""What pictures determine, as it stands in the file that tells it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ceiling:
    """One reading of the pictures over the questions of a set.

    Attributes
    ----------
    name
        How they are read, in words.
    known : (n,) bool
        Questions of which the file tells.
    determined : (n,) bool
        One option is left.
    expected : (n,) float64
        Score of a reader who draws evenly among the options left.
    """

    name: str
    known: np.ndarray
    determined: np.ndarray
    expected: np.ndarray
