"""The conventional standard cell: the cell that is drawn, reconstructed and labelled.

pymatgen's conventional standard structure (Setyawan and Curtarolo's setting) in its own
Cartesian frame, in which the cameras are fixed. It is computed once per structure and checked,
because standardisation has produced wrong cells before.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from math import radians

import numpy as np

from rc_hpc.core.constants import ANGLE_TOLERANCE, CELL_SYMPREC, MIN_DISTANCE
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.symmetry.distances import closest_pair
from rc_hpc.symmetry.guard import NULL_RECORDER, check_arrays, spglib_raises
from rc_hpc.symmetry.labels import Label, label_cell

#: Largest strain that spglib may undo at its angle tolerance: an angle wrong by all of it.
STRAIN = radians(ANGLE_TOLERANCE)
#: pymatgen only changes the setting of spglib's standardised cell, whose volume per atom it
#: keeps; relative, above its own thresholds for equal edges (1e-3 Å) and rounding.
SETTING_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class ConventionalCell:
    """A conventional standard cell and what changed on the way to it.

    Attributes
    ----------
    lattice : (3, 3) float64
        Lattice vectors as rows, Å, in pymatgen's frame.
    frac : (n, 3) float64
        Fractional coordinates in [0, 1).
    positions : (n, 3) float64
        Cartesian positions in that frame, Å.
    numbers : (n,) int32
        Atomic numbers, in pymatgen's order.
    input_number
        Space-group number of the input cell at the tolerances of the standardisation.
    label
        Label of this cell at the same tolerances, its atoms taken in `canonical_order`; None
        where spglib finds none.
    message
        Why there is no label.
    volume_change
        Volume per atom relative to the input cell, minus 1.
    distance_change
        Shortest distance, own images included, relative to the input cell, minus 1.
    """

    lattice: np.ndarray
    frac: np.ndarray
    positions: np.ndarray
    numbers: np.ndarray
    input_number: int
    label: Label | None
    message: str
    volume_change: float
    distance_change: float


@lru_cache(maxsize=1)
def _analyzer_class():
    from pymatgen.core import Structure
    from pymatgen.symmetry.analyzer import SpacegroupAnalyzer, SpacegroupOperations

    class Analyzer(SpacegroupAnalyzer):
        """The same analyzer without its repeated spglib calls: output equal bit for bit.

        `spglib.refine_cell` recomputes the dataset that the constructor already holds and
        returns its ``std_*`` entries; a monoclinic cell's operations are only asked for
        their symbol.
        """

        def get_refined_structure(self, keep_site_properties=False):
            data = self.get_symmetry_dataset()
            species = [self._unique_species[i - 1] for i in data.std_types]
            refined = Structure(data.std_lattice, species, data.std_positions)
            return refined.get_sorted_structure()

        def get_space_group_operations(self):
            return SpacegroupOperations(
                self.get_space_group_symbol(), self.get_space_group_number(), []
            )

    return Analyzer


def canonical_order(
    positions: np.ndarray, numbers: np.ndarray, signs: tuple[int, int, int] = (1, 1, 1)
) -> np.ndarray:
    """Order of atoms by atomic number and along a generic direction.

    spglib's label of a cell near a tolerance depends on the order of its atoms, and so does
    pymatgen's choice among equivalent cells: every cell is handed to them in this one.

    Parameters
    ----------
    positions : (n, 3)
        Å.
    numbers : (n,)
    signs
        Of the direction's components: another one is another order.
    """
    # Column by column: a product of matrices may round a row by where it stands.
    x, y, z = np.transpose(positions)
    height = signs[0] * x + signs[1] * (np.sqrt(2.0) * y) + signs[2] * (np.sqrt(3.0) * z)
    return np.lexsort((z, y, x, height, numbers))


def conventional_cell(
    lattice: np.ndarray,
    frac: np.ndarray,
    numbers: np.ndarray,
    symprec: float = CELL_SYMPREC,
    *,
    recorder=NULL_RECORDER,
) -> ConventionalCell:
    """pymatgen's conventional standard structure of a cell, checked.

    Parameters
    ----------
    lattice : (3, 3)
        Lattice vectors as rows, Å.
    frac : (n, 3)
        Fractional coordinates as read.
    numbers : (n,)
        Atomic numbers.
    symprec
        Distance tolerance, Å; the angle tolerance is pymatgen's default, 5 degrees.
    recorder
        Notes the structure in flight (`guard.FlightRecorder`).

    Raises
    ------
    StructureError
        As `guard.check_arrays`; cell_failed where there is no such cell, or where its
        composition, volume per atom or shortest distance is not that of the input.
    """
    from pymatgen.core import Structure

    lattice, frac, numbers = check_arrays(lattice, frac, numbers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with spglib_raises():
                analyzer = recorder.call(
                    _analyzer_class(), Structure(lattice, numbers, frac), symprec
                )
            cell = analyzer.get_conventional_standard_structure()
        except Exception as error:  # third-party code on arbitrary cells: any type may come
            raise StructureError(
                Status.cell_failed,
                f"no conventional cell at symprec {symprec:g} Å: {type(error).__name__}: {error}",
            ) from error
    found = (
        np.array(cell.lattice.matrix),
        np.array(cell.frac_coords),
        np.array(cell.atomic_numbers, np.int32),
    )
    standard = analyzer.get_symmetry_dataset()
    volume_change, distance_change = _check(
        (lattice, frac, numbers),
        found,
        _volume_per_atom(standard.std_lattice, standard.std_types),
        symprec,
    )
    positions = np.array(cell.cart_coords)
    order = canonical_order(positions, found[2])
    label, message = label_cell(
        found[0], found[1][order], found[2][order], symprec, ANGLE_TOLERANCE, recorder=recorder
    )
    return ConventionalCell(
        lattice=found[0],
        frac=found[1],
        positions=positions,
        numbers=found[2],
        input_number=analyzer.get_space_group_number(),
        label=label,
        message=message,
        volume_change=volume_change,
        distance_change=distance_change,
    )


def _check(before, after, standard_volume, symprec) -> tuple[float, float]:
    """Relative changes of volume per atom and shortest distance; raises where too large."""
    formula, expected = _reduced_formula(after[2]), _reduced_formula(before[2])
    if formula != expected:
        raise _broken(f"its composition is {formula}, the input's {expected}")
    volume = _volume_per_atom(after[0], after[2])
    change = volume / _volume_per_atom(before[0], before[2]) - 1
    setting = volume / standard_volume - 1
    old = closest_pair(before[0], before[1], own_images=True)[0]
    # symprec lets each lattice vector change by about itself; none is shorter than `old`
    if abs(change) > STRAIN + 3 * symprec / old or abs(setting) > SETTING_TOLERANCE:
        raise _broken(
            f"its volume per atom is {volume:.6g} Å^3: {change:+.2%} from the input's, "
            f"{setting:+.2%} from spglib's standardised cell"
        )
    new = closest_pair(after[0], after[1], own_images=True)[0]
    # besides the strain, symmetrisation moves both atoms of a pair by up to about symprec
    if new < MIN_DISTANCE or abs(new - old) > STRAIN * old + 4 * symprec:
        raise _broken(f"its shortest distance is {new:.4g} Å, the input's {old:.4g} Å")
    return change, new / old - 1


def _broken(reason: str) -> StructureError:
    return StructureError(
        Status.cell_failed,
        f"pymatgen's conventional cell is not the input's crystal: {reason}",
    )


def _reduced_formula(numbers: np.ndarray) -> dict[int, int]:
    """Atomic number to count, over the greatest common divisor."""
    species, counts = np.unique(numbers, return_counts=True)
    return dict(zip(species.tolist(), (counts // np.gcd.reduce(counts)).tolist(), strict=True))


def _volume_per_atom(lattice, species) -> float:
    return abs(float(np.linalg.det(lattice))) / len(species)
