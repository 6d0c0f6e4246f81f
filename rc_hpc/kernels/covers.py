"""Numbers of 0-1 matrices without empty lines, by their ones: explanations of a level."""

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
