"""Whether operations map the atoms of a crystal onto atoms, exactly or nearly."""

from numba import njit


@njit(cache=True)
def first_that_maps(frac, starts, lattice, rotations, shifts, reach, maps):
    """The first operation that maps every atom to within `reach` of one of its species, or not.

    Parameters
    ----------
    frac : (n, 3) float64
        Fractional coordinates, sorted by species.
    starts : (S + 1,) int64
        Species ranges.
    lattice : (3, 3) float64
        Basis vectors as rows, Å: nearly reduced where `reach` is large, since images are looked for
        by rounding.
    rotations, shifts : (m, 3, 3), (m, 3) float64
        Acting on columns of fractional coordinates.
    reach
        Å.
    maps : bool
        Whether one that does is looked for, or one that does not.

    Returns
    -------
    int
        Its number; -1 where there is none.
    """
    for m in range(len(rotations)):
        if _maps(frac, starts, lattice, rotations[m], shifts[m], reach * reach) == maps:
            return m
    return -1


@njit
def _maps(frac, starts, lattice, rotation, shift, reach2):
    for s in range(starts.size - 1):
        for i in range(starts[s], starts[s + 1]):
            x, y, z = frac[i, 0], frac[i, 1], frac[i, 2]
            u = rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z + shift[0]
            v = rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z + shift[1]
            w = rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z + shift[2]
            found = False
            for k in range(starts[s], starts[s + 1]):
                a, b, c = frac[k, 0] - u, frac[k, 1] - v, frac[k, 2] - w
                a, b, c = a - round(a), b - round(b), c - round(c)
                x = a * lattice[0, 0] + b * lattice[1, 0] + c * lattice[2, 0]
                y = a * lattice[0, 1] + b * lattice[1, 1] + c * lattice[2, 1]
                z = a * lattice[0, 2] + b * lattice[1, 2] + c * lattice[2, 2]
                if x * x + y * y + z * z <= reach2:
                    found = True
                    break
            if not found:
                return False
    return True
