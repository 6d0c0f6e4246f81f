"""Packed structures for the reader, and readings held against them."""

from __future__ import annotations

import argparse
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import COLOURS
from rc_hpc.images.fast import FastRenderer
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.kinds.readings.oracle import read_pictures
from rc_hpc.reader.detector import detect
from rc_hpc.reader.read import read
from rc_hpc.reader.records import Knowledge, Limits, NotReadError, Reading
from rc_hpc.symmetry.labels import crystal_system

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


def tried(
    cell,
    level: str,
    drawn_px: int,
    size: int,
    convention,
    rotations,
    spoil: Callable[[np.ndarray], np.ndarray] | None = None,
    renderer: Any = None,
    colours: str = COLOURS[0],
) -> dict[str, Any]:
    """One structure drawn, read and held against the truth.

    Parameters
    ----------
    drawn_px, size
        Of the pictures as drawn, and as read.
    spoil
        What happens to each picture in between.
    renderer
        What draws; by default the fast one.
    colours
        See `rc_hpc.kinds.readings.oracle.read_pictures`.
    """
    numbers = np.asarray(cell.numbers, np.int64)
    scene = convention.scene(cell.lattice, numbers, cell.positions)
    renderer = FastRenderer() if renderer is None else renderer
    drawn = [convention.view(scene, rotation, drawn_px) for rotation in rotations]
    pictures = [renderer.draw(scene, view) for view in drawn]
    if spoil is not None:
        pictures = [np.ascontiguousarray(spoil(picture)) for picture in pictures]
    views = [convention.view(scene, rotation, size) for rotation in rotations]
    knowledge = knowledge_of(level, convention, rotations, size, views, numbers, cell.lattice)
    started = time.process_time()
    found = started
    try:
        if colours == COLOURS[0]:
            marks = detect(pictures, knowledge)
            found = time.process_time()
            reading = read(pictures, marks, knowledge, Limits())
        else:
            _, reading = read_pictures(pictures, knowledge, Limits(), colours)
    except NotReadError as error:
        reading = Reading(error.status, str(error))
    except Exception as error:  # noqa: BLE001 - told, and the others go on
        traceback.print_exc()
        reading = Reading("refused", f"internal: {error!r}")
    ended = time.process_time()
    missing, extra, error_A = against(reading, cell.lattice, numbers, cell.positions)
    return {
        "id": cell.id,
        "sites": len(numbers),
        "truth": int(cell.space_group),
        "status": reading.status,
        "certified": bool(reading.certified),
        "pixels": int(reading.differing_pixels),
        "tries": reading.tries,
        "numbers": [int(number) for number in reading.numbers],
        "by_pictures": int(reading.number_by_pictures),
        "missing": missing,
        "extra": extra,
        "error_A": round(error_A, 6) if np.isfinite(error_A) else None,
        "sigma_A": round(float(reading.sigma_A.max(initial=0.0)), 6),
        "detect_s": round(found - started, 3),
        "read_s": round(ended - found, 3),
        "message": reading.message,
    }


def right(row: dict, tolerance: int = 0) -> bool:
    """Whether the crystal system is the true one."""
    number = row["numbers"][tolerance]
    return number > 0 and crystal_system(number) == crystal_system(row["truth"])


def whole(row: dict) -> bool:
    """Whether all sites are read and none too many."""
    return row["missing"] == 0 and row["extra"] == 0
