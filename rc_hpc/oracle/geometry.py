"""The geometric half of the oracle: image points of one structure in, all view subsets out.

`project` knows the atoms; `enumerate` takes image points from anywhere, `reconstruct` what it
found. Only `certify`, `profile` and what compares with the truth need the atoms again.
"""

from __future__ import annotations

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO, NUMERICAL_ZERO, SAME_RECONSTRUCTION, TIE
from rc_hpc.core.errors import Status, StructureError, UsageError
from rc_hpc.core.vocabulary import MERGE_RULES
from rc_hpc.geometry.pairs import (
    cameras_of,
    least_squares_inverse,
    pair_frames,
    pinholes_of,
    subset_masks,
)
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kernels.candidates import candidate_distances
from rc_hpc.kernels.certificate import UNDECIDED, certify
from rc_hpc.kernels.coverage import Coverage, cover_subsets
from rc_hpc.kernels.doors import read_cell, read_pinhole_cell
from rc_hpc.kernels.enumeration import enumerate_points, project_cell
from rc_hpc.kernels.perspective import (
    enumerate_pinhole_points,
    project_pinhole,
    project_pinhole_cell,
)
from rc_hpc.kernels.profile import delta_profile
from rc_hpc.kernels.records import (
    UNKNOWN,
    Candidates,
    Certificates,
    Enumerated,
    ImagePoints,
    Limits,
    Merging,
    PointSet,
    Projection,
    Readout,
    Reconstructed,
    Scales,
    SortedPoints,
    Subsets,
)
from rc_hpc.kernels.steps import dominance_steps
from rc_hpc.kernels.subsets import DOMINANCE, reconstruct_subsets
from rc_hpc.oracle.reading import Compared, Enumeration, Reading, Reconstructions

#: Candidates up to which the phantom profile is followed beyond delta; above, its horizon
#: is halved.
PROFILE_CANDIDATES = 2_000_000
#: Depth that every atom must have in front of a pinhole camera, Å.
NEAREST = 0.1
#: Below which lengths are one number, Å.
SCALES = Scales(NUMERICAL_ZERO, CENSUS_ZERO, SAME_RECONSTRUCTION)


