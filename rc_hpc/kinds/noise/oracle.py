"""One packed structure through a whole noise sweep: every protocol, reading, sigma and seed."""

from __future__ import annotations

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO
from rc_hpc.geometry import conditioning
from rc_hpc.geometry.alignment import aligned_vectors
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kernels.candidates import image_points, project
from rc_hpc.kinds.noise.options import NoiseOptions
from rc_hpc.oracle.cell import PackedCell, drawn
from rc_hpc.oracle.noise import NoiseReading, NoisyOracle, counter_draws
from rc_hpc.symmetry.guard import NULL_RECORDER
from rc_hpc.symmetry.labels import code_table

#: Names of the measured columns by what `NoisyOracle.run` calls them.
MEASURED = {
    "n_recovered": "n_recovered",
    "median_error": "median_error",
    "error": "largest_error",
    "symprec": "symprec",
    "space_group": "space_group",
}


def readings_of(options: NoiseOptions) -> list[NoiseReading]:
    """The readings of a sweep, in the order of the file."""
    return [
        NoiseReading(
            rule, estimator, merge, labeller, options.pack.tau, options.pack.angle_tolerance
        )
        for rule, estimator, merge, labeller in options.readings
    ]


class SharedStream:
    """The record's errors, one generator per seed through all structures, from any structure on.

    Parameters
    ----------
    sizes : dict of str to int
        Drawn atoms by id, in the order in which the structures draw.
    seeds : int
        Their number.
    n_views : int
    """

    def __init__(self, sizes: dict[str, int], seeds: int, n_views: int):
        self.n_views = n_views
        self.generators = [np.random.default_rng(seed) for seed in range(seeds)]
        # How many numbers a normal takes varies, so every place is found by drawing up to it.
        self.places: dict[str, list[int]] = {id: [] for id in sizes}
        for generator in self.generators:
            for id, n in sizes.items():
                self.places[id].append(generator.bit_generator.state["state"]["state"])
                generator.standard_normal(2 * n_views * n)

    def draws(self, id: str, n: int) -> list[np.ndarray]:
        """Standard normal errors of a structure of `n` drawn atoms, (V, n, 2) for each seed."""
        found = []
        for generator, place in zip(self.generators, self.places[id], strict=True):
            state = generator.bit_generator.state
            generator.bit_generator.state = state | {"state": state["state"] | {"state": place}}
            found.append(generator.standard_normal((self.n_views, n, 2)))
        return found


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
        recorder=NULL_RECORDER,
    ):
        self.protocols, self.options, self.streams = protocols, options, streams
        self.oracles = [
            [NoisyOracle(protocol, reading, recorder) for reading in readings_of(options)]
            for protocol in protocols
        ]
        self.n_views = max(len(protocol.views) for protocol in protocols)

    def run(self, cell: PackedCell) -> tuple[dict, dict]:
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
        measured = []
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
        for name, column in MEASURED.items():
            fields[f"noise/{column}"] = np.array(
                [[found[name] for found in row] for row in measured]
            )
        group, codes = fields["noise/space_group"], code_table()
        truth = cell.space_group if options.truth == "stored" else cell.space_group_conventional
        equal = (codes[group] == codes[truth]) & (group > 0)[..., None]
        fields |= {
            f"noise/correct_{name}": equal[..., k]
            for k, name in enumerate(("crystal_system", "point_group", "bravais"))
        }
        fields["noise/correct_space_group"] = group == truth
        return fields, {}

    def _statics(self, fields, p, cell, separation, positions, numbers):
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
        order = np.argsort(numbers, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.unique(numbers, return_counts=True)[1])))
        screen = project(
            np.ascontiguousarray(positions[order]), np.ascontiguousarray(protocol.rotations)
        )
        views = len(protocol.views)
        fields["noise/aligned"][p, :views] = aligned_vectors(cell.lattice, protocol.directions)
        fields["noise/n_images"][p, :views] = image_points(screen, starts, True, CENSUS_ZERO)[2][
            :, -1
        ]
