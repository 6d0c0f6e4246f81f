"""What names a set of atoms: the labellers, their truth, and the labels of reconstructions.

A label is a plug. A space group needs a lattice and spglib, a point group neither; all that the
oracles know of either is a `Labeller`. Labels are codes from 1 on; 0 is no label.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np

from rc_hpc.core.constants import ANGLE_TOLERANCE, GROUP_TOLERANCE, SAME_RECONSTRUCTION, TAU
from rc_hpc.core.vocabulary import LabelStatus
from rc_hpc.kernels.records import PointSet
from rc_hpc.kernels.search import sort_in_space, worst_partner
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.oracle.reading import Reconstructions
from rc_hpc.symmetry.labels import code_table, label, label_cell
from rc_hpc.symmetry.point_groups import SCHOENFLIES, point_group
from rc_hpc.symmetry.recorder import NULL_RECORDER, Recorder

#: Codes of a point set and how they came about, (T,) int64 each, by T labellers.
Labels = tuple[np.ndarray, np.ndarray]


class Labeller(Protocol):
    """What names a set of atoms.

    Attributes
    ----------
    granularities : tuple of str
        What two labels may agree in, coarse ones first; the last is the label itself.
    """

    granularities: ClassVar[tuple[str, ...]]

    def names(self) -> tuple[str, ...]:
        """Name of every code; that of 0 is empty."""

    def label(self, lattice, numbers, positions) -> tuple[int, LabelStatus]:
        """Code of a point set, and how it came about.

        Parameters
        ----------
        lattice : (3, 3)
            Å; of no meaning where there is none.
        numbers : (n,)
            Atomic numbers.
        positions : (n, 3)
            Å.
        """

    def codes(self, labels) -> np.ndarray:
        """Code of every granularity, (..., G), of an array of labels."""

    def truth(self, cell: PackedCell, which: str) -> int:
        """Label that a structure's reconstructions are compared with.

        Parameters
        ----------
        which
            Of `rc_hpc.core.vocabulary.TRUTHS`.
        """

    def known(self, cell: PackedCell) -> int:
        """Label of a structure's own atoms where it need not be computed, else 0.

        The atoms are those that the oracle calls the true cell, untiled.
        """


@dataclass(frozen=True)
class SpaceGroupLabel:
    """Space group of a cell, by spglib.

    Attributes
    ----------
    symprec
        Å.
    angle_tolerance
        Degrees.
    recorder
        Notes the structure in flight during native calls.
    packed
        Whether the packed labels were made at these tolerances.
    """

    symprec: float = TAU
    angle_tolerance: float = ANGLE_TOLERANCE
    recorder: Recorder = NULL_RECORDER
    packed: bool = False

    granularities: ClassVar[tuple[str, ...]] = (
        "crystal_system",
        "point_group",
        "bravais",
        "space_group",
    )

    def names(self) -> tuple[str, ...]:
        """Short international symbols."""
        return ("", *(label(number).symbol for number in range(1, 231)))

    def label(self, lattice, numbers, positions) -> tuple[int, LabelStatus]:
        """See `Labeller`."""
        if len(positions) == 0:
            return 0, LabelStatus.no_atoms
        found, _ = label_cell(
            lattice,
            positions @ _inverse(np.asarray(lattice, float).tobytes()),
            numbers,
            self.symprec,
            self.angle_tolerance,
            recorder=self.recorder,
            checked=self.packed,
        )
        return (0, LabelStatus.failed) if found is None else (found.number, LabelStatus.labelled)

    def codes(self, labels) -> np.ndarray:
        """See `Labeller`."""
        return _space_group_codes()[labels]

    def truth(self, cell: PackedCell, which: str) -> int:
        """See `Labeller`."""
        return cell.space_group if which == "stored" else cell.space_group_conventional

    def known(self, cell: PackedCell) -> int:
        """See `Labeller`."""
        return cell.space_group_conventional if self.packed else 0


@lru_cache(maxsize=8)
def _inverse(lattice: bytes) -> np.ndarray:
    """Inverse of a lattice: a structure has many reconstructions."""
    return np.linalg.inv(np.frombuffer(lattice).reshape(3, 3))


@cache
def _space_group_codes() -> np.ndarray:
    return np.column_stack((code_table(), np.arange(231, dtype=np.uint8)))


@dataclass(frozen=True)
class PointGroupLabel:
    """Point group of a molecule, by pymatgen.

    Attributes
    ----------
    tolerance
        See `rc_hpc.symmetry.point_groups.point_group`, Å.
    """

    tolerance: float = GROUP_TOLERANCE

    granularities: ClassVar[tuple[str, ...]] = ("point_group",)

    def names(self) -> tuple[str, ...]:
        """Schoenflies symbols."""
        return ("", *SCHOENFLIES)

    def label(self, lattice, numbers, positions) -> tuple[int, LabelStatus]:
        """See `Labeller`; there is no lattice."""
        if len(positions) == 0:
            return 0, LabelStatus.no_atoms
        symbol = point_group(numbers, positions, self.tolerance)
        if symbol not in SCHOENFLIES:
            return 0, LabelStatus.failed
        return SCHOENFLIES.index(symbol) + 1, LabelStatus.labelled

    def codes(self, labels) -> np.ndarray:
        """See `Labeller`."""
        return np.asarray(labels)[..., None]

    def truth(self, cell: PackedCell, which: str) -> int:
        """The packed label, else that of the molecule's own atoms, whichever is asked for."""
        return cell.point_group or self.label(cell.lattice, cell.numbers, cell.positions)[0]

    def known(self, cell: PackedCell) -> int:
        """Nothing is stored."""
        return 0


