"""Slow, obvious twins of the geometry, written from the definitions in plain NumPy.

Nothing here is imported by the product, and nothing here imports it: agreement between
the two is evidence. Positions are Cartesian in Å, symbols are any per-atom species
labels, a rotation is the 3x3 matrix R of a camera: a position p (row) is seen at
``p @ R``, columns 0 and 1 on the screen, column 2 along the view direction.

Rules that the recorded values pin down (measured on the 210 evaluation structures)
---------------------------------------------------------------------------------
Candidate order
    View pairs in combination order, then the atom of the first view, then the atom of
    the second, both in cell order.
Acceptance
    ``gap <= delta`` and, in every other view of the subset, ``residual <= delta``.
Merge ``first``
    A candidate is dropped when a kept one of its species is *strictly* nearer than delta.
Merge ``mean``
    A candidate joins the first cluster whose *first member* is at ``<= delta``; means.
Phantoms
    Strictly farther than delta from every atom of the species in the cell (no periodic
    images). By acceptance: *all* accepted candidates are merged by ``first`` at delta, then
    the far ones of those kept are counted (far first, merged second gives 6735 points
    instead of the recorded 6733 for two views at 0.01 Å). By Definition 7: the far exact
    intersections are counted as distinct points, merged at 1e-6 Å and not at delta (which
    would give 6033 instead of 6131; any radius from 1e-9 to 1e-3 Å gives 6131).
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

NUMERICAL_ZERO = 1e-9  # Å: two lengths closer than this are one number
EXACT = 1e-6  # Å: rays with a smaller gap intersect

# ------------------------------------------------------------------ cameras


def ase_rotation(text):
    """Rotation matrix (3, 3) of an ASE string such as ``-60x,-30y,-15z``."""
    rotation = np.identity(3)
    for item in text.split(","):
        angle, axis = np.radians(float(item[:-1])), item[-1]
        c, s = np.cos(angle), np.sin(angle)
        step = {
            "x": [[1, 0, 0], [0, c, s], [0, -s, c]],
            "y": [[c, 0, -s], [0, 1, 0], [s, 0, c]],
            "z": [[c, s, 0], [-s, c, 0], [0, 0, 1]],
        }[axis]
        rotation = rotation @ np.array(step)
    return rotation


FROZEN = {
    "axis_a": ase_rotation("0x,-90y,0z"),
    "axis_b": ase_rotation("-90x,0y,0z"),
    "axis_c": ase_rotation("0x,0y,0z"),
    "body_diagonal": ase_rotation("-60x,-30y,-15z"),
    "oblique2": ase_rotation("-30x,-60y,-45z"),
}
OFF_AXIS = {
    "axis_a": ase_rotation("12x,-78y,7z"),
    "axis_b": ase_rotation("-78x,10y,-8z"),
    "axis_c": ase_rotation("15x,12y,20z"),
    "body_diagonal": ase_rotation("-48x,-42y,-3z"),
    "oblique2": ase_rotation("-18x,-72y,-30z"),
}


def kappa(rotation_a, rotation_b):
    """2-norm of the pseudo-inverse of the two stacked projections (4x3)."""
    stacked = np.vstack([rotation_a[:, :2].T, rotation_b[:, :2].T])
    return np.linalg.svd(np.linalg.pinv(stacked), compute_uv=False).max()


def subsets_of(names):
    """All subsets of two or more cameras, by size, then in camera order."""
    return [c for size in range(2, len(names) + 1) for c in combinations(names, size)]


# ------------------------------------------------------------------ candidates


@dataclass
class Candidates:
    """Points nearest to two rays, in the order in which they were met.

    Attributes
    ----------
    positions : (m, 3), Å
    symbols : (m,)
    gap : (m,)
        Distance of the two rays, Å.
    residuals : (m, V)
        Distance to the nearest image of the species in each view, the pair's too, Å.
    views, atoms : (m, 2)
        The pair of views (index into the list of views), the atom behind each ray.
    """

    positions: np.ndarray
    symbols: np.ndarray
    gap: np.ndarray
    residuals: np.ndarray
    views: np.ndarray
    atoms: np.ndarray

    def __len__(self):
        return len(self.gap)

    def __getitem__(self, which):
        return Candidates(*(value[which] for value in vars(self).values()))

    @property
    def reached(self):
        """Smallest delta that accepts each candidate: max of gap and other views' residuals."""
        others = self.residuals.copy()
        np.put_along_axis(others, self.views, 0.0, axis=1)
        return np.maximum(self.gap, others.max(axis=1, initial=0.0))

    @property
    def worst(self):
        """Largest residual over all views, the pair's included."""
        return self.residuals.max(axis=1, initial=0.0)


