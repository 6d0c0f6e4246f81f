"""Base structures: of the 48 prototypes of the catalogue, or of any cell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rc_hpc.benchmark.bonds import Pairs, default_pairs, unambiguous_coordination
from rc_hpc.benchmark.records import BaseStructure
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.core.constants import ANGLE_TOLERANCE, TAU
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.structures.catalogue import catalogue, formula_of
from rc_hpc.symmetry.conventional import canonical_order
from rc_hpc.symmetry.guard import NULL_RECORDER, check_arrays, spglib_raises
from rc_hpc.symmetry.labels import label

#: Atoms nearer to the far side of the cell than this lie on the near side, fractions of a vector.
WRAPPED = 1e-6


@dataclass(frozen=True)
class Entry:
    """A prototype of the catalogue.

    Attributes
    ----------
    name
        Its mineral, or what it is called.
    aflow
        Label in the AFLOW encyclopedia; not unique.
    formula
        Reduced, elements in alphabetical order; unique with the label.
    system, space_group
        By spglib, its number.
    pairs
        Atomic numbers between which bonds are drawn, the smaller first.
    displayed
        Atoms that its cell displays.
    coordination
        Whether questions on coordination are asked of it.
    """

    name: str
    aflow: str
    formula: str
    system: str
    space_group: int
    pairs: Pairs
    displayed: int
    coordination: bool


@lru_cache(maxsize=1)
def entries() -> dict[str, Entry]:
    """The catalogue, by name."""
    from ase.data import atomic_numbers

    found = {}
    for one in catalogue():
        pairs = tuple(
            sorted(tuple(sorted(atomic_numbers[name] for name in pair)) for pair in one["pairs"])
        )
        found[one["name"]] = Entry(
            one["name"],
            one["aflow"],
            one["formula"],
            one["system"],
            one["space_group"],
            pairs,
            one["displayed"],
            one["q2"],
        )
    return found


def base_structure(
    name: str, lattice, fractional, numbers, settings: DisplaySettings, recorder=NULL_RECORDER
) -> BaseStructure:
    """The base structure of any cell: standardised, labelled, with its bonds.

    Where name, formula and space group are those of an entry of the catalogue, bonds are the
    entry's, else those of the rule.

    Parameters
    ----------
    lattice : (3, 3), fractional : (n, 3), numbers : (n,)
        Å; fractions; atomic numbers.

    Raises
    ------
    StructureError
        No symmetry is found, or the cell cannot be used.
    """
    import spglib

    lattice, fractional, numbers = check_arrays(lattice, fractional, numbers)
    try:
        with spglib_raises():
            dataset = recorder.call(
                spglib.get_symmetry_dataset,
                (lattice, fractional, numbers),
                TAU,
                ANGLE_TOLERANCE,
            )
    except getattr(spglib, "SpglibError", ()) as error:
        raise StructureError(Status.label_failed, f"spglib finds no symmetry: {error}") from error
    if dataset is None:
        raise StructureError(Status.label_failed, "spglib finds no symmetry")
    cell = np.array(dataset.std_lattice)
    inside = np.mod(np.array(dataset.std_positions), 1.0)
    inside[inside > 1.0 - WRAPPED] = 0.0
    kinds = np.array(dataset.std_types, np.int64)
    order = canonical_order(inside @ cell, kinds)
    inside, kinds = inside[order], kinds[order]
    formula = formula_of(kinds)
    entry = entries().get(name)
    if entry is not None and (entry.formula, entry.space_group) == (formula, dataset.number):
        pairs = entry.pairs
    else:
        pairs = default_pairs(kinds, settings.electronegativity)
    found = label(int(dataset.number))
    return BaseStructure(
        name,
        formula,
        found.crystal_system,
        found.number,
        cell,
        inside,
        kinds,
        pairs,
        unambiguous_coordination(cell, inside, kinds, pairs),
    )
