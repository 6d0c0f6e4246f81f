"""The CIF reader: pymatgen places the atoms; checked before and after is all it would pass over.

pymatgen drops or merges sites without an error in several cases (occupancy 0 or '.', the symbols
OH and NO3, O and H on one site, an unknown space group), and takes the first setting that a symbol
may mean. Each of them is refused here, so that no atom of a file can vanish unseen, and none be
placed where the file does not say it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from rc_hpc.core.constants import MIN_DISTANCE
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.structures.checks import (
    from_pymatgen,
    guarded,
    one_line,
    refuse,
    text_of,
    version_of,
)
from rc_hpc.structures.cif_sites import cell_of, check_kind, sites_of
from rc_hpc.structures.cif_symmetry import (
    Misfit,
    axes_of,
    candidates,
    check_operations,
    claimed_number,
    number_of,
    off_axes,
    operations_in,
    operations_of,
)
from rc_hpc.structures.cif_text import UNKNOWN, Values, parse_block, told, written
from rc_hpc.structures.record import Item, Structure
from rc_hpc.structures.scan import cif_blocks

#: Atoms per formula may differ by this share between the formula and the sites.
FORMULA_TOLERANCE = 0.01
#: The volume may differ by this share between the cell and what the file states.
VOLUME_TOLERANCE = 0.01
SETTINGS = ("_symmetry_cell_setting", "_space_group_crystal_system")
OXIDATION = ("_atom_type_symbol", "_atom_type_oxidation_number")


def read_cif(item: Item, blob: bytes) -> Structure:
    """Read one CIF data block with pymatgen's `CifParser` at its default settings."""
    text = text_of(item, blob, cif=True)
    spans = cif_blocks(text.encode())
    if len(spans) > 1:
        raise refuse(
            item,
            Status.read_error,
            f"{len(spans)} data blocks in one text; give them as one .cif file",
        )
    if spans:
        text = text.encode()[slice(*spans[0])].decode()
    if not re.search(r"^\s*data_", text, re.IGNORECASE | re.MULTILINE):
        raise refuse(
            item,
            Status.read_error,
            "no data_ block with a cell and sites; it is no CIF, or cut short",
        )
    with guarded(item):
        with _named(item):
            values = parse_block(text)
        check_kind(item, values)
        cell = cell_of(item, values)
        sites = sites_of(item, values)
        with _named(item):
            claimed = claimed_number(values)
            structure = _in_setting(item, values, cell, sites)
        return from_pymatgen(
            item,
            blob,
            structure,
            reader=f"pymatgen {version_of('pymatgen')} CifParser",
            space_group=claimed,
        )


@contextmanager
def _named(item: Item) -> Iterator[None]:
    """What the file's text has wrong becomes its row's message."""
    try:
        yield
    except ValueError as error:
        raise refuse(item, Status.read_error, str(error)) from error


def _in_setting(item: Item, values: Values, cell: dict[str, str], sites: dict[str, list[str]]):
    """pymatgen's structure by the file's operations, or by those of the setting it means."""
    operations = operations_of(values)
    if operations:
        structure = _placed(item, values, cell, sites, operations)
        _check_result(item, values, structure, len(operations))
        return structure
    settings = candidates(values)
    if not settings:
        structure = _placed(item, values, cell, sites, ["x,y,z"])
        _check_result(item, values, structure, 1)
        return structure
    kept, faults, misfits = [], [], []
    for hall in settings:
        operations = operations_in(hall)
        try:
            structure = _placed(item, values, cell, sites, operations)
            _check_result(item, values, structure, len(operations))
        except Misfit as error:
            misfits.append(error)
        except StructureError as error:
            faults.append(error)
        else:
            kept.append((hall, structure))
    axes = ", or ".join(dict.fromkeys(filter(None, map(axes_of, settings))))
    if not kept and not faults and len(settings) > 1 and axes:
        raise ValueError(
            f"its cell fits none of the axes on which its space group is told: {axes}; correct "
            "the cell, or give the operations of this setting"
        )
    if not kept:
        raise (faults or misfits)[0]
    if number_of(settings[0]) <= 15:
        # A short monoclinic symbol means the axis b where the cell does not tell.
        return min(kept, key=lambda one: off_axes(one[0], one[1].lattice.angles))[1]
    if len(kept) > 1:
        raise ValueError(
            "its symbol leaves the origin or the axes open, and the structure depends on them; "
            "add the _space_group_symop_operation_xyz loop, or :1 or :2 to the symbol"
        )
    return kept[0][1]


def _placed(
    item: Item,
    values: Values,
    cell: dict[str, str],
    sites: dict[str, list[str]],
    operations: Sequence[str],
):
    """pymatgen's structure, once the operations have proved to be the cell's.

    Sites on top of one another are told from other faults.
    """
    from pymatgen.io.cif import CifParser

    settings = {name: values[name][0] for name in SETTINGS if name in values}
    loops = [{"_symmetry_equiv_pos_as_xyz": list(operations)}, sites]
    if all(name in values for name in OXIDATION):
        loops.append({name: values[name] for name in OXIDATION})
    parser = CifParser.from_str(written(cell | settings, loops))
    (block,) = parser._cif.data.values()
    lattice = parser.get_lattice(block)
    if lattice is None:
        raise ValueError("its cell is incomplete; add the lengths and angles that it lacks")
    check_operations(operations, lattice.matrix)
    try:
        return parser.parse_structures(primitive=False, on_error="raise")[0]
    except ValueError as error:
        if "exceeded tolerance" not in str(error):
            raise
        # Every occupancy is 1 by now, so a larger sum means two atoms in one place.
        raise refuse(
            item,
            Status.close_atoms,
            "two sites, or symmetry copies of them, lie on one another; remove one",
        ) from error


