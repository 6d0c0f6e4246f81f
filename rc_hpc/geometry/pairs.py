"""What the kernels need to know of the cameras, as plain arrays."""

from __future__ import annotations

import numpy as np

from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kernels.records import Cameras, PairFrames, Pinholes


def cameras_of(protocol: Protocol) -> Cameras:
    """Cameras of a protocol and their independent pairs, in camera order."""
    kappas = protocol.kappas()
    return Cameras(
        np.ascontiguousarray(protocol.rotations),
        np.array(list(kappas), dtype=np.int64).reshape(-1, 2),
        np.array(list(kappas.values()), dtype=np.float64),
    )


def pair_frames(protocol: Protocol) -> PairFrames:
    """Frames of all independent pairs of a protocol of orthographic cameras, in camera order.

    Raises
    ------
    UsageError
        The protocol has pinhole cameras.
    """
    protocol.require_orthographic("frames of pairs")
    pairs = protocol.pairs()
    rotations, directions = protocol.rotations, protocol.directions
    count = len(pairs)
    frames = PairFrames(
        np.empty((count, 3)),
        np.empty((count, 2, 2)),
        np.empty((count, 2, 2)),
        np.empty((count, 2, 3)),
    )
    for p, (v, w) in enumerate(pairs):
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


def pinholes_of(protocol: Protocol) -> Pinholes:
    """Where the cameras of a protocol stand, some of which are pinholes."""
    centres = np.asarray(protocol.centres, dtype=np.float64)
    return Pinholes(np.nan_to_num(centres), protocol.pinhole, protocol.focal)


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
