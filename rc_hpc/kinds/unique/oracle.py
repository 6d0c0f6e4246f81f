"""One packed structure: every view subset under every policy."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO
from rc_hpc.core.vocabulary import System, Undecided, Uniqueness
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.unique.options import UniqueOptions
from rc_hpc.oracle.cell import PackedCell, drawn
from rc_hpc.oracle.decision import Budget
from rc_hpc.oracle.explanations import Puzzle, puzzle_of
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.oracle.labels import labeller_of
from rc_hpc.oracle.molecular import MoleculeCell, names_of
from rc_hpc.oracle.rotations import Metric
from rc_hpc.oracle.uniqueness import Cell
from rc_hpc.symmetry.recorder import NULL_RECORDER, Recorder


class UniqueOracle:
    """Decides whether other crystals have the pictures of a structure.

    Parameters
    ----------
    protocol
        Orthographic cameras, and tiling.
    options
    recorder
        Notes the structure in flight during native calls.
    """

    def __init__(
        self, protocol: Protocol, options: UniqueOptions, recorder: Recorder = NULL_RECORDER
    ):
        self.options, self.tiling, self.recorder = options, protocol.tiling, recorder
        self.geometry = GeometricOracle(
            protocol, options.subsets, max_candidates=options.max_candidates
        )
        pack = options.pack
        self.molecules = pack.molecules
        symprec = pack.group_tolerance if self.molecules else pack.tau
        self.labeller = labeller_of(pack, symprec, recorder, packed=True)
        self.budget = Budget(options.limit, options.conflicts)
        self.exact = options.delta <= CENSUS_ZERO

    def run(self, cell: PackedCell) -> tuple[dict[str, Any], dict[str, Any]]:
        """Decide one structure.

        Returns
        -------
        fields : dict
            Values of the `cells/` and `policies/` columns by path.
        children : dict
            Columns of the `places` table without `structure`.

        Raises
        ------
        StructureError
            Too many candidates.
        """
        options, zero = self.options, self.options.delta
        lattice, positions, numbers, _ = drawn(cell, self.tiling)
        self.recorder.about(cell.id)
        images, truth = self.geometry.project(positions, numbers)
        found = self.geometry.compare(
            self.geometry.enumerate(images, zero, zero, tie=min(zero, CENSUS_ZERO)), truth
        )
        covered = self.geometry.cover(found, zero)
        known = self.labeller.known(cell) if self.tiling == (1, 1, 1) else 0
        known = known or cell.point_group
        own = self._system(known or self.labeller.label(lattice, numbers, positions)[0])
        n_subsets, n_policies = len(options.subsets), len(options.policies)
        fields: dict[str, np.ndarray] = {
            "n_places": covered.n_forced + covered.n_redundant,
            "n_phantoms": self.geometry.certify(found, zero).n_phantoms,
            "n_redundant": covered.n_redundant,
            "log10_explanations": covered.log10_explanations,
            "log10_explanations_counts": np.where(covered.log10_explanations == 0, 0.0, np.nan),
            "trivial": (covered.n_redundant == 0) & self.exact,
            "maximal_system": np.full(n_subsets, own),
            "random_system": np.full(n_subsets, own),
        }
        fields["n_places"][covered.n_forced < 0] = -1
        per_policy = {
            "status": np.full((n_policies, n_subsets), Uniqueness.unique),
            "reason": np.full((n_policies, n_subsets), Undecided.none),
            "n_seen": np.ones((n_policies, n_subsets), np.int64),
            "system_mask": np.full((n_policies, n_subsets), 0 if self.molecules else 1 << own),
            "system": np.full((n_policies, n_subsets), own),
            "best_system": np.full((n_policies, n_subsets), own),
        }
        places: list[dict[str, np.ndarray]] = []
        metric = None if self.molecules else Metric(lattice, options.pack.angle_tolerance)
        for k in range(n_subsets):
            if covered.n_forced[k] < 0:
                for column in per_policy.values():
                    column[:, k] = 0
                per_policy["status"][:, k] = Uniqueness.unknown
                per_policy["reason"][:, k] = Undecided.places
                fields["maximal_system"][k] = fields["random_system"][k] = System.none
                continue
            if fields["trivial"][k]:
                continue
            puzzle = puzzle_of(self.geometry, found, k, zero, lattice)
            if not self.exact:
                fields["n_places"][k] = puzzle.every.sum()
                fields["n_redundant"][k] = (puzzle.every & ~puzzle.forced).sum()
            if puzzle.alone and not (puzzle.atom < 0).any():
                fields["trivial"][k] = True
                continue
            rng = np.random.default_rng((options.draw_seed, zlib.crc32(cell.id.encode()), k))
            kind = MoleculeCell if self.molecules else Cell
            one = kind(puzzle, metric, self._labels(puzzle), own, self.budget, rng)
            decisions = one.decide(options.known)
            fields["maximal_system"][k] = one.systems.of(puzzle.every)
            fields["random_system"][k] = one.random()
            one.close()
            if self.exact and one.levels is not None:
                fields["log10_explanations_counts"][k] = one.draws.log10
            witness = np.zeros(puzzle.size, np.uint8)
            for p, policy in enumerate(options.known):
                decision = decisions[policy]
                settled = decision.status in (Uniqueness.unique, Uniqueness.determined)
                for name, value in (
                    ("status", decision.status),
                    ("reason", decision.reason),
                    ("n_seen", decision.seen),
                    ("system_mask", 0 if self.molecules else decision.systems),
                    ("system", decision.reference if settled else System.none),
                    ("best_system", decision.best),
                ):
                    per_policy[name][p, k] = value
                if decision.witness is not None:
                    witness[puzzle.bodies(decision.witness)] |= 1 << p
            if witness.any():
                every = puzzle.every
                places.append(
                    {
                        "subset": np.full(every.sum(), k),
                        "number": puzzle.numbers[every],
                        "position": puzzle.positions[every],
                        "atom": puzzle.truth[every],
                        "witness": witness[every],
                    }
                )
        if self.molecules:
            del per_policy["system_mask"]
        named = names_of(self.molecules)
        columns = {f"cells/{named.get(name, name)}": values for name, values in fields.items()}
        columns |= {
            f"policies/{named.get(name, name)}": values for name, values in per_policy.items()
        }
        return columns, {"places": _joined(places)}

    def _system(self, label: int) -> Any:
        """Crystal system, or of molecules the code of the point group."""
        code = int(self.labeller.codes(label)[0])
        return code if self.molecules else System(code)

    def _labels(self, puzzle: Puzzle) -> Callable[[np.ndarray], Any]:
        """What names a choice of places."""

        def label(chosen: np.ndarray) -> Any:
            numbers, positions = puzzle.numbers[chosen], puzzle.positions[chosen]
            return self._system(self.labeller.label(puzzle.lattice, numbers, positions)[0])

        return label


def _joined(places: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    empty = {
        "subset": np.empty(0, np.int64),
        "number": np.empty(0, np.int64),
        "position": np.empty((0, 3)),
        "atom": np.empty(0, bool),
        "witness": np.empty(0, np.uint8),
    }
    return {
        name: np.concatenate([none, *(p[name] for p in places)]) for name, none in empty.items()
    }


def oracle(options: UniqueOptions, given: Given) -> Compute:
    """What computes one structure."""
    return UniqueOracle(protocol_of(options.protocol), options, given.recorder).run
