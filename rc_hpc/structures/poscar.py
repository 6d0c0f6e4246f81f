"""POSCAR and CONTCAR: the lines are judged here, pymatgen makes the structure of them.

pymatgen knows one scale factor, symbols in their proper case and no Fortran exponents, passes over
symbols without a count, and counts lines without saying which is wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.structures.checks import from_pymatgen, guarded, refuse, text_of, version_of
from rc_hpc.structures.cif_text import MINUS
from rc_hpc.structures.record import Item, Structure

#: Coordinates that ran into one another, as Fortran writes them: 0.25-0.25-0.25.
FUSED = re.compile(r"[+-]?[\d.]+(?:[eE][+-]?\d+)?")
FORTRAN = re.compile(r"(?<=[\d.])[dD](?=[+-]?\d)")


def read_poscar(item: Item, blob: bytes, species: tuple[str, ...] = ()) -> Structure:
    """Read a POSCAR or CONTCAR with pymatgen.

    Parameters
    ----------
    species
        Elements in the order of their counts, for files that name none, as VASP 4 wrote them.
    """
    from pymatgen.io.vasp.inputs import Poscar

    text = text_of(item, blob)
    with guarded(item):
        poscar = Poscar.from_str(_plain(_Lines(item, text), species), read_velocities=False)
        return from_pymatgen(
            item, blob, poscar.structure, reader=f"pymatgen {version_of('pymatgen')} Poscar"
        )


@dataclass
class _Lines:
    """The lines of the file, without comments; faults are told with their number."""

    item: Item
    text: str

    def __post_init__(self) -> None:
        self.lines = [
            FORTRAN.sub("e", re.sub(r"[#!].*", "", line).translate(MINUS))
            for line in self.text.rstrip().split("\n")
        ]

    def words(self, index: int) -> list[str]:
        """Words of a line, `index` from 0."""
        if index >= len(self.lines):
            raise self.fault(index, "is missing: the file is cut short; complete it")
        return self.lines[index].split()

    def numbers(self, index: int) -> list[str]:
        """The words that a line begins with and that are numbers."""
        numbers = []
        for word in self.words(index):
            if not _is_number(word):
                break
            numbers.append(word)
        return numbers

    def fault(self, index: int, message: str, status: Status = Status.read_error):
        """A failure of line `index`."""
        return refuse(self.item, status, f"line {index + 1} {message}")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def _plain(lines: _Lines, species: tuple[str, ...]) -> str:
    """The file in the one spelling that pymatgen reads as meant."""
    scale = lines.numbers(1)
    if len(scale) not in (1, 3):
        raise lines.fault(1, "must hold one scale factor or three; correct it")
    vectors = []
    for index in (2, 3, 4):
        vectors.append(lines.numbers(index)[:3])
        if len(vectors[-1]) < 3:
            raise lines.fault(index, "must hold the three numbers of a cell vector; correct it")
    symbols, counts, index = _species(lines)
    kind = lines.words(index)[:1]
    selective = bool(kind) and kind[0][0] in "sS"
    if selective:
        index += 1
        kind = lines.words(index)[:1]
    if not kind or not kind[0][0].isalpha():
        raise lines.fault(index, "must say Direct or Cartesian; add that line")
    cartesian = kind[0][0] in "cCkK"
    total = sum(counts)
    if not total:
        raise refuse(lines.item, Status.empty, "it holds no atoms; write the structure again")
    positions = _positions(lines, index + 1, total)
    if not symbols and species:
        if len(species) != len(counts):
            raise lines.fault(
                5, f"has {len(counts)} numbers for {len(species)} elements of --species"
            )
        symbols = list(species)
    if not symbols:
        last = 6 if selective else 3
        symbols = _symbols_of_atoms(lines, range(index + 1, index + 1 + total), last)
        counts = [1] * total
    if len(scale) == 3:
        factors = np.array(scale, dtype=np.float64)
        if not (factors > 0).all():
            raise lines.fault(1, "has three scale factors, which must be above 0; correct them")
        vectors = _scaled(vectors, factors)
        positions = _scaled(positions, factors) if cartesian else positions
        scale = ["1.0"]
    head = ["x", *scale, *map(" ".join, vectors), " ".join(symbols), " ".join(map(str, counts))]
    return "\n".join([*head, "Cartesian" if cartesian else "Direct", *map(" ".join, positions)])


def _scaled(rows: list[list[str]], factors: np.ndarray) -> list[list[str]]:
    """Rows of Cartesian components, each multiplied by the factor of its axis."""
    return [[repr(float(x)) for x in row] for row in np.array(rows, dtype=np.float64) * factors]


def _species(lines: _Lines) -> tuple[list[str], list[int], int]:
    """Symbols (none in VASP 4), counts, and the index of the line after them."""
    index, symbols = 5, []
    while lines.words(index) and not lines.numbers(index):
        # VASP 6 adds the name and the hash of the potential: Mg_pv/f474ac0d.
        for word in lines.words(index):
            symbols.append(_element(lines, index, re.split(r"[/_]", word)[0]))
        index += 1
    counts: list[int] = []
    while not counts or len(counts) < len(symbols):
        words = lines.words(index)
        if not words or not all(re.fullmatch(r"\d+", word, re.ASCII) for word in words):
            raise lines.fault(
                index,
                f"must hold the numbers of atoms (so far {len(counts)} numbers for "
                f"{len(symbols)} elements); correct it",
            )
        counts += map(int, words)
        index += 1
    if symbols and len(counts) != len(symbols):
        raise lines.fault(
            index - 1, f"has {len(counts)} numbers for {len(symbols)} elements; make them agree"
        )
    return symbols, counts, index


def _element(lines: _Lines, index: int, symbol: str) -> str:
    """The symbol in its proper case."""
    from pymatgen.core import Element

    if not Element.is_valid_symbol(symbol.title()):
        raise lines.fault(
            index, f"names {symbol!r}, which is no element; name it", Status.unknown_species
        )
    return symbol.title()


def _symbols_of_atoms(lines: _Lines, indices: range, place: int) -> list[str]:
    """Symbols at the ends of the positions."""
    rows = [(index, lines.words(index)) for index in indices]
    if any(len(words) <= place for _, words in rows):
        raise refuse(
            lines.item,
            Status.unknown_species,
            "it does not name its elements (VASP 4); add them as line 6, or give --species A,B",
        )
    return [_element(lines, index, words[place]) for index, words in rows]


def _positions(lines: _Lines, start: int, total: int) -> list[list[str]]:
    """Three numbers of each atom; refuses fewer lines, and more, than there are atoms."""
    positions: list[list[str]] = []
    for index in range(start, len(lines.lines)):
        numbers = lines.numbers(index)[:3]
        if len(numbers) < 3:
            parts = FUSED.findall(lines.lines[index])
            whole = "".join(parts) == lines.lines[index].replace(" ", "")
            numbers = parts if len(parts) == 3 and whole else numbers
        if not numbers:
            break
        if len(numbers) < 3 and len(positions) < total:
            raise lines.fault(index, "must hold three coordinates; complete it")
        positions.append(numbers)
    if len(positions) != total:
        raise refuse(
            lines.item,
            Status.read_error,
            f"{len(positions)} position{'s' * (len(positions) != 1)} for {total} atoms; "
            "complete the file, or correct the numbers of atoms",
        )
    return positions
