"""Slow, obvious twins of the reader's kernels, in NumPy and plain Python."""

import itertools

import numpy as np

COVERED, CONTRADICTED = -1, -2


def blank_within(blank, u, v, radius):
    """Blank pixels whose middles lie within a radius."""
    y, x = np.mgrid[: blank.shape[0], : blank.shape[1]] + 0.5
    return int(np.sum(blank & ((x - u) ** 2 + (y - v) ** 2 <= radius**2)))


def nearest_mark(centres, covariance, rows, u, v, blur2, gate2):
    """Row of the mark of least misfit, and that."""
    best, found = gate2, -1
    for row in rows:
        uu, uv, vv = covariance[row]
        spread = np.array([[uu + blur2, uv], [uv, vv + blur2]])
        away = centres[row] - (u, v)
        misfit = away @ np.linalg.solve(spread, away)
        if misfit < best:
            best, found = misfit, row
    return found, best if found >= 0 else np.inf


def copy(marks, blank, radii, most, view, s, place, blur, gate):
    """What is at one copy of a site."""
    rows = range(marks.starts[view, s], marks.starts[view, s + 1])
    row, misfit = nearest_mark(marks.centres, marks.covariance, rows, *place, blur**2, gate**2)
    if row >= 0:
        return row, misfit
    inside = blank_within(blank[view], *place, radii[view, s] - blur)
    return (CONTRADICTED if inside > most else COVERED), 0.0


def support(positions, species, marks, lens, blank, radii, most, blur, gate, least):
    """Marks that every copy of every site meets, and scores."""
    n_views, tiles = lens.shifts.shape[:2]
    rows = np.full((len(positions), n_views, tiles), COVERED)
    score = np.zeros(len(positions))
    for c, position in enumerate(positions):
        for view, t in itertools.product(range(n_views), range(tiles)):
            place = lens.origins[view] + lens.rows[view] @ position + lens.shifts[view, t]
            rows[c, view, t], misfit = copy(
                marks, blank, radii, most, view, species[c], place, blur, gate
            )
            if rows[c, view, t] >= 0:
                score[c] += gate**2 - misfit
        met = (rows[c] >= 0).any(axis=1).sum()
        if np.any(rows[c] == CONTRADICTED) or met < least:
            score[c] = -np.inf
    return rows, score


def base_points(marks, lens, blank, radii, most, view, margin, blur, gate):
    """Sites' places in the cell at the origin, one list a species."""
    found = []
    for s in range(marks.starts.shape[1] - 1):
        mine = []
        for m in range(marks.starts[view, s], marks.starts[view, s + 1]):
            for t, shift in enumerate(lens.shifts[view]):
                place = marks.centres[m] - shift
                along = (place - lens.origins[view]) @ lens.sides[view, :, :2].T
                low, high = lens.sides[view, :, 2:].T
                if np.any(along < low - margin) or np.any(along > high + margin):
                    continue
                met = [
                    copy(marks, blank, radii, most, view, s, place + other, blur, gate)[0]
                    for other in lens.shifts[view]
                ]
                first = next((n for n, row in enumerate(met) if row >= 0), -1)
                if CONTRADICTED in met or first != t:
                    continue
                mine.append(
                    np.mean(
                        [marks.centres[row] - lens.shifts[view, n]
                         for n, row in enumerate(met) if row >= 0], axis=0,
                    )
                )  # fmt: skip
        found.append(np.array(mine).reshape(-1, 2))
    return found


def carried(marks, blank, radii, most, strong, view, shift, blur, gate, allowed):
    """Share of strong marks whose copy is marked, -1 where too many have none at all."""
    met = lost = count = 0
    height, width = blank.shape[1:]
    for s in range(marks.starts.shape[1] - 1):
        for m in range(marks.starts[view, s], marks.starts[view, s + 1]):
            if not strong[m]:
                continue
            count += 1
            places = [marks.centres[m] + sign * np.asarray(shift) for sign in (1, -1)]
            there = [copy(marks, blank, radii, most, view, s, p, blur, gate)[0] for p in places]
            inside = [0 < p[0] < width and 0 < p[1] < height for p in places]
            if max(there) >= 0:
                met += 1
            elif not any(t == COVERED and i for t, i in zip(there, inside, strict=True)):
                lost += 1
    if lost > allowed * count:
        return -1.0
    return met / count if met else 0.0


def misfits(positions, rows, marks, plain, scales, origins, lattice, tiles):
    """Whitened misfits of all marks met, in the order of the copies."""
    found = []
    for c, view, t in zip(*np.nonzero(rows >= 0), strict=True):
        m = rows[c, view, t]
        at = positions[c] + tiles[t] @ lattice
        off = marks.centres[m] - origins[view] - scales[view] * plain[view] @ at
        uu, uv, vv = marks.covariance[m]
        found.append(np.linalg.cholesky(np.linalg.inv([[uu, uv], [uv, vv]])).T @ off)
    return np.concatenate(found)


def dash_score(ink, dashes, gaps, offset):
    """Points of dashes on ink less those on blank pixels, less gaps on ink."""
    height, width = ink.shape
    total = 0.0
    for point in dashes + offset:
        x, y = point.astype(int)
        inside = 0 <= x < width and 0 <= y < height
        total += ink[y, x] if inside else -1
    for point in gaps + offset:
        x, y = point.astype(int)
        if 0 <= x < width and 0 <= y < height and ink[y, x] > 0:
            total -= 1
    return total


def near_outline(height, width, centres, radii, half):
    """Pixels near the outlines of discs, and those that may go either way."""
    y, x = np.mgrid[:height, :width] + 0.5
    surely, perhaps = np.zeros((2, height, width), bool)
    for (u, v), radius in zip(centres, radii, strict=True):
        away = np.abs(np.hypot(x - u, y - v) - radius)
        surely |= away < half - 1.0
        perhaps |= away < half + 1.0
    return surely, perhaps
