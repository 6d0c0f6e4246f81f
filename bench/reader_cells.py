"""Packed structures for the reader, and readings held against them."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.reader.records import Knowledge, Reading

#: Largest distance of a site from the true one that still counts as that site, Å.
NEAR = 0.08


def knowledge_of(
    level: str, convention, rotations, size: int, views, numbers, lattice
) -> Knowledge:
    """What a reader of that level knows of drawn pictures."""
    known: dict[str, Any] = {}
    if level != "K0":
        known["lattice_A"] = lattice
        known["pixels_per_A"] = np.array([view.px_per_angstrom for view in views])
        known["origins_px"] = np.array([view.origin for view in views])
    if level == "K2":
        known["species"] = tuple(sorted(int(number) for number in numbers))
    return Knowledge(level, rotations, size, convention, **known)


def against(reading: Reading, lattice, numbers, positions) -> tuple[int, int, float]:
    """Sites missing and extra, and the largest error of the others, Å.

    The two crystals may be moved against each other, and their vectors chosen otherwise.
    """
    nothing = len(numbers), len(reading.species), float("inf")
    if not len(reading.species) or not np.isfinite(reading.lattice_A).all():
        return nothing
    change = np.linalg.solve(lattice.T, reading.lattice_A.T)
    whole = np.abs((change - np.round(change)).T @ lattice).max() < 0.1
    if not whole or abs(abs(np.linalg.det(np.round(change))) - 1) > 1e-6:
        return nothing
    places = reading.fractional @ reading.lattice_A
    species, counts = np.unique(numbers, return_counts=True)
    rarest = species[counts.argmin()]
    starts = places[reading.species == rarest]
    best = nothing
    if not len(starts):
        return nothing
    for true in positions[numbers == rarest]:
        away = (places[:, None] + true - starts[0] - positions[None]) @ np.linalg.inv(lattice)
        apart = np.linalg.norm((away - np.round(away)) @ lattice, axis=2)
        apart[reading.species[:, None] != numbers[None]] = np.inf
        near = apart < NEAR
        missing = int(np.sum(~near.any(0)))
        extra = len(places) - (len(numbers) - missing)
        if near.any():
            rows = apart.min(0)[near.any(0)]
            found = missing, extra, float(rows.max())
            best = min(best, found, key=lambda one: (one[0] + abs(one[1]), one[2]))
    return best


def cells(asked: argparse.Namespace) -> list:
    """The packed structures that are asked for."""
    wanted = set(asked.ids.read_text(encoding="utf-8").split()) if asked.ids else None
    with PackedReader(asked.packed) as packed:
        usable = np.flatnonzero(packed.read("structures/status") == Status.ok)
        return [
            cell
            for cell in packed.cells(usable[:: asked.every])
            if wanted is None or cell.id in wanted
        ]
