"""Scores of camera sets: phantoms, ambiguity and alignment on a sample of structures; noise and
phantoms on one structure after another.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from rc_hpc.core.constants import DELTA_MAX
from rc_hpc.geometry.alignment import aligned_vectors
from rc_hpc.geometry.camera_sets import geometric_scores, screen_length
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.design.options import ASKED, DesignOptions
from rc_hpc.oracle.cell import PackedCell, drawn
from rc_hpc.oracle.draws import counter_draws
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.oracle.labels import SpaceGroupLabel, agreement
from rc_hpc.oracle.noise import NoiseReading, NoisyOracle
from rc_hpc.symmetry.recorder import NULL_RECORDER, Recorder


def all_subsets_of(n_views: int) -> tuple[tuple[int, ...], ...]:
    """Every subset of two views or more, by size."""
    return tuple(
        s for size in range(2, n_views + 1) for s in itertools.combinations(range(n_views), size)
    )


def sample_scores(
    protocol: Protocol, cells: Sequence[PackedCell], delta: float, ask: str = "phantoms"
) -> dict[str, float]:
    """All of `SCORES` for one protocol, on a sample of structures.

    Parameters
    ----------
    delta
        Tolerance of `phantom_rate` and of `loose_rate`, Å.
    ask
        Which of them the cost has.
    """
    subsets = all_subsets_of(len(protocol.views))
    few, all_views = GeometricOracle(protocol, subsets), GeometricOracle(protocol, subsets[-1:])
    small = np.array([len(subset) <= 3 for subset in subsets])
    ambiguous = atoms = phantoms = loose = aligned = 0
    lengths = []
    for cell in cells:
        _, positions, numbers, _ = drawn(cell, protocol.tiling)
        found = few.enumerate_cell(positions, numbers, DELTA_MAX, DELTA_MAX)
        near = found.within(delta)
        phantoms += int(np.count_nonzero(few.certify(near, delta).n_phantoms))
        loose += int(np.count_nonzero(few.cover(near, delta).n_redundant[small]))
        ambiguous += int(all_views.certify(found, DELTA_MAX).n_phantoms[0])
        atoms += len(numbers)
        aligned += int(aligned_vectors(cell.lattice, protocol.directions).any(axis=1).sum())
        lengths.append(screen_length(cell.lattice, protocol.directions))
    scores = geometric_scores(protocol)
    scores |= {
        "ambiguity": ambiguous / atoms,
        "phantom_rate": phantoms / (len(cells) * len(subsets)),
        "loose_rate": loose / (len(cells) * int(small.sum())),
        "aligned_rate": aligned / (len(cells) * len(protocol.views)),
        "screen_length": float(np.median(lengths)),
    }
    return {
        "cost": scores["geometric_cost"] * (1.0 + scores["ambiguity"] + scores[ASKED[ask]])
    } | scores


class DesignSweep:
    """Reads one structure after another under every camera set of a design.

    Parameters
    ----------
    protocols
        As in the options.
    options
    splits : dict of str to int
        Side of each structure that takes part, by id.
    recorder
        Notes the structure in flight during native calls.
    """

    def __init__(
        self,
        protocols: Sequence[Protocol],
        options: DesignOptions,
        splits: dict[str, int],
        recorder: Recorder = NULL_RECORDER,
    ):
        self.options, self.splits, self.protocols = options, splits, protocols
        reading = NoiseReading(tau=options.pack.tau, angle_tolerance=options.pack.angle_tolerance)
        self.readers = [NoisyOracle(protocol, reading, recorder) for protocol in protocols]
        self.subsets = [all_subsets_of(len(protocol.views)) for protocol in protocols]
        self.oracles = [
            GeometricOracle(protocol, subsets)
            for protocol, subsets in zip(protocols, self.subsets, strict=True)
        ]
        self.n_views = max(len(protocol.views) for protocol in protocols)

    def run(self, cell: PackedCell) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read one structure.

        Returns
        -------
        fields : dict
            Values of the `design/` columns by path; of a structure that takes no part, only that.
        children : dict
            Empty: the file has no child tables.
        """
        side = self.splits.get(cell.id, 0)
        if not side:
            return {"design/split": 0}, {}
        options, n_protocols = self.options, len(self.protocols)
        runs = (n_protocols, len(options.sigmas), options.seeds)
        columns: dict[str, np.ndarray] = {
            name: np.empty(runs) for name in ("n_recovered", "largest_error", "space_group")
        }
        columns |= {
            name: np.full((n_protocols, self.n_views - 1), -1)
            for name in ("phantom_subsets", "n_phantoms")
        }
        columns |= {"n_aligned": np.empty(n_protocols, int), "screen_length": np.empty(n_protocols)}
        for p, protocol in enumerate(self.protocols):
            _, positions, numbers, _ = drawn(cell, protocol.tiling)
            draws = [
                counter_draws(cell.id, seed, positions, numbers, len(protocol.views))
                for seed in range(options.seeds)
            ]
            read = self.readers[p].run(cell, options.sigmas, range(options.seeds), draws)
            for name, source in (
                ("n_recovered", "n_recovered"),
                ("largest_error", "error"),
                ("space_group", "space_group"),
            ):
                columns[name][p] = read[source]
            found = self.oracles[p].enumerate_cell(positions, numbers, options.delta, options.delta)
            phantoms = self.oracles[p].certify(found, options.delta).n_phantoms
            sizes = np.array([len(subset) for subset in self.subsets[p]])
            for size in range(2, len(protocol.views) + 1):
                columns["phantom_subsets"][p, size - 2] = np.count_nonzero(phantoms[sizes == size])
                columns["n_phantoms"][p, size - 2] = phantoms[sizes == size].sum()
            columns["n_aligned"][p] = (
                aligned_vectors(cell.lattice, protocol.directions).any(axis=1).sum()
            )
            columns["screen_length"][p] = screen_length(cell.lattice, protocol.directions)
        labeller = SpaceGroupLabel()
        right = agreement(
            labeller,
            columns["space_group"].astype(np.int64),
            labeller.truth(cell, options.truth),
        )
        columns["correct"] = right["crystal_system"]
        return {"design/split": side} | {
            f"design/{name}": values for name, values in columns.items()
        }, {}


def oracle(options: DesignOptions, given: Given) -> Compute:
    """What computes one structure; shared are the sides of the plan."""
    protocols = [protocol_of(identity) for identity in options.protocols]
    return DesignSweep(protocols, options, given.shared, given.recorder).run
