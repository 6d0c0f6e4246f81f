"""The symmetry of a crystal whose lattice is exact and whose atoms carry known Gaussian errors.

spglib asks whether every atom falls within one distance of another. With errors of known
covariance the sharper question is whether the misfit of the best symmetric crystal is what
the errors alone would leave: a chi-square test per enlargement of the group, whose power
grows with the number of atoms, next to a bound on every single atom. The tolerance tau of
the label stays: what spglib accepts at tau is accepted here, and without errors nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rc_hpc.core.constants import ANGLE_TOLERANCE, NUMERICAL_ZERO, TAU
from rc_hpc.core.vocabulary import System
from rc_hpc.kernels.operations import generated_group, possible_operations
from rc_hpc.symmetry.guard import check_arrays, spglib_raises

#: Nominal chance with which a true symmetry is refused at each test. Small, because a crystal
#: is tested several times, the easiest enlargement first, and loses its system if one fails.
LEVEL = 1e-4
#: Nominal chance below which the way up from a lower group is doubtful, all lower groups of a
#: reading together: the errors alone would rarely leave so much, and the lower group is not
#: excluded. The data choose the way, so that of truly cubic perovskites 5 % are undecided.
DOUBT = 0.01
#: Standard deviations that tau counts for next to the errors of the atoms.
_SPAN = 3.0
#: Times that an operation's translation is fitted and the atoms are mapped again.
_ROUNDS = 3


@dataclass(frozen=True)
class SymmetricCell:
    """A cell moved onto the largest group of operations that its errors allow.

    Attributes
    ----------
    frac : (n, 3) float64
        Fractional coordinates, exactly invariant under the group, in the order given.
    order : int
        Number of operations, translations within the cell included.
    misfit : float
        Chi-square of the moves.
    freedom : int
        Its degrees of freedom.
    system : System
        Crystal system of the group.
    lowest : System
        Lowest crystal system that is not excluded: of the groups on the way up to this one,
        those from which the rest of the way costs more chi-square than the errors leave in a
        share DOUBT of crystals, which the groups divide among them; else of the group itself.
    """

    frac: np.ndarray
    order: int
    misfit: float
    freedom: int
    system: System
    lowest: System


def system_of_rotations(rotations: np.ndarray) -> System:
    """Crystal system of a point group, (G, 3, 3), from the orders of its rotations.

    What an improper operation turns by counts; each rotation once.
    """
    proper = {(np.rint(np.linalg.det(r)) * np.rint(r)).astype(int).tobytes(): r for r in rotations}
    traces = [round(float(np.linalg.det(r) * np.trace(r))) for r in proper.values()]
    twofold, threefold, fourfold, sixfold = (traces.count(t) for t in (-1, 0, 1, 2))
    if threefold >= 8:
        return System.cubic
    if sixfold:
        return System.hexagonal
    if threefold:
        return System.trigonal
    if fourfold:
        return System.tetragonal
    if twofold >= 3:
        return System.orthorhombic
    return System.monoclinic if twofold else System.triclinic


def lattice_system(lattice, tau: float = TAU, angle_tolerance: float = ANGLE_TOLERANCE) -> System:
    """Crystal system that the lattice's metric alone would tell, whatever its atoms."""
    lattice = np.ascontiguousarray(lattice, float)
    return system_of_rotations(_lattice_rotations(lattice.tobytes(), tau, angle_tolerance)[0])


