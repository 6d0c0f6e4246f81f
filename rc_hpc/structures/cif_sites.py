"""Cell and sites of a CIF: refused is what pymatgen would drop, merge, guess or not place."""

from __future__ import annotations

import math
import re

from rc_hpc.core.errors import Status
from rc_hpc.structures.checks import LARGEST_RADIANS, MIN_VOLUME, RADIANS, refuse
from rc_hpc.structures.cif_text import MINUS, UNKNOWN, Values, number, told
from rc_hpc.structures.record import Item

AXES = ("x", "y", "z")
CELL_NAMES = tuple(f"_cell_length_{k}" for k in "abc") + tuple(
    f"_cell_angle_{k}" for k in ("alpha", "beta", "gamma")
)
#: No crystal repeats itself over less, Å; hydrogen under pressure comes nearest.
SHORTEST_TRANSLATION = 1.0
#: Site names for which pymatgen places no atom, or fewer than the name holds.
GROUPS = re.compile(r"wat|oh|o-h|no3", re.IGNORECASE)
#: Water atoms that pymatgen places as the one element.
WATER = {"OW", "HW"}
#: What begins the names of magnetic and of modulated structures.
MAGNETIC = ("_space_group_magn", "_space_group_symop_magn", "_magnetic_", "_atom_site_moment")
MODULATED = (
    "_space_group_ssg",
    "_space_group_symop_ssg",
    "_cell_wave_vector",
    "_cell_subsystem",
    "_atom_site_displace_fourier",
    "_atom_site_occ_fourier",
)
MACROMOLECULAR = {"_atom_site_id", "_atom_site_group_pdb", "_atom_site_label_atom_id"}


def check_kind(item: Item, values: Values) -> None:
    """Refuse, under their names, files that tell another thing than a plain crystal."""
    dimension = values.get("_cell_modulation_dimension", ["0"])
    if any(name.startswith(MODULATED) for name in values) or dimension[0] not in ("0", *UNKNOWN):
        raise refuse(
            item,
            Status.read_error,
            "a modulated structure (superspace CIF) is not read; give its average structure",
        )
    if any(name.startswith(MAGNETIC) for name in values):
        raise refuse(
            item,
            Status.read_error,
            "a magnetic structure (magCIF) is not read; give the nuclear one",
        )
    sites = {name for name in values if name.startswith("_atom_site_")}
    if sites & MACROMOLECULAR and "_atom_site_label" not in sites:
        raise refuse(
            item,
            Status.read_error,
            "macromolecular CIF (mmCIF) is not read; convert it to a small-molecule CIF",
        )
    if not sites and any(name.startswith("_pd_") for name in values):
        raise refuse(
            item,
            Status.empty,
            "it is a powder pattern (pdCIF) without atom sites; give the CIF of the structure",
        )
    if not sites:
        raise refuse(item, Status.empty, "it holds no atom sites; it is cut short or a header only")


def cell_of(item: Item, values: Values) -> dict[str, str]:
    """The cell's lengths and angles as far as they are told; refuses a cell without volume."""
    cell = {}
    for name in CELL_NAMES:
        if name not in values:
            continue
        if len(values[name]) > 1:
            raise refuse(
                item, Status.read_error, f"{name} has {len(values[name])} values; keep one"
            )
        try:
            cell[name] = told(name, values[name][0])
        except ValueError as error:
            raise refuse(item, Status.read_error, str(error)) from None
    if len(cell) < len(CELL_NAMES):
        return cell
    lengths = [float(text) for text in cell.values()]
    if not all(map(math.isfinite, lengths)):
        raise refuse(item, Status.non_finite, "the cell holds NaN or Inf; correct its numbers")
    cosines = [math.cos(math.radians(angle)) for angle in lengths[3:]]
    square = 1 - sum(c * c for c in cosines) + 2 * math.prod(cosines)
    if min(lengths) <= 0 or math.prod(lengths[:3]) * math.sqrt(max(square, 0)) < MIN_VOLUME:
        raise refuse(
            item, Status.singular_cell, f"lengths and angles {lengths} span no volume; correct them"
        )
    _check_angles(item, lengths[:3], lengths[3:])
    return cell


def _check_angles(item: Item, lengths: list[float], angles: list[float]) -> None:
    """Refuse angles in radians before any operation is held against the cell."""
    if max(angles) > LARGEST_RADIANS:
        return
    a, b, c = lengths
    square = min(
        one**2 + other**2 - 2 * one * other * math.cos(math.radians(angle))
        for one, other, angle in zip((b, c, a), (c, a, b), angles, strict=True)
    )
    apart = math.sqrt(max(square, 0.0))
    if apart < SHORTEST_TRANSLATION:
        raise refuse(
            item,
            Status.close_atoms,
            f"lattice points are {apart:.3g} Å apart: {RADIANS.format(*angles)}",
        )


