"""The folder of pictures beside their manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.files import clean_leftovers
from rc_hpc.core.vocabulary import Renderer
from rc_hpc.images.files import PICTURE_NAME, drawing_versions, picture_folder
from rc_hpc.images.view import SAME_DEPTH
from rc_hpc.kinds.common.pictures import PicturesBeside
from rc_hpc.store import layout
from rc_hpc.store.attributes import package_versions
from rc_hpc.store.parts import PartStore
from rc_hpc.store.reader import open_ours

#: The rule of the pictures, for their readers.
PAINT_ORDER = (
    f"by rising depth; where depths in rising order follow each other within {SAME_DEPTH} "
    "angstrom they are one depth, painted by index, discs (tile by tile, atoms in the order of "
    "the conventional cell) before dashes; ASE's renderer: numpy.argsort"
)


class PictureFolder(PicturesBeside):
    """Hooks of drawing."""

    kind, unit = "renders", "structures"

    @property
    def images(self) -> Path:
        """Where the pictures go."""
        return picture_folder(self.output)

    def clear(self, *, fresh: bool, shared: bool) -> None:
        """Remove pictures of earlier work where it is begun afresh, and what kills have left."""
        if fresh:
            for path in self.images.iterdir():
                if PICTURE_NAME.fullmatch(path.name):
                    path.unlink()
        if not shared:
            clean_leftovers(self.images)

    def attributes(self, store: PartStore) -> dict[str, Any]:
        """Where the pictures are, and how they were painted."""
        return {
            "picture_folder": self.folder.name,
            "paint_order": PAINT_ORDER,
            "package_versions": package_versions() | drawing_versions(),
        }

    def account(self) -> str:
        """What a finished manifest says of its pictures, as a line or two."""
        with open_ours(self.output, "renders") as h5:
            sizes = h5["pictures/bytes"][()]
            by_ase = int(np.sum(layout.read_rows(h5["pictures/renderer"]) == Renderer.ase))
            differing = h5["pictures/pixels_not_ase"][()]
            largest = h5["pictures/largest_not_ase"][()]
            tied = h5.get("pictures/tied_not_ase")
            tied = None if tied is None else tied[()]
        text = (
            f"{self.folder}: {len(sizes)} pictures, {sizes.sum() / 1e6:.1f} MB, "
            f"{by_ase} of them drawn by ASE"
        )
        compared = differing >= 0
        if np.any(compared):
            apart = differing[differing > 0]
            text += (
                f"\nagainst ASE: {len(apart)} of {compared.sum()} pictures differ, "
                f"in {apart.sum()} pixels (at most {differing.max()} of a picture, "
                f"by {largest.max()} of 255)"
            )
            if tied is not None:
                text += f"; {tied[tied > 0].sum()} of these pixels are depth ties"
        return text
