"""One scene to its pictures."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rc_hpc.benchmark.drawing import ScenePainter
from rc_hpc.benchmark.records import BaseStructure, DisplayedScene
from rc_hpc.benchmark.scene_file import tables_of
from rc_hpc.core.files import write_whole
from rc_hpc.images.files import encode_png
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.pictures.options import BuildOptions

#: Columns of text.
_TEXTS = ("view", "file", "sha256", "pixels_sha256")


class Shown(NamedTuple):
    """A scene of which questions are asked.

    Attributes
    ----------
    base
        Its base structure.
    scene
    views
        Ids of the views that are drawn.
    """

    base: BaseStructure
    scene: DisplayedScene
    views: tuple[str, ...]


def oracle(options: BuildOptions, given: Given) -> Compute:
    """What draws one scene, and writes its pictures."""
    assert given.output is not None, "pictures lie beside an output"
    painter = ScenePainter(options.scenes.display)
    images = given.output.parent / "images"

    def compute(shown: Shown) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        rows = [_picture(painter, images, shown.scene, view) for view in shown.views]
        pictures = {
            name: np.array([row[name] for row in rows], object if name in _TEXTS else None)
            for name in rows[0]
        }
        tables = tables_of(shown.base, [shown.scene])
        return {}, {**tables, "pictures": pictures}

    return compute


def _picture(
    painter: ScenePainter, images: Path, scene: DisplayedScene, view: str
) -> dict[str, Any]:
    pixels, place = painter.draw(scene, view)
    png = encode_png(pixels)
    file = f"scenes/{scene.id}/{view}.png"
    (images / file).parent.mkdir(parents=True, exist_ok=True)
    write_whole(images / file, png, durable=False)
    return {
        "view": view,
        "file": file,
        "bytes": len(png),
        "sha256": hashlib.sha256(png).hexdigest(),
        "pixels_sha256": hashlib.sha256(pixels.tobytes()).hexdigest(),
        "origin_u": place.origin[0],
        "origin_v": place.origin[1],
    }
