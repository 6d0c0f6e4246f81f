"""The solver's version, on record."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from rc_hpc.kinds.common.beside import Beside


class Versions(Beside):
    """Nothing is written beside the file."""

    def versions(self) -> dict[str, str]:
        """That of python-sat."""
        try:
            return {"python-sat": version("python-sat")}
        except PackageNotFoundError:
            return {}
