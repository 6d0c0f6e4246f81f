"""The CIF reader: pymatgen's parser, with a check before and after of all it would pass over.

pymatgen drops or merges sites without an error in several cases (occupancy 0
or '.', the symbols OH and NO3, O and H on one site, an unknown space group).
Each of them is refused here, so that no atom of a file can vanish unseen.
"""

from __future__ import annotations

import math
import re
from typing import TypeVar

from rc_hpc.core.errors import Status
from rc_hpc.structures.checks import (
    MIN_VOLUME,
    from_pymatgen,
    guarded,
    one_line,
    refuse,
    text_of,
    version_of,
)
from rc_hpc.structures.record import Item, Structure
from rc_hpc.structures.scan import cif_blocks

D = TypeVar("D")
AXES = ("x", "y", "z")
#: Site names for which pymatgen places no atom, or fewer than the name holds.
GROUPS = re.compile(r"wat|oh|o-h|no3", re.IGNORECASE)
#: Water atoms that pymatgen places as the one element.
WATER = {"OW", "HW"}
#: Atoms per formula may differ by this share between the formula and the sites.
FORMULA_TOLERANCE = 0.01
NUMBER_KEYS = ("_space_group_IT_number", "_symmetry_Int_Tables_number")
SYMBOL_KEYS = ("_symmetry_space_group_name_H-M", "_space_group_name_H-M_alt")


def read_cif(item: Item, blob: bytes) -> Structure:
    """Read one CIF data block with pymatgen's `CifParser` at its default settings."""
    from pymatgen.io.cif import CifParser

    text = text_of(item, blob)
    spans = cif_blocks(text.encode())
    if len(spans) > 1:
        raise refuse(
            item,
            Status.read_error,
            f"{len(spans)} data blocks in one text; give them as one .cif file",
        )
    if spans:
        text = text.encode()[slice(*spans[0])].decode()
    with guarded(item):
        parser = CifParser.from_str(text)
        blocks = list(parser.as_dict().values())
        if len(blocks) != 1:
            raise refuse(
                item,
                Status.read_error,
                "no data_ block with a cell and sites; it is no CIF, or cut short",
            )
        block = blocks[0]
        _check_cell(item, block)
        _check_sites(item, block)
        structure = _parse(item, parser)
        _check_result(item, parser, block, structure)
        return from_pymatgen(
            item,
            blob,
            structure,
            reader=f"pymatgen {version_of('pymatgen')} CifParser",
            space_group=_claimed_number(block),
        )


def _parse(item: Item, parser):
    """pymatgen's structure; sites on top of one another are told from other faults."""
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


def _number(text: str) -> float:
    """A CIF number, without its uncertainty."""
    return float(re.sub(r"\(.*", "", text))


def _check_cell(item: Item, block: dict) -> None:
    """Refuse cell parameters without a volume (absent ones are left to pymatgen)."""
    keys = [f"_cell_length_{k}" for k in "abc"] + [
        f"_cell_angle_{k}" for k in ("alpha", "beta", "gamma")
    ]
    if not all(key in block for key in keys):
        return
    values = [_number(block[key]) for key in keys]
    if not all(map(math.isfinite, values)):
        raise refuse(item, Status.non_finite, "the cell holds NaN or Inf; correct its numbers")
    cosines = [math.cos(math.radians(angle)) for angle in values[3:]]
    square = 1 - sum(c * c for c in cosines) + 2 * math.prod(cosines)
    if min(values) <= 0 or math.prod(values[:3]) * math.sqrt(max(square, 0)) < MIN_VOLUME:
        raise refuse(
            item, Status.singular_cell, f"lengths and angles {values} span no volume; correct them"
        )


def _check_sites(item: Item, block: dict) -> None:
    """Refuse sites that pymatgen would drop, merge, guess, or whose atoms are not all placed."""
    sites = [key for key in block if key.startswith("_atom_site")]
    if any(key.startswith("_atom_site.") for key in sites):
        raise refuse(
            item,
            Status.read_error,
            "macromolecular CIF (mmCIF) is not read; convert it to a small-molecule CIF",
        )
    if not any(key.startswith("_atom_site_") for key in sites):
        raise refuse(item, Status.empty, "it holds no atom sites; it is cut short or a header only")
    needed = ["_atom_site_label", *(f"_atom_site_fract_{axis}" for axis in AXES)]
    for key in needed:
        if not isinstance(block.get(key), list):
            raise refuse(item, Status.read_error, f"no {key} column in a loop_; add it")
    for row, label in enumerate(block["_atom_site_label"]):
        _check_coordinates(item, label, [block[key][row] for key in needed[1:]])
        _check_occupancy(item, label, _cell_of(block, "_atom_site_occupancy", row, "1"))
        _check_symbol(item, label, _cell_of(block, "_atom_site_type_symbol", row, None))
        hydrogens = _cell_of(block, "_atom_site_attached_hydrogens", row, "0")
        if hydrogens not in (".", "?") and _number(hydrogens) != 0:
            raise refuse(
                item,
                Status.read_error,
                f"site {label} has {hydrogens} attached hydrogens "
                "without coordinates; add them, or remove the column",
            )
    groups = set(_column(block, "_atom_site_disorder_group")) - {".", "?", "0", ""}
    if len(groups) > 1 or any(group.startswith("-") for group in groups):
        raise refuse(
            item,
            Status.disordered,
            f"disorder groups {sorted(groups)}; keep the sites of one of them",
        )