def _check_result(item: Item, values: Values, structure, n_operations: int) -> None:
    """Refuse merged hydrogens, split sites, and other numbers of atoms than the file states."""
    if "implicit_hydrogens" in structure.site_properties:
        raise refuse(
            item, Status.close_atoms, "an O and an H site lie on one another; move or remove one"
        )
    _check_volume(item, values, structure.volume)
    _check_copies(item, structure)
    _check_multiplicities(item, values, structure, n_operations)
    text = next(iter(values.get("_chemical_formula_sum", [])), "")
    formula = _formula(text)
    placed = _amounts(structure.composition)
    ratios = [placed.get(symbol, 0) / amount for symbol, amount in formula.items()]
    if formula and (
        placed.keys() - formula.keys() or min(ratios) < (1 - FORMULA_TOLERANCE) * max(ratios)
    ):
        raise refuse(
            item,
            Status.read_error,
            f"its sites make {structure.composition.reduced_formula}, its formula says "
            f"{one_line(text)}; it is cut short or lacks atoms: "
            "complete the sites, or correct _chemical_formula_sum",
        )
    _check_units(item, values, placed, formula)


def _check_volume(item: Item, values: Values, volume: float) -> None:
    """Refuse a cell that has another volume than the file states, as programs round it."""
    text = next(iter(values.get("_cell_volume", [])), "?")
    if text in UNKNOWN:
        return
    plain = told("_cell_volume", text)
    digits = plain.lower().partition("e")[0].partition(".")[2]
    stated, last = float(plain), 0.0 if "e" in plain.lower() else 10.0 ** -len(digits)
    if not abs(stated - volume) <= max(VOLUME_TOLERANCE * volume, last):
        raise refuse(
            item,
            Status.read_error,
            f"its cell has a volume of {volume:.6g} Å^3, _cell_volume says {one_line(text)}; "
            "correct the lengths and angles, or _cell_volume",
        )


def _check_copies(item: Item, structure) -> None:
    """Refuse a site whose symmetry copies nearly meet: its coordinates are rounded too far."""
    by_label: dict[str, list[np.ndarray]] = {}
    for site in structure:
        by_label.setdefault(site.label, []).append(site.frac_coords)
    for label, places in by_label.items():
        copies = np.array(places)
        for first in range(len(copies) - 1):
            apart = copies[first + 1 :] - copies[first]
            apart -= np.rint(apart)
            if np.linalg.norm(apart @ structure.lattice.matrix, axis=1).min() < MIN_DISTANCE:
                raise refuse(
                    item,
                    Status.close_atoms,
                    f"symmetry copies of site {label} nearly meet: its coordinates are rounded "
                    "too far; write 0.3333 or 1/3 as 0.33333333, and likewise the others",
                )


def _check_multiplicities(item: Item, values: Values, structure, n_operations: int) -> None:
    """Refuse atoms that are neither a site's multiplicity nor, as SHELX means it, its order."""
    labels = values["_atom_site_label"]
    stated = {}
    for label, text in zip(
        labels, values.get("_atom_site_symmetry_multiplicity", []), strict=False
    ):
        if text not in UNKNOWN:
            stated[label] = float(told("_atom_site_symmetry_multiplicity", text))
    if len(set(labels)) < len(labels) or not stated:
        return
    placed = Counter(site.label for site in structure)
    wrong = [label for label, count in stated.items() if placed[label] != count]
    orders = all(placed[label] * count == n_operations for label, count in stated.items())
    if wrong and not orders:
        raise refuse(
            item,
            Status.read_error,
            f"{placed[wrong[0]]} atoms of site {wrong[0]} are placed, its multiplicity is "
            f"{stated[wrong[0]]:g}; add the right _space_group_symop_operation_xyz loop",
        )


def _check_units(
    item: Item, values: Values, placed: dict[str, float], formula: dict[str, float]
) -> None:
    """Refuse a cell that holds another number of formula units than Z."""
    text = next(iter(values.get("_cell_formula_units_z", [])), "?")
    units = 0 if text in UNKNOWN else float(told("_cell_formula_units_Z", text))
    if units < 1:
        return
    whole = not any(amount % units for amount in placed.values())
    if formula:
        found = sum(placed.values()) / sum(formula.values())
        # Programs write the sum of the whole cell beside Z of the simplest formula.
        allowed = (units, 1.0) if whole else (units,)
        agrees = any(abs(found - count) <= FORMULA_TOLERANCE * count for count in allowed)
    else:
        agrees = whole
    if not agrees:
        raise refuse(
            item,
            Status.read_error,
            f"{sum(placed.values()):g} atoms are placed, which contradicts Z = {units:g}; "
            "add the right _space_group_symop_operation_xyz loop, or correct Z and the formula",
        )


def _amounts(composition) -> dict[str, float]:
    """Atoms of each element, isotopes of hydrogen together."""
    amounts: dict[str, float] = {}
    for symbol, amount in composition.get_el_amt_dict().items():
        symbol = "H" if symbol in ("D", "T") else symbol
        amounts[symbol] = amounts.get(symbol, 0) + amount
    return amounts


def _formula(text: str) -> dict[str, float]:
    """Amounts of ``_chemical_formula_sum``; empty where there is none that can be read."""
    from pymatgen.core import Composition

    try:
        return _amounts(Composition(text))
    except Exception:  # noqa: BLE001 - free text: nothing to compare with
        return {}
