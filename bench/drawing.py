"""How fast scenes of the benchmark are drawn, beside ASE's drawing of the same discs and edges.

    python -m bench.drawing [--pictures N]
    python -m bench.drawing --rendered PACKED [--pictures N]    what `render` takes, by step

One process; CPU time, so that a busy machine does not matter much. Where depths tie, ASE's order
follows the rounding of its sort and ours a rule: bodies are compared in both orders, and each with
itself drawn of the same atoms listed backwards.
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections import Counter
from dataclasses import fields, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
from ase import Atoms
from ase.io.utils import PlottingVariables

from rc_hpc.benchmark.catalogue import catalogue_structures
from rc_hpc.benchmark.display import display
from rc_hpc.benchmark.drawing import ScenePainter
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.images.build import crystal_scene, dashed_edges
from rc_hpc.images.fast import FastRenderer
from rc_hpc.images.files import encode_png
from rc_hpc.images.reference import AseRenderer
from rc_hpc.images.scene import NO_SEGMENTS, NO_TEXTS, Discs, Scene
from rc_hpc.images.ties import tied_pairs
from rc_hpc.images.view import View, project
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.kinds.renders.options import RenderOptions


def in_ases_order(scene: Scene, view: View) -> View:
    """The same view, but painted in ASE's order: its depths, and numpy's argsort."""
    atoms = Atoms(scene.discs.numbers, positions=scene.discs.positions, cell=scene.cell)
    shown = 0 if scene.cell is None else 2
    ase = PlottingVariables(
        atoms,
        rotation=view.rotation,
        scale=1,
        radii=scene.discs.radii,
        bbox=view.window,
        show_unit_cell=shown,
    )
    hidden = np.zeros(len(view.depth), bool)
    hidden[len(atoms) :] = scene.segments.hidden
    order = ase.positions[:, 2].argsort()
    return replace(view, order=order[~hidden[order]])


def differing(first: np.ndarray, second: np.ndarray) -> int:
    """Pixels that two pictures do not have in common."""
    return int((first != second).any(axis=2).sum())


def listed_backwards(scene: Scene) -> Scene:
    """The same atoms in the reverse order."""
    turned = (getattr(scene.discs, one.name)[::-1] for one in fields(scene.discs))
    return replace(scene, discs=Discs(*turned))


def rendered(packed: Path, count: int) -> dict[str, float]:
    """CPU seconds a picture of each step of `render`, for structures spread over a packed file."""
    options = RenderOptions.of()
    protocol, spent = protocol_of(options.protocol), Counter[str]()
    fast, views = FastRenderer(), len(protocol.views)

    def timed(name, work, *given):
        start = time.process_time()
        made = work(*given)
        spent[name] += time.process_time() - start
        return made

    def compressed(pixels):
        rows = np.zeros((len(pixels), 1 + pixels[0].size), np.uint8)
        rows[:, 1:] = pixels.reshape(len(pixels), -1)
        timed("zlib alone", zlib.compress, rows.data, 1)

    with PackedReader(packed) as reader:
        chosen = np.linspace(0, len(reader) - 1, -(-count // views)).astype(int)
        for k, cell in enumerate(reader.cells([chosen[0], *chosen])):
            if k == 1:
                spent.clear()  # fonts and caches
            given = cell.lattice, cell.numbers, cell.positions
            scene = timed("scene", crystal_scene, *given, protocol.tiling, options.radii_factor)
            for rotation in protocol.rotations:
                view = timed("projection", project, scene, rotation, options.size)
                pixels = timed("painting", fast.draw, scene, view)
                timed("ties", tied_pairs, scene, view)
                png = timed("PNG", encode_png, pixels)
                timed("hashes", lambda: [sha256(png), sha256(pixels.data)])  # noqa: B023
                compressed(pixels)
    return {name: seconds / len(chosen) / views for name, seconds in spent.items()}


def show_rendered(packed: Path, count: int) -> None:
    """Print what `rendered` finds."""
    spent = rendered(packed, count)
    alone = spent.pop("zlib alone")
    for name, seconds in spent.items():
        print(f"{name:<12} {1000 * seconds:6.2f} ms")
    print(f"of the PNG zlib alone {1000 * alone:.2f} ms")
    print(f"{1 / sum(spent.values()):.0f} pictures a second")


def main() -> None:
    """Draw, compare, and print times a picture."""
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--pictures", type=int, default=200)
    asked.add_argument("--rendered", type=Path, help="a packed file")
    given = asked.parse_args()
    count = given.pictures
    if given.rendered:
        show_rendered(given.rendered, count)
        return
    settings = DisplaySettings(supercells=1)
    painter, fast, ase = ScenePainter(settings), FastRenderer(), AseRenderer()
    spent = dict.fromkeys(("ours, body", "ASE, body", "ours, whole picture", "PNG"), 0.0)
    drawn, same_order, by_rule, pixels_by_rule, by_listing = 0, 0, 0, 0, 0
    ours_by_listing = 0

    def timed(name, work, *given):
        start = time.process_time()
        made = work(*given)
        spent[name] += time.process_time() - start
        return made

    bases = catalogue_structures(settings)
    while drawn < count:
        base = bases[drawn // 4 % len(bases)]
        scenes = display(base, settings)
        for turn, scene in enumerate((scenes[0], scenes[1], scenes[-2], scenes[-1])):
            camera = (drawn // 4 * 3 + turn) % len(scene.cameras)
            whole, view = painter.body(scene, camera)
            edges = NO_SEGMENTS if whole.cell is None else dashed_edges(whole.cell, whole.discs)
            body = replace(whole, segments=edges, texts=NO_TEXTS)
            seen = project(body, view.rotation, view.size, view.window)
            if not drawn:  # fonts and caches
                fast.draw(body, seen), ase.draw(body, seen)
                painter.draw(scene, scene.cameras[camera].id)
            mine = timed("ours, body", fast.draw, body, seen)
            its = timed("ASE, body", ase.draw, body, seen)
            name = scene.cameras[camera].id
            pixels, _ = timed("ours, whole picture", painter.draw, scene, name)
            timed("PNG", encode_png, pixels)
            same_order += bool(differing(fast.draw(body, in_ases_order(body, seen)), its))
            pixels_by_rule += (apart := differing(mine, its))
            by_rule += bool(apart)
            turned = listed_backwards(body)
            other = project(turned, view.rotation, view.size, view.window)
            by_listing += bool(differing(its, ase.draw(turned, other)))
            ours_by_listing += bool(differing(mine, fast.draw(turned, other)))
            drawn += 1
            if drawn == count:
                break
    print(f"{drawn} pictures of 512 px; {same_order} bodies differ from ASE's in its own order")
    print(f"ties by our rule: {by_rule} differ, in {pixels_by_rule} pixels of all")
    print(f"atoms listed backwards: {by_listing} of ASE's own differ, {ours_by_listing} of ours")
    for name, seconds in spent.items():
        print(f"{name:<20} {1000 * seconds / drawn:7.2f} ms")
    print(f"ASE / ours, body     {spent['ASE, body'] / spent['ours, body']:7.1f}")


if __name__ == "__main__":
    main()
