"""How pictures are drawn: one structure to its PNG files and their rows in the manifest."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from rc_hpc.core.constants import SWEEP
from rc_hpc.core.errors import Status
from rc_hpc.core.files import write_whole
from rc_hpc.core.vocabulary import Renderer
from rc_hpc.images.build import crystal_scene
from rc_hpc.images.draw import Drawing, Picture, Style
from rc_hpc.images.fast import FastRenderer
from rc_hpc.images.files import picture_folder
from rc_hpc.kinds.common.costs import NOTHING_MS, Rows
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.common.statics import protocol_datasets, vocabulary
from rc_hpc.kinds.renders.options import RenderOptions
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.parallel.launch import launched_tasks

#: Predicted time of a picture and of each atom in it, ms on a core of 2024.
FAST_MS, ASE_MS = (12.0, 0.06), (200.0, 1.2)
#: Predicted time of a picture drawn fast, and by ASE, s.
FAST_S, ASE_S = 0.03, 0.6


def dims(_options: RenderOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return {"setting": len(SWEEP)}


def statics(options: RenderOptions) -> dict:
    """Datasets that belong to no structure."""
    return vocabulary() | protocol_datasets(protocol_of(options.protocol))


def pictures_of(options: RenderOptions) -> Callable[[PackedCell], list[Picture]]:
    """What draws one structure, in the order of the cameras, and writes nothing."""
    protocol = protocol_of(options.protocol)
    style = Style(options.size, Renderer[options.renderer], options.compare, options.name_seed)
    drawing = Drawing(protocol, style)

    def draw(cell: PackedCell) -> list[Picture]:
        scene = crystal_scene(
            cell.lattice, cell.numbers, cell.positions, protocol.tiling, options.radii_factor
        )
        return drawing.draw(cell.id, scene)

    return draw


def oracle(options: RenderOptions, given: Given) -> Compute:
    """What draws one structure, and writes its pictures."""
    draw = pictures_of(options)
    folder = picture_folder(given.output)

    def compute(cell):
        pictures = draw(cell)
        # By name: the times of the files must not tell the camera.
        for picture in sorted(pictures, key=lambda picture: picture.file):
            write_whole(folder / picture.file, picture.png, durable=False)
        fields = {"structures/n_drawn": len(pictures[0].scene.discs.numbers)}
        return fields, {"pictures": _entries(pictures, options), "discs": _discs(pictures)}

    return compute


def costs(options: RenderOptions, _shared, rows: Rows) -> np.ndarray:
    """Predicted time of each structure, (n,), ms."""
    drawn = rows("n_atoms").astype(float) * np.prod(options.protocol["tiling"])
    ways = [FAST_MS] * (options.renderer == "fast")
    ways += [ASE_MS] * (options.compare or options.renderer == "ase")
    each = sum(base + per_atom * drawn for base, per_atom in ways)
    return np.where(rows("status") == Status.ok, len(options.protocol["views"]) * each, NOTHING_MS)


def facts(options: RenderOptions) -> tuple[dict, float]:
    """What a dry run tells, and seconds for a structure."""
    each = len(options.protocol["views"])
    fast = options.renderer == "fast" and not options.compare
    return {"pictures of each": each}, each * (FAST_S if fast else ASE_S)


def warm(_options: RenderOptions) -> None:
    """Have matplotlib's font cache ready before the ranks need it.

    Under a launcher it lies where the kernels are cached, on the node's own disk, unless
    MPLCONFIGDIR says otherwise: many ranks would write the one in the home folder at once.
    """
    if launched_tasks() > 1:
        os.environ.setdefault("MPLCONFIGDIR", str(prepare_numba_cache().parent / "matplotlib"))
    FastRenderer()


def _entries(pictures: list[Picture], options: RenderOptions) -> dict:
    """Rows of the table of pictures."""
    n = len(pictures)
    return {
        "view": np.array([one.camera for one in pictures]),
        "file": np.array([one.file for one in pictures], object),
        "bytes": np.array([len(one.png) for one in pictures]),
        "sha256": np.array([one.sha256 for one in pictures], object),
        "pixels_sha256": np.array([one.pixels_sha256 for one in pictures], object),
        "convention": np.full(n, options.convention, object),
        "renderer": np.array([one.renderer for one in pictures]),
        "size": np.full(n, options.size),
        "tiling": np.tile(options.protocol["tiling"], (n, 1)),
        "radii_factor": np.full(n, options.radii_factor),
        "px_per_angstrom": np.array([one.view.px_per_angstrom for one in pictures]),
        "origin_u": np.array([one.view.origin[0] for one in pictures]),
        "origin_v": np.array([one.view.origin[1] for one in pictures]),
        "tied_pairs": np.array([one.tied_pairs for one in pictures]),
        "pixels_not_ase": np.array([one.pixels_not_ase for one in pictures]),
        "largest_not_ase": np.array([one.largest_not_ase for one in pictures]),
    }


def _discs(pictures: list[Picture]) -> dict:
    """Rows of the table of discs."""
    discs = pictures[0].scene.discs
    views, n = [one.view for one in pictures], len(discs.numbers)
    return {
        "view": np.repeat([one.camera for one in pictures], n),
        "number": np.tile(discs.numbers, len(views)),
        "site": np.tile(discs.site, len(views)),
        "u": np.concatenate([view.centres[:, 0] for view in views]),
        "v": np.concatenate([view.centres[:, 1] for view in views]),
        "radius": np.concatenate([view.radii for view in views]),
        "depth": np.concatenate([view.depth[:n] for view in views]),
    }
