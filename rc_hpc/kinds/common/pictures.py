"""A folder of pictures beside the file that tells of them."""

from __future__ import annotations

import hashlib
import logging
from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.files import disk_errors, parts_folder, read_regular
from rc_hpc.core.options import Options
from rc_hpc.images.files import LARGEST_FILE, drawing_versions
from rc_hpc.kinds.common.beside import Beside
from rc_hpc.store import layout
from rc_hpc.store.part_file import Part
from rc_hpc.store.parts import PartStore, begun
from rc_hpc.store.reader import open_ours

log = logging.getLogger("rc_hpc")


class PicturesBeside(Beside):
    """Hooks of drawing.

    Attributes
    ----------
    kind, unit
        Of the file, and what its rows are.
    """

    kind: str
    unit: str

    @property
    @abstractmethod
    def images(self) -> Path:
        """Folder from which the names of pictures start."""

    @property
    def folder(self) -> Path:
        """What must be empty before the work begins."""
        return self.images

    def makes(self, name: str) -> bool:
        """Whether what has this name may lie in the folder: anything, where it is let alone."""
        return True

    @abstractmethod
    def clear(self, *, fresh: bool, shared: bool) -> None:
        """Remove pictures of earlier work where it is begun afresh, and what kills have left."""

    def check(self, options: Options, *, replace: bool) -> None:
        """Refuse a folder that holds something else."""
        folder = self.folder
        with disk_errors(folder):
            held = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
        if held and not replace and not begun(parts_folder(self.output)):
            raise UsageError(
                f"{folder}, where the pictures go, is not empty: --overwrite replaces what "
                "was drawn there, -o names another place"
            )
        others = [name for name in held if not name.startswith(".") and not self.makes(name)]
        if others:
            raise UsageError(
                f"{folder}, where the pictures go, holds {others[0]!r}, which no such work makes, "
                "so that nothing there is replaced: -o names another place"
            )

    def versions(self) -> dict[str, str]:
        """What pixels and PNG bytes depend on."""
        return drawing_versions()

    def begin(
        self, store: PartStore, parts: Sequence[Part], *, fresh: bool, shared: bool
    ) -> set[int]:
        """Make the folder ready; the rows that are done but whose pictures are gone."""
        with disk_errors(self.images):
            self.images.mkdir(parents=True, exist_ok=True)
            self.clear(fresh=fresh, shared=shared)
        lost: set[int] = set()
        for part in parts:
            with store.open_part(part) as file:
                lost.update(file.rows[_missing(file.__getitem__, self.images)].tolist())
        if lost:
            log.warning(
                "%s: pictures of %d %s are missing and are drawn again",
                *(self.images, len(lost), self.unit),
            )
        return lost

    def still_there(self) -> None:
        """Check that no picture of a finished file is missing."""
        with open_ours(self.output, self.kind) as h5:
            missing = _missing(lambda path: layout.read_rows(h5[path]), self.images)
        if len(missing):
            raise RcError(
                f"{self.output} is finished, but pictures of {len(missing)} {self.unit} are "
                f"missing in {self.images}: --overwrite draws them again"
            )

    def problems(self) -> list[str]:
        """Pictures that differ from what a finished file says; every one is read."""
        problems = []
        with open_ours(self.output, self.kind) as h5:
            names = layout.read_rows(h5["pictures/file"])
            digests = layout.read_rows(h5["pictures/sha256"])
        for name, digest in zip(names, digests, strict=True):
            path = self.images / name
            try:
                data = read_regular(path, LARGEST_FILE)
            except OSError as error:
                problems.append(f"{path}: cannot be read ({error.strerror})")
                continue
            if hashlib.sha256(data).hexdigest() != digest:
                problems.append(f"{path}: changed: its SHA-256 is not that of {self.output.name}")
        return problems


def _missing(column: Callable[[str], np.ndarray], folder: Path) -> np.ndarray:
    """Rows of /structures of a file, or of a part of one, that lack a whole picture."""
    names, sizes = column("pictures/file"), column("pictures/bytes")
    there = [_size(folder / name) == size for name, size in zip(names, sizes, strict=True)]
    return np.unique(column("pictures/structure")[~np.array(there, bool)])


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
