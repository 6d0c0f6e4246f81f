"""What discs hide of each other, and reading pictures from which centres are missing."""

import numpy as np
from numba import njit

from rc_hpc.kernels.merge import merge_by_image_points
from rc_hpc.kernels.records import ImagePoints
from rc_hpc.kernels.search import height2, lower_bound, nearest2, stable_order


@njit(cache=True)
def hidden_centres(screen, depth, radii, orbit, tie):
    """Which disc centres lie under a nearer disc.

    Parameters
    ----------
    screen : (V, n, 2) float64
        Disc centres, Å.
    depth : (V, n) float64
        Å; larger is nearer.
    radii : (n,) float64
        Å.
    orbit : (n,) int64
        Symmetry orbit of each disc's atom.
    tie : float
        A disc is nearer, and a centre inside it, by more than this, Å.

    Returns
    -------
    occluded, redundant : (V, n) bool
        `redundant` where one of the nearer discs is of the same orbit.
    """
    n_views, n = depth.shape
    occluded = np.zeros((n_views, n), np.bool_)
    redundant = np.zeros((n_views, n), np.bool_)
    reach = 0.0
    for k in range(n):
        reach = max(reach, radii[k])
    for v in range(n_views):
        heights = np.empty(n)
        for k in range(n):
            heights[k] = height2(screen[v, k, 0], screen[v, k, 1])
        order = stable_order(heights)
        for a in range(n):
            i = order[a]
            for step in (1, -1):
                b = a + step
                while 0 <= b < n and abs(heights[order[b]] - heights[i]) < reach:
                    j = order[b]
                    b += step
                    inner = radii[j] - tie
                    if depth[v, j] - depth[v, i] <= tie or inner <= 0.0:
                        continue
                    dx, dy = screen[v, j, 0] - screen[v, i, 0], screen[v, j, 1] - screen[v, i, 1]
                    if dx * dx + dy * dy < inner * inner:
                        occluded[v, i] = True
                        if orbit[i] == orbit[j]:
                            redundant[v, i] = True
    return occluded, redundant


@njit(cache=True)
def shown_points(images, shown):
    """Those image points (V, n) only that each view shows, in their order.

    Parameters
    ----------
    images : ImagePoints
    shown : (V, n) bool

    Returns
    -------
    ImagePoints
    """
    n_views, n_species = images.starts.shape[0], images.starts.shape[1] - 1
    screen = np.empty_like(images.screen)
    starts = np.zeros_like(images.starts)
    for v in range(n_views):
        filled = 0
        for s in range(n_species):
            for k in range(images.starts[v, s], images.starts[v, s + 1]):
                if shown[v, k]:
                    screen[v, filled, 0] = images.screen[v, k, 0]
                    screen[v, filled, 1] = images.screen[v, k, 1]
                    filled += 1
            starts[v, s + 1] = filled
    return ImagePoints(screen, starts, images.species)


@njit(cache=True)
def points_near(candidates, asked, points, rotations, reach):
    """Where an image point of the species lies within `reach` of a candidate's image.

    Parameters
    ----------
    candidates : Candidates
    asked : (C, V) bool
        Elsewhere the answer is no.
    points : SortedPoints
    rotations : (V, 3, 3) float64
    reach : float
        Å.

    Returns
    -------
    (C, V) bool
    """
    position = candidates.position
    near = np.zeros(asked.shape, np.bool_)
    for c in range(asked.shape[0]):
        for v in range(asked.shape[1]):
            if asked[c, v]:
                x, y = _seen(position[c, 0], position[c, 1], position[c, 2], rotations[v])
                s = candidates.species[c]
                low, high = points.starts[v, s], points.starts[v, s + 1]
                row, _ = nearest2(points.heights[v], points.screen[v], low, high, x, y, reach)
                near[c, v] = row >= 0
    return near


@njit(cache=True)
def _seen(x, y, z, rotation):
    return (
        x * rotation[0, 0] + y * rotation[1, 0] + z * rotation[2, 0],
        x * rotation[0, 1] + y * rotation[1, 1] + z * rotation[2, 1],
    )


@njit(cache=True)
def spots_covered(position, asked, shifts, screen, radii, shown, rotations, tie):
    """Where every copy of a place lies under a disc that the picture shows.

    Parameters
    ----------
    position : (C, 3) float64
        Å.
    asked : (C, V) bool
        Elsewhere the answer is no.
    shifts : (T, 3) float64
        From the cell to its copies in the picture, Å.
    screen : (V, n, 2), radii : (n,) float64
        Drawn discs, Å.
    shown : (V, n) bool
        Discs whose detection is there; no other is looked at.
    rotations : (V, 3, 3) float64
    tie : float
        A spot this near to a disc is under it, Å.

    Returns
    -------
    (C, V) bool
    """
    covered = np.zeros(asked.shape, np.bool_)
    for v in range(asked.shape[1]):
        own = np.flatnonzero(shown[v])
        heights = np.empty(own.size)
        reach = 0.0
        for k in range(own.size):
            heights[k] = height2(screen[v, own[k], 0], screen[v, own[k], 1])
            reach = max(reach, radii[own[k]] + tie)
        order = stable_order(heights)
        own, heights = own[order], heights[order]
        for c in range(asked.shape[0]):
            if not asked[c, v]:
                continue
            all_under = True
            for t in range(shifts.shape[0]):
                x, y = _seen(
                    position[c, 0] + shifts[t, 0],
                    position[c, 1] + shifts[t, 1],
                    position[c, 2] + shifts[t, 2],
                    rotations[v],
                )
                h = height2(x, y)
                k = lower_bound(heights, 0, own.size, h - reach)
                under = False
                while k < own.size and heights[k] <= h + reach and not under:
                    dx, dy = screen[v, own[k], 0] - x, screen[v, own[k], 1] - y
                    limit = radii[own[k]] + tie
                    under = dx * dx + dy * dy <= limit * limit
                    k += 1
                if not under:
                    all_under = False
                    break
            covered[c, v] = all_under
    return covered


