"""What readings depend on beside the packages of every result."""

from __future__ import annotations

from rc_hpc.images.files import drawing_versions
from rc_hpc.kinds.common.beside import Beside


class Versions(Beside):
    """Hooks of reading."""

    def versions(self) -> dict[str, str]:
        """What draws: radii are calibrated on it, and readings are drawn by it."""
        return drawing_versions()
