"""Where the order of painting is a convention: things at one depth whose paint meets."""

from __future__ import annotations

import numpy as np

from rc_hpc.images.scene import DPI, Scene
from rc_hpc.images.view import View, depth_groups


def reaches(scene: Scene) -> np.ndarray:
    """How far paint may reach beyond a disc's radius and a segment's line, (n + m,), px.

    Half the line, and for a disc half a pixel's diagonal for antialiasing; a segment needs more:
    Agg also moves level and upright lines by up to a pixel along both axes, onto the middles of
    pixels.
    """
    disc, segment = (
        widths * DPI / 72 / 2 for widths in (scene.discs.edge_widths, scene.segments.widths)
    )
    return np.concatenate((disc + 0.5**0.5, ((segment + 1.5) ** 2 + 1.5**2) ** 0.5))


def tied_pairs(scene: Scene, view: View) -> np.ndarray:
    """Pairs of things at one depth whose paint may meet, (k, 2) int64.

    Only there can a picture depend on how ties are broken. Two segments count too: black over
    black rounds by the order in the blended pixels. Indices count the discs first, then the
    segments.
    """
    from scipy.spatial import KDTree

    n = len(view.radii)
    half = np.concatenate((np.zeros((n, 2)), view.halves))
    thick = reaches(scene)
    thick[:n] += view.radii
    order, group = depth_groups(view.depth)
    drawn = np.concatenate((np.ones(n, bool), ~scene.segments.hidden))[order]
    items, group = order[drawn], group[drawn]
    middle = np.concatenate((view.centres, view.middles))
    farthest = 2 * (np.linalg.norm(half, axis=1) + thick).max()
    # Depths as floors of a house, too high for a pair to span two.
    places = np.column_stack((middle[items], group * 2 * farthest))
    pairs = np.sort(
        items[KDTree(places).query_pairs(farthest, output_type="ndarray")].reshape(-1, 2), axis=1
    )
    meet = _gaps(middle[pairs], half[pairs]) < thick[pairs].sum(1)
    return pairs[meet][np.lexsort(pairs[meet].T[::-1])]


def tied_pixels(scene: Scene, view: View, pairs: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    """Which pixels the paint of both things of a tied pair may reach, (p,) bool.

    Parameters
    ----------
    pairs : (k, 2)
        Of `tied_pairs`.
    pixels : (p, 2)
        Rows and columns, from the top and the left.
    """
    n, thick = len(view.radii), reaches(scene)
    half = np.concatenate((np.zeros((n, 2)), view.halves))
    middle = np.concatenate((view.centres, view.middles))
    thick[:n] += view.radii
    points = np.asarray(pixels, float)[:, ::-1] + 0.5
    found = np.zeros(len(points), bool)
    for first, second in pairs:
        left = np.flatnonzero(~found)
        for item in (first, second):
            off = _to_line(points[left], middle[item][None], half[item][None])
            left = left[off <= thick[item]]
        found[left] = True
    return found


def _gaps(middle: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Distances between two lines each, by middles and halves (k, 2, 2); a disc is a point."""
    (a, b), (h, g) = middle.swapaxes(0, 1), half.swapaxes(0, 1)
    gap = np.min(
        [
            *(_to_line(a + sign * h, b, g) for sign in (-1, 1)),
            *(_to_line(b + sign * g, a, h) for sign in (-1, 1)),
        ],
        axis=0,
    )
    return np.where(_apart(a, b, h, g) & _apart(b, a, g, h), 0.0, gap)


def _to_line(points, middle, half) -> np.ndarray:
    length2 = (half**2).sum(1)
    along = ((points - middle) * half).sum(1) / np.where(length2 > 0, length2, 1.0)
    return np.linalg.norm(points - middle - np.clip(along, -1.0, 1.0)[:, None] * half, axis=1)


def _apart(a, b, h, g) -> np.ndarray:
    """Whether the ends b - g and b + g lie on two sides of the line through a along h."""
    side = [(h * ((b + sign * g - a)[:, ::-1] * (1, -1))).sum(1) for sign in (-1, 1)]
    return side[0] * side[1] < 0
