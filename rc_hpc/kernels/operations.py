"""Which space-group operations a noisy crystal may have: atoms onto atoms, lattice exact."""

import numpy as np
from numba import njit


@njit(cache=True)
def _map_once(frac, starts, lattice, rotation, shift, reach2, images, off):
    """Nearest same-species atom of every moved atom.

    Fills `images` (n,) and the Cartesian offsets `off` (n, 3), image minus moved atom.
    Returns False as soon as one has none within the reach.
    """
    for s in range(starts.size - 1):
        for i in range(starts[s], starts[s + 1]):
            u = (
                rotation[0, 0] * frac[i, 0]
                + rotation[0, 1] * frac[i, 1]
                + rotation[0, 2] * frac[i, 2]
                + shift[0]
            )
            v = (
                rotation[1, 0] * frac[i, 0]
                + rotation[1, 1] * frac[i, 1]
                + rotation[1, 2] * frac[i, 2]
                + shift[1]
            )
            w = (
                rotation[2, 0] * frac[i, 0]
                + rotation[2, 1] * frac[i, 1]
                + rotation[2, 2] * frac[i, 2]
                + shift[2]
            )
            best, found = np.inf, -1
            for k in range(starts[s], starts[s + 1]):
                a, b, c = frac[k, 0] - u, frac[k, 1] - v, frac[k, 2] - w
                a, b, c = a - round(a), b - round(b), c - round(c)
                x = a * lattice[0, 0] + b * lattice[1, 0] + c * lattice[2, 0]
                y = a * lattice[0, 1] + b * lattice[1, 1] + c * lattice[2, 1]
                z = a * lattice[0, 2] + b * lattice[1, 2] + c * lattice[2, 2]
                d2 = x * x + y * y + z * z
                if d2 < best:
                    best, found = d2, k
                    off[i, 0], off[i, 1], off[i, 2] = x, y, z
            if best > reach2:
                return False
            images[i] = found
    return True


@njit(cache=True)
def possible_operations(frac, starts, lattice, rotations, anchor, reach, rounds):
    """Operations that map every atom to within `reach` of one of its species, one to one.

    Parameters
    ----------
    frac : (n, 3) float64
        Fractional coordinates, sorted by species.
    starts : (S + 1,) int64
        Species ranges.
    lattice : (3, 3) float64
        Rows, Å.
    rotations : (H, 3, 3) float64
        Rotation parts that the lattice allows, on fractional columns.
    anchor : int
        Species whose first atom fixes the trial translations.
    reach : float
        Å, once the translation is the mean over all atoms; the trial translation rests on
        one pair of noisy atoms and gets twice that.
    rounds : int
        Times that the translation is fitted and the atoms are mapped again.

    Returns
    -------
    rotation : (M,) int64
        Index into `rotations`.
    images : (M, n) int64
        Atom that each atom is mapped to.
    offsets : (M, n, 3) float64
        Image minus moved atom, Å; their mean over the atoms is zero.
    """
    n = frac.shape[0]
    trials = starts[anchor + 1] - starts[anchor]
    first = starts[anchor]
    inverse = np.linalg.inv(lattice)
    which = np.empty(rotations.shape[0] * trials, np.int64)
    images = np.empty((which.size, n), np.int64)
    offsets = np.empty((which.size, n, 3))
    count = 0
    shift = np.empty(3)
    taken = np.empty(n, np.bool_)
    for h in range(rotations.shape[0]):
        begin = count
        for j in range(first, first + trials):
            if count == which.size:
                break
            for a in range(3):
                shift[a] = frac[j, a]
                for b in range(3):
                    shift[a] -= rotations[h, a, b] * frac[first, b]
            radius = 2.0 * reach
            good = True
            for _ in range(rounds):
                good = _map_once(
                    frac,
                    starts,
                    lattice,
                    rotations[h],
                    shift,
                    radius * radius,
                    images[count],
                    offsets[count],
                )
                if not good:
                    break
                for b in range(3):
                    mean = 0.0
                    for i in range(n):
                        mean += offsets[count, i, b]
                    mean /= n
                    for i in range(n):
                        offsets[count, i, b] -= mean
                    for a in range(3):
                        shift[a] += mean * inverse[b, a]
                radius = reach
            if not good:
                continue
            taken[:] = False
            for i in range(n):
                good = good and not taken[images[count, i]]
                taken[images[count, i]] = True
            for m in range(begin, count):  # two trials may end in one operation
                good = good and images[m, first] != images[count, first]
            if good:
                which[count] = h
                count += 1
    return which[:count], images[:count], offsets[:count]


@njit(cache=True)
def generated_group(generators, products, rotation, images, anchor, lookup, usable):
    """Operations that some of them generate.

    Parameters
    ----------
    generators : (G,) int64
    products : (H, H) int64
        Index of the rotation a b; -1 where the lattice does not have it.
    rotation, images
        From `possible_operations`.
    anchor : int
        Atom whose image tells operations of one rotation apart.
    lookup : (H, n) int64
        Operation with that rotation and that image of the anchor; -1 where there is none.
    usable : (M,) bool

    Returns
    -------
    (E,) int64
        Ascending; empty where one of them is not usable.
    """
    inside = np.zeros(rotation.size, np.bool_)
    members = np.empty(rotation.size, np.int64)
    count = 0
    for g in generators:
        if not inside[g]:
            inside[g] = True
            members[count] = g
            count += 1
    done = 0
    while done < count:
        for g in generators:
            h = products[rotation[members[done]], rotation[g]]
            made = lookup[h, images[members[done], images[g, anchor]]] if h >= 0 else -1
            if made < 0 or not usable[made]:
                return members[:0]
            if not inside[made]:
                inside[made] = True
                members[count] = made
                count += 1
        done += 1
    return np.flatnonzero(inside)
