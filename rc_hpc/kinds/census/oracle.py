"""The whole oracle on one packed structure: geometry, certificate and labels of every subset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO, SAME_RECONSTRUCTION
from rc_hpc.core.vocabulary import CHOOSING_RULES, MERGE_RULES, LabelStatus
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.oracle.cell import PackedCell, drawn
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.oracle.labels import (
    Labeller,
    LabelTable,
    SpaceGroupLabel,
    correct_columns,
    labeller_of,
)
from rc_hpc.oracle.parsimony import SymmetricReader
from rc_hpc.oracle.reading import Reading
from rc_hpc.oracle.solving import check_solver
from rc_hpc.symmetry.recorder import NULL_RECORDER, Recorder

#: Scales of ties, in units of the one asked for, at which a near tie shows.
NEAR = (0.1, 10.0)


def geometry_of(
    protocol: Protocol, subsets: Sequence[tuple[int, ...]], options: CensusOptions
) -> GeometricOracle:
    """What reads these subsets under a census's options; what chooses begins with dominance."""
    merge = MERGE_RULES[0] if options.merge in CHOOSING_RULES else options.merge
    return GeometricOracle(
        protocol, subsets, options.enumeration, merge, options.max_candidates, options.tie
    )


def symmetric_reader(
    geometry: GeometricOracle, options: CensusOptions, recorder: Recorder = NULL_RECORDER
) -> SymmetricReader | None:
    """What chooses among explanations; None under the other merge rules.

    Raises
    ------
    UsageError
        The solver is not installed, or a camera is a pinhole.
    """
    if options.merge not in CHOOSING_RULES:
        return None
    check_solver()
    pack = options.pack
    labeller = SpaceGroupLabel(pack.tau, pack.angle_tolerance, recorder)
    return SymmetricReader(geometry, labeller, fewest=options.merge == "parsimonious")


def read_symmetric(
    reader: SymmetricReader, reading: Reading, subsets: np.ndarray, lattice: np.ndarray
) -> None:
    """Put the most symmetric explanations in the place of all places on these subsets."""
    true_numbers, true_positions = reading.cells[0]
    for k, (numbers, positions) in reader.read(reading.enumeration, subsets, lattice).items():
        reading.n_recovered[k] = len(numbers)
        reading.point_error[k] = _farthest(numbers, positions, true_numbers, true_positions)
        reading.atom_error[k] = _farthest(true_numbers, true_positions, numbers, positions)
        equal = next(
            (
                e
                for e, (others, places) in enumerate(reading.cells)
                if len(others) == len(numbers)
                and _farthest(numbers, positions, others, places) <= SAME_RECONSTRUCTION
            ),
            None,
        )
        if equal is None:
            equal = len(reading.cells)
            reading.cells.append((numbers, positions))
            reading.numbers.append(max(reading.numbers) + 1)
        reading.entry[k], reading.reconstruction[k] = equal, reading.numbers[equal]


def _farthest(
    numbers: np.ndarray, positions: np.ndarray, others: np.ndarray, places: np.ndarray
) -> float:
    """Largest distance from a point to the nearest other of its species, Å; inf where none is."""
    from scipy.spatial import cKDTree

    largest = 0.0
    for kind in np.unique(numbers):
        there = places[others == kind]
        if not len(there):
            return np.inf
        largest = max(largest, float(cKDTree(there).query(positions[numbers == kind])[0].max()))
    return largest


