"""What the kernels need to know of each independent camera pair, as plain arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rc_hpc.geometry.protocol import Protocol


class PairFrames(NamedTuple):
    """Frames of P pairs, for triangulation without solving a system.

    With n the unit common normal of the pair's view directions and e_v = n x d_v, the
    rays of image points i (view v) and j (view w) run at heights ``t_i = u_i . normal_v``
    and ``t_j = u_j . normal_w`` along n. Their gap is abs(t_i - t_j) and the midpoint of
    closest approach is ``n (t_i + t_j)/2 + dual_v (u_i . side_v) + dual_w (u_j . side_w)``.

    Attributes
    ----------
    views : (P, 2) int64
    kappa : (P,) float64
    normal : (P, 3) float64
    screen_normal, screen_side : (P, 2, 2) float64
        n and e in the screen coordinates of each of the two views.
    dual : (P, 2, 3) float64
        Dual basis of (e_v, e_w) in the plane perpendicular to n.
    """

    views: np.ndarray
    kappa: np.ndarray
    normal: np.ndarray
    screen_normal: np.ndarray
    screen_side: np.ndarray
    dual: np.ndarray


def pair_frames(protocol: Protocol) -> PairFrames:
    """Frames of all independent pairs of a protocol of orthographic cameras, in camera order.

    Raises
    ------
    UsageError
        The protocol has pinhole cameras.
    """
    protocol.require_orthographic("frames of pairs")
    kappas = protocol.kappas()
    rotations, directions = protocol.rotations, protocol.directions
    count = len(kappas)
    frames = PairFrames(
        np.array(list(kappas), dtype=np.int64).reshape(count, 2),
        np.array(list(kappas.values())),
        np.empty((count, 3)),
        np.empty((count, 2, 2)),
        np.empty((count, 2, 2)),
        np.empty((count, 2, 3)),
    )
    for p, (v, w) in enumerate(kappas):
        normal = np.cross(directions[v], directions[w])
        normal /= np.linalg.norm(normal)
        frames.normal[p] = normal
        sides = [np.cross(normal, directions[x]) for x in (v, w)]
        for k, x in enumerate((v, w)):
            other = directions[w if k == 0 else v]
            frames.screen_normal[p, k] = normal @ rotations[x][:, :2]
            frames.screen_side[p, k] = sides[k] @ rotations[x][:, :2]
            frames.dual[p, k] = other / (other @ sides[k])
    return frames


class PinholePairs(NamedTuple):
    """Independent pairs of cameras of which some are pinholes, and what the kernels need of the cameras.

    Attributes
    ----------
    views : (P, 2) int64
    kappa : (P,) float64
        Of the rays to the origin.
    centres : (V, 3) float64
        Å; what stands there for an orthographic camera is not used.
    pinhole : (V,) bool
    focal : (V,) float64
        Å.
    """

    views: np.ndarray
    kappa: np.ndarray
    centres: np.ndarray
    pinhole: np.ndarray
    focal: np.ndarray


def pinhole_pairs(protocol: Protocol) -> PinholePairs:
    """Independent pairs of a protocol with pinhole cameras, in camera order."""
    kappas = protocol.kappas()
    return PinholePairs(
        np.array(list(kappas), dtype=np.int64).reshape(-1, 2),
        np.array(list(kappas.values())),
        np.nan_to_num(protocol.centres),
        protocol.pinhole,
        protocol.focal,
    )


def subset_masks(subsets) -> np.ndarray:
    """Bit masks of view subsets, (K,) int64: bit v is set where view v belongs."""
    return np.array([sum(1 << v for v in subset) for subset in subsets], dtype=np.int64)


def least_squares_inverse(protocol: Protocol, subsets) -> np.ndarray:
    """Inverse normal matrices of all-view least squares, (K, 3, 3).

    The normal matrix of a subset is the sum of its views' projectors 1 - d d^T; a subset
    whose views are all parallel gets zeros (it has no candidates either).
    """
    inverse = np.zeros((len(subsets), 3, 3))
    for k, subset in enumerate(subsets):
        d = protocol.directions[list(subset)]
        normal = len(subset) * np.eye(3) - d.T @ d
        if np.linalg.cond(normal) < 1e12:
            inverse[k] = np.linalg.inv(normal)
    return inverse
