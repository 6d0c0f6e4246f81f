"""Readers of what the ladder is made of: crystals, ceilings, labels and lists of ids, by id."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from rc_hpc.answers.arms import PredictionFile
from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import RcError, Status
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.store.layout import read_rows
from rc_hpc.store.reader import open_ours, read_table

#: Arms whose files must be over the same structures.
_ALIGNED = ("pixels", "coordinates", "question-only", "formula-only")
_NAMES = np.array(("none", *CRYSTAL_SYSTEMS))
_COLUMNS = (
    "id",
    "duplicate",
    "status",
    "formula",
    "n_atoms",
    "n_atoms_stored",
    "lattice",
    "lattice_stored",
    "space_group",
)


@dataclass(frozen=True)
class Crystals:
    """Structures of a packed or census file, in the order in which they were asked for.

    Attributes
    ----------
    path
        The file.
    rows : (n,) int
        Rows in it.
    columns
        Columns of ``/structures`` by name, each of these rows.
    """

    path: Path
    rows: np.ndarray
    columns: dict[str, np.ndarray]

    def cell(self, which: str) -> tuple[np.ndarray, np.ndarray]:
        """Lattices (n, 3, 3) in Å and atoms (n,) of the `stored` or the `conventional` cell."""
        suffix = {"stored": "_stored", "conventional": ""}[which]
        return self.columns[f"lattice{suffix}"], self.columns[f"n_atoms{suffix}"]

    @cached_property
    def mass_per_atom(self) -> np.ndarray:
        """Mean mass of an atom, (n,), u."""
        from pymatgen.core import Composition

        compositions = map(Composition, self.columns["formula"])
        return np.array([float(found.weight) / found.num_atoms for found in compositions])

    @cached_property
    def elements(self) -> list[frozenset[str]]:
        """Element symbols of each structure."""
        from pymatgen.core import Composition

        return [
            frozenset(element.symbol for element in Composition(formula))
            for formula in self.columns["formula"]
        ]

    def labels(self) -> dict[str, np.ndarray]:
        """Labels (n,) str of the stored cells by granularity, coarse to fine.

        Bravais lattices are named by the letter of the space-group symbol, as the records do; space
        groups by number, because a forest's ties depend on the order of its classes.
        """
        from rc_hpc.symmetry.labels import bravais, crystal_system, label

        numbers = self.columns["space_group"].tolist()
        return {
            "crystal system": np.array([crystal_system(number) for number in numbers]),
            "Bravais lattice": np.array([bravais(number, as_in_symbol=True) for number in numbers]),
            "point group": np.array([label(number).point_group for number in numbers]),
            "space group": np.array([str(number) for number in numbers]),
        }

    def atoms(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Atomic numbers (k,) and fractional coordinates (k, 3) of each conventional cell.

        Raises
        ------
        RcError
            The file is a census, which does not hold the atoms.
        """
        with PackedReader(self.path) as packed:
            offsets, numbers, positions = (
                packed.offsets("atoms"),
                packed.read("atoms/number"),
                packed.read("atoms/position"),
            )
        spans = [slice(offsets[row], offsets[row + 1]) for row in self.rows]
        lattices = self.columns["lattice"]
        return [
            (numbers[span], np.linalg.solve(lattice.T, positions[span].T).T)
            for span, lattice in zip(spans, lattices, strict=True)
        ]


def read_crystals(path: Path, ids: Sequence[str]) -> Crystals:
    """These structures of a packed or census file.

    Raises
    ------
    RcError
        One of them is missing or has no conventional cell; names it.
    """
    columns = read_table(path, [f"structures/{name}" for name in _COLUMNS])
    rows = _find(path, columns["structures/id"], columns["structures/duplicate"], ids)
    found = {name: columns[f"structures/{name}"][rows] for name in _COLUMNS}
    unusable = (found["n_atoms"] == 0) | (found["space_group"] == 0)
    if unusable.any():
        worst = int(unusable.argmax())
        raise RcError(
            f"{path}: {ids[worst]} has status {Status(found['status'][worst]).name} and no labelled cell; leave it out of the predictions"
        )
    return Crystals(Path(path), rows, found)


