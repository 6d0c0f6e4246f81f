"""Point groups of molecules: ASE's g2 set, turned at will, and what the analyzer trips over."""

from collections import Counter

import numpy as np
import pytest
from ase.build import molecule
from ase.collections import g2

from rc_hpc.geometry.cameras import rotation_from_direction
from rc_hpc.symmetry.point_groups import HIGHEST_AXIS, SCHOENFLIES, point_group

#: Known groups; the hydrogen of HOI, which is not among ASE's, hardly turns the axes of inertia.
KNOWN = {
    "H": "Kh",
    "H2": "D*h",
    "HCl": "C*v",
    "CO2": "D*h",
    "C2H2": "D*h",
    "H2O": "C2v",
    "NH3": "C3v",
    "CH4": "Td",
    "C6H6": "D6h",
    "BF3": "D3h",
    "C2H6": "D3d",
    "C2H4": "D2h",
    "H3CNH2": "Cs",
    "H2O2": "C2",
    "CH3O": "Cs",
}
TURNS = [rotation_from_direction(d, (0.3, 0.1, 2.0)) for d in ([1, -2, 0.7], [0.1, 5, 1])]


def atoms_of(name):
    atoms = molecule(name)
    return atoms.numbers, atoms.positions


@pytest.mark.parametrize(("name", "wanted"), KNOWN.items())
def test_known_molecules_in_any_orientation(name, wanted):
    numbers, positions = atoms_of(name)
    assert point_group(numbers, positions) == wanted
    for turn in TURNS:
        assert point_group(numbers, positions @ turn + [3.0, -1.0, 40.0]) == wanted


def test_all_of_g2_have_the_groups_that_were_counted():
    """SOURCES: 148 molecules of two atoms or more, pymatgen's analyzer at 0.05 Å."""
    groups = [point_group(*atoms_of(name)) for name in g2.names]
    assert set(groups) <= set(SCHOENFLIES)
    counts = Counter(groups)
    assert counts.pop("Kh") == 14 and sum(counts.values()) == 148
    assert counts == {
        "Cs": 36,
        "C2v": 31,
        "C*v": 22,
        "C3v": 15,
        "D*h": 14,
        "D3h": 7,
        "Td": 6,
        "C1": 3,
        "C2h": 3,
        "D2d": 3,
        "D2h": 3,
        "D3d": 2,
        "C2": 2,
        "D6h": 1,
    }


def test_a_bent_molecule_with_a_light_end_is_not_linear():
    angle = np.radians(107.0)
    bent = [[0, 0, 0], [1.99, 0, 0], [1.99 - 0.97 * np.cos(angle), 0.97 * np.sin(angle), 0]]
    assert point_group([53, 8, 1], bent) == "Cs"
    straight = [[0, 0, 0], [1.99, 0, 0], [2.96, 0.01, 0]]  # straight within the tolerance
    assert point_group([53, 8, 1], straight) == "C*v"
    assert point_group([53, 8, 1], straight, 0.001) == "Cs"


def test_tolerance_decides():
    numbers, positions = atoms_of("CH4")
    off = positions.copy()
    off[1] += [0.0, 0.0, 0.01]
    assert point_group(numbers, off, 0.001) == "Cs" and point_group(numbers, off) == "Td"


@pytest.mark.parametrize("n", [2, 5, 8, HIGHEST_AXIS])
def test_rings_of_any_order(n):
    angles = 2 * np.pi * np.arange(n) / n
    ring = 3.0 * np.stack([np.cos(angles), np.sin(angles), np.zeros(n)], axis=1)
    positions = np.concatenate([ring, [[0, 0, 1.0]]])
    assert point_group([6] * n + [8], positions) == f"C{n}v"
    positions = np.concatenate([ring, [[0, 0, 1.0], [0, 0, -1.0]]])
    assert point_group([6] * n + [8, 8], positions) == f"D{n}h"


def test_points_that_are_no_molecule_have_none():
    assert point_group([1, 1], np.zeros((2, 3))) is None
    assert point_group([1, 1], [[0, 0, 0], [np.nan, 0, 0]]) is None


def test_codes_are_stored_and_fixed():
    assert len(set(SCHOENFLIES)) == len(SCHOENFLIES) == 90
    assert [SCHOENFLIES.index(name) + 1 for name in ("C1", "C2", "C2v", "D2h", "Td", "Kh")] == [
        1,
        4,
        15,
        59,
        82,
        90,
    ]
