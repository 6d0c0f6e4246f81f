"""The released study's rung R2 and its detector, repeated, beside the record and our reader."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from bench.common import shared_folder, write_record
from bench.reader_cells import cells, right, whole
from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.images.fast import FastRenderer
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.reader.blobs import blobs
from rc_hpc.reader.convention import named
from rc_hpc.reader.records import SYMPRECS
from rc_hpc.reader.released import (
    Told,
    anchored,
    labelled,
    read_blobs,
    registration,
    triangulated,
)
from rc_hpc.symmetry.labels import crystal_system

#: Pixels within which a detection is a disc's, at least; its radius where that is larger.
NEAR_PX = 3.0
#: Shares of the atoms that are seen in a view, in the dropout curve.
RECALLS = (0.5, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 1.0)
#: Variants of the experiment: whether elements are told, and what is triangulated.
VARIANTS = {
    "released": (False, False),
    "released-oracle-species": (True, False),
    "on perfect detections": (True, True),
}


def told_of(cell, scene, views, rotations, convention, oracle_species: bool) -> Told:
    """What the experiment takes from the truth."""
    numbers = np.asarray(cell.numbers, np.int64)
    return Told(
        rotations, convention, cell.lattice, numbers,
        np.array([(cell.positions @ rotation)[:, :2] for rotation in rotations]),
        np.array([view.centres for view in views]), oracle_species,
    )  # fmt: skip


def is_right(number: int, cell) -> bool:
    """Whether a space group has the crystal system of the cell's label."""
    return number > 0 and crystal_system(number) == crystal_system(int(cell.space_group))


def matched(found_px: np.ndarray, centres: np.ndarray, radii: np.ndarray) -> list[float]:
    """Distances, px, of the detections that true centres take in turn, each the nearest left."""
    free, apart = np.ones(len(found_px), bool), []
    for centre, radius in zip(centres, radii, strict=True):
        if not free.any():
            break
        away = np.where(free, np.hypot(*(found_px - centre).T), np.inf)
        if away.min() <= max(NEAR_PX, radius):
            free[away.argmin()] = False
            apart.append(float(away.min()))
    return apart


def experiment(cell, convention, rotations, size: int) -> tuple[dict[str, Any], list[dict]]:
    """One structure through all variants; and the detections of each of its views."""
    numbers = np.asarray(cell.numbers, np.int64)
    scene = convention.scene(cell.lattice, numbers, cell.positions)
    views = [convention.view(scene, rotation, size) for rotation in rotations]
    blobs_ = [blobs(FastRenderer().draw(scene, view)) for view in views]
    row: dict[str, Any] = {"id": cell.id, "atoms": len(numbers), "truth": int(cell.space_group)}
    for name, (oracle_species, perfect) in VARIANTS.items():
        told = told_of(cell, scene, views, rotations, convention, oracle_species)
        if perfect:
            n, every = len(numbers), told.centres_px
            places = [
                registration(centres[:n], known)(centres)
                for centres, known in zip(every, told.places_A, strict=True)
            ]
            found = triangulated(anchored(rotations), places, [scene.discs.numbers] * len(views))
            fractional = np.mod(found[1] @ np.linalg.inv(cell.lattice), 1.0)
            number = int(labelled(cell.lattice, found[0], fractional, SYMPRECS[:1])[0])
            row[name] = [len(found[0]), number, is_right(number, cell)]
        else:
            reading = read_blobs(blobs_, told, SYMPRECS[:1])[1]
            number = int(reading.numbers[0])
            row[name] = [len(reading.species), number, is_right(number, cell)]
    # Pixels' indices, of which the middle is half a pixel on, against edges from 0: as recorded.
    seen = []
    for one, view in zip(blobs_, views, strict=True):
        found_px = one.centres_px
        apart, exact = (matched(found_px + h, view.centres, view.radii) for h in (0.0, 0.5))
        seen.append(
            {
                "found": len(found_px),
                "true": len(view.centres),
                "apart": apart,
                "exact": exact,
                "px_per_A": view.px_per_angstrom,
            }
        )
    return row, seen


def dropout(cell, rotations, recall: float, rng: np.random.Generator) -> bool:
    """Whether the study's oracle has the system where each view shows this share of the atoms."""
    numbers = np.asarray(cell.numbers, np.int64)
    places, species = [], []
    for rotation in rotations:
        kept = rng.random(len(numbers)) < recall
        places.append((cell.positions @ rotation)[kept, :2])
        species.append(numbers[kept])
    found, points = triangulated(anchored(rotations), places, species)
    fractional = points @ np.linalg.inv(cell.lattice)
    return is_right(int(labelled(cell.lattice, found, fractional, SYMPRECS[:1])[0]), cell)


def totals(rows: list[dict], name: str) -> dict[str, Any]:
    """Counts of one variant, as the record has them."""
    points = np.array([row[name][0] for row in rows])
    atoms = np.array([row["atoms"] for row in rows])
    right_ = np.array([row[name][2] for row in rows])
    return {
        "k": int(right_.sum()),
        "n": len(rows),
        "zero_recovery": int(np.sum(points == 0)),
        "over_triangulation": int(np.sum(points > atoms)),
        "count_match": int(np.sum(points == atoms)),
        "median_recovered_over_true": float(np.median(points / atoms)),
        "right_with_all_points": int(np.sum(right_ & (points == atoms))),
        "right_with_one_point": int(np.sum(right_ & (points == 1))),
    }