def _column(block: dict, key: str) -> list[str]:
    values = block.get(key, [])
    return values if isinstance(values, list) else [values]


def _cell_of(block: dict, key: str, row: int, default: D) -> str | D:
    values = _column(block, key)
    return values[row] if row < len(values) else default


def _check_coordinates(item: Item, label: str, texts: list[str]) -> None:
    for axis, text in zip(AXES, texts, strict=True):
        try:
            value = _number(text)
        except ValueError:
            raise refuse(
                item,
                Status.read_error,
                f"coordinate {axis} of site {label} is {text!r}, not a number; "
                "complete or remove the site",
            ) from None
        if not math.isfinite(value):
            raise refuse(
                item,
                Status.non_finite,
                f"coordinate {axis} of site {label} is {text!r}; correct it",
            )


def _check_occupancy(item: Item, label: str, text: str) -> None:
    if text == "?":  # unknown: pymatgen takes 1, the dictionary's default
        return
    try:
        value = _number(text)
    except ValueError:
        raise refuse(
            item, Status.read_error, f"occupancy of site {label} is {text!r}; write 1"
        ) from None
    if not math.isfinite(value):
        raise refuse(item, Status.non_finite, f"occupancy of site {label} is {text!r}; correct it")
    if value > 1:
        raise refuse(
            item, Status.read_error, f"occupancy of site {label} is {text}, above 1; correct it"
        )
    if value < 1:
        raise refuse(
            item,
            Status.disordered,
            f"site {label} has occupancy {text}; give an ordered approximant",
        )


def _check_symbol(item: Item, label: str, symbol: str | None) -> None:
    from pymatgen.core import Element

    if GROUPS.match(label if symbol is None else symbol):
        raise refuse(
            item,
            Status.unknown_species,
            f"site {label} stands for several atoms; give each "
            "its own site with an element as _atom_site_type_symbol",
        )
    if symbol is None:  # the element is read from the label, which may go on with any letters
        return
    letters = re.sub(r"[^A-Za-z].*", "", symbol, flags=re.DOTALL)
    if letters.upper() not in WATER and not Element.is_valid_symbol(letters.title()):
        raise refuse(
            item,
            Status.unknown_species,
            f"site {label} is of type {symbol!r}, which is no element; name its element",
        )


def _check_result(item: Item, parser, block: dict, structure) -> None:
    """Refuse what pymatgen only warns of: lost operations, merged hydrogens, another formula."""
    if any("Defaulting to P1" in text for text in parser.warnings) and not _claims_p1(block):
        raise refuse(
            item,
            Status.read_error,
            "neither symmetry operations nor a known space group; "
            "add the _space_group_symop_operation_xyz loop",
        )
    if "implicit_hydrogens" in structure.site_properties:
        raise refuse(
            item, Status.close_atoms, "an O and an H site lie on one another; move or remove one"
        )
    formula = _formula(block)
    if formula:
        found = _amounts(structure.composition)
        ratios = [found.get(symbol, 0) / amount for symbol, amount in formula.items()]
        if found.keys() - formula.keys() or min(ratios) < (1 - FORMULA_TOLERANCE) * max(ratios):
            raise refuse(
                item,
                Status.read_error,
                f"its sites make {structure.composition.reduced_formula}, its formula says "
                f"{one_line(block['_chemical_formula_sum'])}; it is cut short or lacks atoms: "
                "complete the sites, or correct _chemical_formula_sum",
            )


def _amounts(composition) -> dict[str, float]:
    """Atoms of each element, isotopes of hydrogen together."""
    amounts: dict[str, float] = {}
    for symbol, amount in composition.get_el_amt_dict().items():
        symbol = "H" if symbol in ("D", "T") else symbol
        amounts[symbol] = amounts.get(symbol, 0) + amount
    return amounts


def _formula(block: dict) -> dict[str, float]:
    """Amounts of ``_chemical_formula_sum``; empty where there is none that can be read."""
    from pymatgen.core import Composition

    text = block.get("_chemical_formula_sum", "")
    try:
        return _amounts(Composition(text)) if isinstance(text, str) else {}
    except Exception:  # noqa: BLE001 - free text: nothing to compare with
        return {}


def _claims_p1(block: dict) -> bool:
    """Whether the block names no space group, or P 1."""
    named = [re.sub(r"[\s_]", "", block.get(key, "?")) for key in NUMBER_KEYS + SYMBOL_KEYS]
    return all(text in ("?", ".", "", "1", "P1") for text in named)


def _claimed_number(block: dict) -> int:
    """Space-group number the block claims.

    P 1 counts as none, programs write it for plain cells.
    """
    from pymatgen.symmetry.groups import SpaceGroup

    for key in NUMBER_KEYS:
        text = block.get(key, "")
        if text.isdecimal() and 1 < int(text) <= 230:
            return int(text)
    for key in SYMBOL_KEYS:
        try:
            number = SpaceGroup(re.sub(r"[\s_]", "", block.get(key, ""))).int_number
        except ValueError:
            continue
        if number > 1:
            return number
    return 0
