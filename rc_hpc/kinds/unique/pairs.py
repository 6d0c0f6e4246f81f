"""Pairs of crystals with the same pictures, as a uniqueness file holds them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.vocabulary import Known, System
from rc_hpc.oracle.decision import LOOSER
from rc_hpc.oracle.labels import SpaceGroupLabel
from rc_hpc.store import layout
from rc_hpc.store.reader import dataset_of, open_ours
from rc_hpc.store.schema import of_molecules
from rc_hpc.symmetry.labels import label
from rc_hpc.symmetry.point_groups import point_group


@dataclass(frozen=True)
class Pair:
    """A structure and another crystal with the same pictures.

    Attributes
    ----------
    id, subset
    policies : tuple of str
        Those that admit the other, first those whose witness it is.
    labels : tuple of str
        Crystal system and space group of the one and of the other.
    lattice : (3, 3)
        Of the drawn cell, Å; NaN of molecules, which have none.
    numbers, positions, atom, witness : (C, ...)
        Places, and which of them are atoms of the one and of the other.
    """

    id: str
    subset: str
    policies: tuple[str, ...]
    labels: tuple[str, str]
    lattice: np.ndarray
    numbers: np.ndarray
    positions: np.ndarray
    atom: np.ndarray
    witness: np.ndarray


def labelled(
    options: Mapping[str, Any], lattice: np.ndarray, numbers: np.ndarray, positions: np.ndarray
) -> str:
    """System and space group of a crystal at the tolerances of a file, ``cubic (Fm-3m)``.

    Of a molecule its point group.
    """
    pack = options["pack"]
    if of_molecules(options):
        return point_group(numbers, positions, pack["group_tolerance"]) or System.none.name
    found, _ = SpaceGroupLabel(pack["tau"], pack["angle_tolerance"]).label(
        lattice, numbers, positions
    )
    return f"{label(found).crystal_system} ({label(found).symbol})" if found else System.none.name


def pairs_of(path: Path, row: int) -> Iterator[Pair]:
    """All pairs of one structure, by subset: one for every witness."""
    with open_ours(path, "unique") as h5:
        options = json.loads(h5.attrs["options"])

        def read(name: str, rows: Any = slice(None)) -> np.ndarray:
            return layout.read_rows(dataset_of(h5, path, name), rows)

        policies = list(map(str, read("axes/policy")))
        subsets = list(map(str, read("subsets/name")))
        id_ = str(read("structures/id", row))
        lattice = np.full((3, 3), np.nan)
        if not of_molecules(options):
            lattice = read("structures/lattice", row)
            lattice = lattice * np.array(options["protocol"]["tiling"])[:, None]
        own = np.flatnonzero(read("places/structure") == row)
        if not len(own):
            return
        part = slice(int(own[0]), int(own[-1]) + 1)
        names = ("subset", "number", "position", "atom", "witness")
        places = {name: read(f"places/{name}", part)[own - own[0]] for name in names}
    for k in np.unique(places["subset"]):
        its = {name: values[places["subset"] == k] for name, values in places.items()}
        admitting: dict[bytes, list[str]] = {}
        for p, policy in enumerate(policies):
            there = (its["witness"] >> p & 1).astype(bool)
            if there.any():
                admitting.setdefault(there.tobytes(), []).append(policy)
        number, position, atom = its["number"], its["position"], its["atom"]
        for key, asked in admitting.items():
            looser = {one.name for name in asked for one in LOOSER[Known[name]]}
            more = [name for name in policies if name in looser and name not in asked]
            there = np.frombuffer(key, bool)
            one, other = (
                labelled(options, lattice, number[some], position[some]) for some in (atom, there)
            )
            yield Pair(
                id_,
                subsets[k],
                (*asked, *more),
                (one, other),
                lattice,
                number,
                position,
                atom,
                there,
            )