def _rays(positions, rotation):
    """Origins (n, 3) and direction (3,) of the lines through the image points."""
    image = (positions @ rotation)[:, :2]
    direction = rotation[:, 2] / np.linalg.norm(rotation[:, 2])
    return image[:, :1] * rotation[:, 0] + image[:, 1:] * rotation[:, 1], direction


def _nearest_image(points, symbols, rotation, atoms, atom_symbols):
    """Distance (m,) of each point's projection to the nearest image of its species."""
    seen, images = (points @ rotation)[:, :2], (atoms @ rotation)[:, :2]
    distance = np.linalg.norm(seen[:, None] - images[None], axis=2)
    distance[symbols[:, None] != atom_symbols[None]] = np.inf
    return distance.min(axis=1)


def _midpoints(origins_a, direction_a, origins_b, direction_b):
    """Nearest point and distance of lines a and b, or None where they are parallel."""
    cosine = direction_a @ direction_b
    matrix = np.array(
        [[direction_a @ direction_a, -cosine], [cosine, -(direction_b @ direction_b)]]
    )
    between = origins_b - origins_a
    try:
        s, t = np.linalg.solve(matrix, np.stack([between @ direction_a, between @ direction_b]))
    except np.linalg.LinAlgError:
        return None
    on_a = origins_a + np.multiply.outer(s, direction_a)
    on_b = origins_b + np.multiply.outer(t, direction_b)
    return (on_a + on_b) / 2, np.linalg.norm(on_a - on_b, axis=-1)


def all_candidates(positions, symbols, rotations):
    """Every candidate of every pair of views, whatever its gap: brute force over n^2."""
    symbols = np.asarray(symbols)
    i, j = np.nonzero(symbols[:, None] == symbols[None])
    blocks = []
    for a, b in combinations(range(len(rotations)), 2):
        origins_a, direction_a = _rays(positions, rotations[a])
        origins_b, direction_b = _rays(positions, rotations[b])
        found = _midpoints(origins_a[i], direction_a, origins_b[j], direction_b)
        if found is None:
            continue
        points, gap = found
        residuals = [_nearest_image(points, symbols[i], r, positions, symbols) for r in rotations]
        views = np.broadcast_to([a, b], (len(i), 2))
        atoms = np.stack([i, j], axis=1)
        blocks.append([points, symbols[i], gap, np.stack(residuals, axis=1), views, atoms])
    if not blocks:
        return _empty(symbols, len(rotations))
    return Candidates(*(np.concatenate(parts) for parts in zip(*blocks)))


def _empty(symbols, n_views):
    none = np.empty((0, 2), int)
    residuals = np.empty((0, n_views))
    return Candidates(np.empty((0, 3)), symbols[:0], np.empty(0), residuals, none, none)


def point_candidates(images, rotations, reach):
    """Candidates of image points that need not belong to any atoms.

    Parameters
    ----------
    images : list of (symbols (n,), screen (n, 2))
        What each view shows, in any order.

    Returns
    -------
    list of (a, b, symbol, position, gap, residuals)
        The pair of views and, per view, the distance to the nearest point of the species; inf
        where there is none.
    """
    rows = []
    for a, b in combinations(range(len(rotations)), 2):
        for symbol, seen in zip(*images[a]):
            for other, there in zip(*images[b]):
                origins = [
                    u[0] * r[:, 0] + u[1] * r[:, 1]
                    for u, r in ((seen, rotations[a]), (there, rotations[b]))
                ]
                found = _midpoints(origins[0], rotations[a][:, 2], origins[1], rotations[b][:, 2])
                if symbol != other or found is None or found[1] > reach:
                    continue
                residuals = [
                    np.linalg.norm(
                        screen[symbols == symbol] - (found[0] @ rotation)[:2], axis=1
                    ).min(initial=np.inf)
                    for (symbols, screen), rotation in zip(images, rotations)
                ]
                rows.append((a, b, symbol, *found, residuals))
    return rows


