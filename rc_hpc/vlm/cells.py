"""Cells and labels of packed structures, by id: what questions tell of them in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import RcError, Status
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.vlm.questions import geometry_text, wrapped
from rc_hpc.vlm.records import Subject

_COLUMNS = (
    "id",
    "duplicate",
    "status",
    "formula",
    "lattice",
    "lattice_stored",
    "crystal_system",
    "crystal_system_conventional",
)
#: Table of the atoms of each cell, and where it has numbers and positions.
_ATOMS = {
    "conventional": ("atoms", "number", "position"),
    "stored": ("stored_atoms", "number", "frac"),
}


class Cells:
    """Cells and labels of a packed file, by id."""

    def __init__(self, path: Path):
        self.path = Path(path)
        with PackedReader(path) as packed:
            self._columns = {name: packed.read(f"structures/{name}") for name in _COLUMNS}
            self._atoms = {
                cell: (packed.offsets(table), *(packed.read(f"{table}/{one}") for one in columns))
                for cell, (table, *columns) in _ATOMS.items()
            }
        ids, duplicate = self._columns["id"], self._columns["duplicate"]
        self.rows = {id_: row for row, id_ in enumerate(ids) if not duplicate[row]}

    def subjects(self, truth: str) -> tuple[list[Subject], int]:
        """Usable structures with their labels, and how many others there are."""
        suffix = "_conventional" if truth == "conventional" else ""
        codes, status = self._columns[f"crystal_system{suffix}"], self._columns["status"]
        usable = [
            Subject(id_, CRYSTAL_SYSTEMS[codes[row] - 1])
            for id_, row in self.rows.items()
            if status[row] == Status.ok and codes[row]
        ]
        return usable, len(self.rows) - len(usable)

    def row(self, id_: str) -> int:
        """Row of a structure that has a conventional cell."""
        row = self.rows.get(id_)
        if row is None:
            raise RcError(f"{self.path}: {id_} is not in it; pack it as well")
        if self._columns["status"][row] != Status.ok:
            status = Status(self._columns["status"][row]).name
            raise RcError(
                f"{self.path}: {id_} has status {status} and no cell; leave it out with --ids"
            )
        return row

    def formula(self, id_: str) -> str:
        """Reduced chemical formula."""
        return self._columns["formula"][self.row(id_)]

    def lattice(self, id_: str, cell: str = "conventional") -> np.ndarray:
        """Lattice vectors (3, 3) of the `stored` or the `conventional` cell, Å."""
        name = "lattice" if cell == "conventional" else "lattice_stored"
        return self._columns[name][self.row(id_)]

    def symbols(self, id_: str, cell: str = "conventional") -> list[str]:
        """Element symbols of the atoms."""
        from ase.data import chemical_symbols

        offsets, numbers, _ = self._atoms[cell]
        row = self.row(id_)
        return [chemical_symbols[number] for number in numbers[offsets[row] : offsets[row + 1]]]

    def frac(self, id_: str, cell: str = "conventional") -> np.ndarray:
        """Fractional coordinates (n, 3): of the conventional cell wrapped, else as read."""
        offsets, _, values = self._atoms[cell]
        row = self.row(id_)
        values = values[offsets[row] : offsets[row + 1]]
        if cell == "stored":
            return values
        return wrapped(np.linalg.solve(self.lattice(id_).T, values.T).T)

    def text(self, id_: str, cell: str) -> str:
        """The whole cell as text."""
        return geometry_text(self.lattice(id_, cell), self.symbols(id_, cell), self.frac(id_, cell))
