"""The geometric half of the oracle: one cell in, all view subsets out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO, NUMERICAL_ZERO, SAME_RECONSTRUCTION
from rc_hpc.core.errors import Status, StructureError, UsageError
from rc_hpc.core.vocabulary import MERGE_RULES
from rc_hpc.geometry.pairs import least_squares_inverse, pair_frames, pinhole_pairs, subset_masks
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kernels.enumeration import enumerate_cell
from rc_hpc.kernels.perspective import enumerate_pinhole, project_pinhole
from rc_hpc.kernels.profile import delta_profile
from rc_hpc.kernels.steps import dominance_steps
from rc_hpc.kernels.subsets import DOMINANCE, all_subsets

#: Candidates up to which the phantom profile is followed beyond delta; above, its horizon is halved.
PROFILE_CANDIDATES = 2_000_000
#: Depth that every atom must have in front of a pinhole camera, Å.
NEAREST = 0.1


@dataclass(frozen=True)
class Candidates:
    """All candidates of one structure up to `reach`; see `fill_candidates` for the arrays."""

    pair: np.ndarray
    species: np.ndarray
    met: np.ndarray
    position: np.ndarray
    height: np.ndarray
    gap: np.ndarray
    residual: np.ndarray
    nearest: np.ndarray
    distance: np.ndarray
    reach: float


@dataclass(frozen=True)
class Enumeration:
    """One cell, projected, forgotten and triangulated: all that a reconstruction needs.

    Attributes
    ----------
    candidates
    points : (V, n, 2) float64
        Image points, Å.
    atoms, heights, order
        True atoms from `sort_in_space`.
    starts : (S + 1,) int64
        Species ranges of the atoms.
    kinds : (S,)
        Atomic number of each species.
    """

    candidates: Candidates
    points: np.ndarray
    atoms: np.ndarray
    heights: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    kinds: np.ndarray

    def within(self, delta: float) -> Enumeration:
        """Without the candidates that no tolerance up to `delta` (Å) accepts."""
        c = self.candidates
        near = np.flatnonzero(c.gap <= delta)
        arrays = (
            c.pair,
            c.species,
            c.met,
            c.position,
            c.height,
            c.gap,
            c.residual,
            c.nearest,
            c.distance,
        )
        return replace(
            self, candidates=Candidates(*(array[near] for array in arrays), min(delta, c.reach))
        )


@dataclass(frozen=True)
class Reconstructions:
    """What every view subset gives.

    Arrays of length K (subsets) are described in `all_subsets`; `cells` are the returned
    point sets as (atomic numbers, positions) and `cell_numbers` the distinct
    reconstruction each of them is. Cell 0 is the true one. Atoms come sorted by species
    and along a generic direction, so that labels (which spglib makes of near-symmetric
    cells in an order-dependent way) do not depend on the order of the input; under the
    merge rules `mean` and `first` they come in the order in which they were met.
    """

    n_recovered: np.ndarray
    n_phantoms: np.ndarray
    n_exact: np.ndarray
    reconstruction: np.ndarray
    entry: np.ndarray
    phantom_delta: np.ndarray
    phantom_delta_exact: np.ndarray
    point_error: np.ndarray
    atom_error: np.ndarray
    set_starts: np.ndarray
    set_points: np.ndarray
    set_met: np.ndarray
    cell_numbers: np.ndarray
    phantoms: np.ndarray
    candidates: Candidates
    numbers: np.ndarray
    by_atom: bool

    @cached_property
    def cells(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The point sets, each as atomic numbers (M,) and positions (M, 3), Å."""
        cells = []
        for bounds in self.set_starts:
            rows, sizes = slice(bounds[0], bounds[-1]), np.diff(bounds)
            numbers, points = np.repeat(self.numbers, sizes), self.set_points[rows]
            if self.by_atom:
                ranks = np.lexsort((self.set_met[rows], np.repeat(np.arange(sizes.size), sizes)))
                numbers, points = numbers[ranks], points[ranks]
            cells.append((numbers, points))
        return cells


