"""Slow, obvious twins of the questions after other crystals with the same pictures.

Candidates and image points are taken from `naive`; every set of candidates is looked at.
"""

from itertools import combinations, product

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


def crystals_within(positions, symbols, rotations, lattice, delta, floor=0.1):
    """All crystals with the pictures of another within delta, as sets of names of their points.

    An atom is named by its number: candidates within delta of it are the atom. Any other
    candidate is a phantom, named by its position, rounded. Of the candidates of an atom only
    one is chosen; no two points of a crystal are closer than `floor`, periodic images included.

    Returns
    -------
    set of frozenset
    """
    symbols = np.asarray(symbols)
    found = naive.all_candidates(positions, symbols, rotations)
    found = found[found.reached <= delta]
    points = []
    for point, symbol in zip(found.positions, found.symbols):
        away = np.linalg.norm(positions - point, axis=1)
        away[symbols != symbol] = np.inf
        near = away.min() <= delta
        name = int(away.argmin()) if near else (int(symbol), *np.round(point, 4).tolist())
        covers = set()
        for v, rotation in enumerate(rotations):
            seen = np.linalg.norm(((positions - point) @ rotation)[:, :2], axis=1)
            covers |= {
                (v, *np.round((positions[k] @ rotation)[:2], 5).tolist(), int(symbol))
                for k in np.flatnonzero((seen <= delta) & (symbols == symbol))
            }
        placed = (name, positions[name] if near else point, frozenset(covers))
        if not any(placed[0] == other[0] and placed[2] == other[2] for other in points):
            points.append(placed)
    shown = frozenset().union(*(covers for _, _, covers in points))
    shifts = np.array(list(product((-1, 0, 1), repeat=3))) @ lattice
    crystals = set()
    for chosen in product((False, True), repeat=len(points)):
        some = [point for point, there in zip(points, chosen) if there]
        names = [name for name, _, _ in some]
        if len(set(names)) < len(names) or frozenset().union(*(c for _, _, c in some)) != shown:
            continue
        close = any(
            np.linalg.norm(a[1] - b[1] + shifts, axis=1).min() < floor
            for a, b in combinations(some, 2)
        )
        if not close:
            crystals.add(frozenset(names))
    return crystals
