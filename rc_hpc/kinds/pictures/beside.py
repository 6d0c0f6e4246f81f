"""The folder of a package around its scenes."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.files import clean_leftovers, disk_errors, parts_folder
from rc_hpc.core.options import Options
from rc_hpc.images.files import drawing_versions
from rc_hpc.kinds.common.beside import Beside
from rc_hpc.store import layout
from rc_hpc.store.attributes import package_versions
from rc_hpc.store.parts import PartStore, begun
from rc_hpc.store.reader import open_ours

log = logging.getLogger("rc_hpc")


class PackageFolder(Beside):
    """Hooks of building a package."""

    @property
    def images(self) -> Path:
        """Where the pictures go."""
        return self.output.parent / "images"

    def check(self, options: Options, *, replace: bool) -> None:
        """Refuse a folder that holds something else."""
        folder = self.output.parent
        if replace or begun(parts_folder(self.output)):
            return  # of work that has begun the run itself tells
        with disk_errors(folder):
            if folder.exists() and any(folder.iterdir()):
                raise UsageError(
                    f"{folder} is not empty: --overwrite replaces a package in it, -o names "
                    "another folder"
                )

    def versions(self) -> dict[str, str]:
        """What pixels and PNG bytes depend on."""
        return drawing_versions()

    def begin(
        self, store: PartStore, parts: Sequence[str], *, fresh: bool, shared: bool
    ) -> set[str]:
        """Make the folder ready; the ids that are done but whose pictures are gone."""
        with disk_errors(self.images):
            self.images.mkdir(parents=True, exist_ok=True)
            if fresh:
                for path in self.images.glob("scenes/s*/*.png"):
                    path.unlink()
            if not shared:
                for folder in self.images.glob("scenes/s*"):
                    clean_leftovers(folder)
                    if fresh and not any(folder.iterdir()):
                        folder.rmdir()
        lost: set[str] = set()
        for part in parts:
            with store.open_part(part) as file:
                lost.update(file["structures/id"][_missing(file.__getitem__, self.images)])
        if lost:
            log.warning(
                "%s: pictures of %d scenes are missing and are drawn again", self.images, len(lost)
            )
        return lost

    def still_there(self) -> None:
        """Check that no picture of a finished package is missing."""
        with open_ours(self.output, "pictures") as h5:
            missing = _missing(lambda path: layout.read_rows(h5[path]), self.images)
        if len(missing):
            raise RcError(
                f"{self.output} is finished, but pictures of {len(missing)} scenes are missing in "
                f"{self.images}: --overwrite draws them again"
            )

    def attributes(self, store: PartStore) -> dict[str, Any]:
        """What made it; neither when nor on how many machines: equal work gives equal bytes."""
        return {
            "package_versions": package_versions() | drawing_versions(),
            "file_time": "not recorded",
            "host_count": 0,
        }

    def problems(self) -> list[str]:
        """Pictures that differ from what the file says; every one is read."""
        problems = []
        with open_ours(self.output, "pictures") as h5:
            names = layout.read_rows(h5["pictures/file"])
            digests = layout.read_rows(h5["pictures/sha256"])
        for name, digest in zip(names, digests, strict=True):
            path = self.images / name
            try:
                data = path.read_bytes()
            except OSError as error:
                problems.append(f"{path}: cannot be read ({error.strerror})")
                continue
            if hashlib.sha256(data).hexdigest() != digest:
                problems.append(f"{path}: changed: its SHA-256 is not that of {self.output.name}")
        return problems


def _missing(column: Callable[[str], np.ndarray], images: Path) -> np.ndarray:
    """Rows of /structures that lack a whole picture."""
    names, sizes = column("pictures/file"), column("pictures/bytes")
    there = [_size(images / name) == size for name, size in zip(names, sizes, strict=True)]
    return np.unique(column("pictures/structure")[~np.array(there, bool)])


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