class GeometricOracle:
    """Projects, forgets the correspondence, triangulates, verifies and merges.

    Parameters
    ----------
    protocol
    subsets : sequence of tuple of int
        Camera indices of each view subset.
    enumeration, merge : str
        See `rc_hpc.core.options`.
    max_candidates : int
        Candidates beyond which a structure is refused.
    """

    def __init__(
        self,
        protocol: Protocol,
        subsets,
        enumeration="all-pairs",
        merge="dominance",
        max_candidates=100_000_000,
    ):
        self.protocol = protocol
        #: Whether any camera is a pinhole.
        self.pinhole = bool(protocol.pinhole.any())
        if self.pinhole and merge == "least-squares":
            raise UsageError(
                "--merge least-squares solves for orthographic cameras only: take dominance or best-residual with pinhole ones"
            )
        self.frames = pinhole_pairs(protocol) if self.pinhole else pair_frames(protocol)
        self.rotations = np.ascontiguousarray(protocol.rotations)
        self.masks = subset_masks(subsets)
        self.inverses = least_squares_inverse(protocol, subsets)
        self.rule = MERGE_RULES.index(merge)
        self.max_candidates = max_candidates
        # A mean weighs a point by its candidates, and `first` follows the atoms' order: both
        # are defined on the atoms' images one by one, not on what a picture shows.
        self.by_atom = merge in ("mean", "first")
        self.anchors = np.full(len(subsets), -1, dtype=np.int64)
        if enumeration == "anchor":
            pairs = [tuple(pair) for pair in self.frames.views.tolist()]
            self.anchors[:] = [
                pairs.index(s[:2]) if s[:2] in pairs else -2 for s in map(tuple, subsets)
            ]

    def enumerate(self, positions, numbers, reach_min, reach_max) -> Enumeration:
        """Enumerate all candidates of a cell; depends on the protocol and on `by_atom` only.

        Parameters
        ----------
        positions : (n, 3) array_like
            Cartesian positions, Å, finite.
        numbers : (n,) array_like
            Atomic numbers.
        reach_min, reach_max : float
            Gap that must be covered, and the one that is covered where memory allows, Å.

        Raises
        ------
        StructureError
            Too many candidates.
        """
        frames = self.frames
        positions, numbers = (
            np.ascontiguousarray(positions, dtype=np.float64),
            np.ascontiguousarray(numbers, dtype=np.int64),
        )
        limits = (
            NUMERICAL_ZERO,
            float(reach_min),
            float(reach_max),
            PROFILE_CANDIDATES,
            self.max_candidates,
        )
        if self.pinhole:
            cameras = self.rotations, frames.centres, frames.pinhole, frames.focal
            self._refuse_hidden(positions, cameras)
            made = enumerate_pinhole(
                positions, numbers, self.by_atom, *cameras, frames.views, *limits
            )
        else:
            made = enumerate_cell(
                positions,
                numbers,
                self.by_atom,
                self.rotations,
                frames.views,
                frames.normal,
                frames.screen_normal,
                frames.screen_side,
                frames.dual,
                *limits,
            )
        total, reach, kinds, starts, points, atoms, atom_heights, atom_order, found = made
        if total > self.max_candidates:
            raise StructureError(
                Status.too_large,
                f"{total} candidates at delta {reach_min} Å; raise --max-candidates ({self.max_candidates}) or lower --delta",
            )
        return Enumeration(
            Candidates(*found, reach), points, atoms, atom_heights, atom_order, starts, kinds
        )

    def _refuse_hidden(self, positions, cameras) -> None:
        """Refuse a cell that reaches a pinhole camera or what is behind it."""
        depth = project_pinhole(positions, *cameras)[1]
        v, k = np.unravel_index(depth.argmin(), depth.shape) if depth.size else (0, 0)
        if depth.size and depth[v, k] < NEAREST:
            place = ", ".join(f"{x:.3f}" for x in positions[k])
            raise StructureError(
                Status.behind_camera,
                f"atom {k + 1} at ({place}) Å is behind or at camera {self.protocol.views[v]!r} (depth {depth[v, k]:.3g} Å, at least {NEAREST} Å is needed): "
                "move that camera farther away",
            )

    def fixes_all(self, candidates: Candidates, atoms) -> np.ndarray:
        """Whether the rays of every atom meet in the atom, for some pair of each subset, (K,) bool.

        Those of an independent orthographic pair always do. The rays of two pinhole cameras do
        not for an atom on the line through both, of which no theorem speaks then.

        Parameters
        ----------
        candidates
            At least those of the smallest delta.
        atoms : (n, 3)
            Å.
        """
        from scipy.spatial import cKDTree

        own = np.flatnonzero((candidates.gap <= CENSUS_ZERO) & (candidates.distance <= CENSUS_ZERO))
        atom = cKDTree(atoms).query(candidates.position[own])[1]
        needed = np.bitwise_or.reduce(1 << self.frames.views[candidates.pair[own]], axis=1)
        return np.array(
            [np.unique(atom[(needed & ~mask) == 0]).size == len(atoms) for mask in self.masks]
        )

    def at_delta(
        self, found: Enumeration, delta, keep_all=False, chosen=slice(None)
    ) -> Reconstructions:
        """Reconstruct an enumerated cell on the view subsets.

        Parameters
        ----------
        found
            From `enumerate` of an oracle with the same protocol and the same `by_atom`.
        delta : float
            Acceptance and merge tolerance, Å, within the enumeration's reach.
        keep_all : bool
            Return every subset's point set, not the distinct ones only.
        chosen : (K,) int64
            Indices of the subsets; by default all.
        """
        c, starts, kinds = found.candidates, found.starts, found.kinds
        if delta > c.reach:
            raise ValueError(f"delta {delta} Å, but candidates are enumerated up to {c.reach} Å")
        (
            n_recovered,
            n_phantoms,
            n_exact,
            reconstruction,
            entry,
            phantom_delta,
            phantom_delta_exact,
            point_error,
            atom_error,
            set_starts,
            set_points,
            set_met,
            set_numbers,
            phantoms,
        ) = all_subsets(
            self.masks[chosen],
            self.inverses[chosen],
            self.anchors[chosen],
            self.rule,
            keep_all,
            delta,
            NUMERICAL_ZERO,
            CENSUS_ZERO,
            SAME_RECONSTRUCTION,
            c.pair,
            c.species,
            c.met,
            c.position,
            c.height,
            c.gap,
            c.residual,
            c.nearest,
            c.distance,
            self.frames.views,
            self.frames.kappa,
            found.points,
            self.rotations,
            found.atoms,
            found.heights,
            found.order,
            starts,
        )
        return Reconstructions(
            n_recovered,
            n_phantoms,
            n_exact,
            reconstruction,
            entry,
            phantom_delta,
            phantom_delta_exact,
            point_error,
            atom_error,
            set_starts,
            set_points,
            set_met,
            set_numbers,
            phantoms,
            c,
            kinds,
            self.by_atom,
        )

    def steps(self, found: Enumeration, deltas) -> np.ndarray:
        """Where a reconstruction may differ from that at the delta before, (K, D) bool.

        Parameters
        ----------
        deltas : (D,) float64
            Ascending, Å, within the enumeration's reach.
        """
        if self.rule != DOMINANCE:  # the other rules merge at delta
            return np.ones((self.masks.size, len(deltas)), dtype=bool)
        c = found.candidates
        return dominance_steps(
            self.masks,
            self.anchors,
            deltas,
            c.pair,
            c.gap,
            c.residual,
            c.nearest,
            self.frames.views,
            found.points.shape[1],
            NUMERICAL_ZERO,
        )

    def profile(self, found: Enumeration, exact_gap=np.inf):
        """Tolerances at which each view subset has a phantom; see `delta_profile`.

        Parameters
        ----------
        exact_gap : float
            Only rays that meet within it count, Å: CENSUS_ZERO for Definition 7.
        """
        c = found.candidates
        return delta_profile(
            self.masks,
            c.pair,
            c.gap,
            c.residual,
            c.distance,
            self.frames.views,
            float(exact_gap),
            NUMERICAL_ZERO,
        )

    def run(self, positions, numbers, delta, delta_max=0.0, keep_all=False) -> Reconstructions:
        """Reconstruct one cell on every view subset.

        Parameters
        ----------
        positions, numbers
            See `enumerate`.
        delta, keep_all
            See `at_delta`.
        delta_max : float
            Horizon of the phantom profile, Å; `delta` where smaller.
        """
        return self.at_delta(
            self.enumerate(positions, numbers, delta, max(delta, delta_max)), delta, keep_all
        )
