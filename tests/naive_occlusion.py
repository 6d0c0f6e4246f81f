"""Slow, obvious twin of reading pictures from which disc centres are missing; see `naive`."""

from itertools import combinations

import naive
import numpy as np


class Undecided(Exception):
    """Two image points are equally near: rounding decides."""


def copies_of(lattice, positions, tiling):
    """Positions (T, n, 3) of a tiled cell, copy by copy."""
    steps = [
        (i, j, k) for i in range(tiling[0]) for j in range(tiling[1]) for k in range(tiling[2])
    ]
    return np.array([positions + np.array(step) @ lattice for step in steps])


def hidden(copies, radii, orbit, rotation, tie):
    """Copies (T, n) that a nearer disc hides in a view, and those that one of their orbit hides."""
    flat, n = copies.reshape(-1, 3) @ rotation, len(radii)
    occluded, redundant = np.zeros(len(flat), bool), np.zeros(len(flat), bool)
    for i, (x, y, depth) in enumerate(flat):
        for j, other in enumerate(flat):
            if other[2] > depth + tie and np.hypot(other[0] - x, other[1] - y) < radii[j % n] - tie:
                occluded[i] = True
                redundant[i] |= orbit[i % n] == orbit[j % n]
    return occluded.reshape(copies.shape[:2]), redundant.reshape(copies.shape[:2])


def read(copies, symbols, radii, rotations, dropped, verification, enumeration, merge, delta, tie):
    """Positions and symbols that a reading makes of what the views show.

    Parameters
    ----------
    copies : (T, n, 3)
        The first copy is the cell itself.
    dropped : (V, T, n) bool
        Centres that are taken away.
    """
    positions, views = copies[0], range(len(rotations))
    shown = ~dropped.all(axis=1)  # (V, n)
    images = [(positions @ rotation)[:, :2] for rotation in rotations]
    rows = []
    for a, b in combinations(views, 2):
        (origins_a, direction_a), (origins_b, direction_b) = (
            naive._rays(positions, rotations[a]),
            naive._rays(positions, rotations[b]),
        )
        for i in np.flatnonzero(shown[a]):
            for j in np.flatnonzero(shown[b] & (symbols == symbols[i])):
                found = naive._midpoints(origins_a[i], direction_a, origins_b[j], direction_b)
                if found is None or found[1] > delta:
                    continue
                point, residuals, passed = found[0], [], []
                for v in views:
                    seen = (point @ rotations[v])[:2]
                    own = np.linalg.norm(images[v] - seen, axis=1)
                    own[symbols != symbols[i]] = np.inf
                    here = np.where(shown[v], own, np.inf).min()
                    residuals.append(here if here <= delta else np.inf)
                    if verification == "excused":
                        passed.append(here <= delta or own.min() <= delta)
                    elif verification in ("covered", "painted"):
                        discs = (copies @ rotations[v])[..., :2]
                        there = (
                            ~dropped[v] if verification == "covered" else np.ones_like(dropped[v])
                        )
                        spots = ((point + copies[:, 0] - copies[0, 0]) @ rotations[v])[:, :2]
                        passed.append(
                            here <= delta
                            or all(
                                (
                                    there & (np.linalg.norm(discs - spot, axis=2) <= radii + tie)
                                ).any()
                                for spot in spots
                            )
                        )
                    elif verification == "strict":
                        passed.append(here <= delta)
                hits = int(np.isfinite(residuals).sum())
                if "-of-" in verification:
                    passed = [hits >= min(int(verification.split("-")[0]), len(rotations))]
                if all(passed):
                    rows.append((point, symbols[i], residuals, (a, b)))
    if enumeration == "anchor" and rows:
        rows = [row for row in rows if row[3] == min(row[3] for row in rows)]
    if not rows:
        return np.empty((0, 3)), np.array([])
    points, kinds, residuals, _ = (np.array(column) for column in zip(*rows))
    if merge == "first":
        kept = naive.merge_first(points, kinds, delta)
        return points[kept], kinds[kept]
    return _undominated(points, kinds, residuals, images, shown, symbols, rotations)


def _undominated(points, kinds, residuals, images, shown, symbols, rotations):
    """Each candidate against each other one, then one atom for each combination of image points."""
    zero, n = naive.NUMERICAL_ZERO, len(points)
    misses = np.isinf(residuals).sum(axis=1)
    worst = np.where(np.isfinite(residuals), residuals, 0).max(axis=1)
    near = []  # of each candidate, per view, where its image point is; None where it has none
    for k in range(n):
        own = []
        for v, rotation in enumerate(rotations):
            there = np.flatnonzero(shown[v] & (symbols == kinds[k]))
            away = np.linalg.norm(images[v][there] - (points[k] @ rotation)[:2], axis=1)
            rivals = (
                away[
                    np.linalg.norm(images[v][there] - images[v][there[away.argmin()]], axis=1)
                    > zero
                ]
                if len(there)
                else away
            )
            if np.isfinite(residuals[k, v]) and rivals.min(initial=np.inf) < away.min() + zero:
                raise Undecided
            own.append(images[v][there[away.argmin()]] if np.isfinite(residuals[k, v]) else None)
        near.append(own)

    def same(p, q):
        return (p is None and q is None) or (
            p is not None and q is not None and np.linalg.norm(p - q) <= zero
        )

    kept = []
    for k in range(n):

        def beaten(v):
            return any(
                kinds[m] == kinds[k]
                and near[m][v] is not None
                and same(near[m][v], near[k][v])
                and (
                    misses[m] < misses[k] or (misses[m] == misses[k] and worst[m] < worst[k] - zero)
                )
                for m in range(n)
            )

        if not all(beaten(v) for v in range(len(rotations)) if near[k][v] is not None):
            kept.append(k)
    kept.sort(key=lambda k: worst[k])
    atoms = []
    for k in kept:
        if not any(
            kinds[m] == kinds[k] and all(same(p, q) for p, q in zip(near[m], near[k]))
            for m in atoms
        ):
            atoms.append(k)
    return points[atoms], kinds[atoms]
