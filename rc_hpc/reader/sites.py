"""Sites of a cell from the discs marked in its pictures, where the frame is known.

Every disc is taken back to the cell at the origin, all places in space where the rays of two
pictures meet are listed by the oracle's own enumeration, each is held against every copy of it in
every picture, and the fewest of them are taken that explain all discs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kernels.copies import base_points, refit, support
from rc_hpc.kernels.records import ImagePoints
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.reader.frame import Frame
from rc_hpc.reader.marked import Marked

#: No two sites of one species are nearer than this modulo the lattice, Å.
LEAST_DISTANCE = 0.1
#: Misfit at which a mark is no longer a site's, in standard errors.
GATE = 5.0
#: Rays' candidates are looked for this much farther apart than the tolerance.
REACH = 3.0
#: Marks of its own from which on a site is no mistake of the detector's.
FEW_ALONE = 2
#: Candidates at most.
MOST_CANDIDATES = 4_000_000


@dataclass(frozen=True, eq=False)
class Sites:
    """Sites of a cell.

    Attributes
    ----------
    species : (n,) int64
        Index into `Marked.species`.
    positions : (n, 3) float64
        Å.
    rows : (n, V, T) int32
        Marks that each copy meets; see `rc_hpc.kernels.copies.support`.
    score : (n,) float64
    unexplained : (m,) int64
        Strong marks that no site meets.
    spare : (n,) bool
        Sites of whose marks next to none is theirs alone.
    others : int
        Further places that no picture contradicts, whose marks these sites explain.
    """

    species: np.ndarray
    positions: np.ndarray
    rows: np.ndarray
    score: np.ndarray
    unexplained: np.ndarray
    spare: np.ndarray
    others: int

    def __len__(self) -> int:
        return len(self.species)


def finder(rotations: np.ndarray) -> Callable[..., Sites]:
    """What finds sites in pictures of these cameras."""
    names = tuple(f"v{view}" for view in range(len(rotations)))
    oracle = GeometricOracle(
        Protocol("reader", names, np.asarray(rotations)),
        [tuple(range(len(names)))],
        max_candidates=MOST_CANDIDATES,
    )

    def find(marked: Marked, frame: Frame, blur: float, slack: float, least: int = 2) -> Sites:
        """Sites where the frame is known to a standard error of `blur` px, and the box to `slack`.

        The box is where the cell at the origin ends; sites lie within it.
        """
        lens, blanks = frame.lens, marked.blanks(frame.scales)
        margin = slack + 2 * GATE * blur
        positions, species = _candidates(oracle, marked, frame, lens, blanks, blur, margin)
        keep = _inside(frame, positions, margin)
        return fewest(marked, frame, positions[keep], species[keep], blur, least)

    return find


def _candidates(oracle, marked, frame, lens, blanks, blur, margin):
    """Where rays of two pictures meet: positions (C, 3), Å, and species (C,)."""
    n_views, n_species = len(lens.origins), len(marked.species)
    found = [
        base_points(marked.marks, lens, blanks, view, margin, blur, GATE) for view in range(n_views)
    ]
    screen = np.zeros((n_views, max(1, *(len(places) for places, _ in found)), 2))
    starts = np.zeros((n_views, n_species + 1), np.int64)
    for view, (places, begins) in enumerate(found):
        away = (places - lens.origins[view]) / frame.scales[view]
        screen[view, : len(away)] = away * (1.0, -1.0)
        starts[view] = begins
    scale, sigma = frame.scales.min(), np.median(np.sqrt(marked.marks.covariance[:, [0, 2]]))
    reach = REACH * (blur + 3 * sigma) / scale
    images = ImagePoints(screen, starts, marked.species)
    listed = oracle.enumerate(images, reach, reach, tie=sigma / scale).candidates
    return listed.position, listed.species.astype(np.int64)


def _inside(frame: Frame, positions: np.ndarray, margin_px: float) -> np.ndarray:
    """Which positions lie in the cell at the origin, but for a margin."""
    inverse = np.linalg.inv(frame.lattice)
    margin = margin_px / frame.scales.min() * np.linalg.norm(inverse, axis=0)
    fractional = positions @ inverse
    return np.all((fractional > -margin) & (fractional < 1 + margin), axis=1)


def fewest(marked: Marked, frame: Frame, positions, species, blur: float, least: int = 2) -> Sites:
    """The fewest of the places that explain every mark that any of them explains.

    Parameters
    ----------
    positions : (C, 3), species : (C,)
        Places, Å, and indices of species.
    blur
        Standard error of the frame, px.
    least
        Views in which a site must be seen.
    """
    lens, blanks = frame.lens, marked.blanks(frame.scales)
    rows, score = support(
        positions, species, marked.marks, lens, blanks, np.full(len(species), REACH * blur), GATE,
        least,
    )  # fmt: skip
    kept = np.flatnonzero(score > -np.inf)
    positions, species, rows = positions[kept], species[kept], rows[kept]
    blurs = np.full(len(species), blur)
    for _ in range(2):
        positions, _ = refit(positions, rows, marked.marks, lens)
        rows, score = support(positions, species, marked.marks, lens, blanks, blurs, GATE, least)
    kept = np.flatnonzero(score > -np.inf)
    kept = kept[np.argsort(-score[kept], kind="stable")]
    kept = kept[_apart(frame, positions[kept], species[kept])]
    chosen, spare = _cover(rows[kept], score[kept], len(marked.strong))
    others = len(kept) - len(chosen)
    kept = kept[chosen]
    met = np.zeros(len(marked.strong), bool)
    met[rows[kept][rows[kept] >= 0]] = True
    return Sites(
        species[kept], positions[kept], rows[kept], score[kept],
        np.flatnonzero(marked.strong & ~met), spare, others,
    )  # fmt: skip


def _apart(frame: Frame, positions: np.ndarray, species: np.ndarray) -> np.ndarray:
    """The first of all places that lie on one site modulo the lattice, ascending."""
    from scipy.spatial import cKDTree

    same = 0.2 * LEAST_DISTANCE
    left = np.ones(len(positions), bool)
    inverse = np.linalg.inv(frame.lattice)
    tree = cKDTree(positions)
    images = np.array([(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)])
    near_face = np.any(np.abs(np.mod(positions @ inverse + 0.5, 1.0) - 0.5) < 0.05, axis=1)
    for k in range(len(positions)):
        if not left[k]:
            continue
        at = positions[k] + images @ frame.lattice if near_face[k] else positions[k][None]
        for twin in np.concatenate([*tree.query_ball_point(at, same), [k]]).astype(int):
            if twin > k and species[twin] == species[k]:
                left[twin] = False
    return np.flatnonzero(left)


def _cover(rows: np.ndarray, score: np.ndarray, n_marks: int) -> tuple[np.ndarray, np.ndarray]:
    """The fewest sites that meet every mark that all of them meet, and which of these are spare.

    Sites that meet a mark that no other meets are forced; what these leave is solved exactly.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    n = len(rows)
    site, view, tile = np.nonzero(rows >= 0)
    pairs = np.unique(site * n_marks + rows[site, view, tile])
    site, mark = pairs // n_marks, pairs % n_marks
    times = np.bincount(mark, minlength=n_marks)
    alone = np.bincount(site[times[mark] == 1], minlength=n)
    forced = alone > 0
    covered = np.zeros(n_marks, bool)
    covered[mark[forced[site]]] = True
    open_ = ~covered[mark] & ~forced[site]
    if not open_.any():
        return np.flatnonzero(forced), alone[forced] <= FEW_ALONE
    columns, column = np.unique(site[open_], return_inverse=True)
    lines, line = np.unique(mark[open_], return_inverse=True)
    cover = coo_array((np.ones(len(line)), (line, column)), (len(lines), len(columns))).tocsr()
    worth = score[columns] / (1.0 + score[columns].max())
    solved = milp(
        1.0 + 1e-3 * (1.0 - worth),
        constraints=LinearConstraint(cover, 1, np.inf),
        integrality=np.ones(len(columns)),
        bounds=Bounds(0, 1),
        options={"node_limit": 1000, "time_limit": 5.0},
    )
    taken = np.ones(len(columns), bool) if solved.x is None else solved.x > 0.5
    chosen = np.sort(np.concatenate((np.flatnonzero(forced), columns[taken])))
    return chosen, alone[chosen] <= FEW_ALONE
