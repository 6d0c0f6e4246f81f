"""Slow, obvious twins of the questions after other crystals with the same pictures.

Candidates and image points are taken from `naive`; every set of candidates is looked at.
"""

from itertools import combinations

import naive
import numpy as np


def places(positions, symbols, rotations, zero=naive.EXACT):
    """Points that land on an image of their species in every view, each once.

    Returns
    -------
    positions (C, 3), symbols (C,), explained
        Of each place, in each view, the number of the image that it lands on: (C, V).
    """
    symbols = np.asarray(symbols)
    found = naive.all_candidates(positions, symbols, rotations)
    found = found[found.reached <= zero]
    found = found[naive.merge_first(found.positions, found.symbols, 2 * zero)]
    explained = np.empty((len(found), len(rotations)), int)
    for v, rotation in enumerate(rotations):
        seen, images = (found.positions @ rotation)[:, :2], (positions @ rotation)[:, :2]
        away = np.linalg.norm(images[:, None] - images[None], axis=2)
        away[symbols[:, None] != symbols[None]] = np.inf
        names = (away <= zero).argmax(axis=1)  # of images in one place the first
        distance = np.linalg.norm(seen[:, None] - images[None], axis=2)
        distance[found.symbols[:, None] != symbols[None]] = np.inf
        explained[:, v] = names[distance.argmin(axis=1)]
    return found.positions, found.symbols, explained


def explanations(explained):
    """All sets of places, as bool (N, C), that explain every image that any of them explains."""
    n = len(explained)
    sets = (np.arange(2**n)[:, None] >> np.arange(n)) & 1 == 1
    good = np.ones(2**n, bool)
    for column in explained.T:
        for image in set(column.tolist()):
            good &= sets[:, column == image].any(axis=1)
    return sets[good]


def matrices(rows, columns):
    """Number of 0-1 matrices without an empty row or column, by looking at all."""
    cells = rows * columns
    every = (np.arange(2**cells)[:, None] >> np.arange(cells)) & 1
    every = every.reshape(-1, rows, columns)
    return int((every.any(axis=1).all(axis=1) & every.any(axis=2).all(axis=1)).sum())


def removable(explained):
    """Places that may be left out of all places."""
    others = [np.delete(explained, k, axis=0) for k in range(len(explained))]
    return [
        k
        for k, rest in enumerate(others)
        if all(image in rest[:, v] for v, image in enumerate(explained[k]))
    ]


def subsets_of(n_views):
    """View subsets by size."""
    return [s for size in range(2, n_views + 1) for s in combinations(range(n_views), size)]
