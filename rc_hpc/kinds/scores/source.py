"""Readings beside the truth of their pictures, one row a crystal."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import ReadStatus
from rc_hpc.kinds.common.source import Listed
from rc_hpc.kinds.renders.manifest import read_manifest
from rc_hpc.store import layout
from rc_hpc.store.batch import Batch
from rc_hpc.store.reader import open_ours, read_table

_READ = ("status", "certified", "lattice", "space_group", "space_group_by_pictures")
_ABOUT = ("id", "status", "message", "sha256")


@dataclass(frozen=True)
class Atoms:
    """A periodic crystal.

    Attributes
    ----------
    lattice : (3, 3) float64
        Rows, Å.
    numbers : (n,) int64
    fractional : (n, 3) float64
    """

    lattice: np.ndarray
    numbers: np.ndarray
    fractional: np.ndarray


@dataclass(frozen=True)
class Scored:
    """A reading and the truth.

    Attributes
    ----------
    status
        How reading ended.
    certified
    groups : (s,) int64
        Space groups read, at each tolerance.
    by_pictures
        Space group by pictures.
    read
        The crystal read; None where there is none.
    truth
        The crystal that was drawn.
    group
        True space group.
    """

    status: ReadStatus
    certified: bool
    groups: np.ndarray
    by_pictures: int
    read: Atoms | None
    truth: Atoms
    group: int


@dataclass(frozen=True)
class Scoring(Listed):
    """Readings with the truth.

    Attributes
    ----------
    options
        Of the readings.
    symprecs : (s,) float64
        Å.
    """

    options: dict[str, Any]
    symprecs: np.ndarray


def open_scored(readings: Path, renders: Path) -> Scoring:
    """All readings of a file, each with the truth of the manifest.

    Raises
    ------
    RcError
        One of the files cannot be read.
    """
    about = read_table(readings, [f"structures/{name}" for name in _ABOUT])
    rows = read_table(readings, [f"readings/{name}" for name in _READ])
    sites = read_table(readings, ("sites/structure", "sites/number", "sites/fractional"))
    symprecs = read_table(readings, ("reading/symprec",))["reading/symprec"]
    with open_ours(readings, "readings") as h5:
        options = json.loads(h5.attrs["options"])
        content = [str(h5.attrs["content_hash"])]
    manifest = read_manifest(renders)
    content.append(manifest.content_hash)
    truth = _Truth(renders)
    ids = list(map(str, about["structures/id"]))
    first = np.searchsorted(sites["sites/structure"], np.arange(len(ids) + 1))
    items: list[Scored | None] = []
    status = about["structures/status"].copy()
    message = about["structures/message"].copy()
    for k, id_ in enumerate(ids):
        if id_ not in manifest.row:
            status[k] = Status.read_error
            message[k] = f"{renders} has no such structure: give the manifest of its pictures"
        if id_ not in manifest.row or not manifest.whole[manifest.row[id_]]:
            items.append(None)
            continue
        own = slice(first[k], first[k + 1])
        lattice = rows["readings/lattice"][k]
        atoms = Atoms(
            lattice,
            sites["sites/number"][own].astype(np.int64),
            sites["sites/fractional"][own],
        )
        row = manifest.row[id_]
        if status[k] == Status.read_error and about["structures/message"][k]:
            status[k], message[k] = Status.ok, ""  # what was refused is scored: it is not right
        items.append(
            Scored(
                ReadStatus(rows["readings/status"][k]),
                bool(rows["readings/certified"][k]),
                rows["readings/space_group"][k],
                int(rows["readings/space_group_by_pictures"][k]),
                atoms if len(atoms.numbers) and np.isfinite(lattice).all() else None,
                truth.atoms(row),
                int(truth.groups[row]),
            )
        )
    known: Batch = {
        "structures/id": about["structures/id"],
        "structures/duplicate": np.zeros(len(ids), np.int32),
        "structures/source": np.array([str(readings)] * len(ids), object),
        "structures/sha256": about["structures/sha256"],
        "structures/status": status,
        "structures/message": message,
    }
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    return Scoring(known, items, digest, options, symprecs)


class _Truth:
    """Crystals of a manifest."""

    def __init__(self, path: Path):
        with open_ours(path, "renders") as h5:
            self.groups = h5["structures/space_group"][()].astype(int)
            self._lattice = h5["structures/lattice"][()]
            self._rotation = h5["protocol/rotation"][()][0]
            self._tiles = int(np.prod(h5["protocol/tiling"][()]))
            shown = h5["discs/view"][()] == 0
            self._discs = {
                name: h5[f"discs/{name}"][()][shown]
                for name in ("structure", "number", "u", "v", "depth")
            }
            first = h5["pictures/view"][()] == 0
            rows = h5["pictures/structure"][()][first].astype(int)
            self._picture = {
                int(row): values
                for row, *values in zip(
                    rows,
                    *(
                        h5[f"pictures/{name}"][()][first]
                        for name in ("px_per_angstrom", "origin_u", "origin_v")
                    ),
                    strict=True,
                )
            }
            assert len(layout.read_rows(h5["structures/id"])) == len(self.groups)

    def atoms(self, row: int) -> Atoms:
        """The cell that was drawn: the first of the tiles."""
        own = np.flatnonzero(self._discs["structure"] == row)
        own = own[: len(own) // self._tiles]
        scale, u, v = self._picture[row]
        screen = np.column_stack(
            (
                (self._discs["u"][own] - u) / scale,
                (v - self._discs["v"][own]) / scale,
                self._discs["depth"][own],
            )
        )
        lattice = self._lattice[row]
        fractional = screen @ self._rotation.T @ np.linalg.inv(lattice)
        return Atoms(lattice, self._discs["number"][own].astype(np.int64), fractional)
