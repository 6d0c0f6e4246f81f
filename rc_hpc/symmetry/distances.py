"""Smallest interatomic distances of a crystal, near-linear in its size."""

from __future__ import annotations

import numpy as np

#: Layers of periodic images up to which a cell is searched as it is; a more skewed one is
#: reduced first, because the images grow with the cube of the layers.
_LAYERS = 3
#: Far above the rounding of a distance, far below any that matters, Å.
_ROUNDING = 1e-9


def min_distances(
    lattice: np.ndarray, positions: np.ndarray, numbers: np.ndarray
) -> tuple[float, float, float]:
    """Smallest distances between two different atoms of a cell.

    An atom's own periodic images are not counted: a species with one atom in the cell has no
    same-species pair.

    Parameters
    ----------
    lattice : (3, 3)
        Lattice vectors as rows, Å; not singular.
    positions : (n, 3)
        Cartesian positions as drawn, Å.
    numbers : (n,)
        Atomic numbers.

    Returns
    -------
    drawn_same, periodic_same, periodic_any
        Same species within the drawn cell, same species with periodic images, any species
        with periodic images; Å, infinity where there is no pair.
    """
    from scipy.spatial import cKDTree

    lattice, positions = np.asarray(lattice, float), np.asarray(positions, float)
    numbers = np.asarray(numbers)
    frac = np.linalg.solve(lattice.T, positions.T).T
    drawn_same = periodic_same = np.inf
    for species in np.unique(numbers):
        mask = numbers == species
        if mask.sum() < 2:
            continue
        own = positions[mask]
        drawn_same = min(drawn_same, _nearest(cKDTree(own), own, np.arange(len(own)))[0])
        periodic_same = min(periodic_same, closest_pair(lattice, frac[mask])[0])
    return drawn_same, periodic_same, closest_pair(lattice, frac)[0]


def closest_in_radii(lattice: np.ndarray, positions: np.ndarray, numbers: np.ndarray) -> float:
    """Smallest distance between atoms in sums of their covalent radii, where that is below 1.

    An atom's own periodic images count. Radii: Cordero et al., Dalton Trans. 2832 (2008), as ASE
    has them.

    Parameters
    ----------
    lattice, positions, numbers
        See `min_distances`.

    Returns
    -------
    float
        Infinity where no two atoms are closer than the sum of their radii.
    """
    from ase.data import covalent_radii
    from ase.neighborlist import primitive_neighbor_list

    radii = covalent_radii[np.asarray(numbers)]
    first, second, distances = primitive_neighbor_list(
        "ijd", (True, True, True), np.asarray(lattice), np.asarray(positions), radii
    )
    return float(np.min(distances / (radii[first] + radii[second]), initial=np.inf))


def closest_pair(
    lattice: np.ndarray, frac: np.ndarray, *, limit: float = np.inf, own_images: bool = False
) -> tuple[float, int, int]:
    """Closest two atoms of a periodic crystal, right for any skewness.

    Parameters
    ----------
    lattice : (3, 3)
        Lattice vectors as rows, Å; not singular.
    frac : (n, 3)
        Fractional coordinates.
    limit
        Only pairs closer than this are looked for, Å.
    own_images
        Whether an atom and its own periodic image are a pair.

    Returns
    -------
    distance, i, j
        Å and two indices, i <= j; infinity, -1, -1 where there is no such pair.
    """
    from scipy.spatial import cKDTree

    if len(frac) < 2 and not own_images:
        return np.inf, -1, -1
    index = np.arange(len(frac))
    frac = np.mod(frac, 1.0)
    positions = frac @ lattice
    tree = cKDTree(positions)
    best = _nearest(tree, positions, index, limit)
    # any pair found, and any lattice vector, bounds how far images need to be searched
    reach = min(best[0], limit)
    if own_images:
        reach = min(reach, np.linalg.norm(lattice, axis=1).min())
    heights = _heights(lattice)
    layers = np.floor(1 + reach / heights)
    if layers.max() > _LAYERS:
        lattice, frac = _reduced(lattice, frac)
        positions = frac @ lattice
        tree = cKDTree(positions)
        best = _nearest(tree, positions, index, limit)
        heights = _heights(lattice)
        # in a Minkowski-reduced cell the nearest image is never more than two cells away
        layers = np.minimum(np.floor(1 + reach / heights), 2)
    points, owners = _images(frac, layers.astype(int), reach / heights)
    if len(points) == 0:
        return best
    # An image may lie at `reach` exactly, and beyond it by rounding; the tree's own bound is
    # strict.
    bound = min(limit, reach + _ROUNDING)
    found = _nearest(tree, points @ lattice, owners, bound, own_images)
    return min(best, found, key=lambda pair: pair[0])


def _nearest(tree, points, owners, limit=np.inf, own=False) -> tuple[float, int, int]:
    """Closest point and tree member whose indices differ (or need not, where `own`)."""
    # the two nearest members are different atoms, so at most one of them is the point's own
    ranks = [1] if own else [1, 2]
    distances, members = tree.query(points, k=ranks, distance_upper_bound=limit)
    if not own:
        distances = np.where(members == owners[:, None], np.inf, distances)
    row, rank = np.unravel_index(np.argmin(distances), distances.shape)
    if np.isinf(distances[row, rank]):
        return np.inf, -1, -1
    i, j = sorted((int(owners[row]), int(members[row, rank])))
    return float(distances[row, rank]), i, j


def _images(frac, layers, margin) -> tuple[np.ndarray, np.ndarray]:
    """Periodic images of the atoms within `margin` (fractional) of the cell, and whose they are."""
    n = len(frac)
    points, owners = frac, np.arange(n)
    for axis in range(3):
        shifted, shifted_owners = [points], [owners]
        for shift in range(-layers[axis], layers[axis] + 1):
            moved = points[:, axis] + shift
            near = (moved >= -margin[axis] - 1e-9) & (moved <= 1 + margin[axis] + 1e-9)
            if shift == 0 or not near.any():
                continue
            copies = points[near]
            copies[:, axis] = moved[near]
            shifted.append(copies)
            shifted_owners.append(owners[near])
        points, owners = np.concatenate(shifted), np.concatenate(shifted_owners)
    return points[n:], owners[n:]  # the atoms themselves came first


def _heights(lattice: np.ndarray) -> np.ndarray:
    """Distances between opposite faces of a cell, (3,), Å."""
    return 1 / np.linalg.norm(np.linalg.inv(lattice), axis=0)


def _reduced(lattice: np.ndarray, frac: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minkowski-reduced lattice and the atoms as wrapped fractions of it.

    Both follow from the integer change of vectors, in extended precision where there is one:
    long vectors cancel in it.
    """
    from ase.geometry.minkowski_reduction import minkowski_reduce

    _, change = minkowski_reduce(lattice)
    back = np.rint(np.linalg.inv(change)).astype(np.longdouble)
    reduced = change.astype(np.longdouble) @ lattice.astype(np.longdouble)
    return reduced.astype(float), np.mod(frac.astype(np.longdouble) @ back, 1.0).astype(float)
