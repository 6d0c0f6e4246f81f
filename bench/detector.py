"""How well discs are found in pictures: recall, precision and error by what of them is seen."""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path

import numpy as np

from bench.common import environment
from rc_hpc.core.errors import Status
from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.images.fast import FastRenderer
from rc_hpc.images.scene import DPI
from rc_hpc.kernels.painting import seen_pixels
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.reader.convention import named
from rc_hpc.reader.detector import detect
from rc_hpc.reader.records import Knowledge, NotReadError

#: Visible shares that part the classes of discs; those that are not seen at all are no class.
SHARES = (0.0, 0.05, 0.2, 0.5, 1.0)
#: A disc found within this of one drawn is that one, px.
NEAR = 0.5
#: Edge pixels from which on a disc counts as sure.
SURE = 20


def visible(scene, view) -> np.ndarray:
    """Visible share of every disc, by the pixels whose middles it holds."""
    segments = scene.segments
    seen, whole = seen_pixels(
        view.order,
        view.centres,
        view.radii + scene.discs.edge_widths * (DPI / 72 / 2),
        view.middles,
        view.halves,
        segments.widths * (DPI / 72 / 2),
        np.zeros((0, 4)),
        np.zeros(len(view.radii), bool),
        *view.size,
    )
    return seen / np.maximum(whole, 1)


def of_view(marks, scene, view) -> tuple[np.ndarray, np.ndarray]:
    """Drawn discs (visible share, whether found) and found ones (edge pixels, error px, share)."""
    share = visible(scene, view)
    far = np.linalg.norm(marks.centres_px[:, None] - view.centres, axis=2)
    far[marks.species[:, None] != scene.discs.numbers] = np.inf
    found = (far < NEAR).any(axis=0) if len(marks) else np.zeros(len(share), bool)
    error = far.min(axis=1) if len(marks) else np.empty(0)
    # Of discs behind each other the one that is seen is the one found.
    shown = np.where(far < NEAR, share, -1.0).max(axis=1) if len(marks) else np.empty(0)
    return np.column_stack((share, found)), np.column_stack((marks.arc_px, error, shown))


def measure(packed: Path, size: int, ids: set[str] | None, every: int, most: int) -> dict:
    """Draw, find, compare.

    Parameters
    ----------
    ids, every, most
        Which structures: of these ids each `every`-th, `most` of them.
    """
    convention, rotations = named("C1"), load_protocol("frozen").rotations
    drawn, found, seconds, scales, lost, scale_A = [], [], [], [], [], []
    with PackedReader(packed) as reader:
        usable = np.flatnonzero(reader.read("structures/status") == Status.ok)
        cells = [c for c in reader.cells(usable) if ids is None or c.id in ids][::every][:most]
    for number, cell in enumerate([*cells[:1], *cells]):  # the first twice: to compile
        scene = convention.scene(cell.lattice, cell.numbers, cell.positions)
        views = [convention.view(scene, rotation, size) for rotation in rotations]
        pictures = [FastRenderer().draw(scene, view) for view in views]
        started = time.process_time()
        try:
            marks = detect(pictures, Knowledge("K0", rotations, size, convention))
        except NotReadError as error:
            lost.append(f"{cell.id}: {error}")
            continue
        ended = time.process_time()
        if not number:
            continue
        seconds.append(ended - started)
        for one, view in zip(marks, views, strict=True):
            all_drawn, all_found = of_view(one, scene, view)
            drawn.append(all_drawn)
            found.append(all_found)
            scale_A.append(np.full(len(all_found), 1 / view.px_per_angstrom))
            off = one.scale_px_per_A / view.px_per_angstrom - 1
            scales.append((abs(off), abs(off) * view.px_per_angstrom / one.scale_sigma))
    return {
        "size": size,
        "structures": len(seconds),
        "lost": lost,
        **summed(np.concatenate(drawn), np.concatenate(found), np.concatenate(scale_A)),
        "scale_error": [float(x) for x in np.percentile([s for s, _ in scales], (50, 99, 100))],
        "scale_error_sigmas": [float(x) for x in np.percentile([z for _, z in scales], (50, 99))],
        "cpu_s": [float(np.median(seconds)), float(np.max(seconds))],
    }


def summed(drawn: np.ndarray, found: np.ndarray, px_A: np.ndarray) -> dict:
    """Shares and percentiles of all discs."""
    share, was = drawn[:, 0], drawn[:, 1] > 0
    edge, error, shown = found.T
    right = error < NEAR
    sure = edge >= SURE
    classes = []
    for low, high in itertools.pairwise(SHARES):
        own = (share > low) & (share <= high)
        mine = right & (shown > low) & (shown <= high)
        told = np.percentile(error[mine], (50, 90, 99)) if mine.any() else [np.nan] * 3
        classes.append(
            {
                "visible": [low, high],
                "drawn": int(own.sum()),
                "recall": float(was[own].mean()) if own.any() else None,
                "error_px": [float(x) for x in told],
            }
        )
    return {
        "discs": len(share),
        "hidden": float(np.mean(share == 0)),
        "recall_any": float(was[share > 0].mean()),
        "recall_20": float(was[share >= 0.2].mean()),
        "precision": float(right.mean()),
        "precision_sure": float(right[sure].mean()),
        "error_px": [float(x) for x in np.percentile(error[right], (50, 99, 100))],
        "error_px_sure": [float(x) for x in np.percentile(error[right & sure], (50, 99, 100))],
        "error_A": [float(x) for x in np.percentile((error * px_A)[right], (50, 99))],
        "classes": classes,
    }


def run(asked: argparse.Namespace) -> int:
    """Measure and print the table; the record has all of it."""
    prepare_numba_cache()
    ids = set(asked.ids.read_text(encoding="utf-8").split()) if asked.ids else None
    rows = [measure(asked.packed, size, ids, asked.every, asked.most) for size in asked.sizes]
    record = {"name": "reader_detector", **environment(), "rows": rows}
    asked.records.mkdir(parents=True, exist_ok=True)
    path = asked.records / "reader_detector.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(
        "| px | recall, any visible pixel | >= 20 % visible | precision | arcs of >= 20 px | "
        "error px 50 / 99 % | Å 50 / 99 % | scale 50 / max | CPU s a structure |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['size']} | {row['recall_any']:.3f} | {row['recall_20']:.3f} | "
            f"{row['precision']:.3f} | {row['precision_sure']:.4f} | "
            f"{row['error_px'][0]:.4f} / {row['error_px'][1]:.4f} | "
            f"{row['error_A'][0]:.6f} / {row['error_A'][1]:.6f} | "
            f"{row['scale_error'][0]:.1e} / {row['scale_error'][2]:.1e} | {row['cpu_s'][0]:.2f} |"
        )
        for one in row["classes"]:
            low, high = one["visible"]
            recall = "" if one["recall"] is None else f"{one['recall']:.3f}"
            print(
                f"  {100 * low:.0f} to {100 * high:.0f} % visible: {one['drawn']} discs, recall "
                f"{recall}, error px {' / '.join(f'{x:.4f}' for x in one['error_px'])}"
            )
        print(*row["lost"], sep="\n")
    return 0
