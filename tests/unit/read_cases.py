"""Crystals drawn for the reader, with the marks that a perfect detector would make of them."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.images.fast import FastRenderer
from rc_hpc.kernels.painting import seen_pixels
from rc_hpc.reader.convention import named
from rc_hpc.reader.records import Knowledge, Marks

ROTATIONS = load_protocol("frozen").rotations


@dataclass
class Case:
    """A crystal, its pictures and marks."""

    lattice: np.ndarray
    numbers: np.ndarray
    positions: np.ndarray
    pictures: list
    views: list
    marks: list

    def knowledge(self, level, size=384):
        known = {}
        if level != "K0":
            known = {
                "lattice_A": self.lattice,
                "pixels_per_A": np.array([view.px_per_angstrom for view in self.views]),
                "origins_px": np.array([view.origin for view in self.views]),
            }
        if level == "K2":
            known["species"] = tuple(sorted(self.numbers.tolist()))
        return Knowledge(level, ROTATIONS, size, named("C1"), **known)


def case(lattice, numbers, positions, size=384, noise=0.0, every=False, least=30, scale_error=0.0):
    """Draw a crystal and mark its discs.

    Parameters
    ----------
    noise
        Standard error of the centres, px.
    every
        Mark the hidden discs too.
    least
        Pixels seen of a disc that is marked.
    scale_error
        Share by which all scales are wrong.
    """
    lattice, numbers, positions = (np.asarray(one) for one in (lattice, numbers, positions))
    rng = np.random.default_rng(1)
    convention = named("C1")
    scene = convention.scene(lattice, numbers, positions)
    renderer, pictures, views, marks = FastRenderer(), [], [], []
    for rotation in ROTATIONS:
        view = convention.view(scene, rotation, size)
        pictures.append(renderer.draw(scene, view))
        views.append(view)
        line = convention.line_px / 2
        seen, whole = seen_pixels(
            view.order, view.centres, view.radii + line, view.middles, view.halves,
            np.full(len(view.middles), line), np.empty((0, 4)), np.zeros(len(view.radii), bool),
            size, size,
        )  # fmt: skip
        keep = np.ones(len(seen), bool) if every else seen >= least
        centres = view.centres[keep] + noise * rng.normal(size=(keep.sum(), 2))
        scale = view.px_per_angstrom * (1 + scale_error)
        marks.append(
            Marks(
                scene.discs.numbers[keep],
                centres,
                np.tile(max(noise, 1e-4) ** 2 * np.eye(2), (len(centres), 1, 1)),
                view.radii[keep],
                np.full(len(centres), 100),
                seen[keep] / whole[keep],
                scale,
                2e-4 * scale,
            )
        )
    return Case(lattice, numbers, positions, pictures, views, marks)


def hexagonal(a, c):
    """Vectors of a hexagonal cell as they stand in the standard setting."""
    return np.array([[a / 2, -a * 3**0.5 / 2, 0], [a / 2, a * 3**0.5 / 2, 0], [0, 0, c]])


def cells():
    """Crystals of several systems: name to lattice, numbers, positions, space group."""
    fcc = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    salt = np.concatenate((fcc, np.mod(fcc + 0.5, 1)))
    wurtzite = np.array([[1 / 3, 2 / 3, 0], [2 / 3, 1 / 3, 0.5]])
    wurtzite = np.concatenate((wurtzite, wurtzite + (0, 0, 0.375)))
    rutile = np.array([[0, 0, 0], [0.5, 0.5, 0.5]])
    oxygen = np.array([[0.305, 0.305, 0], [0.695, 0.695, 0], [0.195, 0.805, 0.5]])
    rutile = np.concatenate((rutile, oxygen, [[0.805, 0.195, 0.5]]))
    rng = np.random.default_rng(5)
    skew = np.array([[5.1, 0, -0.9], [-1.3, 6.0, -0.7], [0, 0, 6.6]])
    grid = np.array([[i, j, k] for i in (0.2, 0.7) for j in (0.2, 0.7) for k in (0.2, 0.7)])
    loose = grid + rng.uniform(-0.08, 0.08, grid.shape)
    return {
        "rock salt": (5.64 * np.eye(3), [11] * 4 + [17] * 4, salt, 225),
        "wurtzite": (hexagonal(3.82, 6.26), [30] * 2 + [16] * 2, wurtzite, 186),
        "rutile": (np.diag([4.594, 4.594, 2.959]), [22] * 2 + [8] * 4, rutile, 136),
        "skew": (skew, [56, 22, 8, 8, 9, 9, 3, 3], loose, 1),
    }


def made(name, **options):
    """One of `cells`, drawn and marked."""
    lattice, numbers, fractional, _ = cells()[name]
    return case(lattice, numbers, np.asarray(fractional) @ lattice, **options)


def swapped(drawn, **changes):
    """The case with other fields."""
    return dataclasses.replace(drawn, **changes)


def same_crystal(lattice, numbers, positions, other, tolerance=0.01):
    """Whether two crystals are one, up to a translation and another choice of vectors."""
    lattice_b, numbers_b, positions_b = other
    change = np.linalg.solve(lattice_b.T, lattice.T)
    if abs(abs(np.linalg.det(change)) - 1) > 1e-2 or len(numbers) != len(numbers_b):
        return False
    if np.abs((change - np.round(change)).T @ lattice_b).max() > tolerance:
        return False
    species, counts = np.unique(numbers, return_counts=True)
    rarest = species[counts.argmin()]
    first = positions[numbers == rarest][0]
    for start in positions_b[numbers_b == rarest]:
        away = positions[:, None] + start - first - positions_b[None]
        away = np.linalg.solve(lattice_b.T, away.reshape(-1, 3).T).T
        apart = np.linalg.norm((away - np.round(away)) @ lattice_b, axis=1)
        apart = apart.reshape(len(positions), -1)
        apart[numbers[:, None] != numbers_b[None]] = np.inf
        if apart.min(1).max() < tolerance and apart.min(0).max() < tolerance:
            return True
    return False
