"""One packed structure at many tolerances, from one enumeration of its candidates."""

from __future__ import annotations

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.frontier.options import FrontierOptions
from rc_hpc.oracle.cell import PackedCell, drawn
from rc_hpc.oracle.geometry import Enumeration, GeometricOracle
from rc_hpc.oracle.labelling import LabelTable
from rc_hpc.symmetry.guard import NULL_RECORDER
from rc_hpc.symmetry.labels import code_table

#: Kinds of the delta profile as stored.
ACCEPTANCE, DEFINITION7 = 0, 1
#: The gap that rays of each kind may have, Å.
PROFILE_KINDS = {ACCEPTANCE: np.inf, DEFINITION7: CENSUS_ZERO}


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
    """

    def __init__(self, protocol: Protocol, options: FrontierOptions, recorder=NULL_RECORDER):
        self.options = options
        self.tiling = protocol.tiling
        self.recorder = recorder
        self.deltas = np.array(options.deltas)
        self.oracles = [
            GeometricOracle(protocol, options.subsets, enumeration, rule, options.max_candidates)
            for enumeration, rule in options.readings
        ]

    def run(self, cell: PackedCell) -> tuple[dict, dict]:
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
        labels = (len(self.oracles), n_deltas, len(options.symprecs), n_subsets)
        groups, status = np.empty(labels, np.int64), np.empty(labels, np.int64)
        first: Enumeration | None = None
        for by_atom in (False, True):
            readings = [r for r, oracle in enumerate(self.oracles) if oracle.by_atom == by_atom]
            if not readings:
                continue
            found = self.oracles[readings[0]].enumerate(
                positions, numbers, options.deltas[-1], options.delta_max
            )
            first = first or found
            table = LabelTable(
                lattice, options.symprecs, options.pack.angle_tolerance, by_atom, self.recorder
            )
            known = None
            if (
                self.tiling == (1, 1, 1) and not by_atom
            ):  # as packed, in the very order in which it comes here
                known = {options.pack.tau: cell.space_group_conventional}
            steps = {r: self.oracles[r].steps(found, self.deltas) for r in readings}
            for d, delta in enumerate(options.deltas):
                narrowed = None
                for r in readings:
                    changed = np.flatnonzero(steps[r][:, d])
                    for array in (n_recovered, point_error, groups, status):
                        array[r, d] = array[r, max(d - 1, 0)]
                    if changed.size == 0:
                        continue
                    narrowed = narrowed or found.within(delta)
                    made = self.oracles[r].at_delta(narrowed, delta, chosen=changed)
                    n_recovered[r, d, changed], point_error[r, d, changed] = (
                        made.n_recovered,
                        made.point_error,
                    )
                    for e in set(made.entry.tolist()):
                        where = changed[made.entry == e]
                        group, outcome = (
                            table.true(made, known)
                            if e == 0
                            else table.labels(made.numbers, *made.cells[e])
                        )
                        groups[r, d][:, where] = group[:, None]
                        status[r, d][:, where] = outcome[:, None]
        truth = cell.space_group if options.truth == "stored" else cell.space_group_conventional
        codes = code_table()
        equal = (codes[groups] == codes[truth]) & (groups > 0)[..., None]
        profile, smallest, certified = self._profile(first)
        fields = {
            "structures/delta_max": first.candidates.reach,
            "structures/n_candidates": first.candidates.gap.size,
            "structures/separation": separation,
            "frontier/n_recovered": n_recovered,
            "frontier/point_error": point_error,
            "frontier/label_status": status,
            "frontier/space_group": groups,
            "frontier/correct_crystal_system": equal[..., 0],
            "frontier/correct_point_group": equal[..., 1],
            "frontier/correct_bravais": equal[..., 2],
            "frontier/correct_space_group": (groups == truth) & (groups > 0),
            "frontier/certified": certified & (separation > 2 * self.deltas)[:, None],
            "frontier/phantom_delta": smallest[0],
            "frontier/phantom_delta_exact": smallest[1],
        }
        return fields, {"profile": profile}

    def _profile(self, found: Enumeration) -> tuple[dict, list[np.ndarray], np.ndarray]:
        """Rows of the profile table, each subset's smallest phantom delta by kind, and where (D, K) none is accepted."""
        rows: dict[str, list] = {"subset": [], "kind": [], "delta_from": [], "delta_to": []}
        smallest = []
        # The theorem speaks of two views that are not parallel.
        pairs = [set(pair) for pair in self.oracles[0].frames.views.tolist()]
        independent = np.array(
            [any(pair <= set(subset) for pair in pairs) for subset in self.options.subsets]
        )
        if self.oracles[0].pinhole:
            independent &= self.oracles[0].fixes_all(found.candidates, found.atoms)
        clear = np.tile(independent, (len(self.deltas), 1))
        for kind, exact_gap in PROFILE_KINDS.items():
            starts, lower, upper = self.oracles[0].profile(found, exact_gap)
            sizes = np.diff(starts)
            rows["subset"].append(np.repeat(np.arange(sizes.size), sizes))
            rows["kind"].append(np.full(lower.size, kind))
            rows["delta_from"].append(lower)
            rows["delta_to"].append(upper)
            smallest.append(np.where(sizes > 0, np.append(lower, np.inf)[starts[:-1]], np.inf))
            if kind == ACCEPTANCE:
                for k in np.flatnonzero(sizes):
                    own = slice(starts[k], starts[k + 1])
                    entered, left = (
                        np.searchsorted(bounds[own], self.deltas, side="right")
                        for bounds in (lower, upper)
                    )
                    clear[:, k] = entered == left
        return {name: np.concatenate(values) for name, values in rows.items()}, smallest, clear