def sites_of(item: Item, values: Values) -> dict[str, list[str]]:
    """Columns of the sites as pymatgen is given them, each site checked."""
    needed = ["_atom_site_label", *(f"_atom_site_fract_{axis}" for axis in AXES)]
    for name in needed:
        if name not in values:
            raise refuse(item, Status.read_error, f"no {name} column in a loop_; add it")
    labels = values["_atom_site_label"]
    columns = {name: list(values[name]) for name in needed}
    for name in ("_atom_site_type_symbol", "_atom_site_occupancy"):
        if name in values:
            columns[name] = list(values[name])
    if any(len(column) != len(labels) for column in columns.values()):
        raise refuse(
            item, Status.read_error, "its sites are told in loops of unequal length; make them one"
        )
    symbols = columns.get("_atom_site_type_symbol")
    for row, label in enumerate(labels):
        for axis, name in zip(AXES, needed[1:], strict=True):
            columns[name][row] = _coordinate(item, label, axis, columns[name][row])
        _check_occupancy(item, label, _cell(values, "_atom_site_occupancy", row, "1"))
        _check_symbol(item, label, None if symbols is None else symbols[row])
        _check_flags(item, label, values, row)
    groups = set(values.get("_atom_site_disorder_group", [])) - {*UNKNOWN, "0"}
    if len(groups) > 1 or any(group.translate(MINUS).startswith("-") for group in groups):
        raise refuse(
            item,
            Status.disordered,
            f"disorder groups {sorted(groups)}; keep the sites of one of them",
        )
    return columns


def _cell(values: Values, name: str, row: int, default: str) -> str:
    column = values.get(name, [])
    return column[row] if row < len(column) else default


def _check_flags(item: Item, label: str, values: Values, row: int) -> None:
    """Refuse a site that holds no atom, or more atoms than the one it places."""
    name = "_atom_site_attached_hydrogens"
    hydrogens = _cell(values, name, row, "0")
    if hydrogens not in UNKNOWN and float(told(name, hydrogens)) != 0:
        raise refuse(
            item,
            Status.read_error,
            f"site {label} has {hydrogens} attached hydrogens "
            "without coordinates; add them, or remove the column",
        )
    if _cell(values, "_atom_site_calc_flag", row, ".").lower() in ("dum", "dummy"):
        raise refuse(
            item,
            Status.unknown_species,
            f"site {label} is a dummy (calc_flag dum), no atom; remove it",
        )


def _coordinate(item: Item, label: str, axis: str, text: str) -> str:
    try:
        plain = number(text)
    except ValueError:
        raise refuse(
            item,
            Status.read_error,
            f"coordinate {axis} of site {label} is {text!r}, not a number; "
            "complete or remove the site",
        ) from None
    if not math.isfinite(float(plain)):
        raise refuse(
            item,
            Status.non_finite,
            f"coordinate {axis} of site {label} is {text!r}; correct it",
        )
    return plain


def _check_occupancy(item: Item, label: str, text: str) -> None:
    if text == "?":  # unknown: pymatgen takes 1, the dictionary's default
        return
    try:
        value = float(number(text))
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

    name = label if symbol is None else symbol
    cure = "name its element as _atom_site_type_symbol"
    if not name.isascii():
        strange = next(character for character in name if not character.isascii())
        raise refuse(
            item,
            Status.unknown_species,
            f"site {name!r} holds {strange!r}, no letter of ours; {cure}",
        )
    if GROUPS.match(name):
        raise refuse(
            item,
            Status.unknown_species,
            f"site {label} stands for several atoms; give each "
            "its own site with an element as _atom_site_type_symbol",
        )
    letters = re.sub(r"[^A-Za-z].*", "", name, flags=re.DOTALL)
    if symbol is None:  # the element is read from the label, which may go on with any letters
        # HO1 is a hydrogen bound to oxygen, or holmium in capitals.
        both = letters[:2].isupper() and len(letters) > 1
        if both and all(map(Element.is_valid_symbol, (letters[0], letters[:2].title()))):
            raise refuse(
                item,
                Status.unknown_species,
                f"site {label} may be {letters[0]} or {letters[:2].title()}; {cure}",
            )
        return
    if letters.upper() not in WATER and not Element.is_valid_symbol(letters.title()):
        raise refuse(
            item,
            Status.unknown_species,
            f"site {label} is of type {symbol!r}, which is no element; name its element",
        )