@njit(cache=True)
def discs_painted(position, reach, asked, spots, screen, radii, ends, half_widths, rotations):
    """Where pictures have paint all over the disc that an atom at a place would have.

    Parameters
    ----------
    position : (C, 3), reach : (C,) float64
        Places, and radii of the discs looked at, Å.
    asked : (C, V) bool
        Elsewhere the answer is no.
    spots : (T, 2) float64
        Of a disc that are looked at, in radii.
    screen : (V, n, 2), radii : (n,) float64
        Drawn discs with their outlines, Å.
    ends : (V, m, 4), half_widths : (m,) float64
        Drawn lines from end to end, Å.
    rotations : (V, 3, 3) float64

    Returns
    -------
    (C, V) bool
    """
    painted = np.zeros(asked.shape, np.bool_)
    for c in range(asked.shape[0]):
        for v in range(asked.shape[1]):
            if not asked[c, v]:
                continue
            x, y = _seen(position[c, 0], position[c, 1], position[c, 2], rotations[v])
            whole = True
            for t in range(spots.shape[0]):
                u, w = x + reach[c] * spots[t, 0], y + reach[c] * spots[t, 1]
                if not (_on_disc(u, w, screen[v], radii) or _on_line(u, w, ends[v], half_widths)):
                    whole = False
                    break
            painted[c, v] = whole
    return painted


@njit(cache=True)
def _on_disc(x, y, screen, radii):
    for k in range(radii.size):
        dx, dy = screen[k, 0] - x, screen[k, 1] - y
        if dx * dx + dy * dy <= radii[k] * radii[k]:
            return True
    return False


@njit(cache=True)
def _on_line(x, y, ends, half_widths):
    for k in range(half_widths.size):
        dx, dy = ends[k, 2] - ends[k, 0], ends[k, 3] - ends[k, 1]
        length2 = dx * dx + dy * dy
        along = 0.0
        if length2 > 0.0:
            along = ((x - ends[k, 0]) * dx + (y - ends[k, 1]) * dy) / length2
            along = min(1.0, max(0.0, along))
        away_x, away_y = x - ends[k, 0] - along * dx, y - ends[k, 1] - along * dy
        if away_x * away_x + away_y * away_y <= half_widths[k] * half_widths[k]:
            return True
    return False


@njit(cache=True)
def chosen_by_dominance(live, candidates, kappa, views, n_points, tie):
    """Candidates that become atoms where views may miss some: dominance, fewer misses first.

    A candidate is dropped when, in every view that shows it, the image point nearest to it
    is also nearest to a better one: shown by more views, or by as many and with a worst
    residual over them that is smaller by more than `tie`. Of those left, the best of each
    combination of image points stays. Where no view misses any candidate this is the rule
    of `rc_hpc.kernels.merge`, and candidates that some view misses never displace others.

    Parameters
    ----------
    live : (L,) int64
        Accepted candidates, ascending.
    candidates : Candidates
        `nearest` is -1 in a view that does not show the candidate.
    kappa : (P,) float64
    views : (M,) int64
    n_points : int
        Image points of a view at most.
    tie : float
        Scale at which ties of residuals are judged, Å.

    Returns
    -------
    (N,) int64
        Ascending.
    """
    residual, nearest = candidates.residual, candidates.nearest
    worst = np.zeros(live.size)
    missed = np.zeros(live.size, np.int64)
    best_missed = np.full((views.size, n_points), views.size, np.int64)
    best_worst = np.full((views.size, n_points), np.inf)
    for k in range(live.size):
        c = live[k]
        for u in views:
            if nearest[c, u] < 0:
                missed[k] += 1
            else:
                worst[k] = max(worst[k], residual[c, u])
        for m in range(views.size):
            point = nearest[c, views[m]]
            if point < 0:
                continue
            if missed[k] < best_missed[m, point]:
                best_missed[m, point] = missed[k]
                best_worst[m, point] = worst[k]
            elif missed[k] == best_missed[m, point]:
                best_worst[m, point] = min(best_worst[m, point], worst[k])
    keep = np.zeros(live.size, np.bool_)
    for k in range(live.size):
        for m in range(views.size):
            point = nearest[live[k], views[m]]
            if (
                point >= 0
                and missed[k] == best_missed[m, point]
                and best_worst[m, point] >= worst[k] - tie
            ):
                keep[k] = True
                break
    return live[
        merge_by_image_points(live, worst, keep, nearest, views, candidates.pair, kappa, tie)
    ]
