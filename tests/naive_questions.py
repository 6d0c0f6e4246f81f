"""Right options of benchmark questions the slow, obvious way, from what is displayed."""

import itertools
import math

import numpy as np

FOUR_Q3 = {
    ("B", False): "A-B is longer than A-C, by less than 50 %",
    ("B", True): "A-B is longer than A-C, by more than 50 %",
    ("C", False): "A-C is longer than A-B, by less than 50 %",
    ("C", True): "A-C is longer than A-B, by more than 50 %",
}
FOUR_Q5 = {
    "same": "Both groups show the same structure",
    "exchange": "Two elements have changed places; the sites are the same",
    "stretch": "The size or shape of the cell has changed; the arrangement within it is the same",
    "else": "The arrangement of atoms has changed: atoms are missing or lie elsewhere",
}


def symbol(number):
    from pymatgen.core import Element

    return Element.from_Z(int(number)).symbol


def translations(reach):
    return itertools.product(range(-reach, reach + 1), repeat=3)


def displayed_count(base, repeats):
    """Points of the crystal in a block of cells, its faces (0.01 Å) included."""
    sides = [math.dist((0, 0, 0), vector) for vector in base.lattice]
    count = 0
    for place in base.fractional:
        for shift in itertools.product(*(range(-1, n + 2) for n in repeats)):
            there = [place[k] + shift[k] for k in range(3)]
            slack = [0.01 / side for side in sides]
            count += all(-slack[k] <= there[k] <= repeats[k] + slack[k] for k in range(3))
    return count


def cell_content(base):
    counts = {}
    for number in base.numbers:
        counts[symbol(number)] = counts.get(symbol(number), 0) + 1
    return " ".join(sorted(f"{name}{n}" for name, n in counts.items()))


def coordination(base, atom, factor=1.10, reach=3):
    """Neighbours of an atom of the cell: all distances to so many cells around."""
    places = [f @ base.lattice for f in base.fractional]
    shifts = [np.array(t) @ base.lattice for t in translations(reach)]
    total = 0
    for pair in base.pairs:
        shortest = math.inf
        for a, b in itertools.product(range(len(places)), repeat=2):
            if {int(base.numbers[a]), int(base.numbers[b])} == set(pair):
                for shift in shifts:
                    distance = math.dist(places[a], places[b] + shift)
                    if distance > 1e-6:
                        shortest = min(shortest, distance)
        for b in range(len(places)):
            if {int(base.numbers[atom]), int(base.numbers[b])} == set(pair):
                for shift in shifts:
                    distance = math.dist(places[atom], places[b] + shift)
                    total += 1e-6 < distance <= factor * shortest + 1e-8
    return total


def longer(scene):
    """Right option of Q3, and the two distances in space."""
    a, b, c = (scene.positions[scene.marks[mark]] for mark in "ABC")
    to_b, to_c = math.dist(a, b), math.dist(a, c)
    which = "B" if to_b > to_c else "C"
    return FOUR_Q3[which, max(to_b, to_c) > 1.5 * min(to_b, to_c)], (to_b, to_c)


def flat_distances(scene, view):
    """A-B and A-C as one view shows them, Å."""
    camera = next(one for one in scene.cameras if one.id == view)
    right, up, _ = camera.rotation
    on_screen = {
        mark: (float(right @ scene.positions[k]), float(up @ scene.positions[k]))
        for mark, k in scene.marks.items()
    }
    return math.dist(on_screen["A"], on_screen["B"]), math.dist(on_screen["A"], on_screen["C"])


def system(base):
    from pymatgen.core import Structure
    from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

    cell = Structure(base.lattice, base.numbers, base.fractional)
    return SpacegroupAnalyzer(cell, symprec=0.01).get_crystal_system()


def changed(first, second):
    """Right option of Q5 from two displayed cells, atom for atom."""

    def told(scene):
        inverse = np.linalg.inv(scene.lattice)
        return {
            tuple(np.round(p @ inverse, 3) + 0.0): int(n)
            for p, n in zip(scene.positions, scene.numbers)
        }

    one, other = told(first), told(second)
    if set(one) != set(other):
        return FOUR_Q5["else"]
    alike = np.allclose(first.lattice, second.lattice, atol=0.005)
    if one == other:
        return FOUR_Q5["same" if alike else "stretch"]
    moves = {(n, other[place]) for place, n in one.items() if n != other[place]}
    turned = {(b, a) for a, b in moves}
    return FOUR_Q5["exchange" if alike and len(moves) == 2 and moves == turned else "else"]


def looks_along(scene, view, indices):
    """Whether a view is exactly along a lattice direction, either way."""
    camera = next(one for one in scene.cameras if one.id == view)
    direction = np.array(indices, float) @ scene.lattice
    direction /= np.linalg.norm(direction)
    return abs(abs(float(camera.rotation[2] @ direction)) - 1) < 1e-9


def equivalent(base, one, other):
    """Whether a symmetry operation, or a look from behind, takes one direction to the other.

    Cartesian rotations of the space group, one by one.
    """
    from pymatgen.core import Structure
    from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

    cell = Structure(base.lattice, base.numbers, base.fractional)
    operations = SpacegroupAnalyzer(cell, symprec=0.01).get_symmetry_operations(cartesian=True)
    d, e = (np.array(k, float) @ base.lattice for k in (one, other))
    return any(
        np.allclose(sign * op.rotation_matrix @ d, e, atol=1e-3)
        for op in operations
        for sign in (1, -1)
    )
