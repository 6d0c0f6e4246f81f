"""Slow, obvious twin of the candidates of pinhole cameras; see `naive`.

A camera is (rotation, centre), the centre None for an orthographic one.
"""

from itertools import combinations

import numpy as np


def ray(camera, position):
    """A point of the ray through a position, and its unit vector into the scene."""
    rotation, centre = camera
    if centre is None:
        return position, -rotation[:, 2]
    away = position - centre
    return centre, away / np.linalg.norm(away)


def in_front(camera, point):
    """Whether a point is in front of a camera."""
    rotation, centre = camera
    return centre is None or (point - centre) @ rotation[:, 2] < 0


def from_ray(camera, position, point):
    """Distance of a point from the ray of a position; inf behind the camera."""
    origin, direction = ray(camera, position)
    away = point - origin
    return (
        np.linalg.norm(away - (away @ direction) * direction) if in_front(camera, point) else np.inf
    )


def through_a_camera(positions, cameras, pairs):
    """Whether a ray of a pair's one camera passes through the other's centre.

    Rays meet in that centre then, neither in front of it nor behind.
    """
    both = [*pairs, *((b, a) for a, b in pairs)]
    return any(
        np.linalg.norm(np.cross(ray(cameras[a], position)[1], cameras[b][1] - position)) < 1e-6
        for a, b in both
        if cameras[b][1] is not None
        for position in positions
    )


def candidates(positions, symbols, cameras, pairs, reach):
    """Candidates of each pair, as a double loop over the atoms meets them, species as listed.

    Returns
    -------
    list of (pair, i, j, point, gap, residuals, sine)
        `sine` of the angle between the two rays.
    """
    found = []
    for p, (a, b) in enumerate(pairs):
        for symbol in dict.fromkeys(symbols.tolist()):
            own = np.flatnonzero(symbols == symbol)
            for i in own:
                for j in own:
                    (o, d), (q, e) = ray(cameras[a], positions[i]), ray(cameras[b], positions[j])
                    sine = np.linalg.norm(np.cross(d, e))
                    if sine < 1e-6:
                        continue
                    s, t = np.linalg.lstsq(np.stack([d, -e], axis=1), q - o, rcond=None)[0]
                    on_a, on_b = o + s * d, q + t * e
                    gap, point = np.linalg.norm(on_a - on_b), (on_a + on_b) / 2
                    if (
                        gap > reach
                        or (cameras[a][1] is not None and s <= 0)
                        or (cameras[b][1] is not None and t <= 0)
                    ):
                        continue
                    residuals = [
                        min(from_ray(camera, positions[k], point) for k in own)
                        for camera in cameras
                    ]
                    found.append((p, i, j, point, gap, residuals, sine))
    return found


def sees_from_two_places(cameras):
    """Pairs of cameras whose rays can meet."""
    pairs = []
    for a, b in combinations(range(len(cameras)), 2):
        (r, c), (s, d) = cameras[a], cameras[b]
        if c is not None and d is not None:
            independent = np.linalg.norm(c - d) > 1e-6
        else:
            independent = (c is None) != (d is None) or np.linalg.norm(
                np.cross(r[:, 2], s[:, 2])
            ) > 1e-6
        if independent:
            pairs.append((a, b))
    return pairs