class GeometricOracle:
    """Projects, forgets the correspondence, triangulates, verifies and merges.

    `run` does all of it for one cell in one call of the kernels; the other methods are its
    steps, each of which may start from what comes from elsewhere.

    Parameters
    ----------
    protocol
    subsets : sequence of tuple of int
        Camera indices of each view subset.
    enumeration, merge : str
        See `rc_hpc.core.vocabulary`.
    max_candidates : int
        Candidates beyond which a structure is refused.
    tie : float
        Scale at which ties are judged, Å: image points are one where steps no longer than it
        join them, of image points equally near within it the first is the nearest, residuals
        that differ by less dominate nothing, and those in one step of it are equal.
    """

    def __init__(
        self,
        protocol: Protocol,
        subsets,
        enumeration="all-pairs",
        merge="dominance",
        max_candidates=100_000_000,
        tie=TIE,
    ):
        self.protocol = protocol
        self.tie = float(tie)
        #: Whether any camera is a pinhole.
        self.pinhole = bool(protocol.pinhole.any())
        if self.pinhole and merge == "least-squares":
            raise UsageError(
                "--merge least-squares solves for orthographic cameras only: "
                "take dominance or best-residual with pinhole ones"
            )
        self.cameras = cameras_of(protocol)
        #: Frames of the pairs, or where the cameras stand: what the kernels of either kind need.
        self.optics = pinholes_of(protocol) if self.pinhole else pair_frames(protocol)
        self.rule = MERGE_RULES.index(merge)
        self.max_candidates = max_candidates
        # A mean weighs a point by its candidates, and `first` follows the atoms' order: both
        # are defined on the atoms' images one by one, not on what a picture shows.
        self.by_atom = merge in ("mean", "first")
        anchors = np.full(len(subsets), -1, dtype=np.int64)
        if enumeration == "anchor":
            pairs = [tuple(pair) for pair in self.cameras.pairs.tolist()]
            anchors[:] = [pairs.index(s[:2]) if s[:2] in pairs else -2 for s in map(tuple, subsets)]
        self.subsets = Subsets(
            subset_masks(subsets), least_squares_inverse(protocol, subsets), anchors
        )

    # ------------------------------------------------------------------ atoms to candidates

    def project(self, positions, numbers) -> Projection:
        """Image points of a cell in every view, and its atoms for comparison.

        Parameters
        ----------
        positions : (n, 3) array_like
            Cartesian positions, Å, finite.
        numbers : (n,) array_like
            Atomic numbers.

        Raises
        ------
        StructureError
            The cell reaches a pinhole camera or what is behind it.
        """
        positions, numbers = self.atoms(positions, numbers)
        cell = positions, numbers, self.by_atom, self.cameras.rotations
        return project_pinhole_cell(*cell, self.optics) if self.pinhole else project_cell(*cell)

    def enumerate(
        self,
        images: ImagePoints,
        reach_min: float,
        reach_max: float,
        tie: float | None = None,
    ) -> Enumeration:
        """Enumerate all candidates of image points, wherever these come from.

        Depends on the protocol and on `by_atom` only.

        Parameters
        ----------
        images
            Finite; in the order of the cameras.
        reach_min, reach_max
            Gap that must be covered, and the one that is covered where memory allows, Å.
        tie
            Scale at which ties are judged, Å, by default the oracle's. Points with errors need
            one above their errors' size.

        Raises
        ------
        StructureError
            Too many candidates.
        """
        limits = self.limits(reach_min, reach_max, self.tie if tie is None else tie)
        door = enumerate_pinhole_points if self.pinhole else enumerate_points
        enumerated, total, reach = door(images, self.by_atom, self.cameras, self.optics, limits)
        self._refuse_many(total, reach_min)
        points, candidates = enumerated
        return Enumeration(points, candidates, images.species, reach, limits.tie)

    def compare(self, found: Enumeration, truth: PointSet) -> Compared:
        """Set candidates beside the true atoms, by the same species; changes none of them."""
        distance = candidate_distances(found.candidates, truth)
        return Compared(
            found.points,
            found.candidates,
            found.species,
            found.reach,
            found.tie,
            truth,
            distance,
        )

    def enumerate_cell(self, positions, numbers, reach_min, reach_max) -> Compared:
        """`project`, `enumerate` and `compare`.

        Parameters
        ----------
        positions, numbers
            See `project`.
        reach_min, reach_max
            See `enumerate`.
        """
        images, truth = self.project(positions, numbers)
        return self.compare(self.enumerate(images, reach_min, reach_max), truth)

    def limits(self, reach_min, reach_max, tie) -> Limits:
        """How far the kernels go."""
        return Limits(
            float(tie), float(reach_min), float(reach_max), PROFILE_CANDIDATES, self.max_candidates
        )

    def _refuse_many(self, total: int, reach: float) -> None:
        if total > self.max_candidates:
            raise StructureError(
                Status.too_large,
                f"{total} candidates at delta {reach} Å; raise --max-candidates "
                f"({self.max_candidates}) or lower --delta",
            )

    def atoms(self, positions, numbers) -> tuple[np.ndarray, np.ndarray]:
        """A cell as the kernels take it, all of it in front of every pinhole camera."""
        positions = np.ascontiguousarray(positions, dtype=np.float64)
        numbers = np.ascontiguousarray(numbers, dtype=np.int64)
        if self.pinhole and numbers.size:
            depth = project_pinhole(positions, self.cameras.rotations, self.optics)[1]
            v, k = np.unravel_index(depth.argmin(), depth.shape)
            if depth[v, k] < NEAREST:
                place = ", ".join(f"{x:.3f}" for x in np.round(positions[k], 3) + 0.0)
                raise StructureError(
                    Status.behind_camera,
                    f"atom {k + 1} at ({place}) Å is behind or at camera "
                    f"{self.protocol.views[v]!r} (depth {depth[v, k]:.3g} Å, at least {NEAREST} Å "
                    "is needed): move that camera farther away",
                )
        return positions, numbers

    # ------------------------------------------------------------------ candidates to subsets

    def reconstruct(
        self, found: Enumeration, delta, keep_all=False, chosen=slice(None)
    ) -> Reconstructions:
        """Reconstruct what was enumerated on the view subsets, the truth known or not.

        Parameters
        ----------
        found
            From an oracle with the same protocol and the same `by_atom`.
        delta : float
            Acceptance and merge tolerance, Å, within the enumeration's reach.
        keep_all : bool
            Return every subset's point set, not the distinct ones only.
        chosen : (K,) int64
            Indices of the subsets; by default all.
        """
        reconstructed: Reconstructed = reconstruct_subsets(
            UNDECIDED,
            Subsets(*(array[chosen] for array in self.subsets)),
            self._merging(found, delta),
            SAME_RECONSTRUCTION,
            Enumerated(found.points, found.candidates),
            found.distance if isinstance(found, Compared) else np.empty(0),
            self.cameras,
            found.truth if isinstance(found, Compared) else UNKNOWN,
            keep_all,
        )
        return Reconstructions(*reconstructed, found.species, self.by_atom)

    def certify(self, found: Compared, delta) -> Certificates:
        """Phantoms of every view subset at delta, and from which tolerance on."""
        self._within_reach(found, delta)
        return certify(
            self.subsets.masks,
            found.candidates,
            found.distance,
            self.cameras.pairs,
            SCALES,
            float(delta),
        )

    def cover(self, found: Enumeration, zero: float) -> Coverage:
        """Which candidates of every view subset nothing else can stand for.

        Parameters
        ----------
        zero
            Up to which gaps and residuals are nothing, and image points one, Å.
        """
        enumerated = Enumerated(found.points, found.candidates)
        return cover_subsets(self.subsets.masks, enumerated, self.cameras.pairs, float(zero))

    def run(self, positions, numbers, delta, delta_max=0.0, keep_all=False, ties=()) -> Reading:
        """Read one cell on every view subset.

        Parameters
        ----------
        positions, numbers
            See `project`.
        delta, keep_all
            See `reconstruct`.
        delta_max : float
            Horizon of the phantom profile, Å; `delta` where smaller.
        ties : sequence of float
            Other scales of ties, in units of the oracle's, at which the cell is read again to see
            whether they matter.
        """
        limits = self.limits(delta, max(delta, delta_max), self.tie)
        readout = self.readout(delta, keep_all)
        door = read_pinhole_cell if self.pinhole else read_cell
        reconstructed: Reconstructed
        certificates: Certificates
        others: tuple[np.ndarray, np.ndarray]
        found, compared, reconstructed, certificates, others = door(
            *self.atoms(positions, numbers),
            self.by_atom,
            self.cameras,
            self.optics,
            limits,
            readout,
            np.array(ties, np.float64),
        )
        points, candidates, total, reach = found
        self._refuse_many(total, delta)
        species, truth, distance = compared
        enumeration = Compared(
            SortedPoints(*points),
            Candidates(*candidates),
            species,
            reach,
            limits.tie,
            PointSet(*truth),
            distance,
        )
        return Reading(*reconstructed, species, self.by_atom, *certificates, *others, enumeration)

    def readout(self, delta, keep_all=False) -> Readout:
        """What the kernels make of candidates."""
        return Readout(
            self.subsets, Merging(self.rule, float(delta), self.tie), SCALES, bool(keep_all)
        )

    def _merging(self, found: Enumeration, delta) -> Merging:
        self._within_reach(found, delta)
        return Merging(self.rule, float(delta), found.tie)

    @staticmethod
    def _within_reach(found: Enumeration, delta) -> None:
        if delta > found.reach:
            raise ValueError(
                f"delta {delta} Å, but candidates are enumerated up to {found.reach} Å"
            )

    # ------------------------------------------------------------------ over all tolerances

    def fixes_all(self, found: Compared) -> np.ndarray:
        """Whether the rays of every atom meet in the atom, for some pair of each subset, (K,) bool.

        Those of an independent orthographic pair always do. The rays of two pinhole cameras do
        not for an atom on the line through both, of which no theorem speaks then.
        """
        from scipy.spatial import cKDTree

        candidates, atoms = found.candidates, found.truth.positions
        own = np.flatnonzero((candidates.gap <= CENSUS_ZERO) & (found.distance <= CENSUS_ZERO))
        atom = cKDTree(atoms).query(candidates.position[own])[1]
        needed = np.bitwise_or.reduce(1 << self.cameras.pairs[candidates.pair[own]], axis=1)
        return np.array(
            [
                np.unique(atom[(needed & ~mask) == 0]).size == len(atoms)
                for mask in self.subsets.masks
            ]
        )

    def steps(self, found: Enumeration, deltas) -> np.ndarray:
        """Where a reconstruction may differ from that at the delta before, (K, D) bool.

        Parameters
        ----------
        deltas : (D,) float64
            Ascending, Å, within the enumeration's reach.
        """
        if self.rule != DOMINANCE:  # the other rules merge at delta
            return np.ones((self.subsets.masks.size, len(deltas)), dtype=bool)
        return dominance_steps(
            self.subsets,
            deltas,
            found.candidates,
            self.cameras.pairs,
            found.points.screen.shape[1],
            found.tie,
        )

    def profile(self, found: Compared, exact_gap=np.inf):
        """Tolerances at which each view subset has a phantom; see `delta_profile`.

        Parameters
        ----------
        exact_gap : float
            Only rays that meet within it count, Å: CENSUS_ZERO for Definition 7.
        """
        return delta_profile(
            self.subsets.masks,
            found.candidates,
            found.distance,
            self.cameras.pairs,
            float(exact_gap),
            NUMERICAL_ZERO,
        )
