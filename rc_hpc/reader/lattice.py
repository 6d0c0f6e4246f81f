"""The lattice from displacements: what takes every picture to itself is a vector's image."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from rc_hpc.kernels.displacements import carried, displacements
from rc_hpc.reader.frame import rows_of
from rc_hpc.reader.marked import Marked

#: Pairs of marks that displacements are taken from in one picture.
MOST_PAIRS = 6000
#: Displacements of one picture, and vectors in space, that are followed.
MOST_SHIFTS, MOST_VECTORS = 40, 14
#: Share of the strong marks that may have no copy, and that must have a marked one.
ALLOWED, LEAST_MET = 0.02, 0.25
#: Standard error of a displacement once all pictures have told it, px, and as a share of it.
NEAR, SCALE_ERROR = 0.03, 2e-4
#: Shortest vector of a cell, Å.
SHORTEST = 1.5


@dataclass(frozen=True)
class Vector:
    """A vector that takes every picture to itself.

    Attributes
    ----------
    vector : (3,) float64
        Å.
    met : float
        Mean share of the strong marks whose copy is marked.
    """

    vector: np.ndarray
    met: float


def vectors(
    marked: Marked, rotations: np.ndarray, scales: np.ndarray, blur: float, allowed: float = ALLOWED
) -> list[Vector]:
    """Vectors in space that take every picture to itself, those that most marks bear out first.

    Parameters
    ----------
    scales : (V,) float64
        px/Å.
    blur
        Standard error of a displacement that two other pictures foretell, px.
    """
    blanks = marked.blanks(scales)
    rows = rows_of(rotations, scales)
    n_views = len(scales)
    shifts = []
    for view in range(n_views):
        counts = np.diff(marked.marks.starts[view])
        order = np.argsort(counts, kind="stable")
        found, met = displacements(
            marked.marks, blanks, marked.strong, view, order[counts[order] > 1], MOST_PAIRS,
            0.05, 5.0, allowed, LEAST_MET,
        )  # fmt: skip
        best = np.argsort(-met, kind="stable")[:MOST_SHIFTS]
        # Along its vector a picture shows no displacement at all.
        shifts.append(np.concatenate((np.zeros((1, 2)), found[best])))
    held: list[Vector] = []
    tested: list[np.ndarray] = []
    close, apart = 0.1 / scales.min(), 3 * blur / scales.min()
    for v, w in itertools.combinations(range(n_views), 2):
        across = np.cross(rotations[v][:, 2], rotations[w][:, 2])
        if np.linalg.norm(across) < 0.1:
            continue
        stacked = np.concatenate((rows[v], rows[w]))
        solve = np.linalg.pinv(stacked)
        for a, b, sign in itertools.product(shifts[v], shifts[w], (1, -1)):
            seen = np.concatenate((a, sign * b))
            vector = solve @ seen
            if np.linalg.norm(vector) < SHORTEST or np.abs(stacked @ vector - seen).max() > blur:
                continue
            if any(_same(vector, other, close) for other in tested):
                continue
            tested.append(vector)
            told = _told(marked, blanks, rows, vector, blur, allowed)
            if told is not None:
                held.append(told)
    # Of vectors that lie near each other that one is the cell's which most marks bear out.
    kept: list[Vector] = []
    for one in sorted(held, key=lambda one: -one.met):
        if not any(_same(one.vector, other.vector, apart) for other in kept):
            kept.append(one)
    return kept[:MOST_VECTORS]


def _told(marked, blanks, rows, vector, blur, allowed) -> Vector | None:
    """The vector as all pictures have it, or None where one of them contradicts it."""
    left, right, shares = [], [], []
    for view in range(len(rows)):
        shift = rows[view] @ vector
        met, mean = carried(
            marked.marks, blanks, marked.strong, view, shift, blur / 3, 3.0, allowed
        )
        if met < 0:
            return None
        shares.append(met)
        if met > 0:
            left.append(rows[view])
            right.append(mean)
    if len(left) < 2:
        return None
    refined, _, rank, _ = np.linalg.lstsq(np.concatenate(left), np.concatenate(right), rcond=1e-3)
    if rank < 3:
        return None
    shares = []
    for row in rows:
        shift = row @ refined
        near = NEAR + SCALE_ERROR * float(np.hypot(*shift))
        shares.append(
            carried(marked.marks, blanks, marked.strong, len(shares), shift, near, 5.0, 1.0)[0]
        )
    return Vector(refined, float(np.mean(shares)))


def _same(a: np.ndarray, b: np.ndarray, distance: float) -> bool:
    return bool(min(np.linalg.norm(a - b), np.linalg.norm(a + b)) < distance)


def triples(found: list[Vector], least_volume: float = 5.0) -> list[np.ndarray]:
    """Lattices (3, 3) of three of the vectors each, right-handed, the best borne out first."""
    made = []
    for three in itertools.combinations(found, 3):
        lattice = np.array([one.vector for one in three])
        volume = np.linalg.det(lattice)
        lengths = np.linalg.norm(lattice, axis=1)
        if abs(volume) < max(least_volume, 0.05 * lengths.prod()):
            continue
        if volume < 0:
            lattice[2] *= -1
        made.append((sum(one.met for one in three), lattice))
    return [lattice for _, lattice in sorted(made, key=lambda one: -one[0])]
