"""Scenes for the tests of the pictures."""

import numpy as np

from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.structures.sources import iter_items

FROZEN = load_protocol("frozen")


def prototypes(count, largest=12):
    """(id, lattice, numbers, positions) of small prototypes, spread over their list."""
    small = []
    for item in list(iter_items(["prototypes"]))[::6]:
        structure = item.read(item, item.blob())
        if len(structure.numbers) <= largest:
            small.append((item.id, structure.lattice, structure.numbers, structure.positions))
    step = max(1, len(small) // count)
    return small[::step][:count]


def rock_salt(a=5.64):
    """The conventional cell of NaCl: lattice, numbers, positions."""
    corners = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]) / 2
    positions = a * np.concatenate([corners, corners + np.array([0.5, 0, 0])])
    return a * np.eye(3), np.repeat([11, 17], 4), positions


def triclinic(seed=5, atoms=6):
    """A cell of no symmetry with random atoms of two elements."""
    rng = np.random.default_rng(seed)
    lattice = np.array([[5.1, 0, 0], [1.3, 6.2, 0], [-0.7, 1.1, 7.4]])
    return lattice, rng.choice([8, 22], atoms), rng.random((atoms, 3)) @ lattice
