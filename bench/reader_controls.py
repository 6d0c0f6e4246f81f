"""What a reader loses rung by rung, and what its certificate sees."""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from bench.common import write_record
from bench.reader_cells import NEAR, against, cells, knowledge_of
from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.images.fast import FastRenderer
from rc_hpc.kernels.copies import support
from rc_hpc.kernels.painting import seen_pixels
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.reader.bundle import adjusted
from rc_hpc.reader.convention import named
from rc_hpc.reader.detector import detect
from rc_hpc.reader.drawn import Redrawing
from rc_hpc.reader.frame import Frame
from rc_hpc.reader.labelled import labels
from rc_hpc.reader.marked import marked
from rc_hpc.reader.read import KNOWN_BLUR, KNOWN_SLACK
from rc_hpc.reader.records import Knowledge, Limits, Marks, Reading
from rc_hpc.reader.sites import finder
from rc_hpc.symmetry.labels import crystal_system


def true_marks(scene, views, convention, least: int) -> list[Marks]:
    """The discs of pictures as a perfect detector would have them.

    Parameters
    ----------
    least
        Pixels that must be seen of a disc; 0: the hidden ones too.
    """
    made = []
    for view in views:
        line = convention.line_px / 2
        seen, whole = seen_pixels(
            view.order, view.centres, view.radii + line, view.middles, view.halves,
            np.full(len(view.middles), line), np.empty((0, 4)), np.zeros(len(view.radii), bool),
            *view.size,
        )  # fmt: skip
        kept = np.flatnonzero(seen >= least)
        # Of discs that lie on one place a picture shows one.
        places = np.column_stack((scene.discs.numbers[kept], np.round(view.centres[kept], 6)))
        kept = kept[np.unique(places, axis=0, return_index=True)[1]]
        made.append(
            Marks(
                scene.discs.numbers[kept],
                view.centres[kept],
                np.tile(1e-8 * np.eye(2), (len(kept), 1, 1)),
                view.radii[kept],
                np.full(len(kept), 1000),
                seen[kept] / np.maximum(whole[kept], 1),
                view.px_per_angstrom,
                0.0,
            )
        )
    return made


def rung_of_sites(cell, numbers, pictures, marks, knowledge) -> tuple[bool, bool]:
    """Whether marks in a known frame give all sites and no other, and the crystal system."""
    joined = marked(pictures, marks, knowledge.convention, 5)
    frame = Frame(
        knowledge.rotations, knowledge.lattice_A, knowledge.pixels_per_A, knowledge.origins_px,
        knowledge.convention.tiling,
    )  # fmt: skip
    sites = finder(knowledge.rotations)(joined, frame, KNOWN_BLUR, KNOWN_SLACK)
    if not len(sites):
        return False, False
    species = joined.species[sites.species]
    fractional = sites.positions @ np.linalg.inv(cell.lattice)
    reading = Reading("read", "", cell.lattice, species, fractional)
    found = against(reading, cell.lattice, numbers, cell.positions)
    number = int(labels(cell.lattice, fractional, species, (0.01,))[0])
    same = number > 0 and crystal_system(number) == crystal_system(int(cell.space_group))
    return found[:2] == (0, 0), same


def rung_of_truth(cell, numbers, views, marks, knowledge, pictures) -> tuple[bool, bool]:
    """The same of marks whose discs are known: only the errors of their centres are left."""
    joined = marked(pictures, marks, knowledge.convention, 5)
    frame = Frame(
        knowledge.rotations, knowledge.lattice_A, knowledge.pixels_per_A, knowledge.origins_px,
        knowledge.convention.tiling,
    )  # fmt: skip
    species = np.searchsorted(joined.species, numbers)
    if np.any(joined.species[species.clip(max=len(joined.species) - 1)] != numbers):
        return False, False
    blurs = np.full(len(numbers), 0.02)
    rows, _ = support(
        cell.positions,
        species,
        joined.marks,
        frame.lens,
        joined.blanks(frame.scales),
        blurs,
        5.0,
        1,
    )
    bundle = adjusted(joined, frame, cell.positions, rows, frame.scales, frame.scales, free=False)
    near = np.linalg.norm(bundle.positions - cell.positions, axis=1).max() < NEAR
    fractional = bundle.positions @ np.linalg.inv(cell.lattice)
    number = int(labels(cell.lattice, fractional, numbers, (0.01,))[0])
    return bool(near), number > 0 and crystal_system(number) == crystal_system(
        int(cell.space_group)
    )