def read_ceiling(path: Path, ids: Sequence[str], truths: Sequence[str]) -> tuple[str, np.ndarray]:
    """Name of a census's ceiling and, for each of these structures, whether it is determined.

    Raises
    ------
    RcError
        Not a census with the full protocol, a structure is missing or was not computed, or its
        true crystal system is not that of the predictions.
    """
    table = read_table(
        path,
        [
            f"structures/{name}"
            for name in (
                "id",
                "duplicate",
                "status",
                "crystal_system",
                "crystal_system_conventional",
            )
        ]
        + ["subsets/mask", "protocol/view"],
    )
    with open_ours(path, "census") as h5:
        options = json.loads(h5.attrs["options"])
        full = np.flatnonzero(table["subsets/mask"] == (1 << len(table["protocol/view"])) - 1)
        if not len(full):
            raise RcError(
                f"{path}: the full protocol is not among its subsets; compute it with --subsets full or all"
            )
        correct = read_rows(h5["cells/correct_crystal_system"])[:, full[0]]
    rows = _find(path, table["structures/id"], table["structures/duplicate"], ids)
    suffix = "" if options["truth"] == "stored" else "_conventional"
    systems = _NAMES[table[f"structures/crystal_system{suffix}"][rows]]
    status = table["structures/status"][rows]
    for id_, code, system, truth in zip(ids, status, systems, truths, strict=True):
        if code != Status.ok:
            raise RcError(
                f"{path}: {id_} has status {Status(code).name}: it has no ceiling; leave it out of the predictions"
            )
        if system != truth:
            raise RcError(
                f"{path}: {id_} is {system} there and {truth} in the predictions; they are not of one benchmark"
            )
    delta = options["delta"]
    return ("R1" if delta == options["pack"]["tau"] else f"R1^{delta:g}"), correct[rows].astype(
        bool
    )


def read_labels(path: Path) -> dict[str, str]:
    """Crystal system by id: JSON lines with ``material_id``, or one JSON object by id, with ``crystal_system`` each.

    Raises
    ------
    RcError
        Neither of them.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        try:
            entries = json.loads(text)
            entries = (
                entries
                if isinstance(entries, dict) and "material_id" not in entries
                else {entries["material_id"]: entries}
            )
        except ValueError:
            rows = [json.loads(line) for line in text.splitlines() if line.strip()]
            entries = {row["material_id"]: row for row in rows}
            if len(entries) < len(rows):
                raise RcError(
                    f"{path}: an id is there twice; keep one line per structure"
                ) from None
        return {id_: entry["crystal_system"] for id_, entry in entries.items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RcError(
            f"{path}: not a file of labels ({type(error).__name__}: {error}); give JSON lines with material_id and crystal_system, or a JSON object of id to crystal_system"
        ) from error


def read_ids(path: Path) -> list[str]:
    """Ids in file order: one a line, or JSON lines with ``material_id``.

    Raises
    ------
    RcError
        Unreadable, empty, or an id twice.
    """
    try:
        lines = [
            line.strip()
            for line in Path(path).read_text(encoding="utf-8").splitlines()
            if line.strip()
        ]
        ids = [json.loads(line)["material_id"] if line.startswith("{") else line for line in lines]
    except (OSError, ValueError, KeyError) as error:
        raise RcError(
            f"{path}: not a list of ids ({type(error).__name__}: {error}); give one id a line, or JSON lines with material_id"
        ) from error
    if not ids or len(set(ids)) < len(ids):
        raise RcError(
            f"{path}: {'an id is there twice' if ids else 'no ids'}; give each training structure once"
        )
    return ids


def common_ids(files: Sequence[PredictionFile]) -> tuple[str, ...]:
    """Ids that all files of the ladder's arms are over, in the order of the first.

    Raises
    ------
    RcError
        Two of them are not over the same structures; names both.
    """
    aligned = [file for file in files if file.kind in _ALIGNED and not file.convention]
    if not aligned:
        return ()
    first = aligned[0]
    for file in aligned[1:]:
        file.rows(first.ids)
        if len(file.ids) > len(first.ids):
            raise RcError(
                f"{file.source}: is over {len(file.ids)} structures, {first.source} over {len(first.ids)} of them; give files over the same structures"
            )
    return first.ids


def check_labels(path: Path, files: Sequence[PredictionFile]) -> None:
    """Compare the truths of all files with a file of labels.

    Raises
    ------
    RcError
        They differ, or a structure is not labelled; names the first.
    """
    labels = read_labels(path)
    for file in files:
        for p in file.predictions:
            if labels.get(p.material_id) != p.truth:
                raise RcError(
                    f"{file.source}: {p.material_id} is {p.truth} there and {labels.get(p.material_id, 'missing')} in {path}; they are not of one benchmark"
                )


def _find(path, ids: np.ndarray, duplicates: np.ndarray, wanted: Sequence[str]) -> np.ndarray:
    rows = {
        id_: row
        for row, (id_, duplicate) in enumerate(zip(ids, duplicates, strict=True))
        if not duplicate
    }
    missing = [id_ for id_ in wanted if id_ not in rows]
    if missing:
        shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        raise RcError(
            f"{path}: {len(missing)} of {len(wanted)} structures are not in it: {shown}; pack or compute them as well"
        )
    return np.array([rows[id_] for id_ in wanted], dtype=np.int64)