def accepted_candidates(positions, symbols, rotations, delta, anchor=True):
    """Accepted candidates by the released program's own loops, one 2x2 solve a pair of rays."""
    symbols = np.asarray(symbols)
    atoms, views = (positions, symbols), range(len(rotations))
    rays = [_rays(positions, rotation) for rotation in rotations]
    rows = []
    for a, b in [(0, 1)] if anchor else combinations(views, 2):
        (origins_a, direction_a), (origins_b, direction_b) = rays[a], rays[b]
        for i, symbol in enumerate(symbols):
            for j in np.flatnonzero(symbols == symbol):
                found = _midpoints(origins_a[i], direction_a, origins_b[j], direction_b)
                if found is None or found[1] > delta:
                    continue
                point, gap = found
                here = point[None], symbols[[i]]
                others = (v for v in views if v not in (a, b))
                if all(_nearest_image(*here, rotations[v], *atoms)[0] <= delta for v in others):
                    residuals = [_nearest_image(*here, r, *atoms)[0] for r in rotations]
                    rows.append([point, symbol, gap, residuals, (a, b), (i, j)])
    if not rows:
        return _empty(symbols, len(rotations))
    return Candidates(*(np.array(column) for column in zip(*rows)))


# ------------------------------------------------------------------ merging


def merge_first(positions, symbols, delta):
    """Indices kept when each point is dropped that has a kept one of its species at < delta."""
    kept = []
    for k, (point, symbol) in enumerate(zip(positions, symbols)):
        rivals = [m for m in kept if symbols[m] == symbol]
        if not rivals or np.linalg.norm(positions[rivals] - point, axis=1).min() >= delta:
            kept.append(k)
    return np.array(kept, int)


def merge_mean(positions, symbols, delta):
    """Means (m, 3) and symbols of clusters: join the first whose first member is at <= delta."""
    clusters = []
    for k, (point, symbol) in enumerate(zip(positions, symbols)):
        for cluster in clusters:
            first = cluster[0]
            if symbols[first] == symbol and np.linalg.norm(positions[first] - point) <= delta:
                cluster.append(k)
                break
        else:
            clusters.append([k])
    means = [positions[cluster].mean(axis=0) for cluster in clusters]
    return np.array(means).reshape(-1, 3), symbols[[cluster[0] for cluster in clusters]]


def best_first(candidates):
    """Indices by worst-view residual, then species, then position.

    Residuals that differ by rounding only are one number, so that the order does not
    depend on the order of atoms, pairs or views.
    """
    rounded = np.round(candidates.worst / NUMERICAL_ZERO)
    x, y, z = np.round(candidates.positions / NUMERICAL_ZERO).T
    return np.lexsort((z, y, x, candidates.symbols, rounded))


def undominated(candidates, positions, symbols, rotations):
    """Mask of the candidates that explain some image better than every rival does.

    One is dropped when in every view the image nearest to it is also the image nearest to
    a candidate (a different one in each view, perhaps) whose worst-view residual is
    smaller by more than numerical zero. Images closer than numerical zero are one image;
    a point half-way between two images is dropped only if both are so explained.
    """
    symbols, worst = np.asarray(symbols), candidates.worst
    beaten = np.ones(len(candidates), bool)
    better = worst[:, None] < worst[None] - NUMERICAL_ZERO  # [m, k]: m is better than k
    for rotation in rotations:
        seen, images = (candidates.positions @ rotation)[:, :2], (positions @ rotation)[:, :2]
        distance = np.linalg.norm(seen[:, None] - images[None], axis=2)
        distance[candidates.symbols[:, None] != symbols[None]] = np.inf
        nearest = distance <= distance.min(axis=1, initial=np.inf)[:, None] + NUMERICAL_ZERO
        explained = np.array([nearest[better[:, k]].any(axis=0) for k in range(len(candidates))])
        beaten &= np.array([explained[k][nearest[k]].all() for k in range(len(candidates))], bool)
    return ~beaten


def merged(candidates, positions, symbols, rotations, delta, merge):
    """Positions (m, 3) and symbols (m,) that a merge rule makes of accepted candidates."""
    if merge == "mean":
        return merge_mean(candidates.positions, candidates.symbols, delta)
    if merge == "dominance":
        candidates = candidates[undominated(candidates, positions, symbols, rotations)]
    if merge in ("dominance", "best-residual"):
        candidates = candidates[best_first(candidates)]
    elif merge != "first":
        raise ValueError(merge)
    kept = candidates[merge_first(candidates.positions, candidates.symbols, delta)]
    return kept.positions, kept.symbols


