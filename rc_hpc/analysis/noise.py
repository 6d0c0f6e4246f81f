"""Ceilings under centroid noise: curves, crossings and paired tests from per-structure outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.analysis.statistics import sign_test

if TYPE_CHECKING:
    import pandas as pd


def crossing(sigmas, accuracy, level: float = 0.95) -> float:
    """sigma at which a curve first falls below a level, linear between grid points, Å.

    Parameters
    ----------
    sigmas : (D,)
        Ascending.
    accuracy : (D,)

    Returns
    -------
    float
        NaN where the first point is below the level already, infinity where none is.
    """
    sigmas, accuracy = np.asarray(sigmas, float), np.asarray(accuracy, float)
    below = np.flatnonzero(accuracy < level)
    if below.size == 0:
        return np.inf
    k = int(below[0])
    if k == 0:
        return np.nan
    part = (accuracy[k - 1] - level) / (accuracy[k - 1] - accuracy[k])
    return float(sigmas[k - 1] + part * (sigmas[k] - sigmas[k - 1]))


def curve(sigmas, correct) -> pd.DataFrame:
    """Mean ceiling over seeds at every sigma.

    Parameters
    ----------
    correct : (D, N, M) bool
        By sigma, seed and structure.

    Returns
    -------
    DataFrame with sigma_angstrom, n, seeds, correct_mean (structures), accuracy and
    accuracy_sd (over seeds; missing for one).
    """
    import pandas as pd

    counts = np.asarray(correct, bool).sum(axis=2)
    n = np.shape(correct)[2]
    spread = counts.std(axis=1, ddof=1) / n if counts.shape[1] > 1 else np.full(len(counts), np.nan)
    return pd.DataFrame({
        "sigma_angstrom": np.asarray(sigmas, float), "n": n, "seeds": counts.shape[1],
        "correct_mean": counts.mean(axis=1), "accuracy": counts.mean(axis=1) / n, "accuracy_sd": spread,
    })


def paired(first, second) -> tuple[int, int, float]:
    """Structures that only one of two arms has right, and the exact sign test on them.

    A structure is right where more than half of the seeds are.

    Parameters
    ----------
    first, second : (N, M) bool
        By seed and structure, the same structures in both.

    Returns
    -------
    only_first, only_second, p
    """
    a, b = (2 * np.asarray(arm, bool).sum(axis=0) > np.shape(arm)[0] for arm in (first, second))
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    return only_a, only_b, sign_test(only_a, only_b)
