"""One packed structure through a whole noise sweep: every protocol, reading, sigma and seed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO
from rc_hpc.geometry import conditioning
from rc_hpc.geometry.alignment import aligned_vectors
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kernels.enumeration import project_cell
from rc_hpc.kernels.points import sort_points
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.noise.options import NoiseOptions
from rc_hpc.kinds.noise.readings import readings
from rc_hpc.oracle.cell import PackedCell, drawn
from rc_hpc.oracle.draws import SharedStream, counter_draws
from rc_hpc.oracle.labels import SpaceGroupLabel, correct_columns
from rc_hpc.oracle.noise import NoiseReading, NoisyOracle
from rc_hpc.symmetry.recorder import NULL_RECORDER, Recorder
from rc_hpc.symmetry.statistical import lattice_system

#: Seed of the displacements, which no seed of errors is.
DISPLACED = 1 << 20
#: Names of the measured columns by what `NoisyOracle.run` calls them.
MEASURED = {
    "n_recovered": "n_recovered",
    "median_error": "median_error",
    "error": "largest_error",
    "symprec": "symprec",
    "space_group": "space_group",
    "lowest_system": "lowest_system",
}


def readings_of(options: NoiseOptions) -> list[NoiseReading]:
    """The readings of a sweep, in the order of the file."""
    return [
        NoiseReading(
            rule,
            estimator,
            merge,
            labeller,
            options.pack.tau,
            options.pack.angle_tolerance,
            tie=options.tie,
        )
        for rule, estimator, merge, labeller in readings(
            options.rules, options.estimators, options.merge, options.labeller
        )
    ]


class NoiseSweep:
    """Reads noisy pictures of one structure after another under everything that the options name.

    Parameters
    ----------
    protocols
        Cameras and tilings, as in the options.
    options
    streams : list of SharedStream, optional
        The record's errors for each protocol; by default each structure has its own.
    recorder
        Notes the structure in flight during native calls.
    """

    def __init__(
        self,
        protocols: list[Protocol],
        options: NoiseOptions,
        streams: list[SharedStream] | None = None,
        recorder: Recorder = NULL_RECORDER,
    ):
        self.protocols, self.options, self.streams = protocols, options, streams
        self.oracles = [
            [NoisyOracle(protocol, reading, recorder) for reading in readings_of(options)]
            for protocol in protocols
        ]
        self.n_views = max(len(protocol.views) for protocol in protocols)

    def run(self, cell: PackedCell) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read one structure.

        Returns
        -------
        fields : dict
            Values of the `noise/` columns by path.
        children : dict
            Empty: the file has no child tables.

        Raises
        ------
        StructureError
            Too many drawn atoms of one species.
        """
        options, n_protocols, n_readings = self.options, len(self.protocols), len(self.oracles[0])
        fields: dict[str, np.ndarray] = {
            "noise/separation": np.empty(n_protocols),
            "noise/budget_record": np.empty(n_protocols),
            "noise/budget_certain": np.empty((n_protocols, n_readings)),
            "noise/budget_probable": np.empty((n_protocols, n_readings)),
            "noise/aligned": np.zeros((n_protocols, self.n_views, 3), np.int8),
            "noise/n_images": np.full((n_protocols, self.n_views), -1),
        }
        measured, displaced = [], []
        moved = displaced_cell(cell, options.displace) if options.displace else None
        for p, (protocol, oracles) in enumerate(zip(self.protocols, self.oracles, strict=True)):
            _, positions, numbers, separation = drawn(cell, protocol.tiling)
            self._statics(fields, p, cell, separation, positions, numbers)
            if self.streams:
                draws = self.streams[p].draws(cell.id, len(numbers))
            else:
                draws = [
                    counter_draws(cell.id, seed, positions, numbers, len(protocol.views))
                    for seed in range(options.seeds)
                ]
            measured.append(
                [
                    oracle.run(cell, options.sigmas, range(options.seeds), draws)
                    for oracle in oracles
                ]
            )
            if moved is not None:
                displaced.append(
                    [
                        oracle.run(moved, options.sigmas, range(options.seeds), draws)
                        for oracle in oracles
                    ]
                )
        for name, column in MEASURED.items():
            fields[f"noise/{column}"] = np.array([[read[name] for read in row] for row in measured])
        fields["structures/lattice_system"] = np.array(
            lattice_system(cell.lattice, options.pack.tau, options.pack.angle_tolerance)
        )
        if moved is not None:
            fields["noise/displaced_space_group"] = np.array(
                [[read["space_group"] for read in row] for row in displaced]
            )
        else:
            fields["noise/displaced_space_group"] = np.full_like(fields["noise/space_group"], -1)
        labeller = SpaceGroupLabel()
        truth = labeller.truth(cell, options.truth)
        fields |= correct_columns(labeller, fields["noise/space_group"], truth, "noise")
        return fields, {}

    def _statics(
        self,
        fields: dict[str, np.ndarray],
        p: int,
        cell: PackedCell,
        separation: float,
        positions: np.ndarray,
        numbers: np.ndarray,
    ) -> None:
        """What does not depend on the noise: budgets, aligned cameras, coinciding images."""
        protocol, tau = self.protocols[p], self.options.pack.tau
        fields["noise/separation"][p] = separation
        fields["noise/budget_record"][p] = conditioning.record_budget(
            separation, tau, self.oracles[p][0].kappa
        )
        for r, oracle in enumerate(self.oracles[p]):
            gain = conditioning.gain(protocol, oracle.used)
            fields["noise/budget_certain"][p, r] = conditioning.certain_budget(
                separation, tau, gain, len(oracle.used)
            )
            fields["noise/budget_probable"][p, r] = conditioning.probable_budget(
                separation, tau, oracle.covariance, len(numbers)
            )
        images, _ = project_cell(
            np.ascontiguousarray(positions),
            np.asarray(numbers, np.int64),
            False,
            np.ascontiguousarray(protocol.rotations),
        )
        views = len(protocol.views)
        fields["noise/aligned"][p, :views] = aligned_vectors(cell.lattice, protocol.directions)
        fields["noise/n_images"][p, :views] = sort_points(images, True, CENSUS_ZERO).starts[:, -1]


def displaced_cell(cell: PackedCell, length: float) -> PackedCell:
    """The cell with every atom displaced by a length, Å, in a direction that its id decides."""
    draws = counter_draws(cell.id, DISPLACED, cell.positions, np.asarray(cell.numbers), 2)
    ways = np.concatenate(list(draws), axis=1)[:, :3]
    ways = ways / np.linalg.norm(ways, axis=1, keepdims=True)
    return replace(cell, positions=cell.positions + length * ways)


def oracle(options: NoiseOptions, given: Given) -> Compute:
    """What computes one structure; shared are the sizes of the plan."""
    protocols = [protocol_of(identity) for identity in options.protocols]
    streams = None
    if options.shared:
        streams = [
            SharedStream(
                {id: n * math.prod(one.tiling) for id, n in given.shared.items()},
                options.seeds,
                len(one.views),
            )
            for one in protocols
        ]
    return NoiseSweep(protocols, options, streams, given.recorder).run
