"""Sites and frame together, as the marks have them: Gauss-Newton with covariances."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from rc_hpc.kernels.bundle import mark_misfits, normal_equations
from rc_hpc.reader.frame import Frame, rows_of
from rc_hpc.reader.marked import Marked

#: Standard error of what the marks alone leave free, px and px/Å: weak, lest it drift.
LOOSE = 10.0
#: Steps at most, and the largest movement of the last one, px.
STEPS, SETTLED = 8, 1e-6
#: Misfit at which a mark's weight is halved, in usual ones, least variance of the usual ones in
#: units of what is claimed, and rounds of weighing.
OUTLIER, LEAST_USUAL, ROUNDS = 3.0, 0.05, 12
#: Median of chi^2 with two degrees of freedom.
CHI2_MEDIAN = 1.386


@dataclass(frozen=True, eq=False)
class Bundle:
    """Sites and frame after adjustment.

    Attributes
    ----------
    frame : Frame
    positions : (n, 3) float64
        Å.
    sigma : (n,) float64
        Standard error of each position along its worst direction, Å; common movement and common
        stretch, which change no label, are held.
    lattice_covariance : (9, 9) float64
        Of the vectors, row by row, Å^2; the same is held.
    misfit : float
        Root mean square of the misfits, in standard errors of the marks.
    """

    frame: Frame
    positions: np.ndarray
    sigma: np.ndarray
    lattice_covariance: np.ndarray
    misfit: float


def adjusted(
    marked: Marked,
    frame: Frame,
    positions: np.ndarray,
    rows: np.ndarray,
    scales: np.ndarray,
    scale_sigma: np.ndarray,
    free: bool = True,
) -> Bundle:
    """As `adjust`, marks that most others contradict weighing less (Cauchy's weights).

    How large misfits are is told by their median: covariances are known up to a factor only.
    """
    trust = np.ones(rows.shape)
    bundle = adjust(marked, frame, positions, rows, scales, scale_sigma, free, trust)
    for _ in range(ROUNDS):
        misfits = _misfits(marked, bundle, rows)
        usual = max(np.median(misfits[rows >= 0]) / CHI2_MEDIAN, LEAST_USUAL)
        before, trust = trust, 1.0 / (1.0 + np.maximum(misfits, 0.0) / (OUTLIER**2 * usual))
        bundle = adjust(
            marked, bundle.frame, bundle.positions, rows, scales, scale_sigma, free, trust
        )
        if np.abs(trust - before).max(initial=0.0) < 0.02:
            break
    return bundle


def usual_variance(marked: Marked, bundle: Bundle, rows: np.ndarray) -> float:
    """Variance of the marks about a bundle, in units of what they claim, by the median misfit."""
    misfits = _misfits(marked, bundle, rows)[rows >= 0]
    return float(np.median(misfits) / CHI2_MEDIAN)


def _misfits(marked: Marked, bundle: Bundle, rows: np.ndarray) -> np.ndarray:
    frame = bundle.frame
    plain = rows_of(frame.rotations, np.ones(len(frame.scales)))
    misfits: np.ndarray = mark_misfits(
        bundle.positions, rows, marked.marks, plain, frame.scales, frame.origins,
        frame.lattice, frame.tiles.astype(float),
    )  # fmt: skip
    return misfits


def adjust(
    marked: Marked,
    frame: Frame,
    positions: np.ndarray,
    rows: np.ndarray,
    scales: np.ndarray,
    scale_sigma: np.ndarray,
    free: bool = True,
    trust: np.ndarray | None = None,
) -> Bundle:
    """Adjust positions, origins, lattice and scales to the marks met.

    Parameters
    ----------
    rows : (n, V, T) int32
        See `rc_hpc.kernels.copies.support`.
    scales, scale_sigma : (V,) float64
        What is known of the scales, and its standard error, px/Å.
    free
        Whether the frame may move; otherwise the positions alone.
    trust : (n, V, T) float64
        Weights of the marks beside those of their covariances; default: 1.
    """
    trust = np.ones(rows.shape) if trust is None else trust
    n_views = len(frame.scales)
    plain = rows_of(frame.rotations, np.ones(n_views))
    tiles = frame.tiles.astype(float)
    hold = _held(plain, frame.scales)
    n_frame = 3 * n_views + 9
    prior = np.zeros(n_frame)
    prior[: 2 * n_views] = LOOSE**-2
    prior[2 * n_views : 3 * n_views] = np.maximum(scale_sigma, 1e-9) ** -2.0
    start_origins = frame.origins
    for _ in range(STEPS):
        site, mixed, left, right_site, right, square, count = normal_equations(
            positions, rows, trust, marked.marks, plain, frame.scales, frame.origins,
            frame.lattice, tiles,
        )  # fmt: skip
        site = site + 1e-9 * np.eye(3) * frame.scales.mean() ** 2
        inverse = np.linalg.inv(site)
        if not free:
            positions = positions + np.einsum("nab,nb->na", inverse, right_site)
            break
        gain = np.einsum("nab,nbf->naf", inverse, mixed)
        reduced = left - np.einsum("naf,nag->fg", mixed, gain) + hold + np.diag(prior)
        toward = np.concatenate(
            ((start_origins - frame.origins).ravel(), scales - frame.scales, np.zeros(9))
        )
        step = np.linalg.solve(
            reduced, right - np.einsum("naf,na->f", gain, right_site) + prior * toward
        )
        moved = np.einsum("nab,nb->na", inverse, right_site) - gain @ step
        positions = positions + moved
        frame = dataclasses.replace(
            frame,
            origins=frame.origins + step[: 2 * n_views].reshape(-1, 2),
            scales=frame.scales + step[2 * n_views : 3 * n_views],
            lattice=frame.lattice + step[3 * n_views :].reshape(3, 3),
        )
        if np.abs(moved).max(initial=0.0) * frame.scales.mean() < SETTLED:
            break
    misfit = float(np.sqrt(square / max(1, 2 * count - 3 * len(positions))))
    if not free:
        sigma = np.sqrt(np.linalg.eigvalsh(inverse)[:, -1])
        return Bundle(frame, positions, sigma, np.zeros((9, 9)), misfit)
    # The stretch of the whole, which only the radii tell, changes no label: it is held.
    stretch = np.zeros(n_frame)
    stretch[2 * n_views : 3 * n_views] = frame.scales / np.linalg.norm(frame.scales)
    covariance = np.linalg.inv(reduced + 1e8 * np.outer(stretch, stretch))
    spread = inverse + np.einsum("naf,fg,nbg->nab", gain, covariance, gain)
    return Bundle(
        frame,
        positions,
        np.sqrt(np.maximum(np.linalg.eigvalsh(spread)[:, -1], 0.0)),
        covariance[3 * n_views :, 3 * n_views :],
        misfit,
    )


def _held(plain: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """What holds the common movement of all pictures, which no mark can tell, (F, F)."""
    n_views = len(plain)
    pull = np.zeros((3, 3 * n_views + 9))
    for view in range(n_views):
        pull[:, 2 * view : 2 * view + 2] = plain[view].T / scales[view]
    return 1e8 * scales.mean() ** 2 * pull.T @ pull
