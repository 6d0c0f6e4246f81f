"""Points that pictures allow, which of them they force, and how few explain all they show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from rc_hpc.benchmark.reading.sights import ONE_POINT, Pictures
from rc_hpc.benchmark.settings import BOND_POINTS
from rc_hpc.core.errors import UsageError
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.images.scene import DPI, LINE_WIDTH
from rc_hpc.kernels.occlusion import chosen_by_dominance, discs_painted
from rc_hpc.kernels.records import ImagePoints
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.oracle.reading import Enumeration

#: Branches that the search for the fewest points follows; what it has proved by then holds.
MOST_NODES = 2000
#: Between places that are looked at on a ray, Å.
STEP = 0.02
#: Views in which a point is seen that no chance has put there.
SURE = 3
#: Two atoms are farther apart than this, and what is nearer than this is one and the same, Å.
APART, NEAR = 1.0, 0.05
#: Corners of a cell in units of its vectors, and its edges by the corners that they join.
CORNERS = np.array(list(product((0, 1), repeat=3)))
EDGES = [(i, j) for i, j in combinations(range(8), 2) if np.abs(CORNERS[i] - CORNERS[j]).sum() == 1]
#: Where a disc is looked at, in its radii: its middle and two circles, the outer one as far within
#: the rim as half a step on a ray of the smallest disc is long.
SPOTS = np.array(
    [(0.0, 0.0)]
    + [
        (far * np.cos(turn), far * np.sin(turn))
        for far, count in ((0.5, 8), (0.85, 16))
        for turn in np.arange(count) * 2 * np.pi / count
    ]
)


class Points(NamedTuple):
    """Points in space that agree with N views: the atoms are among them.

    Attributes
    ----------
    numbers : (m,) int64
        Atomic numbers.
    positions : (m, 3) float64
        Å.
    covers : (k, m) bool
        Which of the k image points of all views each one explains.
    image_numbers : (k,) int64
        Atomic number of each image point.
    image_views : (k,) int64
        View of each.
    image_places : (k, 2) float64
        Where it is there, Å.
    rays : (k,) bool
        Image points that an atom seen in this view alone may explain: no point explains them that
        `SURE` views show, and somewhere on the ray, not beside a point that does, there is paint in
        every other view. Where all centres are read, only those that no point explains.
    """

    numbers: np.ndarray
    positions: np.ndarray
    covers: np.ndarray
    image_numbers: np.ndarray
    image_views: np.ndarray
    image_places: np.ndarray
    rays: np.ndarray

    @property
    def forced(self) -> np.ndarray:
        """Which are atoms whatever else is there: alone they explain some image point, (m,)."""
        alone = (self.covers.sum(axis=1) == 1) & ~self.rays
        found: np.ndarray = self.covers[alone].any(axis=0)
        return found

    def of(self, number: int) -> Points:
        """Those of one element."""
        own, images = self.numbers == number, self.image_numbers == number
        return Points(
            self.numbers[own],
            self.positions[own],
            self.covers[np.ix_(images, own)],
            self.image_numbers[images],
            self.image_views[images],
            self.image_places[images],
            self.rays[images],
        )

    def extra(self) -> tuple[int, int]:
        """How many atoms may be there beside the points, at least and at most."""
        unexplained = ~self.covers.any(axis=1)
        per_view = np.bincount(self.image_views[unexplained], minlength=1)
        return int(per_view.max()), int(self.rays.sum())


def least_cover(covers: np.ndarray) -> int:
    """How few columns explain all rows that any explains; where that is hard, a lower bound.

    Parameters
    ----------
    covers : (k, m) bool
    """
    covers = covers[covers.any(axis=1)]
    forced = covers[covers.sum(axis=1) == 1].any(axis=0)
    rest = np.unique(covers[~covers[:, forced].any(axis=1)][:, ~forced], axis=0)
    rest = np.unique(rest[:, rest.any(axis=0)], axis=1)
    if not len(rest):
        return int(forced.sum())
    from scipy.optimize import LinearConstraint, milp

    width = rest.shape[1]
    found = milp(
        np.ones(width),
        integrality=np.ones(width),
        bounds=(0, 1),
        constraints=LinearConstraint(rest.astype(float), lb=1),
        options={"node_limit": MOST_NODES},
    )
    bound = found.mip_dual_bound
    proved = 1 if bound is None or not np.isfinite(bound) else int(np.ceil(bound - 1e-6))
    return int(forced.sum()) + max(1, proved)


def reconstruct(
    pictures: Pictures,
    counts: Sequence[int],
    delta: float,
    *,
    images: ImagePoints | None = None,
    radii: np.ndarray | None = None,
    max_candidates: int = 1_000_000,
) -> dict[int, Points | None]:
    """Points that the first views allow, by number of views.

    Rays of all pairs of views meet within `delta` and are verified in every other view, without
    any correspondence. Of candidates that better ones explain away in every view none is kept.

    Parameters
    ----------
    counts
        Numbers of views, two or more; of those beyond the pictures there are none.
    delta
        Å.
    images
        By default the centres of all atoms that the sight reads.
    radii : (n,)
        Of all discs, Å: where a view shows no centre, one may be there whose whole disc has paint;
        where some of it would be white, none is. None: every centre is read.
    max_candidates
        Candidates beyond which nothing is reconstructed.

    Returns
    -------
    dict
        None where the views all look along one line, or there are too many candidates.
    """
    found: dict[int, Points | None] = dict.fromkeys(counts)
    wanted = [n for n in counts if 2 <= n <= len(pictures.views)]
    if not wanted:
        return found
    images = pictures.image_points() if images is None else images
    tie = max(ONE_POINT, pictures.pixel)
    used = pictures.rotations[: max(wanted)]
    try:
        oracle = _oracle(used.tobytes(), max_candidates)
    except UsageError:
        return found
    starts = np.ascontiguousarray(images.starts[: len(used)])
    images = ImagePoints(np.ascontiguousarray(images.screen[: len(used)]), starts, images.species)
    if _too_many(images, max_candidates):
        return found
    enumerated = oracle.enumerate(images, delta, delta, tie)
    paint = None if radii is None else _Paint(pictures, used, radii)
    missed = enumerated.candidates.nearest < 0
    forgiven = np.zeros_like(missed)
    if paint is not None:
        of = enumerated.species[enumerated.candidates.species]
        forgiven = paint.at(enumerated.candidates.position, of, missed)
    for n in wanted:
        points = _points(enumerated, oracle, np.arange(n), forgiven)
        if paint is None:
            points = points._replace(rays=np.logical_not(points.covers.any(axis=1)))
        else:
            points = points._replace(rays=_alone(points, paint, n))
        found[n] = merged(points, 2 * delta) if pictures.pixel else points
    return found


@lru_cache(maxsize=8)
def _oracle(rotations: bytes, max_candidates: int) -> GeometricOracle:
    """The oracle of these cameras; one scene is read in several ways, one after the other."""
    used = np.frombuffer(rotations).reshape(-1, 3, 3)
    names = tuple(f"v{k}" for k in range(len(used)))
    return GeometricOracle(Protocol("views", names, used), [], max_candidates=max_candidates)


def merged(points: Points, same: float) -> Points:
    """Points of one element that are nearer than `same` (Å) as one, where the first of them is."""
    leader = np.arange(len(points.numbers))
    for k in range(len(leader)):
        near = np.linalg.norm(points.positions[:k] - points.positions[k], axis=1) <= same
        near &= (points.numbers[:k] == points.numbers[k]) & (leader[:k] == np.arange(k))
        if near.any():
            leader[k] = int(near.argmax())
    kept = np.unique(leader)
    covers = points.covers.astype(int) @ (leader[:, None] == kept) > 0
    return points._replace(
        numbers=points.numbers[kept], positions=points.positions[kept], covers=covers
    )


def _too_many(images: ImagePoints, most: int) -> bool:
    """Whether all pairs of rays, met or not, are more than can be looked at."""
    sizes = np.diff(images.starts, axis=1).astype(float)
    pairs = (sizes.sum(axis=0) ** 2 - (sizes**2).sum(axis=0)) / 2
    return bool(pairs.sum() > 100.0 * most)


class _Paint:
    """What pictures show that is not white: where it may be hidden, and where it cannot.

    An atom paints its whole disc, or something before it does: where any of a disc would be white,
    no atom is. Lines count as paint from end to end, whatever hides or interrupts them.

    Parameters
    ----------
    pictures
    rotations : (V, 3, 3)
        Of the first of them.
    radii : (n,)
        Of the discs, Å.
    """

    def __init__(self, pictures: Pictures, rotations: np.ndarray, radii: np.ndarray):
        scene = pictures.scene
        px = DPI / 72 / 2 / scene.px_per_angstrom  # half of a point, Å
        self.rotations = rotations
        self.radii = np.ascontiguousarray(radii, dtype=np.float64) + LINE_WIDTH * px
        screen = pictures.seen_at(scene.positions)[: len(rotations)]
        self.screen = np.ascontiguousarray(screen)
        joined = [np.concatenate([screen[:, end] for end in scene.bonds.T], axis=-1)]
        if scene.mode != "environment":
            corners = pictures.seen_at(CORNERS @ scene.lattice)[: len(rotations)]
            joined.append(np.concatenate([corners[:, end] for end in np.transpose(EDGES)], axis=-1))
        self.ends = np.ascontiguousarray(np.concatenate(joined, axis=1))
        edges = self.ends.shape[1] - len(scene.bonds)
        self.half_widths = np.repeat((BOND_POINTS * px, LINE_WIDTH * px), (len(scene.bonds), edges))
        #: Of the disc of an atom of each element, Å.
        self.reach = dict(zip(scene.numbers.tolist(), np.asarray(radii, float), strict=True))
        #: Farthest that a disc reaches from the origin in any picture, Å.
        self.farthest = float((np.linalg.norm(screen, axis=-1) + self.radii).max())

    def at(self, positions: np.ndarray, numbers: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """Whether pictures have paint wherever atoms at (C, 3) would have it, (C, V) bool.

        Parameters
        ----------
        numbers : (C,)
            Atomic numbers.
        asked : (C, V) bool
            Elsewhere the answer is no.
        """
        painted: np.ndarray = discs_painted(
            np.ascontiguousarray(positions),
            np.array([self.reach[number] for number in numbers.tolist()], np.float64),
            asked,
            SPOTS,
            self.screen,
            self.radii,
            self.ends,
            self.half_widths,
            self.rotations,
        )
        return painted

    def hides_on_ray(
        self,
        points: Points,
        row: int,
        n_views: int,
        fits: Callable[[np.ndarray], np.ndarray],
        beside: np.ndarray,
    ) -> bool:
        """Whether an atom may be on the ray of an image point, hidden in all other views.

        Parameters
        ----------
        row
            The image point.
        n_views
            How many of the views are looked at.
        fits
            Whether it may be as far (Å) as this from the nearest of the points `beside` (m, 3).
        """
        at, view = points.image_places[row], int(points.image_views[row])
        steps = np.arange(-self.farthest, self.farthest, STEP)
        rotation = self.rotations[view]
        places = rotation[:, :2] @ at + steps[:, None] * rotation[:, 2]
        away = np.linalg.norm(places[:, None] - beside[None], axis=-1)
        places = places[fits(away.min(axis=1))]
        asked = np.zeros((len(places), len(self.rotations)), bool)
        asked[:, :n_views] = True
        asked[:, view] = False
        painted = self.at(places, np.full(len(places), points.image_numbers[row]), asked)
        return bool((painted | ~asked).all(axis=1).any())


def _alone(points: Points, paint: _Paint, n_views: int) -> np.ndarray:
    """Which image points an atom that one view alone shows may explain, (k,) bool.

    Such an atom lies farther than `APART` from every point that explains the same, or beside one
    that is not there: then all else that this one explains is explained without it.
    """
    rays = points.rays.copy()
    explained = points.covers.any(axis=1)
    asked = np.flatnonzero(rays & explained)
    for row in asked.tolist():
        beside = points.positions[points.covers[row]]
        rays[row] = paint.hides_on_ray(points, row, n_views, lambda away: away > APART, beside)
    otherwise = (points.covers.sum(axis=1) > 1) | rays
    for row in asked[~rays[asked]].tolist():
        for point in np.flatnonzero(points.covers[row]):
            others = points.covers[:, point].copy()
            others[row] = False
            if otherwise[others].all():
                beside = points.positions[[point]]
                rays[row] |= paint.hides_on_ray(
                    points, row, n_views, lambda away: (away > NEAR) & (away <= APART), beside
                )
    return rays


def _points(
    found: Enumeration, oracle: GeometricOracle, subset: np.ndarray, forgiven: np.ndarray
) -> Points:
    candidates, sorted_points = found.candidates, found.points
    pairs = oracle.cameras.pairs
    inside = np.all(np.isin(pairs, subset), axis=1)
    shows = candidates.nearest[:, subset] >= 0
    passed = (shows | forgiven[:, subset]).all(axis=1) & inside[candidates.pair]
    chosen = chosen_by_dominance(
        np.flatnonzero(passed),
        candidates,
        oracle.cameras.kappa,
        subset,
        sorted_points.screen.shape[1],
        found.tie,
    )
    numbers = found.species[candidates.species[chosen]]
    sure = np.sum(shows[chosen], axis=1) >= SURE
    covers, image_numbers, image_views, image_places = [], [], [], []
    for v in subset:
        starts = sorted_points.starts[v]
        rows = np.arange(starts[-1])
        covers.append(candidates.nearest[chosen, v][None, :] == rows[:, None])
        image_numbers.append(np.repeat(found.species, np.diff(starts)))
        image_views.append(np.full(len(rows), v))
        image_places.append(sorted_points.screen[v, : len(rows)])
    explained: np.ndarray = np.concatenate(covers)
    return Points(
        numbers,
        candidates.position[chosen],
        explained,
        np.concatenate(image_numbers),
        np.concatenate(image_views),
        np.concatenate(image_places),
        np.logical_not(explained[:, sure].any(axis=1)),
    )
