"""Centroid noise: what the oracle reads from pictures whose disc centres carry Gaussian errors.

The default reading knows the cameras, the lattice, the species of every centroid and sigma,
and nothing else: no tolerance is set from the truth. `RECORD` repeats the released experiment,
whose symprec does depend on it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from rc_hpc.core.constants import (
    ANGLE_TOLERANCE,
    CENSUS_ZERO,
    DELTA,
    NUMERICAL_ZERO,
    SAME_RECONSTRUCTION,
    TAU,
    TIE,
)
from rc_hpc.core.errors import Status, StructureError, UsageError
from rc_hpc.core.vocabulary import (
    ESTIMATORS,
    LABELLERS,
    MERGE_RULES,
    RECORDED_READING,
    System,
)
from rc_hpc.core.vocabulary import NOISE_RULES as RULES
from rc_hpc.geometry.pairs import cameras_of, least_squares_inverse, pair_frames, subset_masks
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kernels.certificate import UNDECIDED
from rc_hpc.kernels.enumeration import enumerate_points
from rc_hpc.kernels.points import project, shown_by_all, sort_points, species_ranges
from rc_hpc.kernels.records import (
    UNKNOWN,
    Cameras,
    Centroids,
    ImagePoints,
    Limits,
    Merging,
    PairFrames,
    Reconstructed,
    Subsets,
)
from rc_hpc.kernels.subsets import reconstruct_subsets
from rc_hpc.oracle.cell import PackedCell, tile
from rc_hpc.oracle.correspondence import correspond
from rc_hpc.oracle.draws import counter_draws
from rc_hpc.oracle.reading import Reconstructions
from rc_hpc.oracle.spread import distance_to_truth, misfit_bound, spread_of
from rc_hpc.symmetry.guard import NULL_RECORDER
from rc_hpc.symmetry.labels import label_cell
from rc_hpc.symmetry.recorder import Recorder
from rc_hpc.symmetry.statistical import LEVEL, symmetrised

#: Drawn atoms of one species beyond which a structure is refused: the matching takes their
#: square, thrice.
MANY_ATOMS = 5000
#: Candidates of an estimator's pair beyond which a structure is refused: 100 bytes each here, and
#: some ten times that where they are merged. With delta in proportion to sigma, most rays of a
#: species pass most others in large noise.
MANY_CANDIDATES = 1_000_000
#: delta of the rule `common` in units of sigma. A centroid and a position predicted from two
#: perpendicular views differ by sqrt(2) sigma a coordinate, so 8 sigma is 5.7 deviations:
#: exceeded once in 10^7 centroids.
COMMON = 8.0


@dataclass(frozen=True)
class NoiseReading:
    """How noisy pictures are read.

    Attributes
    ----------
    rule
        Of RULES. delta is max(0.01, 8 sigma) in `common`, max(0.15, 4 sigma) in `paper` and
        max(0.01, 4 sqrt(2) kappa sigma) with the protocol's largest kappa in `record`, Å.
    estimator
        Of ESTIMATORS. With a pair, delta decides what is an atom. With all views every
        centroid is used exactly once and delta is only where the matching starts.
    merge
        Merge rule of the pair estimators. Not `dominance` by default: it keeps what equal
        images tie, and noise breaks every tie.
    labeller
        Of LABELLERS. `statistical` tests symmetries against the covariance of the estimated
        positions (`rc_hpc.symmetry.statistical`); `distance` asks spglib at
        ``symprec = max(tau, 2 sqrt(q) g sigma)``: g is the largest standard deviation of a
        position per sigma, q what the chi-square (3) of the worst of n atoms exceeds in one
        crystal of a thousand, and 2 stands for the errors of four atoms: one, its image, and
        the two that fix the translation. `true-error` is the record's: symprec is
        ``min(0.25, max(0.01, 6 rmsd))`` with rmsd against the true positions.
    tau, angle_tolerance
        Tolerances of the label, Å and degrees.
    tie
        See `rc_hpc.oracle.geometry.GeometricOracle`, Å; of the pair estimators.
    level
        Chance of refusing a true symmetry, see `symmetrised`.
    """

    rule: str = RULES[0]
    estimator: str = ESTIMATORS[0]
    merge: str = "best-residual"
    labeller: str = LABELLERS[0]
    tau: float = TAU
    angle_tolerance: float = ANGLE_TOLERANCE
    level: float = LEVEL
    tie: float = TIE

    def __post_init__(self):
        for name, known in (
            ("rule", RULES),
            ("estimator", ESTIMATORS),
            ("merge", MERGE_RULES),
            ("labeller", LABELLERS),
        ):
            if getattr(self, name) not in known:
                raise UsageError(f"{name} {getattr(self, name)!r}: one of {', '.join(known)}")
        if not 0 < self.level < 1:
            raise UsageError(f"level must be a probability between 0 and 1, not {self.level}")


#: The released experiment.
RECORD = NoiseReading(*RECORDED_READING)


def delta_of(rule: str, sigma: float, kappa: float) -> float:
    """Acceptance and merge tolerance, Å, of a tolerance rule; `kappa` counts in `record` only."""
    if rule == "common":
        return max(DELTA, COMMON * sigma)
    if rule == "paper":
        return max(0.15, 4.0 * sigma)
    return max(0.01, 4.0 * np.sqrt(2.0) * kappa * sigma)


class NoisyOracle:
    """Reads noisy centroids of one structure after another under one reading.

    Parameters
    ----------
    protocol
        Cameras and tiling.
    reading
    recorder
        Notes the structure in flight during native calls.
    """

    def __init__(
        self,
        protocol: Protocol,
        reading: NoiseReading = NoiseReading(),
        recorder: Recorder = NULL_RECORDER,
    ):
        self.protocol, self.reading, self.recorder = protocol, reading, recorder
        frames, cameras = pair_frames(protocol), cameras_of(protocol)
        pairs, kappa = cameras.pairs, cameras.kappa
        self.rotations = cameras.rotations
        self.views = np.arange(len(self.rotations))
        self.kappa = float(kappa.max())
        self.by_atom = reading.merge in ("mean", "first")
        if reading.estimator == "all-views":
            # The best conditioned pair of every view, so that each may start a match.
            chosen = sorted(
                {
                    int(np.argmin(np.where((pairs == v).any(axis=1), kappa, np.inf)))
                    for v in self.views
                }
            )
            used = tuple(self.views.tolist())
        else:
            if reading.estimator == "best-pair":
                chosen = [int(np.argmin(kappa))]
            elif [0, 1] in pairs.tolist():
                chosen = [pairs.tolist().index([0, 1])]
            else:
                raise UsageError(
                    f"protocol {protocol.name!r}: its first two cameras look along one line; "
                    "take the estimator best-pair or all-views"
                )
            used = tuple(pairs[chosen[0]].tolist())
        #: Those pairs alone that the estimator starts from.
        self.cameras = Cameras(self.rotations, pairs[chosen], kappa[chosen])
        self.frames = PairFrames(*(array[chosen] for array in frames))
        every = [tuple(self.views.tolist())]
        self.subset = Subsets(
            subset_masks(every), least_squares_inverse(protocol, every), np.array([-1])
        )
        self.inverse = self.subset.inverses[0]
        #: Views that fix a position, and its covariance per sigma^2, (3, 3).
        self.used, self.covariance = used, least_squares_inverse(protocol, [used])[0]

    def run(self, cell: PackedCell, sigmas, seeds, draws=None) -> dict[str, np.ndarray]:
        """Read one structure at every sigma and seed.

        Parameters
        ----------
        sigmas : (D,)
            Standard deviation of each screen coordinate, Å.
        seeds : (N,) of int
            The same errors, scaled, serve every sigma.
        draws : sequence of (V, n, 2), optional
            Standard normal errors of each seed; by default `counter_draws`.

        Returns
        -------
        dict of (D, N) arrays
            `space_group` (0: none), `lowest_system` (of `SymmetricCell`; none where nothing is
            tested), `n_recovered`, `symprec` of the label, Å, and of the
            distances of recovered points from the nearest true atom of their species the
            largest, `error`, and the `median_error`, Å, NaN where nothing is recovered. No
            labeller but `true-error` depends on those.

        Raises
        ------
        StructureError
            More than `MANY_ATOMS` drawn atoms of one species, or `MANY_CANDIDATES`.
        """
        lattice, positions, numbers = tile(
            cell.lattice, cell.positions, cell.numbers, self.protocol.tiling
        )
        most = int(np.unique(numbers, return_counts=True)[1].max())
        if most > MANY_ATOMS:
            raise StructureError(
                Status.too_large,
                f"{most} drawn atoms of one species; centroids of at most {MANY_ATOMS} are "
                "matched: take a smaller tiling",
            )
        self.recorder.about(cell.id)
        exact = project(np.ascontiguousarray(positions), self.rotations)
        if draws is None:
            draws = [
                counter_draws(cell.id, seed, positions, numbers, len(self.views)) for seed in seeds
            ]
        shape = (len(sigmas), len(seeds))
        read = {
            name: np.zeros(shape, int) for name in ("space_group", "lowest_system", "n_recovered")
        }
        read |= {name: np.full(shape, np.nan) for name in ("symprec", "error", "median_error")}
        for d, sigma in enumerate(sigmas):
            for k in range(len(seeds)):
                if sigma == 0 and k > 0:  # no noise: every seed sees the same pictures
                    for array in read.values():
                        array[d, k] = array[d, 0]
                    continue
                kinds, points, spread = self.locate(numbers, exact + sigma * draws[k], sigma)
                distance = distance_to_truth(kinds, points, numbers, positions)
                symprec = self.symprec(sigma, distance)
                read["n_recovered"][d, k] = len(points)
                read["symprec"][d, k] = symprec
                if len(points):
                    read["error"][d, k] = distance.max()
                    read["median_error"][d, k] = np.median(distance)
                    read["space_group"][d, k], read["lowest_system"][d, k] = self.label(
                        lattice, kinds, points, sigma**2 * spread, symprec
                    )
        return read

    def locate(self, numbers, screen, sigma: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Atoms read from centroids whose correspondence is unknown.

        Parameters
        ----------
        numbers : (n,)
            Species of each centroid, the same in every view.
        screen : (V, n, 2)
            Centroids, Å. Their order within a species carries no information, except for
            the merge rules `first` and `mean`, which are defined on it.
        sigma : float
            Å.

        Returns
        -------
        numbers (m,), positions (m, 3)
        spread : float
            Factor on the positions' covariance, see `spread_of`; 1 for the pair estimators.
        """
        order, starts, species = species_ranges(np.asarray(numbers, np.int64), self.by_atom)
        images = shown_by_all(np.ascontiguousarray(screen[:, order]), starts, species)
        delta = delta_of(self.reading.rule, sigma, self.kappa)
        if self.reading.estimator != "all-views":
            return *self._pair_points(images, delta), 1.0
        points = sort_points(images, False, NUMERICAL_ZERO).screen
        bound = CENSUS_ZERO**2 + sigma**2 * misfit_bound(2 * len(self.views) - 3)
        atoms, misfits, _ = zip(
            *(
                correspond(
                    Centroids(
                        np.ascontiguousarray(points[:, low:high]), self.rotations, self.inverse
                    ),
                    self.cameras,
                    self.frames,
                    delta,
                    bound,
                )
                for low, high in itertools.pairwise(starts)
            ),
            strict=True,
        )
        return (
            np.repeat(species, np.diff(starts)),
            np.concatenate(atoms),
            spread_of(np.concatenate(misfits), sigma, len(self.views)),
        )

    def _pair_points(self, images: ImagePoints, delta: float) -> tuple[np.ndarray, np.ndarray]:
        """Accepted and merged candidates of the estimator's pair."""
        limits = Limits(self.reading.tie, delta, delta, MANY_CANDIDATES, MANY_CANDIDATES)
        enumerated, total, _ = enumerate_points(
            images, self.by_atom, self.cameras, self.frames, limits
        )
        if total > MANY_CANDIDATES:
            raise StructureError(
                Status.too_large,
                f"{total} candidates of one pair of views within delta {delta:g} Å; at most "
                f"{MANY_CANDIDATES} are read: take smaller --sigmas, or --estimators all-views, "
                "which lists none",
            )
        reconstructed: Reconstructed = reconstruct_subsets(
            UNDECIDED,
            self.subset,
            Merging(MERGE_RULES.index(self.reading.merge), delta, self.reading.tie),
            SAME_RECONSTRUCTION,
            enumerated,
            np.empty(0),
            self.cameras,
            UNKNOWN,
            False,
        )
        return Reconstructions(*reconstructed, images.species, self.by_atom).cells[0]

    def label(
        self, lattice, numbers, positions, variance: float, symprec: float
    ) -> tuple[int, System]:
        """Space-group number of located atoms, 0 where there is none, and lowest system left.

        Parameters
        ----------
        variance : float
            What the covariance of a position is multiplied with: sigma^2 and the spread, Å^2.
        symprec : float
            Å.
        """
        reading, frac = self.reading, positions @ np.linalg.inv(lattice)
        lowest = System.none
        if reading.labeller == "statistical":
            moved = symmetrised(
                lattice,
                frac,
                numbers,
                variance * self.covariance,
                reading.tau,
                reading.angle_tolerance,
                reading.level,
            )
            frac, lowest = moved.frac, moved.lowest
        found, _ = label_cell(
            lattice, frac, numbers, symprec, reading.angle_tolerance, recorder=self.recorder
        )
        return 0 if found is None else found.number, lowest

    def symprec(self, sigma: float, distance) -> float:
        """symprec of the label, Å: see `NoiseReading`.

        Parameters
        ----------
        distance : (n,)
            Of every located atom from the truth, Å; all but `true-error` ask for their number only.
        """
        from scipy.special import chdtri

        tau, n_atoms = self.reading.tau, len(distance)
        if self.reading.labeller == "true-error":
            return (
                min(0.25, max(0.01, 6 * float(np.sqrt(np.mean(np.square(distance))))))
                if n_atoms
                else 0.01
            )
        if self.reading.labeller == "statistical" or not n_atoms:
            return tau
        gain = np.sqrt(np.linalg.eigvalsh(self.covariance)[-1])
        return max(tau, float(2 * np.sqrt(chdtri(3, 1e-3 / n_atoms)) * gain * sigma))
