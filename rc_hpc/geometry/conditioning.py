"""How cameras amplify errors of image points, and what errors a reconstruction survives.

A pair's kappa is the largest factor by which the stacked error of its two image points
grows into the error of the point they fix. The same 2-norm for all views together is the
gain of their least-squares position.
"""

from __future__ import annotations

import numpy as np

from rc_hpc.geometry.protocol import Protocol


def separation_angles(protocol: Protocol) -> dict[tuple[int, ...], float]:
    """Acute angle between the view lines of every independent pair, degrees."""
    d = protocol.directions
    return {
        (v, w): float(
            np.degrees(np.arctan2(np.linalg.norm(np.cross(d[v], d[w])), abs(d[v] @ d[w])))
        )
        for v, w in protocol.pairs()
    }


def stacked_projection(protocol: Protocol, views) -> np.ndarray:
    """Projection of a point to its screen coordinates in several views, (2 k, 3)."""
    return np.concatenate([protocol.rotations[v][:, :2].T for v in views])


def gain(protocol: Protocol, views) -> float:
    """2-norm of the pseudo-inverse of the stacked projections of several views.

    The kappa of a pair. The least-squares position is off by at most the gain times the
    length of the stacked error; errors of sigma a coordinate make its largest standard
    deviation in space gain times sigma. Infinite where all views are parallel.
    """
    smallest = np.linalg.svd(stacked_projection(protocol, views), compute_uv=False)[-1]
    return float(1.0 / smallest) if smallest > 1e-9 else np.inf


def distribution(protocol: Protocol) -> dict[str, float]:
    """max, min, median and mean of kappa over the independent pairs, and the gain of all views."""
    values = np.array(list(protocol.kappas().values()))
    return {
        "max": float(values.max()),
        "min": float(values.min()),
        "median": float(np.median(values)),
        "mean": float(values.mean()),
        "all_views": gain(protocol, range(len(protocol.views))),
    }


def amplification(protocol: Protocol, views, trials: int = 20_000, seed: int = 0) -> np.ndarray:
    """Measured factors by which random stacked errors of unit length grow into position errors.

    The check of `gain`: none exceeds it, the largest comes near it.

    Returns
    -------
    (trials,) float64
    """
    errors = np.random.default_rng(seed).standard_normal((trials, 2 * len(views)))
    errors /= np.linalg.norm(errors, axis=1, keepdims=True)
    stacked = stacked_projection(protocol, views)
    moved = np.linalg.lstsq(stacked, errors.T, rcond=None)[0]
    return np.linalg.norm(moved, axis=0)


def record_budget(separation, tau: float, kappa: float) -> np.ndarray:
    """The record's predicted tolerance (d_min - tau) / (2 kappa), Å.

    Parameters
    ----------
    separation : array_like
        Smallest same-species distance of each structure, Å; infinite where there is no pair.
    """
    return np.maximum(np.asarray(separation, float) - tau, 0.0) / (2.0 * kappa)


def certain_budget(separation, tau: float, gain: float, n_views: int) -> np.ndarray:
    """Largest centroid error at which no position can be mistaken for a neighbour's, Å.

    If every centroid lies within eps of its true place, the stacked error of n views is at
    most ``sqrt(n) eps`` long and every position lies within ``gain sqrt(n) eps`` of its
    atom. Atoms stay apart while that is at most half of what separates them beyond tau.

    Parameters
    ----------
    separation : array_like
        Smallest same-species distance, Å.
    gain : float
        Of the views that fix a position, see `gain`.
    n_views : int
        Their number: 2 for a pair.
    """
    return record_budget(separation, tau, gain) / np.sqrt(n_views)


def probable_budget(
    separation, tau: float, covariance, n_atoms, failure: float = 0.05
) -> np.ndarray:
    """Largest sigma at which all positions of a crystal stay apart with a given probability, Å.

    Centroid errors are Gaussian, sigma a coordinate, so a position's error is Gaussian with
    sigma^2 times `covariance`. Its length exceeds half the free separation with at most the
    chi-square probability of its worst direction; a union bound over the atoms shares the
    chance of failure.

    Parameters
    ----------
    separation : array_like
        Smallest same-species distance, Å.
    covariance : (3, 3) array_like
        Of a position, per sigma^2 of a screen coordinate: `least_squares_inverse` of the views
        that fix it.
    n_atoms : array_like
        Atoms of each crystal.
    failure : float
        Accepted chance that any position of a crystal is farther off.
    """
    from scipy.special import chdtri

    worst = np.sqrt(np.linalg.eigvalsh(np.asarray(covariance, float))[-1])
    return record_budget(separation, tau, worst) / np.sqrt(
        chdtri(3, failure / np.asarray(n_atoms, float))
    )
