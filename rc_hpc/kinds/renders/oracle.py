"""One structure to its PNG files, and to their rows in the manifest."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.core.files import write_whole
from rc_hpc.core.vocabulary import Renderer
from rc_hpc.images.build import crystal_scene
from rc_hpc.images.draw import Drawing, Picture, Style
from rc_hpc.images.files import picture_folder
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.renders.options import RenderOptions

if TYPE_CHECKING:
    from rc_hpc.oracle.cell import PackedCell


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
    assert given.output is not None, "pictures lie beside an output"
    draw, folder = pictures_of(options), picture_folder(given.output)

    def compute(cell: PackedCell) -> tuple[dict[str, Any], dict[str, Any]]:
        pictures = draw(cell)
        # By name: the times of the files must not tell the camera.
        for picture in sorted(pictures, key=lambda picture: picture.file):
            write_whole(folder / picture.file, picture.png, durable=False)
        fields = {"structures/n_drawn": len(pictures[0].scene.discs.numbers)}
        return fields, {"pictures": _entries(pictures, options), "discs": _discs(pictures)}

    return compute


def _entries(pictures: list[Picture], options: RenderOptions) -> dict[str, Any]:
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
        "tied_not_ase": np.array([one.tied_not_ase for one in pictures]),
    }


def _discs(pictures: list[Picture]) -> dict[str, Any]:
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