def rungs(asked: argparse.Namespace) -> int:
    """Print, rung by rung, whose sites and system come back; writes a record."""
    prepare_numba_cache()
    convention, rotations = named("C1"), load_protocol("frozen").rotations
    rows = []
    for cell in cells(asked):
        numbers = np.asarray(cell.numbers, np.int64)
        scene = convention.scene(cell.lattice, numbers, cell.positions)
        views = [convention.view(scene, rotation, asked.size) for rotation in rotations]
        pictures = [FastRenderer().draw(scene, view) for view in views]
        known = knowledge_of("K1", convention, rotations, asked.size, views, numbers, cell.lattice)
        row: dict[str, Any] = {"id": cell.id, "truth": int(cell.space_group)}
        seen = true_marks(scene, views, convention, 1)
        row["visible centres"] = rung_of_sites(cell, numbers, pictures, seen, known)
        # Where all discs are marked none is covered: to the reader the pictures are blank.
        every, blank = true_marks(scene, views, convention, 0), [p | 255 for p in pictures]
        row["all centres"] = rung_of_sites(cell, numbers, blank, every, known)
        found = detect(pictures, known)
        row["found centres, told which"] = rung_of_truth(
            cell, numbers, views, found, known, pictures
        )
        row["found centres, K1"] = rung_of_sites(cell, numbers, pictures, found, known)
        rows.append(row)
        if asked.verbose:
            print(json.dumps(row), flush=True)
    for name in [key for key in rows[0] if key not in ("id", "truth")]:
        lost = [row["id"] for row in rows if not all(row[name])]
        sites, system = (sum(row[name][k] for row in rows) for k in (0, 1))
        print(f"{name}: sites {sites}, system {system} of {len(rows)}; lost: {', '.join(lost)}")
    write_record(asked.name or "reader_rungs", {"size": asked.size}, {"rows": rows}, asked.records)
    return 0


def power(asked: argparse.Namespace) -> int:
    """Print how often the certificate sees one atom moved, by distance."""
    convention, rotations = named("C1"), load_protocol("frozen").rotations
    limits, rows = Limits(), []
    for cell in cells(asked):
        numbers = np.asarray(cell.numbers, np.int64)
        scene = convention.scene(cell.lattice, numbers, cell.positions)
        views = [convention.view(scene, rotation, asked.size) for rotation in rotations]
        pictures = [FastRenderer().draw(scene, view) for view in views]
        knowledge = Knowledge("K0", rotations, asked.size, convention)
        redrawing = Redrawing(pictures, knowledge, limits.levels)
        rng = np.random.default_rng(0)
        atom, way = rng.integers(len(numbers)), rng.normal(size=3)
        row: dict[str, Any] = {"id": cell.id}
        for distance in (0.0, 0.0005, 0.001, 0.002, 0.005, 0.02):
            moved = np.array(cell.positions)
            moved[atom] += distance * way / np.linalg.norm(way)
            row[f"{distance:g}"] = redrawing.draw(cell.lattice, numbers, moved).total
        rows.append(row)
    for name in [key for key in rows[0] if key != "id"]:
        some = [row[name] for row in rows]
        noticed = sum(count > limits.max_pixels for count in some)
        told = f"{noticed} of {len(rows)} noticed, median {np.median(some):g} px"
        print(f"one atom moved by {name} Å: {told}")
    write_record(asked.name or "reader_power", {"size": asked.size}, {"rows": rows}, asked.records)
    return 0
