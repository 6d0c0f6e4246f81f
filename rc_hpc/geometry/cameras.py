"""Cameras: rotations from ASE strings, view directions or matrices, and places of pinholes.

A camera is a proper rotation R (3, 3). The screen coordinates of a row vector x are
columns 0 (right) and 1 (up) of ``x @ R``; column 2 is the depth, larger is nearer, so
the third column of R is the view direction d. That is an orthographic camera. A pinhole
camera at C shows x at the first two columns of ``f (x - C) @ R`` divided by its depth
``-(x - C) @ d``: as the orthographic one does near the plane of depth f, from afar.
"""

from __future__ import annotations

import re

import numpy as np

from rc_hpc.core.errors import UsageError

_ITEM = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)([xyz])")


def rotation_from_string(text: str) -> np.ndarray:
    """Rotation matrix of an ASE rotation string such as ``-60x,-30y,-15z``.

    Items are applied left to right: R starts as the identity and is multiplied from
    the right by each elementary matrix, as `ase.utils.rotate` does.

    Returns
    -------
    (3, 3) float64
    """
    rotation = np.eye(3)
    for item in text.replace(" ", "").split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise UsageError(
                f"rotation string {text!r}: cannot read {item!r}; expected degrees and an "
                "axis, as in '-60x,-30y,-15z'"
            )
        angle = np.radians(float(match[1]))
        c, s = np.cos(angle), np.sin(angle)
        elementary = {
            "x": ((1, 0, 0), (0, c, s), (0, -s, c)),
            "y": ((c, 0, -s), (0, 1, 0), (s, 0, c)),
            "z": ((c, s, 0), (-s, c, 0), (0, 0, 1)),
        }[match[2]]
        rotation = rotation @ np.array(elementary, dtype=float)
    return rotation


def rotation_from_direction(direction, up=(0.0, 0.0, 1.0)) -> np.ndarray:
    """Rotation whose view direction is `direction` with `up` upwards on the screen.

    Parameters
    ----------
    direction, up : (3,) array_like
        Cartesian vectors of any length. Where `up` is parallel to `direction`, y is taken.

    Returns
    -------
    (3, 3) float64
    """
    d = _unit(direction, "direction")
    side = np.cross(_unit(up, "up"), d)
    if np.linalg.norm(side) < 1e-9:
        side = np.cross((0.0, 1.0, 0.0), d)
        if np.linalg.norm(side) < 1e-9:
            side = np.array((1.0, 0.0, 0.0))
    right = side / np.linalg.norm(side)
    return np.column_stack((right, np.cross(d, right), d))


def rotation_from_matrix(matrix) -> np.ndarray:
    """Check that `matrix` (3, 3) is a proper rotation and return the exact rotation nearest to it.

    Returns
    -------
    (3, 3) float64
        Orthonormal to rounding: with the digits of a printed matrix, rays of one atom would
        miss each other by more than numerical zero.
    """
    rotation = np.array(matrix, dtype=float)
    if rotation.shape != (3, 3) or not np.isfinite(rotation).all():
        raise UsageError("a camera matrix needs three rows of three finite numbers")
    if np.abs(rotation.T @ rotation - np.eye(3)).max() > 1e-8 or np.linalg.det(rotation) < 0:
        raise UsageError(
            "a camera matrix must be a proper rotation: orthonormal columns (right, up, "
            "direction), determinant +1"
        )
    if np.abs(rotation.T @ rotation - np.eye(3)).max() < 1e-15:
        return rotation
    left, _, right = np.linalg.svd(rotation)
    return left @ right


def pinhole_centre(rotation, distance=None, position=None) -> np.ndarray:
    """Where a pinhole camera is, (3,) Å.

    `distance` from the origin along the view direction, or at `position`; NaN for an orthographic
    one.
    """
    if position is not None:
        centre = np.asarray(position, float)
        if centre.shape != (3,) or not np.isfinite(centre).all():
            raise UsageError(f"camera position {position!r}: expected three finite numbers, in Å")
        return centre
    if distance is None:
        return np.full(3, np.nan)
    if (
        isinstance(distance, bool)
        or not isinstance(distance, int | float)
        or not 0 < distance < np.inf
    ):
        raise UsageError(
            f"camera distance {distance!r}: expected a positive number of Å from the origin"
        )
    return float(distance) * np.asarray(rotation)[:, 2]


def kappa(direction_a, direction_b) -> float:
    """Conditioning of two views: 2-norm of the pseudo-inverse of their stacked projections.

    Closed form 1/sqrt(1 - abs(cos theta)), theta the angle between the view lines;
    infinite for parallel ones.
    """
    cosine = abs(float(np.dot(_unit(direction_a, "direction"), _unit(direction_b, "direction"))))
    # sin^2(theta) from the cross product: 1 - cos loses all digits near parallel.
    sine2 = float(np.sum(np.cross(_unit(direction_a, "d"), _unit(direction_b, "d")) ** 2))
    return np.inf if sine2 < 1e-24 else float(np.sqrt((1.0 + cosine) / sine2))


def _unit(vector, what: str) -> np.ndarray:
    v = np.asarray(vector, dtype=float)
    if v.shape != (3,) or not np.isfinite(v).all() or np.linalg.norm(v) < 1e-12:
        raise UsageError(f"camera {what} {vector!r}: expected three finite numbers, not all zero")
    return v / np.linalg.norm(v)
