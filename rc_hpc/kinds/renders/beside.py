"""The folder of pictures beside their manifest."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.files import clean_leftovers, disk_errors, parts_folder, read_regular
from rc_hpc.core.options import Options
from rc_hpc.core.vocabulary import Renderer
from rc_hpc.images.files import LARGEST_FILE, PICTURE_NAME, drawing_versions, picture_folder
from rc_hpc.images.view import SAME_DEPTH
from rc_hpc.kinds.common.beside import Beside
from rc_hpc.store import layout
from rc_hpc.store.attributes import package_versions
from rc_hpc.store.parts import PartStore, begun
from rc_hpc.store.reader import open_ours

log = logging.getLogger("rc_hpc")

#: The rule of the pictures, for their readers.
PAINT_ORDER = (
    f"by rising depth; where depths in rising order follow each other within {SAME_DEPTH} "
    "angstrom they are one depth, painted by index, discs (tile by tile, atoms in the order of "
    "the conventional cell) before dashes; ASE's renderer: numpy.argsort"
)


class PictureFolder(Beside):
    """Hooks of drawing."""

    @property
    def folder(self) -> Path:
        """Where the pictures go."""
        return picture_folder(self.output)

    def check(self, options: Options, *, replace: bool) -> None:
        """Refuse a manifest whose folder would have its name, or is not empty."""
        folder = self.folder
        if replace or begun(parts_folder(self.output)):
            return  # of work that has begun the run itself tells
        with disk_errors(folder):
            if folder.exists() and any(folder.iterdir()):
                raise UsageError(
                    f"{folder}, where the pictures go, is not empty: --overwrite replaces "
                    "pictures in it, -o names another manifest and folder"
                )

    def versions(self) -> dict[str, str]:
        """What pixels and PNG bytes depend on."""
        return drawing_versions()

    def begin(
        self, store: PartStore, parts: Sequence[str], *, fresh: bool, shared: bool
    ) -> set[str]:
        """Make the folder ready; the ids that are done but whose pictures are gone."""
        folder = self.folder
        with disk_errors(folder):
            folder.mkdir(exist_ok=True)
            if fresh:
                for path in folder.iterdir():
                    if PICTURE_NAME.fullmatch(path.name):
                        path.unlink()
            if not shared:
                clean_leftovers(folder)
        lost: set[str] = set()
        for part in parts:
            with store.open_part(part) as file:
                lost.update(file["structures/id"][_missing(file.__getitem__, folder)])
        if lost:
            log.warning(
                "%s: pictures of %d structures are missing and are drawn again", folder, len(lost)
            )
        return lost

    def still_there(self) -> None:
        """Check that no picture of a finished manifest is missing."""
        with open_ours(self.output, "renders") as h5:
            missing = _missing(lambda path: layout.read_rows(h5[path]), self.folder)
        if len(missing):
            raise RcError(
                f"{self.output} is finished, but pictures of {len(missing)} structures are "
                f"missing in {self.folder}: --overwrite draws them again"
            )

    def attributes(self, store: PartStore) -> dict[str, Any]:
        """Where the pictures are, and how they were painted."""
        return {
            "picture_folder": self.folder.name,
            "paint_order": PAINT_ORDER,
            "package_versions": package_versions() | drawing_versions(),
        }

    def problems(self) -> list[str]:
        """Pictures that differ from what a finished manifest says; every file is read."""
        problems = []
        with open_ours(self.output, "renders") as h5:
            names = layout.read_rows(h5["pictures/file"])
            digests = layout.read_rows(h5["pictures/sha256"])
        for name, digest in zip(names, digests, strict=True):
            path = self.folder / name
            try:
                data = read_regular(path, LARGEST_FILE)
            except OSError as error:
                problems.append(f"{path}: cannot be read ({error.strerror})")
                continue
            if hashlib.sha256(data).hexdigest() != digest:
                problems.append(f"{path}: changed: its SHA-256 is not the manifest's")
        return problems

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


def _missing(column: Callable[[str], np.ndarray], folder: Path) -> np.ndarray:
    """Rows of /structures of a manifest, or of a part of one, that lack a whole picture."""
    names, sizes = column("pictures/file"), column("pictures/bytes")
    there = [_size(folder / name) == size for name, size in zip(names, sizes, strict=True)]
    return np.unique(column("pictures/structure")[~np.array(there, bool)])


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
