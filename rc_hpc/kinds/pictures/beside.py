"""The folder of a package around its scenes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rc_hpc.benchmark.package import FILES
from rc_hpc.core.files import clean_leftovers
from rc_hpc.images.files import drawing_versions
from rc_hpc.kinds.common.pictures import PicturesBeside
from rc_hpc.store.attributes import package_versions
from rc_hpc.store.parts import PartStore


class PackageFolder(PicturesBeside):
    """Hooks of building a package."""

    kind, unit = "pictures", "scenes"

    @property
    def images(self) -> Path:
        """Where the pictures go."""
        return self.output.parent / "images"

    @property
    def folder(self) -> Path:
        """The whole package."""
        return self.output.parent

    def makes(self, name: str) -> bool:
        """What a package is made of, and what stands beside it while it is made."""
        return name in FILES or name.startswith(self.output.name)

    def clear(self, *, fresh: bool, shared: bool) -> None:
        """Remove pictures of earlier work where it is begun afresh, and what kills have left."""
        if fresh:
            for path in self.images.glob("scenes/s*/*.png"):
                path.unlink()
        if not shared:
            for folder in self.images.glob("scenes/s*"):
                clean_leftovers(folder)
                if fresh and not any(folder.iterdir()):
                    folder.rmdir()

    def attributes(self, store: PartStore) -> dict[str, Any]:
        """What made it; neither when nor on how many machines: equal work gives equal bytes."""
        return {
            "package_versions": package_versions() | drawing_versions(),
            "file_time": "not recorded",
            "host_count": 0,
        }
