"""Readers of what the ladder is made of: crystals, ceilings and labels, by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.answers.arms import PredictionFile, some
from rc_hpc.answers.task import Task
from rc_hpc.core.errors import RcError, Status, UsageError
from rc_hpc.core.ids import read_entries
from rc_hpc.core.text import parse_json
from rc_hpc.core.vocabulary import System
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.store.layout import read_rows
from rc_hpc.store.reader import open_ours, read_table
from rc_hpc.symmetry.labels import bravais, crystal_system, label

#: Arms whose files must be over the same structures.
ALIGNED = ("pixels", "coordinates", "question-only", "formula-only")
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
    "space_group_conventional",
    "source_space_group",
    "neighbourhood_stable",
    "flipped",
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
        return np.array([float(one.weight) / one.num_atoms for one in compositions])

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

        Bravais lattices are named by the letter of the space-group symbol, as the records do;
        space groups by number, because a forest's ties depend on the order of its classes.
        """
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
            return [
                (cell.numbers, np.linalg.solve(cell.lattice.T, cell.positions.T).T)
                for cell in packed.cells(self.rows)
            ]


def read_crystals(path: Path, ids: Sequence[str]) -> Crystals:
    """These structures of a packed or census file.

    Raises
    ------
    RcError
        One of them is missing or has no conventional cell; names it.
    """
    table = read_table(path, [f"structures/{name}" for name in _COLUMNS])
    rows = rows_of(path, table["structures/id"], table["structures/duplicate"], ids)
    columns = {name: table[f"structures/{name}"][rows] for name in _COLUMNS}
    unusable = (columns["n_atoms"] == 0) | (columns["space_group"] == 0)
    if unusable.any():
        worst = int(unusable.argmax())
        raise RcError(
            f"{path}: {ids[worst]} has status {Status(columns['status'][worst]).name} and no "
            "labelled cell; leave it out of the predictions"
        )
    return Crystals(Path(path), rows, columns)


@dataclass(frozen=True)
class Ceiling:
    """What a census says is determined.

    Attributes
    ----------
    name
        ``R1``, with its delta where that is not tau.
    determined : (n,) bool
        Of each structure.
    certified : (n,) bool
        Whether that is proved of it.
    options
        Of the census, as recorded.
    """

    name: str
    determined: np.ndarray
    certified: np.ndarray
    options: dict[str, Any]


def read_ceiling(path: Path, ids: Sequence[str], truths: Sequence[str] | np.ndarray) -> Ceiling:
    """A census's ceiling over these structures.

    Raises
    ------
    RcError
        Not a census with the full protocol, a structure is missing or was not computed, or its
        true crystal system is not that of the predictions.
    """
    with open_ours(path, "census") as h5:
        options = parse_json(h5.attrs["options"])
        suffix = "" if options["truth"] == "stored" else "_conventional"
        known, duplicates, statuses, systems = (
            read_rows(h5[f"structures/{name}"])
            for name in ("id", "duplicate", "status", f"crystal_system{suffix}")
        )
        full = np.flatnonzero(h5["subsets/mask"][()] == (1 << h5["protocol/view"].size) - 1)
        if not len(full):
            raise RcError(
                f"{path}: the full protocol is not among its subsets; "
                "compute it with --subsets full or all"
            )
        correct, certified = (
            h5[f"cells/{name}"][:, full[0]].astype(bool)
            for name in ("correct_crystal_system", "certified")
        )
    rows = rows_of(path, known, duplicates, ids)
    for id_, row, truth in zip(ids, rows, truths, strict=True):
        if statuses[row] != Status.ok:
            raise RcError(
                f"{path}: {id_} has status {Status(statuses[row]).name}: it has no ceiling; "
                "leave it out of the predictions"
            )
        if (system := System(systems[row]).name) != truth:
            raise RcError(
                f"{path}: {id_} is {system} there and {truth} in the predictions; "
                "they are not of one benchmark"
            )
    delta = options["delta"]
    name = "R1" if delta == options["pack"]["tau"] else f"R1^{delta:g}"
    return Ceiling(name, correct[rows], certified[rows], options)


def read_phantoms(path: Path, ids: Sequence[str]) -> tuple[np.ndarray, np.ndarray, float]:
    """Views of each subset of a census (K,), phantoms of these structures (n, K), and delta, Å.

    Phantoms at which rays meet within 1e-6 Å, residuals within delta.
    """
    with open_ours(path, "census") as h5:
        known, duplicates = (read_rows(h5[f"structures/{name}"]) for name in ("id", "duplicate"))
        rows = rows_of(path, known, duplicates, ids)
        order = np.argsort(rows)
        counts = h5["cells/n_phantoms_exact"][rows[order]]
        sizes = h5["subsets/size"][()]
        delta = float(parse_json(h5.attrs["options"])["delta"])
    return sizes, counts[np.argsort(order)], delta


def read_labels(path: Path, key: str) -> dict[str, str]:
    """True label by id, from ``material_id`` and `key` of JSON lines, or a JSON object by id.

    Raises
    ------
    RcError
        Neither of them.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--labels {path}: cannot be read ({error})") from error
    try:
        entries = parse_json(text)
    except ValueError:
        entries = None  # several lines, each JSON
    try:
        if entries is None or "material_id" in entries:
            rows = read_entries(path, "--labels")
            entries = {row["material_id"]: row for row in rows}
            if len(entries) < len(rows):
                raise RcError(f"{path}: an id is there twice; keep one line per structure")
        return {id_: entry[key] for id_, entry in entries.items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise RcError(
            f"{path}: not a file of labels ({type(error).__name__}: {error}); give JSON lines "
            f"with material_id and {key}, or a JSON object of id to {key}"
        ) from error


def common_ids(aligned: Sequence[PredictionFile]) -> tuple[str, ...]:
    """Ids that all these files of the ladder's arms are over, in the order of the first.

    Raises
    ------
    RcError
        Two of them are not over the same structures; names both.
    """
    if not aligned:
        return ()
    first = aligned[0]
    for file in aligned[1:]:
        file.rows(first.ids)
        if len(file.ids) > len(first.ids):
            raise RcError(
                f"{file.source}: is over {len(file.ids)} structures, {first.source} over "
                f"{len(first.ids)} of them; give files over the same structures"
            )
    return first.ids


def check_labels(path: Path, files: Sequence[PredictionFile], task: Task) -> None:
    """Compare the truths of all files with a file of labels.

    Raises
    ------
    RcError
        They differ, or a structure is not labelled; names the first.
    """
    labels = read_labels(path, task.key)
    for file in files:
        for p in file.predictions:
            if labels.get(p.material_id) != p.truth:
                label = labels.get(p.material_id, "missing")
                raise RcError(
                    f"{file.source}: {p.material_id} is {p.truth} there and {label} in {path}; "
                    "they are not of one benchmark"
                )


def rows_of(path, ids: np.ndarray, duplicates: np.ndarray, wanted: Sequence[str]) -> np.ndarray:
    """Rows of the wanted ids, of each its first one.

    Raises
    ------
    RcError
        One of them is not there; names some.
    """
    rows = {
        id_: row
        for row, (id_, duplicate) in enumerate(zip(ids, duplicates, strict=True))
        if not duplicate
    }
    missing = [id_ for id_ in wanted if id_ not in rows]
    if missing:
        raise RcError(
            f"{path}: {len(missing)} of {len(wanted)} structures are not in it: {some(missing)}; "
            "pack or compute them as well"
        )
    return np.array([rows[id_] for id_ in wanted], dtype=np.int64)
