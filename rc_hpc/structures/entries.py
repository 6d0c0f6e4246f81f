"""Crystals as other programs write them in JSON: arrays of a cell, of positions and of elements.

Read are moyopy's cells, the atoms of JARVIS and of ASE, and OPTIMADE's structures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.structures.checks import build, refuse
from rc_hpc.structures.record import Item, Structure

PERIODIC = "it is not periodic in three directions; set its cell, and periodicity in each of them"


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
    cell = _numbers(item, "basis", entry["lattice"]["basis"]).reshape(3, 3)
    return _built(item, blob, cell, entry["positions"], entry["numbers"], "moyopy JSON")


def _jarvis(item: Item, blob: bytes, entry: dict[str, Any]) -> Structure:
    numbers = [_number(item, row, symbol) for row, symbol in enumerate(entry["elements"], 1)]
    cell = _numbers(item, "lattice_mat", entry["lattice_mat"])
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
    cell, pbc, positions, numbers = (_ndarray(entry[key]) for key in KEYS_OF_ASE)
    if not np.broadcast_to(pbc, 3).all():
        raise refuse(item, Status.read_error, PERIODIC)
    return _built(item, blob, cell, positions, numbers, "ASE JSON", cartesian=True)


def _optimade(item: Item, blob: bytes, entry: dict[str, Any]) -> Structure:
    if not all(entry.get("dimension_types") or [1]):
        raise refuse(item, Status.read_error, PERIODIC)
    told = {species["name"]: species for species in entry.get("species") or []}
    symbols = [
        _species(item, row, name, told.get(name))
        for row, name in enumerate(entry["species_at_sites"], 1)
    ]
    numbers = [_number(item, row, symbol) for row, symbol in enumerate(symbols, 1)]
    return _built(
        item,
        blob,
        entry["lattice_vectors"],
        entry["cartesian_site_positions"],
        numbers,
        "OPTIMADE JSON",
        cartesian=True,
    )


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
    symbols = told.get("chemical_symbols") or [name]
    shares = told.get("concentration") or [1.0]
    if len(symbols) != 1 or abs(shares[0] - 1) > 1e-6 or symbols == ["vacancy"]:
        raise refuse(
            item,
            Status.disordered,
            f"site {row} is {name}, of {'/'.join(symbols)}; give an ordered approximant",
        )
    if any(told.get("nattached") or []):
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


def _ndarray(value: Any) -> np.ndarray:
    """ASE's own spelling of an array, or nested lists."""
    if isinstance(value, dict) and "array" in value:
        value = value["array"]
    if isinstance(value, dict):
        shape, kind, flat = value["__ndarray__"]
        return np.array(flat, dtype=kind).reshape(shape)
    return np.array(value)


def _numbers(item: Item, name: str, values: Any) -> np.ndarray:
    """Numbers of any shape; null becomes NaN, which is refused later by its own name."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise refuse(
            item, Status.read_error, f"its {name} is no array of numbers; correct it"
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
    cell = _numbers(item, "cell", cell)
    coordinates = _numbers(item, "positions", coordinates)
    numbers = np.atleast_1d(numbers)
    coordinates = np.atleast_1d(coordinates)
    if cell.shape != (3, 3) or coordinates.shape != (len(numbers), 3):
        raise refuse(
            item,
            Status.empty if not len(numbers) else Status.read_error,
            f"{len(coordinates)} positions and {len(numbers)} elements in a cell of shape "
            f"{cell.shape}; give three numbers for each atom and for each of three vectors",
        )
    if numbers.dtype.kind != "i":
        raise refuse(item, Status.read_error, "its numbers are no whole numbers; correct them")
    if cartesian and np.isfinite(cell).all() and np.isfinite(coordinates).all():
        coordinates = np.linalg.solve(cell.T, coordinates.T).T
    return build(item, blob, cell, coordinates, numbers, reader=reader)
