"""What a question says: displayed atoms in words, and back from the words; the wording of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from rc_hpc.benchmark.records import DisplayedScene
from rc_hpc.core.cells import cell_parameters
from rc_hpc.core.errors import RcError
from rc_hpc.core.text import formatted

#: Mark of the atom whose neighbours are asked for; drawn as a highlight without a letter.
CENTRE = "*"
#: What an option of Q5 says of two structures.
SAME, EXCHANGE, LATTICE, ARRANGEMENT = (
    "Both groups show the same structure",
    "Two elements have changed places; the sites are the same",
    "The size or shape of the cell has changed; the arrangement within it is the same",
    "The arrangement of atoms has changed: atoms are missing or lie elsewhere",
)
#: Decimals of lengths, Å, and of fractional coordinates.
LENGTHS, COORDINATES = 6, 6
ANGLES = ("alpha", "beta", "gamma")
_STRUCTURE = "Structure {}"
_VECTORS = "Lattice vectors (Å):"
_ATOMS = "Displayed atoms (element, unwrapped fractional coordinates):"
_VECTOR = re.compile(r"([abc]) = \(([^,)]+), ([^,)]+), ([^,)]+)\)")
_ATOM = re.compile(r"([A-Z][a-z]?) (-?\d+\.\d+) (-?\d+\.\d+) (-?\d+\.\d+)((?: \[[^\]]+\])*)")


class Described(NamedTuple):
    """Displayed atoms as a text tells them.

    Attributes
    ----------
    lattice : (3, 3) float64
        Rows, Å.
    numbers : (n,) int64
        Atomic numbers.
    fractional : (n, 3) float64
        Not wrapped into the cell.
    marks
        Atom by mark.
    """

    lattice: np.ndarray
    numbers: np.ndarray
    fractional: np.ndarray
    marks: dict[str, int]

    @property
    def positions(self) -> np.ndarray:
        """(n, 3), Å."""
        return self.fractional @ self.lattice


def symbol_of(number: int) -> str:
    """Symbol of an element."""
    from ase.data import chemical_symbols

    return str(chemical_symbols[number])


def describe(scene: DisplayedScene) -> str:
    """Lattice, displayed atoms and marks of a scene, in words.

    Atoms are in the order of element and place, which tells nothing of what is an image of what.
    """
    sides, angles = cell_parameters(scene.lattice)
    lines = [
        "Lattice: "
        + ", ".join(
            f"{name} = {side:.{LENGTHS}f} Å" for name, side in zip("abc", sides, strict=True)
        )
        + ", "
        + ", ".join(f"{n} = {a:.4f}°" for n, a in zip(ANGLES, angles, strict=True)),
        _VECTORS,
    ]
    for name, vector in zip("abc", scene.lattice, strict=True):
        lines.append(f"{name} = ({', '.join(formatted(x, f'.{LENGTHS}f') for x in vector)})")
    fractional = scene.positions @ np.linalg.inv(scene.lattice)
    shown = [[formatted(x, f".{COORDINATES}f") for x in row] for row in fractional]
    order = sorted(
        range(len(shown)),
        key=lambda k: (symbol_of(int(scene.numbers[k])), [float(x) for x in shown[k]]),
    )
    marks: dict[int, str] = {}
    for mark, atom in sorted(scene.marks.items()):
        marks[atom] = f"{marks.get(atom, '')} [{mark}]"
    lines.append(_ATOMS)
    lines += [
        f"{symbol_of(int(scene.numbers[k]))} {' '.join(shown[k])}{marks.get(k, '')}" for k in order
    ]
    return "\n".join(lines)


def describe_pair(first: DisplayedScene, second: DisplayedScene) -> str:
    """Both structures of a pair, in words."""
    return "\n\n".join(
        f"{_STRUCTURE.format(number)}\n{describe(scene)}"
        for number, scene in enumerate((first, second), 1)
    )


def described(text: str) -> list[Described]:
    """What a text tells: one structure, or two of a pair.

    Raises
    ------
    RcError
        It is not of the form of `describe` and `describe_pair`.
    """
    found = []
    for part in re.split(rf"^{_STRUCTURE.format('[12]')}$", text, flags=re.MULTILINE):
        if not part.strip():
            continue
        vectors = {m[1]: [float(m[k]) for k in (2, 3, 4)] for m in _VECTOR.finditer(part)}
        lines = part.partition(_ATOMS)[2].split("\n")
        atoms = [m for line in lines if (m := _ATOM.fullmatch(line.strip()))]
        if set(vectors) != set("abc") or not atoms:
            raise RcError(f"no lattice vectors and displayed atoms in the text {part[:60]!r}")
        marks = {
            mark: k for k, atom in enumerate(atoms) for mark in re.findall(r"\[(.)\]", atom[5])
        }
        found.append(
            Described(
                np.array([vectors[name] for name in "abc"]),
                np.array([_number_of(atom[1]) for atom in atoms], np.int64),
                np.array([[float(atom[k]) for k in (2, 3, 4)] for atom in atoms]),
                marks,
            )
        )
    if not found:
        raise RcError("an empty text describes no structure")
    return found


def composition(counts: Mapping[int, int]) -> str:
    """Atoms of each element as options tell them, such as ``Ca4 F8``; by symbol."""
    return " ".join(sorted(f"{symbol_of(number)}{count}" for number, count in counts.items()))


def counts_of(text: str) -> dict[str, int] | None:
    """Atoms by symbol of a text that `composition` wrote; None of another."""
    parts = [re.fullmatch(r"([A-Z][a-z]?)(\d+)", part) for part in text.split()]
    found = [part for part in parts if part]
    return {part[1]: int(part[2]) for part in found} if found and len(found) == len(parts) else None


def bond_rule(pairs: Iterable[tuple[int, int]], factor: float) -> str:
    """Between which elements bonds are drawn, and how long they may be."""
    told = sorted("-".join(sorted(map(symbol_of, pair))) for pair in pairs)
    listed = told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
    return (
        f"Two atoms are neighbours where their elements are one of the pairs {listed} and their "
        f"distance is at most {factor:.2f} times the shortest distance of that pair in the "
        "structure; periodic images of an atom count separately."
    )


def _number_of(symbol: str) -> int:
    from ase.data import atomic_numbers

    if symbol not in atomic_numbers:
        raise RcError(f"{symbol!r} is no element")
    return int(atomic_numbers[symbol])
