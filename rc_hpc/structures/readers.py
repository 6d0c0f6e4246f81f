"""Bytes of one structure to a `Structure`: extended XYZ, pymatgen JSON, ASE database rows.

Each reader has the signature of `Item.read` and raises only `StructureError`.
CIF and POSCAR have files of their own.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from functools import lru_cache
from io import StringIO

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.structures.checks import build, guarded, one_line, refuse, text_of, version_of
from rc_hpc.structures.cif import read_cif
from rc_hpc.structures.cif_symmetry import claimed_number
from rc_hpc.structures.dictionaries import read_dictionary
from rc_hpc.structures.entries import array_reader
from rc_hpc.structures.fields import kind_of
from rc_hpc.structures.record import Item, Structure
from rc_hpc.structures.scan import json_of

#: A lattice in the matrix form of extended XYZ.
MATRIX = re.compile(r'Lattice\s*=\s*"?\s*(\[\s*\[[^"\]]*\](?:\s*,\s*\[[^"\]]*\])*\s*\])(?:\s*")?')
#: Keys under which a JSON entry may state its space group.
CLAIMS = (
    "space_group",
    "spacegroup",
    "space_group_number",
    "spacegroup_number",
    "international_number",
    "space_group_it_number",
    "sg_number",
    "spg_number",
    "symmetry",
)
#: Keys under which an entry holds one structure, perhaps in several forms, as they are tried.
ALTERNATIVES = ("structure", "snl", "cif")
#: Keys under which a JSON entry may hold its structure.
WRAPPERS = (
    *ALTERNATIVES,
    "atoms",
    "attributes",
    "initial_structure",
    "relaxed_structure",
    "final_structure",
    "computed_structure_entry",
)


def read_xyz(item: Item, blob: bytes) -> Structure:
    """Read one frame of extended XYZ with ASE; it must be periodic in all directions."""
    from ase.data import atomic_numbers
    from ase.io import read

    text = text_of(item, blob)
    with guarded(item):
        count, comment, rest = (text.split("\n", 2) + ["", ""])[:3]
        if "Properties=" not in comment or "Properties=species:S:1" in comment:
            # ASE knows no isotopes: D and T are hydrogen here on purpose, as everywhere.
            rest = re.sub(r"^(\s*)[DT](?=\s)", r"\1H", rest, flags=re.MULTILINE)
        comment = _in_one_row(item, comment)
        try:
            atoms = read(StringIO(f"{count}\n{comment}\n{rest}"), index=0, format="extxyz")
        except KeyError as error:
            symbol = error.args[0] if error.args else ""
            if isinstance(symbol, str) and symbol not in atomic_numbers:
                raise refuse(
                    item, Status.unknown_species, f"{symbol!r} is no element; name its element"
                ) from error
            raise
        if not atoms.pbc.all():
            raise refuse(
                item,
                Status.read_error,
                "it is not periodic in three directions; give the "
                'cell in its comment line: Lattice="..." pbc="T T T" (or --molecules, where it '
                "is a molecule and has none)",
            )
        return _from_cartesian(
            item, blob, atoms.cell.array, atoms.positions, atoms.numbers, "extxyz"
        )


def _in_one_row(item: Item, comment: str) -> str:
    """A comment line whose ``Lattice=[[...], ...]`` is nine numbers, as ASE knows it."""
    told = MATRIX.search(comment)
    if told is None:
        return comment
    matrix = np.array(json.loads(told[1]), dtype=np.float64)
    if matrix.shape != (3, 3) or not np.array_equal(matrix, matrix.T):
        raise refuse(
            item,
            Status.read_error,
            "its Lattice is a matrix, which programs read by rows or by columns; "
            'write nine numbers, vector after vector: Lattice="..."',
        )
    row = " ".join(repr(float(x)) for x in matrix.ravel())
    return f'{comment[: told.start()]}Lattice="{row}"{comment[told.end() :]}'


def ase_row(path: str, row: int) -> bytes:
    """Canonical JSON of the numbers, positions, cell and periodicity of one ASE database row."""
    try:
        atoms = _ase_database(path).get_atoms(id=row)
    except Exception as error:  # sqlite3, ASE and JSON errors alike: the row cannot be had
        raise OSError(
            f"{path}: row {row} cannot be read ({type(error).__name__}: {error})"
        ) from error
    parts = {
        "numbers": atoms.numbers.tolist(),
        "positions": atoms.positions.tolist(),
        "cell": atoms.cell.array.tolist(),
        "pbc": atoms.pbc.tolist(),
    }
    return json.dumps(parts).encode()


@lru_cache(maxsize=4)
def _ase_database(path: str):
    """ASE's database object; it opens a connection at each access, so it may be kept."""
    from ase.db import connect

    return connect(path, type="db")


