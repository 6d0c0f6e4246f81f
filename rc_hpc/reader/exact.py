"""What pictures tell beyond the errors of marks: exact symmetry, exact directions, painter's ties.

Discs and dashes at one depth are painted in the order of tiles and sites, and noise of any size
breaks such ties. A crystal whose symmetries are exact has them back; which of two tied discs lies
on top then tells the order of the sites and of the cell's vectors.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from rc_hpc.images.ties import tied_pairs
from rc_hpc.images.view import View, depth_groups
from rc_hpc.kernels.registration import tie_votes
from rc_hpc.reader.drawn import Drawn, Redrawing
from rc_hpc.symmetry.guard import spglib_raises

#: Stretches that are tried, in standard errors.
STRETCHES = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0)
#: Pixels that differ from which on something is worth trying.
WORTH = 10
#: And from which on the search is long.
MUCH = 60
#: Components of a lattice below which they may be others, Å, and by how many standard errors.
NEARLY, LEANS = 2e-3, (-1.0, 1.0, -2.5, 2.5)
#: Angle to an axis below which a direction is taken to lie along it, rad.
ALONG = 3e-4
#: Distances from a symmetry of the bare lattice that is taken to be exact, Å.
REGULAR = 0.003
#: Translations of symmetries in standard settings are multiples of one part in so many.
PARTS = 24
#: By how much a translation may miss such a multiple.
OFF_PART = 0.006


@dataclasses.dataclass(frozen=True, eq=False)
class Crystal:
    """A cell as it is drawn: lattice (3, 3), atomic numbers (n,), positions (n, 3), Å.

    `sites` (n,) says which site each was at first.
    """

    lattice: np.ndarray
    numbers: np.ndarray
    positions: np.ndarray
    sites: np.ndarray

    @property
    def fractional(self) -> np.ndarray:
        """Positions in units of the vectors, (n, 3)."""
        return np.linalg.solve(self.lattice.T, self.positions.T).T

    def draw(self, redrawing: Redrawing) -> Drawn:
        """Its pictures."""
        return redrawing.draw(self.lattice, self.numbers, self.positions)


def upright(lattice: np.ndarray) -> np.ndarray:
    """The lattice turned by no more than `ALONG`, so that directions lie exactly along axes."""
    small = [np.array(n) for n in itertools.product((-1, 0, 1), repeat=3) if any(n)]
    directions = np.array([n @ lattice for n in small])
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    aligned = np.argwhere(directions > np.cos(ALONG))
    if not len(aligned):
        return lattice
    k, axis = max(aligned, key=lambda one: directions[one[0], one[1]])
    lattice = lattice @ _onto(directions[k], np.eye(3)[axis])
    directions = np.array([n @ lattice for n in small])
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    best: tuple[float, float] | None = None
    for one, other in itertools.permutations([c for c in range(3) if c != axis]):
        for d in directions:
            # Turned about the axis so that the component along `one` vanishes.
            if abs(d[one]) < ALONG and abs(d[other]) > 0.1:
                angle = np.arctan2(d[one], d[other])
                if best is None or abs(angle) < abs(best[0]):
                    best = angle, one
    if best is not None:
        one = int(best[1])
        other = 3 - axis - one
        turn = np.eye(3)
        c, s = np.cos(best[0]), np.sin(best[0])
        turn[one, one] = turn[other, other] = c
        turn[one, other], turn[other, one] = s, -s
        if abs(((directions @ turn)[:, one])[np.abs(directions[:, one]) < ALONG]).min() > 1e-9:
            turn = turn.T
        lattice = lattice @ turn
    return np.where(np.abs(lattice) < 1e-9, 0.0, lattice)


def _onto(direction: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """The least rotation that takes one unit vector to another: ``direction @ it == axis``."""
    cross = np.cross(direction, axis)
    skew = np.array([[0, cross[2], -cross[1]], [-cross[2], 0, cross[0]], [cross[1], -cross[0], 0]])
    turn: np.ndarray = np.eye(3) + skew + skew @ skew / (1.0 + direction @ axis)
    return turn


def symmetrised(crystal: Crystal, rotations, translations, keep_lattice: bool) -> Crystal | None:
    """The crystal with symmetries made exact, where it was; None where a site has no image.

    Parameters
    ----------
    rotations : (m, 3, 3) int, translations : (m, 3)
        Of the symmetries, on fractional coordinates.
    keep_lattice
        The lattice is known.
    """
    lattice, fractional, numbers = crystal.lattice, crystal.fractional, crystal.numbers
    shift, translations = _standard_origin(rotations, translations)
    fractional = fractional - shift
    images = np.einsum("mab,nb->mna", rotations, fractional) + translations[:, None]
    away = images[:, :, None] - fractional[None, None]
    away -= np.round(away)
    apart = np.linalg.norm(away @ lattice, axis=3)
    apart[:, numbers[:, None] != numbers[None]] = np.inf
    onto = apart.argmin(2)
    total = np.zeros_like(fractional)
    for m, target in enumerate(onto):
        if len(np.unique(target)) < len(target):
            return None
        total[target] += away[m, np.arange(len(target)), target]
    fractional = fractional + total / len(rotations)
    if not keep_lattice:
        lattice = upright(_averaged(lattice, rotations))
    return dataclasses.replace(crystal, lattice=lattice, positions=fractional @ lattice)


def regular(crystal: Crystal) -> Crystal:
    """The crystal with the symmetries of its bare lattice exact, and its directions."""
    import spglib

    point = crystal.lattice, np.zeros((1, 3)), [1]
    lattice = crystal.lattice
    try:
        with spglib_raises():
            found = spglib.get_symmetry(point, REGULAR, angle_tolerance=-1)
    except getattr(spglib, "SpglibError", ()):
        found = None
    if found is not None:
        lattice = _averaged(lattice, found["rotations"])
    lattice = upright(lattice)
    return dataclasses.replace(crystal, lattice=lattice, positions=crystal.fractional @ lattice)


def _averaged(lattice: np.ndarray, rotations) -> np.ndarray:
    """The lattice whose metric the rotations (m, 3, 3) keep, as it stood."""
    metric = lattice @ lattice.T
    root = np.linalg.cholesky(np.mean([w.T @ metric @ w for w in rotations], axis=0))
    left, _, right = np.linalg.svd(root.T @ lattice)
    turned: np.ndarray = root @ (left @ right)
    return turned


def _standard_origin(rotations, translations) -> tuple[np.ndarray, np.ndarray]:
    """Shift of the origin after which all translations are round, and those translations."""
    rounded = np.round(translations * PARTS) / PARTS
    away = rounded - translations
    turns = np.asarray(rotations, float) - np.eye(3)
    shift = np.linalg.lstsq(turns.reshape(-1, 3), away.reshape(-1), rcond=1e-6)[0]
    moved = translations + turns @ shift
    rounded = np.round(moved * PARTS) / PARTS
    if np.abs(moved - rounded).max() > OFF_PART:
        return np.zeros(3), np.asarray(translations)
    return shift, rounded


def relabelled(crystal: Crystal, order: tuple[int, ...], signs: tuple[int, ...]) -> Crystal:
    """The same block of cells with its vectors in another order and direction."""
    signs_ = np.array(signs)
    corner = crystal.lattice[signs_ < 0].sum(0)
    lattice = (crystal.lattice * signs_[:, None])[list(order)]
    return dataclasses.replace(crystal, lattice=lattice, positions=crystal.positions - corner)


def usual(crystal: Crystal) -> Crystal:
    """The crystal with its vectors along x, y and z, as far as they are."""
    lengths = np.linalg.norm(crystal.lattice, axis=1)
    cosines = crystal.lattice / lengths[:, None]
    order = max(
        itertools.permutations(range(3)),
        key=lambda some: 3 * abs(cosines[some[2], 2]) + abs(cosines[some[1], 1])
        + abs(cosines[some[0], 0]) + 0.1 * cosines[some[1], 1] * np.sign(cosines[some[1], 0]),
    )  # fmt: skip
    signs = np.ones(3, int)
    for axis, k in enumerate(order):
        signs[k] = -1 if cosines[k, axis] < 0 else 1
    return relabelled(crystal, order, tuple(int(s) for s in signs))


def tied_again(crystal: Crystal, drawn: Drawn, redrawing: Redrawing, relabel: bool) -> Crystal:
    """The crystal with sites and vectors in the order that the pictures' ties tell.

    Parameters
    ----------
    drawn
        Of the crystal.
    relabel
        Whether the order of the vectors is free.
    """
    n = len(crystal.numbers)
    tiles = np.array(
        list(itertools.product(*map(range, redrawing.knowledge.convention.tiling))), np.int64
    )
    first, second, votes = [], [], []
    for k, view in enumerate(drawn.views):
        if not drawn.differing[k]:
            continue
        pairs = tied_pairs(drawn.scene, view)
        pairs = pairs[np.all(pairs < len(view.radii), axis=1)]
        if not len(pairs):
            continue
        back = redrawing.draw_view(drawn.scene, _backwards(view))
        radii = view.radii + redrawing.knowledge.convention.line_px / 2
        votes.append(
            tie_votes(redrawing.pictures[k], drawn.pixels[k], back, pairs, view.centres, radii)
        )
        first.append(pairs[:, 0])
        second.append(pairs[:, 1])
    if not votes:
        return crystal
    low, high = np.concatenate(first), np.concatenate(second)
    vote = np.concatenate(votes)
    tile_low, tile_high = tiles[low // n], tiles[high // n]
    if relabel:
        best: float | None = None
        chosen: tuple[tuple[int, ...], tuple[int, ...]] = ((0, 1, 2), (1, 1, 1))
        across = (tile_high - tile_low)[low // n != high // n]
        cast = vote[low // n != high // n]
        for order in itertools.permutations(range(3)):
            for signs in itertools.product((1, -1), repeat=3):
                step = (across * np.array(signs))[:, list(order)]
                later = np.sign(step @ np.array((16, 4, 1)))
                score = float(cast @ later)
                if best is None or score > best + 1e-9:
                    best, chosen = score, (order, signs)
        crystal = relabelled(crystal, *chosen)
    wins = np.zeros((n, n))
    same = low // n == high // n
    np.add.at(wins, (low[same] % n, high[same] % n), vote[same])
    ranked = _ranked(wins - wins.T)
    return dataclasses.replace(
        crystal,
        numbers=crystal.numbers[ranked],
        positions=crystal.positions[ranked],
        sites=crystal.sites[ranked],
    )


def _backwards(view: View) -> View:
    """The view with the order of everything at one depth turned round."""
    order, group = depth_groups(view.depth)
    place = np.empty(len(order), np.int64)
    place[order] = group
    turned = view.order[np.lexsort((-view.order, place[view.order]))]
    return dataclasses.replace(view, order=turned)


def _ranked(wins: np.ndarray) -> np.ndarray:
    """An order in which i stands before j where ``wins[i, j]`` is positive, as far as there is."""
    left = list(range(len(wins)))
    found = []
    while left:
        before = [wins[np.ix_(left, [k])].clip(min=0).sum() for k in left]
        found.append(left.pop(int(np.argmin(before))))
    return np.array(found)


def _leaning(lattice: np.ndarray, sigma: np.ndarray) -> list[np.ndarray]:
    """Lattices some of whose nearly vanishing components are others, the errors allowing."""
    made = []
    for i, j in np.argwhere(np.abs(lattice) < NEARLY):
        for value in (0.0, *(lattice[i, j] + sigma[i, j] * np.array(LEANS))):
            other = lattice.copy()
            other[i, j] = value
            made.append(other)
    return made


def exact(
    crystal: Crystal,
    drawn: Drawn,
    redrawing: Redrawing,
    symmetries: tuple | None,
    stretch_sigma: float,
    lattice_sigma: np.ndarray,
) -> tuple[Crystal, Drawn]:
    """The crystal with everything exact that draws the pictures better so, and its drawing.

    Parameters
    ----------
    symmetries : tuple or None
        Rotations (m, 3, 3) and translations (m, 3) of the symmetries that it nearly has.
    stretch_sigma : float
        Standard error of its stretch as a share of it; 0: its lattice and its place are known.
    lattice_sigma : (3, 3) float64
        Of the vectors, Å.
    """
    free = stretch_sigma > 0

    def better(other: Crystal) -> bool:
        nonlocal crystal, drawn
        again = other.draw(redrawing)
        if again.total > drawn.total:
            return False
        crystal, drawn = other, again
        return True

    if symmetries is not None:
        whole = symmetrised(crystal, symmetries[0], symmetries[1], not free)
        if whole is not None:
            better(whole)
    if free and drawn.total > WORTH:
        better(regular(crystal))
    if free:
        better(usual(crystal))
    if drawn.total > WORTH:
        better(tied_again(crystal, drawn, redrawing, free))
    if free and drawn.total > WORTH:
        # A level or upright dash moves by a whole pixel where its place passes a pixel's edge.
        start = crystal
        for times in STRETCHES:
            factor = np.exp(times * stretch_sigma)
            better(
                dataclasses.replace(
                    start, lattice=start.lattice * factor, positions=start.positions * factor
                )
            )
            if drawn.total <= WORTH:
                break
    if free and drawn.total > MUCH:
        # The renderer lays strokes on whole pixels only where they lean by next to nothing.
        fractional = crystal.fractional
        for lattice in _leaning(crystal.lattice, lattice_sigma):
            better(dataclasses.replace(crystal, lattice=lattice, positions=fractional @ lattice))
            if drawn.total <= WORTH:
                break
    return crystal, drawn
