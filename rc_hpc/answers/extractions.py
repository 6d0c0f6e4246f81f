"""Atom lists that an extraction arm emitted: JSON objects with ``material_id`` and ``emitted``."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from rc_hpc.core.errors import RcError, fault_of
from rc_hpc.core.text import parse_json


def read_extractions(path: str | Path) -> dict[str, list[tuple[str, float, float, float]]]:
    """Element symbol and fractional coordinates of the atoms emitted for each structure, in order.

    A structure without ``emitted`` gets an empty list: its reply held no atoms.

    Raises
    ------
    RcError
        Not such a file, or a structure twice in it.
    """
    try:
        content = parse_json(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise fault_of(path)(
            f"{path}: not a file of emitted atoms ({error}); check the path"
        ) from error
    if not isinstance(content, list) or not all(
        isinstance(row, dict) and isinstance(row.get("material_id"), str) for row in content
    ):
        raise RcError(
            f"{path}: not a file of emitted atoms; "
            "give a JSON list of objects with material_id and emitted"
        )
    lists: dict[str, list[tuple[str, float, float, float]]] = {}
    for row in content:
        id_ = row["material_id"]
        if id_ in lists:
            raise RcError(f"{path}: {id_} is there twice; keep one list per structure")
        lists[id_] = [_atom(path, id_, atom) for atom in row.get("emitted", [])]
    return lists


def _atom(path: str | Path, id_: str, atom: Any) -> tuple[str, float, float, float]:
    if (
        isinstance(atom, list)
        and len(atom) == 4
        and isinstance(atom[0], str)
        and all(type(x) in (int, float) and math.isfinite(x) for x in atom[1:])
    ):
        symbol, x, y, z = atom
        return symbol, float(x), float(y), float(z)
    raise RcError(f"{path}: {id_}: {atom!r} is no atom; write [symbol, x, y, z]")


_MARKS = re.compile(r"^\s*(?:[-*+\u2022\u00b7]|\(?\d+[.):]?(?=\s))\s*")


def atom_lines(text: str) -> list[tuple[str, float, float, float]]:
    """Atoms in a reply: lines of an element symbol and three numbers.

    Bullets, numbering, commas, brackets, bold and table marks are looked through; a count behind
    the symbol ("Na1") and words behind the numbers are left aside. Every other line is ignored.
    """
    from ase.data import atomic_numbers

    atoms: list[tuple[str, float, float, float]] = []
    for line in text.splitlines():
        parts = re.sub(r"[,;|()\[\]*`:=]", " ", _MARKS.sub("", line)).split()
        symbol = re.sub(r"[\d_]+$", "", parts[0]) if parts else ""
        if len(parts) < 4 or symbol not in atomic_numbers or symbol == "X":
            continue
        try:
            x, y, z = (float(part) for part in parts[1:4])
        except ValueError:
            continue
        if all(map(math.isfinite, (x, y, z))):
            atoms.append((symbol, x, y, z))
    return atoms