def read_ase_row(item: Item, blob: bytes) -> Structure:
    """Read what `ase_row` gave."""
    with guarded(item):
        row = json.loads(blob)
        if not all(row["pbc"]):
            raise refuse(
                item,
                Status.read_error,
                "it is not periodic in three directions; set its cell and pbc=True in the database",
            )
        return _from_cartesian(item, blob, row["cell"], row["positions"], row["numbers"], "db")


def _from_cartesian(item: Item, blob: bytes, cell, positions, numbers, reader: str) -> Structure:
    cell = np.asarray(cell, dtype=np.float64)
    positions = np.asarray(positions, dtype=np.float64).reshape(-1, 3)
    if not np.isfinite(cell).all():
        raise refuse(item, Status.non_finite, "the cell holds NaN or Inf; correct its numbers")
    frac = np.linalg.solve(cell.T, positions.T).T
    return build(item, blob, cell, frac, numbers, reader=f"ase {version_of('ase')} {reader}")


def read_json(item: Item, blob: bytes) -> Structure:
    """Read one JSON entry: a pymatgen structure, a CIF text, or an object that holds either."""
    text = text_of(item, blob)
    with guarded(item):
        try:
            entry = json_of(text.encode())
        except ValueError as error:
            raise refuse(
                item,
                Status.read_error,
                f"it is no JSON that can be read ({one_line(error)}); repair the file, or leave it "
                "out with --ids",
            ) from error
        return _from_entry(item, blob, entry, claimed(entry))


def claimed(entry: object) -> int:
    """Space-group number that a JSON entry states, 0 where it states none.

    A number, or a symbol in any spelling, under one of `CLAIMS`, there or in an object below it.
    """
    if not isinstance(entry, dict):
        return 0
    for key in CLAIMS:
        told = entry.get(key)
        if isinstance(told, dict):
            told = next((told[name] for name in ("number", "symbol") if name in told), None)
        if isinstance(told, str) and not told.strip().isdecimal():
            told = claimed_number({"_symmetry_space_group_name_h-m": [told]})
        if isinstance(told, int | str) and not isinstance(told, bool) and 1 <= int(told) <= 230:
            return int(told)
    return 0


def read_prototype(item: Item, blob: bytes) -> Structure:
    """Read one AFLOW prototype; the third field of its label is the space-group number."""
    with guarded(item):
        entry = json.loads(blob)
        return _from_entry(item, blob, entry["snl"], int(entry["tags"]["aflow"].split("_")[2]))


def _from_entry(item: Item, blob: bytes, entry, space_group: int) -> Structure:
    if isinstance(entry, str):
        try:
            text = entry.encode()
        except UnicodeEncodeError as error:
            wrong = entry[error.start]
            raise refuse(
                item, Status.read_error, f"its text holds {wrong!r}, half a character; correct it"
            ) from None
        read = read_cif(item, text)
        return replace(
            read,
            sha256=hashlib.sha256(blob).hexdigest(),
            source_space_group=read.source_space_group or space_group,
        )
    if not isinstance(entry, dict):
        raise refuse(
            item,
            Status.read_error,
            f"a JSON {kind_of(entry)} is no structure; give a pymatgen dictionary or a CIF text",
        )
    if "lattice" in entry and "sites" in entry:
        return read_dictionary(item, blob, entry, space_group)
    if reader := array_reader(entry):
        return replace(reader(item, blob, entry), source_space_group=space_group)
    held = [key for key in WRAPPERS if key in entry]
    if len(held) > 1 and held[0] not in ALTERNATIVES:
        raise refuse(
            item,
            Status.read_error,
            f"it holds several structures ({', '.join(held)}); keep one of them",
        )
    if held:
        inner = entry[held[0]]
        return _from_entry(item, blob, inner, space_group or claimed(inner))
    raise refuse(
        item,
        Status.read_error,
        f"no lattice and sites, {', '.join(WRAPPERS)} among its keys; give one of them "
        "(or the JSON of OPTIMADE, JARVIS, ASE or moyopy)",
    )