class CensusOracle:
    """Runs `GeometricOracle` and a labeller on packed structures under one set of options.

    Parameters
    ----------
    protocol
        Cameras and tiling.
    options
    recorder
        Notes the structure in flight during native calls.
    labeller
        By default the space group, of molecules the point group, at the packed tolerances.
    """

    def __init__(
        self,
        protocol: Protocol,
        options: CensusOptions,
        recorder: Recorder = NULL_RECORDER,
        labeller: Labeller | None = None,
    ):
        self.options = options
        pack = options.pack
        self.labeller = labeller or labeller_of(
            pack,
            pack.group_tolerance if pack.molecules else pack.tau,
            recorder,
            packed=options.packed_tau is None,
        )
        self.tiling = protocol.tiling
        self.recorder = recorder
        self.geometry = geometry_of(protocol, options.subsets, options)
        self.symmetric = symmetric_reader(self.geometry, options, recorder)
        #: At which other scales ties are judged: `mean` and `first` judge none, and what chooses
        #: among explanations is asked apart.
        self.ties = () if self.geometry.by_atom or self.symmetric is not None else NEAR
        #: Which subsets are labelled.
        self.labelled = np.array(options.labelled(), bool)

    def run(self, cell: PackedCell) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reconstruct, certify and label one structure.

        Returns
        -------
        fields : dict
            Values of the `structures/` and `cells/` columns of the census by path.
        phantoms : dict
            Columns of the `phantoms` table without `structure`.

        Raises
        ------
        StructureError
            Too many candidates.
        """
        options, labeller = self.options, self.labeller
        lattice, positions, numbers, separation = drawn(cell, self.tiling)
        reading = self.geometry.run(
            positions,
            numbers,
            options.delta,
            options.delta_max,
            keep_all=options.label_every,
            ties=self.ties,
        )
        self.recorder.about(cell.id)
        covered = self.geometry.cover(reading.enumeration, CENSUS_ZERO)
        if self.symmetric is not None:
            read_symmetric(
                self.symmetric, reading, np.flatnonzero(covered.n_redundant > 0), lattice
            )
        labels, status = self._labels(reading, lattice, cell)
        label = np.where(self.labelled, labels[reading.entry], 0)
        outcome = np.where(self.labelled, status[reading.entry], LabelStatus.not_done)
        truth = labeller.truth(cell, options.truth)
        coarsest, finest = labeller.granularities[0], labeller.granularities[-1]
        near = self._near_tie(reading, (lattice, positions, numbers), labels)
        if self.symmetric is not None:  # its choices are judged at a scale of their own
            near &= covered.n_redundant == 0
        found = reading.enumeration
        # Cameras along one line reconstruct nothing, and no phantom either: no theorem speaks
        # of them.
        certified = (
            (reading.n_phantoms == 0)
            & (separation > 2 * options.delta)
            & np.isfinite(reading.atom_error)
        )
        if self.geometry.pinhole:
            certified &= self.geometry.fixes_all(found)
        fields = {
            "structures/delta_max": found.reach,
            "structures/n_candidates": found.candidates.gap.size,
            "structures/n_reconstructions": len(set(reading.reconstruction.tolist())),
            "cells/n_recovered": reading.n_recovered,
            "cells/n_phantoms": reading.n_phantoms,
            "cells/n_phantoms_exact": reading.n_exact,
            "cells/n_phantoms_strict": reading.n_strict,
            "cells/phantom_delta": reading.phantom_delta,
            "cells/phantom_delta_exact": reading.phantom_delta_exact,
            "cells/point_error": reading.point_error,
            "cells/atom_error": reading.atom_error,
            "cells/certified": certified,
            "cells/n_forced": covered.n_forced,
            "cells/n_redundant": covered.n_redundant,
            "cells/unique_any": covered.n_redundant == 0,
            "cells/log10_explanations": covered.log10_explanations,
            "cells/near_tie": near,
            "cells/reconstruction": reading.reconstruction,
            "cells/label_status": outcome,
            f"cells/{coarsest}": labeller.codes(label)[..., 0],
            f"cells/{finest}": label,
            **correct_columns(labeller, label, truth, "cells"),
        }
        return fields, self._phantoms(reading)

    def _phantoms(self, reading: Reading) -> dict[str, np.ndarray]:
        """Columns of the `phantoms` table without `structure`."""
        found, far = reading.enumeration, reading.phantoms
        candidates = found.candidates
        views = self.geometry.cameras.pairs[candidates.pair[far]]
        return {
            "number": found.species[candidates.species[far]],
            "position": candidates.position[far],
            "view_a": views[:, 0],
            "view_b": views[:, 1],
            "gap": candidates.gap[far],
            "residual": candidates.residual[far],
            "distance": found.distance[far],
        }

    def _labels(
        self, reading: Reading, lattice: np.ndarray, cell: PackedCell
    ) -> tuple[np.ndarray, np.ndarray]:
        """Label and label status of every returned point set."""
        labels = np.zeros(len(reading.numbers), dtype=np.int64)
        status = np.full(len(reading.numbers), LabelStatus.labelled)
        used = np.zeros(len(reading.numbers), dtype=bool)
        used[reading.entry[self.labelled]] = True
        # The true cell was labelled when it was packed, in the very order in which it comes here.
        as_packed = (
            self.tiling == (1, 1, 1) and not self.geometry.by_atom and not self.options.label_every
        )
        if as_packed and self.labeller.known(cell):
            labels[0] = self.labeller.known(cell)
            used[0] = False
        for e in np.flatnonzero(used):
            labels[e], status[e] = self.labeller.label(lattice, *reading.cell(int(e)))
        return labels, status

    def _near_tie(
        self, reading: Reading, atoms: tuple[np.ndarray, np.ndarray, np.ndarray], labels: np.ndarray
    ) -> np.ndarray:
        """Where count or label is another with ties judged ten times as finely or coarsely, (K,).

        Parameters
        ----------
        atoms
            Lattice, positions and numbers of the drawn cell.
        labels
            Of the point sets of `reading`.
        """
        changed = np.zeros(len(reading.n_recovered), dtype=bool)
        if self.geometry.by_atom:  # these rules judge no ties
            return changed
        lattice, positions, numbers = atoms
        delta, species = self.options.delta, reading.species
        if self.symmetric is None:
            changed = reading.other_counts.copy()
            # Equal points have the label that they have; others are labelled below.
            if not np.any(reading.other_points & ~changed & self.labelled):
                return changed
        table = LabelTable(lattice, [self.labeller], ordered=False)
        for e in sorted(set(reading.entry[self.labelled].tolist())):
            kinds, places = reading.cells[e]
            table.learn(species, kinds, places, (labels[e : e + 1], np.zeros(1, int)))
        images, _ = self.geometry.project(positions, numbers)
        for factor in NEAR:
            found = self.geometry.enumerate(images, delta, delta, factor * self.options.tie)
            other = self.geometry.reconstruct(found, delta)
            changed |= other.n_recovered != reading.n_recovered
            for e in sorted(set(other.entry[~changed & self.labelled].tolist())):
                (label,), _ = table.labels(species, *other.cells[e])
                changed |= self.labelled & (other.entry == e) & (labels[reading.entry] != label)
        return changed


def oracle(options: CensusOptions, given: Given) -> Compute:
    """What computes one structure."""
    one = CensusOracle(protocol_of(options.protocol), options, given.recorder)

    def compute(cell: PackedCell) -> tuple[dict[str, Any], dict[str, Any]]:
        fields, phantoms = one.run(cell)
        return fields, {"phantoms": phantoms}

    return compute