def released_reconstruct(positions, symbols, rotations, delta, anchor=True, merge="first"):
    """Atoms read back from exact pictures: positions (m, 3) Å and symbols (m,).

    With the defaults this is the released program, step by step; `rotations` is the list
    of the subset's cameras, whose first two are the anchor pair. ``anchor=False`` takes
    all pairs in combination order. `merge` is first, mean, best-residual or dominance.
    """
    accepted = accepted_candidates(positions, symbols, rotations, delta, anchor)
    return merged(accepted, positions, symbols, rotations, delta, merge)


# ------------------------------------------------------------------ phantoms


def distance_to_atoms(points, point_symbols, positions, symbols):
    """Distance (m,) of each point to the nearest atom of its species, no periodic images, Å."""
    distance = np.linalg.norm(points[:, None] - positions[None], axis=2)
    distance[point_symbols[:, None] != np.asarray(symbols)[None]] = np.inf
    return distance.min(axis=1)


def phantoms_by_acceptance(
    positions, symbols, rotations, subset, delta, anchor=False, candidates=None
):
    """Accepted points farther than delta from every atom of their species.

    Parameters
    ----------
    rotations : sequence of (3, 3)
    subset : sequence of int
        Indices of the views used.
    anchor : bool
        Enumerate the first two of them only instead of all pairs.
    candidates : Candidates, optional
        What `all_candidates` found in these views, where it is at hand.

    Returns
    -------
    raw : Candidates
        All accepted candidates that are far.
    merged : Candidates
        Those that are far among what `merge_first` at delta keeps of the accepted.
    """
    if candidates is None:
        candidates = all_candidates(positions, symbols, [rotations[v] for v in subset])
    accepted = candidates[candidates.reached <= delta]
    if anchor:
        accepted = accepted[(accepted.views == [0, 1]).all(axis=1)]
    far = distance_to_atoms(accepted.positions, accepted.symbols, positions, symbols) > delta
    kept = merge_first(accepted.positions, accepted.symbols, delta)
    return accepted[far], accepted[kept[far[kept]]]


def phantoms_by_definition7(positions, symbols, rotations, subset, delta, candidates=None):
    """Exact intersections of distinct atoms' rays, verified to delta in all views, and far.

    Returns all of them and, as in `phantoms_by_acceptance`, the distinct points among them.
    """
    if candidates is None:
        candidates = all_candidates(positions, symbols, [rotations[v] for v in subset])
    intersect = (candidates.gap <= EXACT) & (candidates.atoms[:, 0] != candidates.atoms[:, 1])
    verified = (candidates.residuals <= delta).all(axis=1)
    exact = candidates[intersect & verified]
    far = distance_to_atoms(exact.positions, exact.symbols, positions, symbols) > delta
    raw = exact[far]
    return raw, raw[merge_first(raw.positions, raw.symbols, EXACT)]


def delta_intervals(positions, symbols, rotations, subset):
    """Where in delta each candidate is a phantom: ``lower <= delta < upper``.

    Returns
    -------
    candidates : Candidates
    lower, upper : (m,)
        Å; the candidate is never a phantom where lower >= upper.
    smallest : float
        Smallest delta with a phantom, inf if there is none.
    """
    candidates = all_candidates(positions, symbols, [rotations[v] for v in subset])
    lower = candidates.reached
    upper = distance_to_atoms(candidates.positions, candidates.symbols, positions, symbols)
    return candidates, lower, upper, lower[lower < upper].min(initial=np.inf)


# ------------------------------------------------------------------ symmetry

SYSTEMS = (
    (2, "triclinic"),
    (15, "monoclinic"),
    (74, "orthorhombic"),
    (142, "tetragonal"),
    (167, "trigonal"),
    (194, "hexagonal"),
    (230, "cubic"),
)


def label(lattice, positions, symbols, tau):
    """Crystal system by spglib at symprec tau (5 degrees), None where it finds none."""
    import spglib

    if len(positions) == 0:
        return None
    frac = np.linalg.solve(lattice.T, np.asarray(positions).T).T % 1.0
    numbers = np.unique(symbols, return_inverse=True)[1] + 1
    try:
        found = spglib.get_symmetry_dataset((lattice, frac, numbers), tau, angle_tolerance=5.0)
    except spglib.SpglibError:
        return None
    if found is None:
        return None
    return next(system for last, system in SYSTEMS if found.number <= last)
