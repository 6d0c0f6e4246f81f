"""Labels of reconstructions: spglib once for each distinct one."""

from __future__ import annotations

import numpy as np

from rc_hpc.core.constants import SAME_RECONSTRUCTION
from rc_hpc.kernels.search import sort_in_space, worst_partner
from rc_hpc.oracle.geometry import Reconstructions
from rc_hpc.symmetry.guard import NULL_RECORDER
from rc_hpc.symmetry.labels import label_cell

#: Outcomes of labelling one reconstruction, as in the data dictionary.
LABELLED, NO_ATOMS, FAILED = 0, 1, 2


def label_points(
    lattice, inverse, numbers, positions, symprec, angle_tolerance, recorder=NULL_RECORDER
) -> tuple[int, int]:
    """Space-group number (0 is none) and outcome of labelling a point set.

    Parameters
    ----------
    lattice, inverse : (3, 3)
        Cell, Å, and its inverse matrix.
    numbers : (n,)
        Atomic numbers.
    positions : (n, 3)
        Å.
    """
    if len(positions) == 0:
        return 0, NO_ATOMS
    label, _ = label_cell(
        lattice, positions @ inverse, numbers, symprec, angle_tolerance, recorder=recorder
    )
    return (0, FAILED) if label is None else (label.number, LABELLED)


class LabelTable:
    """Labels of one cell's reconstructions, shared by those that are equal.

    Equal are point sets whose atoms agree to `SAME_RECONSTRUCTION`, as the kernel compares
    them. Where the order of the atoms belongs to the reconstruction (spglib's answer on a
    near-symmetric cell depends on it), it must agree too.

    Parameters
    ----------
    lattice : (3, 3)
        Å.
    symprecs : (T,)
        Å.
    angle_tolerance : float
        Degrees.
    ordered : bool
        Equal sets in another order are labelled again.
    recorder
        Notes the structure in flight during native calls.
    """

    def __init__(self, lattice, symprecs, angle_tolerance, ordered, recorder=NULL_RECORDER):
        self.lattice, self.inverse = lattice, np.linalg.inv(lattice)
        self.symprecs, self.angle_tolerance = symprecs, angle_tolerance
        self.ordered, self.recorder = ordered, recorder
        self._cells: list[tuple] = []
        self._labels: list[tuple[np.ndarray, np.ndarray]] = []
        self._true: tuple[np.ndarray, np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self._cells)

    def true(
        self, made: Reconstructions, known: dict[float, int] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Labels of the true cell, which is cell 0 of every reconstruction of the structure.

        Parameters
        ----------
        known : dict
            Space-group number by symprec where the label of exactly these points is known.
        """
        if self._true is None:
            self._true = self.labels(made.numbers, *made.cells[0], known)
        return self._true

    def labels(
        self, kinds, numbers, positions, known: dict[float, int] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Space-group numbers (0 is none) and outcomes at every symprec, (T,) int64 each.

        Parameters
        ----------
        kinds : (S,)
            Atomic numbers of the structure's species, in the order of the points.
        numbers, positions
            The points, species by species; Å.
        known
            See `true`.
        """
        starts = np.concatenate(
            ([0], np.cumsum([np.count_nonzero(numbers == kind) for kind in kinds]))
        )
        cell = (
            (positions, None, starts)
            if self.ordered
            else (*sort_in_space(positions, starts)[:2], starts)
        )
        # Neighbouring tolerances give equal sets: the last ones are the likeliest.
        for other in range(len(self._cells) - 1, -1, -1):
            if self._same(cell, self._cells[other]):
                return self._labels[other]
        made = [
            (known[symprec], LABELLED)
            if known and known.get(symprec)
            else label_points(
                self.lattice,
                self.inverse,
                numbers,
                positions,
                symprec,
                self.angle_tolerance,
                self.recorder,
            )
            for symprec in self.symprecs
        ]
        self._cells.append(cell)
        self._labels.append(tuple(np.array(made, np.int64).T))
        return self._labels[-1]

    def _same(self, a, b) -> bool:
        if not np.array_equal(a[2], b[2]):
            return False
        if self.ordered:
            return bool((np.square(a[0] - b[0]).sum(axis=1) <= SAME_RECONSTRUCTION**2).all())
        return worst_partner(*a, *b, SAME_RECONSTRUCTION) < np.inf
