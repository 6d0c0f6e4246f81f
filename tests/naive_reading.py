"""Slow, obvious twins of what reads the pictures of the benchmark: loops over everything."""

from itertools import combinations, product

import numpy as np


def seen(points, rotations):
    """Image points of each view without order or repetition: a list of arrays (k, 2)."""
    views = []
    for rotation in rotations:
        kept = []
        for x in points @ rotation[:, :2]:
            if all(np.abs(x - y).max() > 1e-6 for y in kept):
                kept.append(x)
        views.append(np.array(kept).reshape(-1, 2))
    return views


def points_of(views, rotations, near):
    """Every point whose images in all views lie within `near` of an image point, from all pairs."""
    found = []
    for v, w in combinations(range(len(views)), 2):
        rows = np.vstack([rotations[v][:, :2].T, rotations[w][:, :2].T])
        if np.linalg.matrix_rank(rows, tol=1e-6) < 3:
            continue
        for a, b in product(views[v], views[w]):
            x = np.linalg.lstsq(rows, np.concatenate([a, b]), rcond=None)[0]
            ok = all(
                len(images) and np.linalg.norm(images - x @ rotation[:, :2], axis=1).min() <= near
                for images, rotation in zip(views, rotations)
            )
            if ok and all(np.linalg.norm(x - y) > 10 * near for y in found):
                found.append(x)
    return np.array(found).reshape(-1, 3)


def explanations(points, views, rotations):
    """Sets of points, as tuples of indices, that leave no image point unexplained."""
    at = []
    for images, rotation in zip(views, rotations):
        flat = points @ rotation[:, :2]
        at.append([int(np.linalg.norm(images - x, axis=1).argmin()) for x in flat])
    for size in range(len(points) + 1):
        for chosen in combinations(range(len(points)), size):
            if all(
                {own[k] for k in chosen} == set(range(len(images)))
                for own, images in zip(at, views)
            ):
                yield chosen


def painted(places, reach, spots, screen, radii, ends, half_widths, rotations):
    """Where every spot of the disc of a place lies on a disc or a line, (C, V) bool."""
    found = np.zeros((len(places), len(rotations)), bool)
    for c, place in enumerate(places):
        for v, rotation in enumerate(rotations):
            middle = place @ rotation[:, :2]
            whole = []
            for spot in middle + reach[c] * spots:
                on = [np.linalg.norm(spot - x) <= r for x, r in zip(screen[v], radii)]
                for line, half in zip(ends[v], half_widths):
                    a, b = line[:2], line[2:]
                    beside = (spot - a) @ (b - a) >= 0 and (spot - b) @ (a - b) >= 0
                    area = np.linalg.det(np.array([b - a, spot - a]))
                    height = abs(area) / np.linalg.norm(b - a)
                    to_ends = min(np.linalg.norm(spot - a), np.linalg.norm(spot - b))
                    on.append((height if beside else to_ends) <= half)
                whole.append(any(on))
            found[c, v] = all(whole)
    return found


def reconstructed(points, numbers, rotations, delta):
    """Points by another rule than ours: images within delta in all views, merged below 2 delta.

    Rays that are less than 2 delta apart have a middle like that. Nothing is explained away.
    Returns the places of each species.
    """
    found = {}
    for number in np.unique(numbers):
        views = seen(points[numbers == number], rotations)
        kept = []
        for v, w in combinations(range(len(views)), 2):
            dv, dw = rotations[v][:, 2], rotations[w][:, 2]
            normal = np.cross(dv, dw)
            if np.linalg.norm(normal) < 1e-6:
                continue
            normal /= np.linalg.norm(normal)
            a = views[v] @ rotations[v][:, :2].T
            b = views[w] @ rotations[w][:, :2].T
            gap = (a @ normal)[:, None] - (b @ normal)[None, :]
            for i, j in np.argwhere(np.abs(gap) < 2 * delta):
                # closest points of the lines a_i + s dv and b_j + t dw
                system = np.column_stack([dv, -dw, normal])
                s, t, _ = np.linalg.solve(system, b[j] - a[i])
                x = (a[i] + s * dv + b[j] + t * dw) / 2
                near = all(
                    np.linalg.norm(images - x @ rotation[:, :2], axis=1).min() < delta
                    for images, rotation in zip(views, rotations)
                )
                if near and all(np.linalg.norm(x - y) >= 2 * delta for y in kept):
                    kept.append(x)
        found[int(number)] = np.array(kept).reshape(-1, 3)
    return found


def exact(points, numbers, rotations, delta):
    """Whether that reconstruction is the points: no phantom, none missing, none twice.

    A place below 2 delta from a point is that point.
    """
    found = reconstructed(points, numbers, rotations, delta)
    for number, places in found.items():
        own = points[numbers == number]
        apart = np.linalg.norm(places[:, None] - own[None], axis=-1)
        if (
            len(places) != len(own)
            or apart.min(axis=0).max() >= 2 * delta
            or apart.min(axis=1).max() >= 2 * delta
        ):
            return False
    return True


def sites(points, numbers, lattice, near):
    """Number of different sites by element when all are moved into the cell."""
    shifts = np.array(list(product(range(-8, 9), repeat=3))) @ lattice
    counts = {}
    for number in np.unique(numbers):
        kept = []
        for x in points[numbers == number]:
            if all(np.linalg.norm(x - y + shifts, axis=1).min() > near for y in kept):
                kept.append(x)
        counts[int(number)] = len(kept)
    return counts
