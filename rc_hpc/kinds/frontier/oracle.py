"""One packed structure at many tolerances, from one enumeration of its candidates."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO
from rc_hpc.core.vocabulary import ProfileKind
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.frontier.options import FrontierOptions
from rc_hpc.oracle.cell import PackedCell, drawn
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.oracle.labels import Labeller, LabelTable, correct_columns, labeller_of
from rc_hpc.oracle.reading import Compared
from rc_hpc.symmetry.recorder import NULL_RECORDER, Recorder

#: The gap that rays of each kind of the delta profile may have, Å.
PROFILE_KINDS = {ProfileKind.acceptance: np.inf, ProfileKind.definition7: CENSUS_ZERO}


class FrontierOracle:
    """Reconstructs and labels a structure at every delta, under every reading.

    Rules that work on images share one enumeration and the labels of equal reconstructions;
    those defined on single atoms (`GeometricOracle.by_atom`) share another.

    Parameters
    ----------
    protocol
        Cameras and tiling.
    options
    recorder
        Notes the structure in flight during native calls.
    labellers
        One for each of the symprecs; by default the space group, or point group, there.
    """

    def __init__(
        self,
        protocol: Protocol,
        options: FrontierOptions,
        recorder: Recorder = NULL_RECORDER,
        labellers: Sequence[Labeller] | None = None,
    ):
        self.options = options
        pack = options.pack
        self.labellers = labellers or [
            labeller_of(pack, symprec, recorder, packed=symprec == pack.tau)
            for symprec in options.symprecs
        ]
        self.tiling = protocol.tiling
        self.recorder = recorder
        self.deltas = np.array(options.deltas)
        self.oracles = [
            GeometricOracle(
                protocol, options.subsets, enumeration, rule, options.max_candidates, options.tie
            )
            for enumeration, rule in itertools.product(options.enumerations, options.rules)
        ]

    def run(self, cell: PackedCell) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reconstruct, certify and label one structure at all tolerances.

        Returns
        -------
        fields : dict
            Values of the `structures/` and `frontier/` columns by path.
        children : dict
            Columns of the `profile` table without `structure`.

        Raises
        ------
        StructureError
            Too many candidates.
        """
        options = self.options
        lattice, positions, numbers, separation = drawn(cell, self.tiling)
        self.recorder.about(cell.id)
        n_subsets, n_deltas = len(options.subsets), len(self.deltas)
        points = (len(self.oracles), n_deltas, n_subsets)
        n_recovered, point_error = np.empty(points, np.int64), np.empty(points)
        by_labeller = (len(self.oracles), n_deltas, len(self.labellers), n_subsets)
        labels, status = np.empty(by_labeller, np.int64), np.empty(by_labeller, np.int64)
        every: list[Compared] = []
        for by_atom in (False, True):
            readings = [r for r, oracle in enumerate(self.oracles) if oracle.by_atom == by_atom]
            if not readings:
                continue
            found = self.oracles[readings[0]].enumerate_cell(
                positions, numbers, options.deltas[-1], options.delta_max
            )
            every.append(found)
            table = LabelTable(lattice, self.labellers, by_atom)
            known = None
            if self.tiling == (1, 1, 1) and not by_atom:
                # As packed, in the very order in which it comes here.
                known = [labeller.known(cell) for labeller in self.labellers]
            steps = {r: self.oracles[r].steps(found, self.deltas) for r in readings}
            for d, delta in enumerate(options.deltas):
                narrowed = None
                for r in readings:
                    changed = np.flatnonzero(steps[r][:, d])
                    for array in (n_recovered, point_error, labels, status):
                        array[r, d] = array[r, max(d - 1, 0)]
                    if changed.size == 0:
                        continue
                    narrowed = narrowed or found.within(delta)
                    read = self.oracles[r].reconstruct(narrowed, delta, chosen=changed)
                    n_recovered[r, d, changed] = read.n_recovered
                    point_error[r, d, changed] = read.point_error
                    for e in set(read.entry.tolist()):
                        where = changed[read.entry == e]
                        label, outcome = (
                            table.true(read, known)
                            if e == 0
                            else table.labels(read.species, *read.cells[e])
                        )
                        labels[r, d][:, where] = label[:, None]
                        status[r, d][:, where] = outcome[:, None]
        first, labeller = every[0], self.labellers[0]
        truth = labeller.truth(cell, options.truth)
        profile, smallest, certified = self._profile(first)
        fields = {
            "structures/delta_max": first.reach,
            "structures/n_candidates": first.candidates.gap.size,
            "structures/separation": separation,
            "frontier/n_recovered": n_recovered,
            "frontier/point_error": point_error,
            "frontier/label_status": status,
            f"frontier/{labeller.granularities[-1]}": labels,
            **correct_columns(labeller, labels, truth, "frontier"),
            "frontier/certified": certified & (separation > 2 * self.deltas)[:, None],
            "frontier/phantom_delta": smallest[0],
            "frontier/phantom_delta_exact": smallest[1],
        }
        return fields, {"profile": profile}

    def _profile(self, found: Compared) -> tuple[dict[str, Any], list[np.ndarray], np.ndarray]:
        """Rows of the profile table, each subset's smallest phantom delta by kind, and where
        (D, K) none is accepted.
        """
        rows: dict[str, list[np.ndarray]] = {
            "subset": [],
            "kind": [],
            "delta_from": [],
            "delta_to": [],
        }
        smallest = []
        # The theorem speaks of two views that are not parallel.
        pairs = [set(pair) for pair in self.oracles[0].cameras.pairs.tolist()]
        independent = np.array(
            [any(pair <= set(subset) for pair in pairs) for subset in self.options.subsets]
        )
        if self.oracles[0].pinhole:
            independent &= self.oracles[0].fixes_all(found)
        clear = np.tile(independent, (len(self.deltas), 1))
        for kind, exact_gap in PROFILE_KINDS.items():
            starts, lower, upper = self.oracles[0].profile(found, exact_gap)
            sizes = np.diff(starts)
            rows["subset"].append(np.repeat(np.arange(sizes.size), sizes))
            rows["kind"].append(np.full(lower.size, kind))
            rows["delta_from"].append(lower)
            rows["delta_to"].append(upper)
            smallest.append(np.where(sizes > 0, np.append(lower, np.inf)[starts[:-1]], np.inf))
            if kind == ProfileKind.acceptance:
                for k in np.flatnonzero(sizes):
                    own = slice(starts[k], starts[k + 1])
                    entered, left = (
                        np.searchsorted(bounds[own], self.deltas, side="right")
                        for bounds in (lower, upper)
                    )
                    clear[:, k] = entered == left
        return {name: np.concatenate(values) for name, values in rows.items()}, smallest, clear


def oracle(options: FrontierOptions, given: Given) -> Compute:
    """What computes one structure."""
    return FrontierOracle(protocol_of(options.protocol), options, given.recorder).run
