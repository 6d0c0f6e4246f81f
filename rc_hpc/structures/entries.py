"""Crystals as other programs write them in JSON: arrays of a cell, of positions and of elements.

Read are moyopy's cells, the atoms of JARVIS and of ASE, and OPTIMADE's structures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.structures.checks import build, refuse
from rc_hpc.structures.fields import (
    ANGLES,
    LENGTHS,
    check_metric,
    check_periodic,
    field,
    list_of,
    numbers_of,
    object_of,
    text_in,
)
from rc_hpc.structures.record import Item, Structure


def array_reader(
    entry: dict[str, Any],
) -> Callable[[Item, bytes, dict[str, Any]], Structure] | None:
    """What reads the entry, told by its keys; None where no program writes such ones."""
    for keys, reader in READERS:
        if keys <= entry.keys():
            return reader
    return None


def _moyopy(item: Item, blob: bytes, entry: dict[str, Any]) -> Structure:
    # Nine numbers in a row, vector after vector; the newer versions may nest them.
    lattice = object_of(item, entry["lattice"], "its lattice")
    cell = numbers_of(item, field(item, lattice, "basis", "its lattice"), "its basis")
    if cell.size == 9:
        cell = cell.reshape(3, 3)
    return _built(item, blob, cell, entry["positions"], entry["numbers"], "moyopy JSON")


def _jarvis(item: Item, blob: bytes, entry: dict[str, Any]) -> Structure:
    elements = list_of(item, entry["elements"], "its 'elements'")
    numbers = [_number(item, row, symbol) for row, symbol in enumerate(elements, 1)]
    cell = numbers_of(item, entry["lattice_mat"], "its lattice_mat", (3, 3))
    for names, key in ((LENGTHS, "abc"), (ANGLES, "angles")):
        if entry.get(key) is not None:
            three = numbers_of(item, entry[key], f"its {key}", (3,)).tolist()
            check_metric(item, cell, dict(zip(names, three, strict=True)), "it")
    if not isinstance(entry.get("cartesian", False), bool):
        raise refuse(item, Status.read_error, "its 'cartesian' is not true or false; correct it")
    return _built(
        item,
        blob,
        cell,
        entry["coords"],
        numbers,
        "JARVIS JSON",
        cartesian=entry.get("cartesian", False),
    )


def _ase(item: Item, blob: bytes, entry: dict[str, Any]) -> Structure:
    cell, pbc, positions, numbers = (_plain(item, entry[key], key) for key in KEYS_OF_ASE)
    check_periodic(item, pbc, "its pbc")
    return _built(item, blob, cell, positions, numbers, "ASE JSON", cartesian=True)


def _optimade(item: Item, blob: bytes, entry: dict[str, Any]) -> Structure:
    if entry.get("dimension_types"):
        check_periodic(item, entry["dimension_types"], "its dimension_types")
    told = {}
    for row, one in enumerate(list_of(item, entry.get("species") or [], "its 'species'"), 1):
        species = object_of(item, one, f"species {row}")
        name = text_in(
            item, field(item, species, "name", f"species {row}"), f"species {row}'s name"
        )
        told[name] = species
    symbols = [
        _species(item, row, name, told.get(name) if isinstance(name, str) else None)
        for row, name in enumerate(
            list_of(item, entry["species_at_sites"], "its 'species_at_sites'"), 1
        )
    ]
    numbers = [_number(item, row, symbol) for row, symbol in enumerate(symbols, 1)]
    if (stated := entry.get("nsites")) is not None and stated != len(numbers):
        raise refuse(
            item,
            Status.read_error,
            f"nsites is {stated}, species_at_sites names {len(numbers)}; correct one of them",
        )
    return _built(
        item,
        blob,
        entry["lattice_vectors"],
        entry["cartesian_site_positions"],
        numbers,
        "OPTIMADE JSON",
        cartesian=True,
    )


#: What is above it is no atomic number, and may be more than an array holds.
LARGEST_NUMBER = 1000
KEYS_OF_ASE = ("cell", "pbc", "positions", "numbers")
READERS: tuple[tuple[frozenset[str], Callable[[Item, bytes, dict[str, Any]], Structure]], ...] = (
    (frozenset({"lattice", "positions", "numbers"}), _moyopy),
    (frozenset({"lattice_mat", "coords", "elements"}), _jarvis),
    (frozenset(KEYS_OF_ASE), _ase),
    (
        frozenset({"lattice_vectors", "cartesian_site_positions", "species_at_sites"}),
        _optimade,
    ),
)


def _species(item: Item, row: int, name: str, told: dict[str, Any] | None) -> str:
    """The one element of an OPTIMADE species."""
    if told is None:
        return name
    symbols = list_of(item, told.get("chemical_symbols") or [name], f"chemical_symbols of {name}")
    symbols = [text_in(item, symbol, f"a chemical symbol of {name}") for symbol in symbols]
    given = told.get("concentration") or [1.0]
    shares = numbers_of(item, given, f"concentration of {name}", (len(symbols),))
    if len(symbols) != 1 or not abs(shares[0] - 1) <= 1e-6 or symbols == ["vacancy"]:
        raise refuse(
            item,
            Status.disordered,
            f"site {row} is {name}, of {'/'.join(symbols)}; give an ordered approximant",
        )
    if told.get("nattached") and numbers_of(item, told["nattached"], f"nattached of {name}").any():
        raise refuse(
            item,
            Status.unknown_species,
            f"site {row} is {name}, with attached atoms; give each its own site",
        )
    return symbols[0]


def _number(item: Item, row: int, symbol: object) -> int:
    from pymatgen.core import Element

    if not isinstance(symbol, str) or not Element.is_valid_symbol(symbol):
        raise refuse(
            item,
            Status.unknown_species,
            f"site {row} is {symbol!r}, which is no element; name its element",
        )
    return Element(symbol).Z


def _plain(item: Item, value: Any, name: str) -> Any:
    """Nested lists of what may be ASE's own spelling of an array."""
    if isinstance(value, dict) and "array" in value:
        value = value["array"]
    if not isinstance(value, dict):
        return value
    told = list_of(item, field(item, value, "__ndarray__", f"its {name}"), f"its {name}")
    try:
        shape, kind, flat = told
        return np.array(flat, dtype=kind).reshape(shape).tolist()
    except (TypeError, ValueError, OverflowError) as error:
        raise refuse(
            item,
            Status.read_error,
            f"its {name} is no array of ASE's (__ndarray__: shape, type, numbers); write it again",
        ) from error


def _built(
    item: Item,
    blob: bytes,
    cell: Any,
    coordinates: Any,
    numbers: Any,
    reader: str,
    *,
    cartesian: bool = False,
) -> Structure:
    cell = numbers_of(item, cell, "its cell")
    coordinates = np.atleast_1d(numbers_of(item, coordinates, "its positions"))
    if not isinstance(numbers, list) or not all(type(one) is int for one in numbers):
        raise refuse(item, Status.read_error, "its numbers are no whole numbers; correct them")
    if any(abs(one) > LARGEST_NUMBER for one in numbers):
        raise refuse(
            item, Status.unknown_species, "its numbers are no atomic numbers; name its elements"
        )
    if cell.shape != (3, 3) or coordinates.shape != (len(numbers), 3):
        raise refuse(
            item,
            Status.empty if not len(numbers) else Status.read_error,
            f"{len(coordinates)} positions and {len(numbers)} elements in a cell of shape "
            f"{cell.shape}; give three numbers for each atom and for each of three vectors",
        )
    if cartesian and np.isfinite(cell).all() and np.isfinite(coordinates).all():
        coordinates = np.linalg.solve(cell.T, coordinates.T).T
    return build(item, blob, cell, coordinates, numbers, reader=reader)
