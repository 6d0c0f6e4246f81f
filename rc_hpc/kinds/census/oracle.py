"""The whole oracle on one packed structure: geometry, certificate and labels of every subset."""

from __future__ import annotations

import numpy as np

from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.oracle.cell import PackedCell, drawn
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.oracle.labelling import LABELLED, label_points
from rc_hpc.symmetry.guard import NULL_RECORDER
from rc_hpc.symmetry.labels import code_table


class CensusOracle:
    """Runs `GeometricOracle` and spglib on packed structures under one set of options.

    Parameters
    ----------
    protocol
        Cameras and tiling.
    options
    recorder
        Notes the structure in flight during native calls.
    """

    def __init__(self, protocol: Protocol, options: CensusOptions, recorder=NULL_RECORDER):
        self.options = options
        self.tiling = protocol.tiling
        self.recorder = recorder
        self.geometry = GeometricOracle(
            protocol, options.subsets, options.enumeration, options.merge, options.max_candidates
        )

    def run(self, cell: PackedCell) -> tuple[dict, dict]:
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
        options = self.options
        lattice, positions, numbers, separation = drawn(cell, self.tiling)
        found = self.geometry.run(
            positions, numbers, options.delta, options.delta_max, keep_all=options.label_every
        )
        self.recorder.about(cell.id)
        groups, status = self._labels(found, lattice, cell)
        truth = cell.space_group if options.truth == "stored" else cell.space_group_conventional
        group, codes = groups[found.entry], code_table()
        equal = (codes[group] == codes[truth]) & (group > 0)[:, None]
        candidates, far = found.candidates, found.phantoms
        certified = (
            (found.n_phantoms == 0)
            & (separation > 2 * options.delta)
            & np.isfinite(found.atom_error)
        )
        if self.geometry.pinhole:
            certified &= self.geometry.fixes_all(candidates, positions)
        fields = {
            "structures/delta_max": candidates.reach,
            "structures/n_candidates": candidates.gap.size,
            "structures/n_reconstructions": len(np.unique(found.reconstruction)),
            "cells/n_recovered": found.n_recovered,
            "cells/n_phantoms": found.n_phantoms,
            "cells/n_phantoms_exact": found.n_exact,
            "cells/phantom_delta": found.phantom_delta,
            "cells/phantom_delta_exact": found.phantom_delta_exact,
            "cells/point_error": found.point_error,
            "cells/atom_error": found.atom_error,
            # Cameras along one line reconstruct nothing, and no phantom either: no theorem speaks of them.
            "cells/certified": certified,
            "cells/reconstruction": found.reconstruction,
            "cells/label_status": status[found.entry],
            "cells/space_group": group,
            "cells/crystal_system": codes[group, 0],
            "cells/correct_crystal_system": equal[:, 0],
            "cells/correct_point_group": equal[:, 1],
            "cells/correct_bravais": equal[:, 2],
            "cells/correct_space_group": group == truth,
        }
        views = self.geometry.frames.views[candidates.pair[far]]
        phantoms = {
            "number": found.numbers[candidates.species[far]],
            "position": candidates.position[far],
            "view_a": views[:, 0],
            "view_b": views[:, 1],
            "gap": candidates.gap[far],
            "residual": candidates.residual[far],
            "distance": candidates.distance[far],
        }
        return fields, phantoms

    def _labels(self, found, lattice, cell):
        """Space-group number and label status of every returned point set."""
        groups = np.zeros(len(found.cells), dtype=np.int64)
        status = np.full(len(found.cells), LABELLED)
        used = np.zeros(len(found.cells), dtype=bool)
        used[found.entry] = True
        # The true cell was labelled when it was packed, in the very order in which it comes here.
        known = (
            self.tiling == (1, 1, 1) and not self.geometry.by_atom and not self.options.label_every
        )
        if known:
            groups[0] = cell.space_group_conventional
            used[0] = False
        inverse = np.linalg.inv(lattice)
        for e in np.flatnonzero(used):
            groups[e], status[e] = label_points(
                lattice,
                inverse,
                *found.cells[e],
                self.options.pack.tau,
                self.options.pack.angle_tolerance,
                self.recorder,
            )
        return groups, status
