"""Explanations: numbers of those of a level, by their ones, and some at random."""

import numpy as np
from numba import njit


@njit(cache=True)
def completions(rows, columns, most):
    """Ways to fill the last rows of a matrix so that no line is empty in the end.

    Parameters
    ----------
    rows, columns : int
    most : int
        Ones at most.

    Returns
    -------
    (rows + 1, columns + 1, most + 1) float64
        By rows that are left, columns that have a one so far, and ones of the rows that are left.
    """
    choose = np.zeros((columns + 1, columns + 1))
    for n in range(columns + 1):
        choose[n, 0] = 1.0
        for k in range(1, n + 1):
            choose[n, k] = choose[n - 1, k - 1] + choose[n - 1, k]
    ways = np.zeros((rows + 1, columns + 1, most + 1))
    ways[0, columns, 0] = 1.0
    for r in range(1, rows + 1):
        for j in range(columns + 1):
            for new in range(columns - j + 1):
                for old in range(j + 1):
                    ones = new + old
                    if ones == 0 or ones > most:
                        continue
                    factor = choose[columns - j, new] * choose[j, old]
                    for m in range(ones, most + 1):
                        ways[r, j, m] += factor * ways[r - 1, j + new, m - ones]
    return ways


@njit(cache=True)
def filled(ways, ones, uniform):
    """A 0-1 matrix without empty lines and with so many ones, all equally likely.

    Parameters
    ----------
    ways : (rows + 1, columns + 1, most + 1) float64
        `completions`.
    ones : int
    uniform : (rows, columns + 1) float64
        Evenly distributed between 0 and 1.
    """
    rows, columns = ways.shape[0] - 1, ways.shape[1] - 1
    matrix = np.zeros((rows, columns), np.bool_)
    covered = np.zeros(columns, np.bool_)
    j = 0
    for row in range(rows):
        after = ways[rows - row - 1]
        weight = np.zeros((columns - j + 1, j + 1))
        choose_new = 1.0
        for new in range(columns - j + 1):
            choose_old = 1.0
            for old in range(j + 1):
                if 0 < new + old <= ones:
                    weight[new, old] = choose_new * choose_old * after[j + new, ones - new - old]
                choose_old *= (j - old) / (old + 1)
            choose_new *= (columns - j - new) / (new + 1)
        left = uniform[row, columns] * weight.sum()
        new, old = -1, -1
        for a in range(columns - j + 1):
            for b in range(j + 1):
                if weight[a, b] > 0 and left >= 0:
                    new, old = a, b
                    left -= weight[a, b]
        for k in np.argsort(uniform[row, :columns]):
            if covered[k] and old > 0:
                matrix[row, k] = True
                old -= 1
                ones -= 1
        for k in np.argsort(uniform[row, :columns]):
            if not covered[k] and new > 0:
                matrix[row, k] = covered[k] = True
                new -= 1
                ones -= 1
                j += 1
    return matrix


@njit(cache=True)
def thinned(points, kinds, least, order):
    """Of all places leave out one after the other, as long as every point has one, N times.

    Parameters
    ----------
    points : (P, C) bool
        Which places are on which image point.
    kinds : (C,) int64
        Species of each place.
    least : (N, S) int64
        Places of each species that are left at least.
    order : (N, C) int64

    Returns
    -------
    (N, C) bool
    """
    left = np.ones(order.shape, np.bool_)
    all_on = np.zeros(points.shape[0], np.int64)
    all_numbers = np.zeros(least.shape[1], np.int64)
    for k in range(points.shape[1]):
        all_numbers[kinds[k]] += 1
        for p in range(points.shape[0]):
            all_on[p] += points[p, k]
    for n in range(order.shape[0]):
        on, number = all_on.copy(), all_numbers.copy()
        for k in order[n]:
            if number[kinds[k]] <= least[n, kinds[k]]:
                continue
            needed = False
            for p in range(points.shape[0]):
                if points[p, k] and on[p] == 1:
                    needed = True
                    break
            if not needed:
                left[n, k] = False
                number[kinds[k]] -= 1
                for p in range(points.shape[0]):
                    on[p] -= points[p, k]
    return left


@njit(cache=True)
def judged(chosen, points, kinds, clashes, crowded, outside):
    """What is true of N choices of places.

    Parameters
    ----------
    chosen : (N, C) bool
    points : (P, C) bool
    kinds : (C,) int64
    clashes, crowded : (M, 2) int64
        Pairs of which a crystal, and a physical one, has not both.
    outside : (C,) bool

    Returns
    -------
    explains, physical : (N,) bool
        Whether no point is left alone and nothing clashes; whether it is a physical one besides.
    numbers : (N, S) int64
        Places of each species.
    """
    explains = np.ones(chosen.shape[0], np.bool_)
    physical = np.ones(chosen.shape[0], np.bool_)
    numbers = np.zeros((chosen.shape[0], kinds.max() + 1 if kinds.size else 0), np.int64)
    for n in range(chosen.shape[0]):
        one = chosen[n]
        for k in range(one.size):
            if one[k]:
                numbers[n, kinds[k]] += 1
                if outside[k]:
                    physical[n] = False
        for p in range(points.shape[0]):
            alone = True
            for k in range(one.size):
                if one[k] and points[p, k]:
                    alone = False
                    break
            if alone:
                explains[n] = False
                break
        for m in range(clashes.shape[0]):
            if one[clashes[m, 0]] and one[clashes[m, 1]]:
                explains[n] = False
                break
        for m in range(crowded.shape[0]):
            if one[crowded[m, 0]] and one[crowded[m, 1]]:
                physical[n] = False
                break
    return explains, physical, numbers