@lru_cache(maxsize=4096)
def _lattice_rotations(
    lattice: bytes, tau: float, angle_tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Rotation parts that spglib finds for the bare lattice at the label's tolerances.

    Returns
    -------
    (H, 3, 3) float64, and the index (H, H) int64 of their products, -1 where there is none
    """
    import spglib

    bare = (np.frombuffer(lattice).reshape(3, 3), np.zeros((1, 3)), [1])
    try:
        with spglib_raises():
            found = spglib.get_symmetry(bare, tau, angle_tolerance)
    except getattr(spglib, "SpglibError", ()):
        found = None
    eye = np.eye(3, dtype=int)
    rotations = np.array(
        [eye, -eye] if found is None else np.unique(found["rotations"], axis=0), dtype=int
    )
    table = {r.tobytes(): k for k, r in enumerate(rotations)}
    products = [
        [table.get(np.ascontiguousarray(a @ b).tobytes(), -1) for b in rotations] for a in rotations
    ]
    return rotations.astype(float), np.array(products)


class _Operations:
    """Possible operations of one cell, with their products."""

    def __init__(self, frac, starts, lattice, rotations, products, reach):
        species = int(np.argmin(np.diff(starts)))
        self.anchor = starts[species]
        self.products = products
        self.which, self.images, self.offsets = possible_operations(
            frac, starts, lattice, rotations, species, reach, _ROUNDS
        )
        # x = L^T f, so a rotation W of fractional columns is L^T W L^-T in Cartesian space.
        self.cartesian = (lattice.T @ rotations @ np.linalg.inv(lattice.T))[self.which]
        self.lookup = np.full((len(rotations), len(frac)), -1)
        self.lookup[self.which, self.images[:, self.anchor]] = np.arange(len(self.which))
        one = int(np.flatnonzero((rotations == np.eye(3)).all(axis=(1, 2)))[0])
        self.identity = self.lookup[one, self.anchor]

    def group(self, generators, usable) -> np.ndarray:
        """Operations that these generate; none where one of them is not usable."""
        return generated_group(
            np.array(generators),
            self.products,
            self.which,
            self.images,
            self.anchor,
            self.lookup,
            usable,
        )

    def scores(self, covariance, tau):
        """Length of every offset, and how many standard deviations it exceeds tau by, (M, n)."""
        lengths = np.linalg.norm(self.offsets, axis=2)
        spread = np.linalg.inv(
            covariance + self.cartesian @ covariance @ self.cartesian.transpose(0, 2, 1)
        )
        sizes = np.sqrt(np.einsum("mia,mab,mib->mi", self.offsets, spread, self.offsets))
        return lengths, sizes * (1 - np.minimum(1.0, tau / np.maximum(lengths, tau)))


def _fit(operations, group, weight):
    """Nearest crystal that is invariant under a group.

    Returns
    -------
    moves : (n, 3)
        Cartesian, Å.
    misfit : float
    freedom : int
    """
    n = operations.images.shape[1]
    rotation = operations.cartesian[group]
    pulled = rotation.transpose(0, 2, 1) @ weight
    # All images of an atom, pulled back onto it, weighted by their covariances.
    normal = np.linalg.inv(np.einsum("gab,gbc->ac", pulled, rotation))
    moves = np.einsum("gab,gib->ia", pulled, operations.offsets[group], optimize=True) @ normal.T
    # The origin is free: the group's translations were fitted to the noisy atoms themselves.
    away = np.eye(3) - normal @ pulled.sum(axis=0)
    shift = np.linalg.pinv(n * away.T @ weight @ away, rcond=1e-9) @ (
        away.T @ weight @ -moves.sum(axis=0)
    )
    moves = moves + away @ shift
    traces = np.einsum("gaa->g", rotation)
    fixed = (operations.images[group] == np.arange(n)).sum(axis=1)
    freedom = 3 * n - (fixed @ traces) / len(group) - (3 - traces.mean())
    return moves, float(np.einsum("ia,ab,ib->", moves, weight, moves)), round(freedom)


def symmetrised(
    lattice, frac, numbers, covariance, tau=TAU, angle_tolerance=ANGLE_TOLERANCE, level=LEVEL
):
    """Move a noisy cell onto the largest group of operations that its errors allow.

    Parameters
    ----------
    lattice : (3, 3) array_like
        Exact lattice vectors as rows, Å.
    frac : (n, 3) array_like
        Fractional coordinates with errors.
    numbers : (n,) array_like
        Atomic numbers.
    covariance : (3, 3) array_like
        Covariance of every atom's Cartesian error, Å^2; zero where there is none.
    tau : float
        Distance up to which atoms count as symmetric without errors, Å.
    angle_tolerance : float
        Tolerance of the lattice's own symmetry, degrees.
    level : float
        Chance with which a true symmetry may be refused at each test.

    Raises
    ------
    StructureError
        As `guard.check_arrays`.
    """
    lattice, frac, numbers = check_arrays(lattice, frac, numbers)
    n = len(numbers)
    order = np.argsort(numbers, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.unique(numbers, return_counts=True)[1])))
    rotations, products = _lattice_rotations(lattice.tobytes(), tau, angle_tolerance)
    covariance = np.asarray(covariance, float) + NUMERICAL_ZERO**2 * np.eye(3)
    far = np.sqrt(_quantile(3, level / (n * len(rotations))))
    reach = tau + far * np.sqrt(2 * np.linalg.eigvalsh(covariance)[-1])
    operations = _Operations(frac[order], starts, lattice, rotations, products, reach)
    lengths, scores = operations.scores(covariance, tau)
    usable = scores.max(axis=1) <= far
    exact = lengths.max(axis=1) <= tau
    weight = np.linalg.inv(covariance + (tau / _SPAN) ** 2 * np.eye(3))

    generators, group = [operations.identity], np.array([operations.identity])
    moves, misfit, freedom = np.zeros((n, 3)), 0.0, 0
    refused = set()
    way = [(group, misfit, freedom, True)]  # group, its chi-square, whether tau accepts it
    for m in np.argsort(np.square(scores).sum(axis=1), kind="stable"):
        if not usable[m] or m in group:
            continue
        larger = operations.group([*generators, m], usable)
        if larger.size == 0 or larger.tobytes() in refused:
            continue
        fit = _fit(operations, larger, weight)
        if exact[larger].all() or fit[1] - misfit <= _quantile(fit[2] - freedom, level):
            group, (moves, misfit, freedom) = larger, fit
            generators.append(m)
            way.append((group, misfit, freedom, bool(exact[larger].all())))
        else:
            refused.add(larger.tobytes())
    result = np.empty_like(frac)
    result[order] = frac[order] + moves @ np.linalg.inv(lattice)
    systems = [system_of_rotations(rotations[operations.which[step[0]]]) for step in way]
    lowest = systems[-1]
    below = [(step, own) for step, own in zip(way, systems, strict=True) if own < lowest]
    for (_, before, fewer, _), system in () if way[-1][3] else below:
        if misfit - before > _quantile(freedom - fewer, DOUBT / len(below)) and system < lowest:
            lowest = system
    return SymmetricCell(result, len(group), misfit, freedom, systems[-1], lowest)


@lru_cache(maxsize=1 << 14)
def _quantile(freedom: int, level: float) -> float:
    """Value that chi-square exceeds with probability `level`; rounding's share without freedom."""
    from scipy.stats import chi2

    return float(chi2.isf(level, freedom)) if freedom > 0 else 1e-6
