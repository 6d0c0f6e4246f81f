"""Molecules: the source ``g2``, and XYZ files without a cell.

``g2`` are the molecules that ASE ships (`ase.collections.g2`, of the G2/97 set: L. A. Curtiss et
al., J. Chem. Phys. 106, 1063 (1997)) but for the single atoms among them, which are no molecules.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache, partial
from importlib import util
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import Status, UsageError
from rc_hpc.structures.checks import LARGEST, check_numbers, guarded, refuse, text_of, version_of
from rc_hpc.structures.readers import read_xyz
from rc_hpc.structures.record import Item, Molecule

#: Name of the source.
G2 = "g2"


def g2_file() -> Path:
    """File of the collection, found without importing ASE.

    Raises
    ------
    UsageError
        The installed ASE lacks it.
    """
    spec = util.find_spec("ase")
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / "collections" / "g2.json"
        if path.is_file():
            return path
    raise UsageError("g2 comes with ASE, whose installed version lacks it: name another source")


def g2_items() -> Iterator[Item]:
    """The molecules of ``g2`` in the order of the collection, under their names."""
    for name, entry in _g2().items():
        if len(entry["numbers"]) > 1:
            yield Item(name, G2, partial(_text, name), _read_g2)


@cache
def _g2() -> dict[str, dict[str, Any]]:
    rows = json.loads(g2_file().read_text(encoding="utf-8"))
    entries = (rows[str(number)] for number in rows["ids"])
    return {entry["key_value_pairs"]["name"]: entry for entry in entries}


def _text(name: str) -> bytes:
    entry = _g2()[name]
    return json.dumps({key: entry[key] for key in ("numbers", "positions")}).encode()


def _read_g2(item: Item, blob: bytes) -> Molecule:
    with guarded(item):
        entry = json.loads(blob)
        reader = f"ase {version_of('ase')} g2"
        return molecule_of(item, blob, entry["positions"], entry["numbers"], reader)


def read_molecule(item: Item, blob: bytes) -> Molecule:
    """Read one frame of (extended) XYZ with ASE; it must have no lattice."""
    from ase.io import read

    text = text_of(item, blob)
    with guarded(item):
        comment = text.split("\n", 2)[1] if text.count("\n") else ""
        if "lattice=" in comment.lower():
            raise refuse(
                item,
                Status.read_error,
                "it has a Lattice, as a crystal has: leave out --molecules, or the Lattice",
            )
        atoms = read(StringIO(text), index=0, format="extxyz")
        return molecule_of(
            item, blob, atoms.positions, atoms.numbers, f"ase {version_of('ase')} extxyz"
        )


def as_molecule(item: Item) -> Item:
    """The same item where molecules are wanted: one of XYZ is read as one."""
    if item.read is not read_xyz:
        return item
    return Item(item.id, item.source, item.blob, read_molecule)


def molecule_of(item: Item, blob: bytes, positions: Any, numbers: Any, reader: str) -> Molecule:
    """The `Molecule`, once its numbers have passed the checks."""
    positions = np.array(positions, np.float64).reshape(-1, 3)
    numbers = np.array(numbers, np.int32).reshape(-1)
    check_numbers(item, numbers, "molecule")
    strange = ~(np.abs(positions) <= LARGEST).all(axis=1)
    if strange.any():
        atom = int(strange.argmax())
        status = Status.read_error if np.isfinite(positions[atom]).all() else Status.non_finite
        raise refuse(
            item,
            status,
            f"atom {atom + 1} has the coordinates {positions[atom].tolist()}; correct them",
        )
    return Molecule(
        item.id, positions, numbers, item.source, reader, hashlib.sha256(blob).hexdigest()
    )