def labeller_of(pack: Any, symprec: float, recorder: Recorder, packed: bool) -> Labeller:
    """What labels the structures of a packed file.

    Parameters
    ----------
    pack
        Its options.
    symprec
        Å; of molecules the tolerance of point groups.
    packed
        Whether the packed labels were made at these tolerances.
    """
    if pack.molecules:
        return PointGroupLabel(symprec)
    return SpaceGroupLabel(symprec, pack.angle_tolerance, recorder, packed)


def agreement(labeller: Labeller, labels, truth: int) -> dict[str, np.ndarray]:
    """Where labels are right, by granularity; no label never is.

    Parameters
    ----------
    labels : array of int
    truth
        From `Labeller.truth`.
    """
    labels = np.asarray(labels)
    equal = (labeller.codes(labels) == labeller.codes(truth)) & (labels > 0)[..., None]
    return {name: equal[..., g] for g, name in enumerate(labeller.granularities)}


def correct_columns(labeller: Labeller, labels, truth: int, prefix: str) -> dict[str, np.ndarray]:
    """`agreement` as columns of a result file, ``<prefix>/correct_<granularity>``."""
    right = agreement(labeller, labels, truth)
    return {f"{prefix}/correct_{name}": values for name, values in right.items()}


class LabelTable:
    """Labels of one cell's reconstructions, shared by those that are equal.

    Equal are point sets whose atoms agree to `SAME_RECONSTRUCTION`, as the kernel compares
    them. Where the order of the atoms belongs to the reconstruction (spglib's answer on a
    near-symmetric cell depends on it), it must agree too.

    Parameters
    ----------
    lattice : (3, 3)
        Å.
    labellers : sequence of Labeller
        Each labels every set.
    ordered : bool
        Equal sets in another order are labelled again.
    """

    def __init__(self, lattice, labellers, ordered: bool):
        self.lattice, self.labellers, self.ordered = lattice, labellers, ordered
        # By their species' ranges: sets of other ranges are never equal.
        self._sets: dict[bytes, list[tuple[PointSet | np.ndarray, Labels]]] = {}
        self._true: Labels | None = None

    def __len__(self) -> int:
        return sum(map(len, self._sets.values()))

    def true(self, made: Reconstructions, known=None) -> Labels:
        """Labels of the true cell, which is cell 0 of every reconstruction of the structure.

        Parameters
        ----------
        known
            See `labels`.
        """
        if self._true is None:
            self._true = self.labels(made.species, *made.cells[0], known)
        return self._true

    def labels(self, species, numbers, positions, known=None) -> Labels:
        """Codes and outcomes by every labeller, (T,) int64 each.

        Parameters
        ----------
        species : (S,)
            Atomic numbers of the structure's species, in the order of the points.
        numbers, positions
            The points, species by species; Å.
        known : sequence of int
            Label by each labeller where that of exactly these points is known, else 0.
        """
        points, rivals = self._placed(species, numbers, positions)
        # Neighbouring tolerances give equal sets: the last ones are the likeliest.
        for other, labels in reversed(rivals):
            if self._same(points, other):
                return labels
        labelled = [
            (code, LabelStatus.labelled)
            if code
            else labeller.label(self.lattice, numbers, positions)
            for labeller, code in zip(
                self.labellers, known or [0] * len(self.labellers), strict=True
            )
        ]
        labels = tuple(np.array(labelled, np.int64).T)
        rivals.append((points, labels))
        return labels

    def learn(self, species, numbers, positions, labels: Labels) -> None:
        """Take labels of a point set from elsewhere; see `labels`."""
        points, rivals = self._placed(species, numbers, positions)
        rivals.append((points, labels))

    def _placed(self, species, numbers, positions):
        """A point set as it is compared, and the known ones that it may equal."""
        counts = [np.count_nonzero(numbers == kind) for kind in species]
        starts = np.concatenate(([0], np.cumsum(counts)))
        points = positions if self.ordered else sort_in_space(positions, starts)
        return points, self._sets.setdefault(starts.tobytes(), [])

    def _same(self, a, b) -> bool:
        if self.ordered:
            away = np.square(a - b).sum(axis=1)
            return bool((away <= SAME_RECONSTRUCTION**2).all())
        return worst_partner(a, b, SAME_RECONSTRUCTION) < np.inf