def detected(seen: list[list[dict]]) -> dict[str, Any]:
    """What the detector finds, as the record has it; `true_px`: with the half pixel put right."""
    every = [view for views in seen for view in views]
    apart, exact = (np.concatenate([view[name] for view in every]) for name in ("apart", "exact"))
    length = np.concatenate([np.array(view["apart"]) / view["px_per_A"] for view in every])
    precision, recall = (
        np.array([[len(view["apart"]) / max(1, view[name]) for view in views] for views in seen])
        for name in ("found", "true")
    )
    return {
        "n_view_measurements": len(every),
        "matches": len(apart),
        "precision": float(np.median(precision)),
        "recall": float(np.median(recall)),
        "precision_by_view": np.median(precision, axis=0).round(4).tolist(),
        "recall_by_view": np.median(recall, axis=0).round(4).tolist(),
        "centroid_px": _spread(apart),
        "centroid_px_half_pixel_right": _spread(exact),
        "centroid_A_median": float(np.median(length)),
        "within_0_005_A": int(np.sum(length <= 0.005)),
    }


def _spread(values: np.ndarray) -> dict[str, float]:
    p95 = float(np.percentile(values, 95))
    return {
        "median": float(np.median(values)),
        "mean": float(values.mean()),
        "p95": p95,
        "max": float(values.max()),
    }


def run(asked: argparse.Namespace) -> int:
    """Repeat the experiment, write a record, print it beside the recorded values."""
    prepare_numba_cache()
    convention, rotations = named("C1"), load_protocol("frozen").rotations
    chosen, rows, seen = cells(asked), [], []
    for cell in chosen:
        row, found = experiment(cell, convention, rotations, asked.size)
        rows.append(row)
        seen.append(found)
    curve: dict[str, list[float]] = {}
    for recall in RECALLS:
        curve[f"{recall:g}"] = []
        for seed in range(asked.seeds):
            rng = np.random.default_rng(seed)
            told = sum(dropout(cell, rotations, recall, rng) for cell in chosen)
            curve[f"{recall:g}"].append(round(told / len(chosen), 4))
    results = {
        "R2": {name: totals(rows, name) for name in VARIANTS},
        "detector": detected(seen),
        "dropout": curve,
        "rows": rows,
    }
    write_record(
        asked.name or "released", {"size": asked.size, "seeds": asked.seeds}, results, asked.records
    )
    print("\n".join(table(results, recorded(), asked.records)))
    return 0


def recorded() -> dict[str, Any]:
    """Recorded values, where the released data lie; else empty."""
    shared = shared_folder()
    if shared is None:
        return {}
    text = (shared / "expected" / "geometry.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)["detector"]
    return found


def table(results: dict, record: dict, records: Path) -> list[str]:
    """Rows of Markdown: statement, recorded, repeated, and what our reader gives."""
    ours = _ours(records)
    old = {
        "released": record.get("R2", {}).get("original", {}),
        "on perfect detections": record.get("R2_released_harness_on_perfect_detections_e3", {}),
    }
    if fixed := record.get("species_fixed_rerun_paper_only"):
        old["released-oracle-species"] = {
            "k": round(fixed["R2"][0] * 210),
            "over_triangulation": fixed["over"][0],
        }
    names = {
        "correct": "k",
        "over": "over_triangulation",
        "median_ratio": "median_recovered_over_true",
    }
    lines = ["| | recorded | repeated | our reader, K0 |", "|---|---|---|---|"]
    for name, found in results["R2"].items():
        was = {names.get(key, key): value for key, value in old.get(name, {}).items()}
        for key, value in found.items():
            if key != "n":
                own = ours.get(key, "") if name == "released" else ""
                lines.append(f"| {name}: {key} | {was.get(key, '')} | {value:.4g} | {own} |")
    full, found = record.get("full210", {}), results["detector"]
    was = {
        "n_view_measurements": full.get("n_view_measurements"),
        "matches": full.get("centroid_px", {}).get("n"),
        "precision": full.get("precision", {}).get("median"),
        "recall": full.get("recall", {}).get("median"),
        "centroid_px": full.get("centroid_px"),
        "centroid_A_median": full.get("centroid_angstrom", {}).get("median"),
    }
    for key, value in found.items():
        lines.append(f"| detector: {key} | {_told(was.get(key))} | {_told(value)} | |")
    measured = record.get("dropout_measured_two_seeds", {}).get("e3", {})
    for recall, shares in results["dropout"].items():
        lines.append(f"| recall {recall} | {_told(measured.get(recall))} | {_told(shares)} | |")
    return lines


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_told(one)}" for name, one in value.items() if name != "n")
    if isinstance(value, list):
        return ", ".join(map(_told, value))
    return "" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)


def _ours(records: Path) -> dict[str, str]:
    """The same counts of our reader's record at K0."""
    path = records / "reader_read_K0_768.json"
    if not path.is_file():
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    read = np.array([row["sites"] - row["missing"] + row["extra"] for row in rows])
    sites = np.array([row["sites"] for row in rows])
    found = sum(map(right, rows))
    return {
        "k": f"{found} of {len(rows)}",
        "zero_recovery": str(int(np.sum(read == 0))),
        "over_triangulation": str(int(np.sum(read > sites))),
        "count_match": str(int(np.sum(read == sites))),
        "right_with_all_points": str(sum(right(row) and whole(row) for row in rows)),
        "median_recovered_over_true": f"{np.median(read / sites):.4g}",
    }
