"""Normal equations of sites and frame from the marks that the sites' copies meet."""

import numpy as np
from numba import njit


@njit(cache=True)
def normal_equations(positions, rows, trust, marks, plain, scales, origins, lattice, tiles):
    """One step's normal equations, the sites apart from the frame.

    The frame's parameters are the V origins (u, v), the V scales, and the lattice vectors row by
    row. A copy in tile t of a site at x is seen at ``origin + scale * plain @ (x + t @ lattice)``.

    Parameters
    ----------
    positions : (n, 3) float64
        Å.
    rows : (n, V, T) int32
        Marks met; negative where there is none.
    trust : (n, V, T) float64
        Weight of each beside that of its covariance.
    marks : MarkSet
    plain : (V, 2, 3) float64
        u and v of a position at unit scale.
    scales : (V,) float64
        px/Å.
    origins : (V, 2) float64
        px.
    lattice : (3, 3), tiles : (T, 3)

    Returns
    -------
    site : (n, 3, 3), mixed : (n, 3, F), frame : (F, F)
        Blocks of the left side.
    right_site : (n, 3), right_frame : (F,)
    square : float
        Sum of misfits squared before the step.
    count : int
        Marks met.
    """
    n_views, n_tiles = rows.shape[1], rows.shape[2]
    n_frame = 3 * n_views + 9
    n = len(positions)
    site, mixed = np.zeros((n, 3, 3)), np.zeros((n, 3, n_frame))
    frame = np.zeros((n_frame, n_frame))
    right_site, right_frame = np.zeros((n, 3)), np.zeros(n_frame)
    square, count = 0.0, 0
    slope = np.zeros((2, n_frame))
    at = np.empty(3)
    touched = np.empty(12, np.int64)
    for c in range(n):
        for view in range(n_views):
            k = scales[view]
            for t in range(n_tiles):
                m = rows[c, view, t]
                if m < 0:
                    continue
                for axis in range(3):
                    at[axis] = positions[c, axis]
                    for vector in range(3):
                        at[axis] += tiles[t, vector] * lattice[vector, axis]
                misfit = np.empty(2)
                for i in range(2):
                    plane = 0.0
                    for axis in range(3):
                        plane += plain[view, i, axis] * at[axis]
                    misfit[i] = marks.centres[m, i] - origins[view, i] - k * plane
                    slope[i, 2 * view + i] = 1.0
                    slope[i, 2 * view + 1 - i] = 0.0
                    slope[i, 2 * n_views + view] = plane
                    for vector in range(3):
                        for axis in range(3):
                            slope[i, 3 * n_views + 3 * vector + axis] = (
                                k * tiles[t, vector] * plain[view, i, axis]
                            )
                touched[0], touched[1], touched[2] = 2 * view, 2 * view + 1, 2 * n_views + view
                for e in range(9):
                    touched[3 + e] = 3 * n_views + e
                uu, uv, vv = marks.covariance[m]
                det = (uu * vv - uv * uv) / trust[c, view, t]
                weight = ((vv / det, -uv / det), (-uv / det, uu / det))
                square += (
                    weight[0][0] * misfit[0] ** 2
                    + 2.0 * weight[0][1] * misfit[0] * misfit[1]
                    + weight[1][1] * misfit[1] ** 2
                )
                count += 1
                for i in range(2):
                    for j in range(2):
                        w = weight[i][j]
                        for a in range(3):
                            left = w * k * plain[view, i, a]
                            right_site[c, a] += left * misfit[j]
                            for b in range(3):
                                site[c, a, b] += left * k * plain[view, j, b]
                            for f in touched:
                                mixed[c, a, f] += left * slope[j, f]
                        for f in touched:
                            left = w * slope[i, f]
                            if left != 0.0:
                                right_frame[f] += left * misfit[j]
                                for g in touched:
                                    frame[f, g] += left * slope[j, g]
    return site, mixed, frame, right_site, right_frame, square, count


@njit(cache=True)
def mark_misfits(positions, rows, marks, plain, scales, origins, lattice, tiles):
    """Misfit squared of every mark met, in units of its variance, (n, V, T); -1 where none is.

    Parameters
    ----------
    positions, rows, marks, plain, scales, origins, lattice, tiles
        See `normal_equations`.
    """
    misfits = np.full(rows.shape, -1.0)
    at, off = np.empty(3), np.empty(2)
    for c in range(rows.shape[0]):
        for view in range(rows.shape[1]):
            for t in range(rows.shape[2]):
                m = rows[c, view, t]
                if m < 0:
                    continue
                for axis in range(3):
                    at[axis] = positions[c, axis]
                    for vector in range(3):
                        at[axis] += tiles[t, vector] * lattice[vector, axis]
                for i in range(2):
                    plane = 0.0
                    for axis in range(3):
                        plane += plain[view, i, axis] * at[axis]
                    off[i] = marks.centres[m, i] - origins[view, i] - scales[view] * plane
                uu, uv, vv = marks.covariance[m]
                misfits[c, view, t] = (
                    off[0] ** 2 * vv - 2.0 * off[0] * off[1] * uv + off[1] ** 2 * uu
                ) / (uu * vv - uv * uv)
    return misfits
