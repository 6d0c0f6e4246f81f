"""Rotations that map a lattice onto itself, over a reduced basis."""

import numpy as np
from numba import njit


@njit(cache=True)
def _order_and_axis(whole, axis):
    """Order of the proper part of a whole matrix, 0 where it has none; fills its axis."""
    proper = whole * int(np.rint(np.linalg.det(whole.astype(np.float64))))
    power, total = proper.copy(), np.eye(3).astype(np.int64)
    order = 0
    for n in range(1, 7):
        same = True
        for i in range(3):
            for j in range(3):
                if power[i, j] != (1 if i == j else 0):
                    same = False
        if same:
            order = n
            break
        total += power
        after = np.zeros((3, 3), np.int64)
        for i in range(3):
            for j in range(3):
                for k in range(3):
                    after[i, j] += power[i, k] * proper[k, j]
        power = after
    # The sum of the powers maps everything onto the axis.
    best = 0
    for i in range(1, 3):
        if np.abs(total[i]).sum() > np.abs(total[best]).sum():
            best = i
    divisor = 0
    for j in range(3):
        a, b = abs(total[best, j]), divisor
        while b:
            a, b = b, a % b
        divisor = a
    sign = 0
    for j in range(3):
        if sign == 0 and total[best, j] != 0:
            sign = 1 if total[best, j] > 0 else -1
    for j in range(3):
        axis[j] = sign * total[best, j] // max(divisor, 1)
    return order


@njit(cache=True)
def _angle(a, b, lengths, i, j):
    cosine = (a * b).sum() / (lengths[i] * lengths[j])
    return np.degrees(np.arccos(min(1.0, max(-1.0, cosine))))


@njit(cache=True)
def whole_rotations(reduced, length_within, angle_within):
    """Matrices of -1, 0 and 1 that keep the lengths and angles of a basis.

    Parameters
    ----------
    reduced : (3, 3) float64
        Å.
    length_within : float
        Å.
    angle_within : float
        Degrees.

    Returns
    -------
    matrices : (N, 3, 3) int64
        Of a finite order, proper and improper.
    order : (N,) int64
        Of the proper part.
    axis : (N, 3) int64
        Its axis, one for parallel ones.
    off : (N, 2) float64
        By how much lengths (Å) and angles (degrees) differ at most.
    """
    rows = np.empty((26, 3), np.int64)
    count = 0
    for a in range(-1, 2):
        for b in range(-1, 2):
            for c in range(-1, 2):
                if a or b or c:
                    rows[count, 0], rows[count, 1], rows[count, 2] = a, b, c
                    count += 1
    vectors = rows.astype(np.float64) @ reduced
    lengths = np.sqrt((vectors**2).sum(axis=1))
    own = np.sqrt((reduced**2).sum(axis=1))
    wanted = np.empty(3)
    for n in range(3):
        i, j = (0, 1) if n == 0 else ((0, 2) if n == 1 else (1, 2))
        wanted[n] = _angle(reduced[i], reduced[j], own, i, j)
    matrices = np.empty((64, 3, 3), np.int64)
    order, axis = np.empty(64, np.int64), np.empty((64, 3), np.int64)
    off = np.empty((64, 2))
    count = 0
    whole = np.empty((3, 3), np.int64)
    for a in np.flatnonzero(np.abs(lengths - own[0]) < length_within):
        whole[0] = rows[a]
        for b in np.flatnonzero(np.abs(lengths - own[1]) < length_within):
            worst = abs(_angle(vectors[a], vectors[b], lengths, a, b) - wanted[0])
            if worst > angle_within:
                continue
            whole[1] = rows[b]
            for c in np.flatnonzero(np.abs(lengths - own[2]) < length_within):
                second = abs(_angle(vectors[a], vectors[c], lengths, a, c) - wanted[1])
                third = abs(_angle(vectors[b], vectors[c], lengths, b, c) - wanted[2])
                if max(second, third) > angle_within:
                    continue
                whole[2] = rows[c]
                if abs(abs(np.linalg.det(whole.astype(np.float64))) - 1) > 0.1:
                    continue
                if count == order.size:
                    matrices = np.concatenate((matrices, np.empty_like(matrices)))
                    order = np.concatenate((order, np.empty_like(order)))
                    axis = np.concatenate((axis, np.empty_like(axis)))
                    off = np.concatenate((off, np.empty_like(off)))
                turns = _order_and_axis(whole, axis[count])
                if turns == 0:
                    continue
                matrices[count], order[count] = whole, turns
                off[count, 0] = max(
                    abs(lengths[a] - own[0]), abs(lengths[b] - own[1]), abs(lengths[c] - own[2])
                )
                off[count, 1] = max(worst, second, third)
                count += 1
    return matrices[:count], order[:count], axis[:count], off[:count]
