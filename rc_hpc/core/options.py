"""Options that results depend on: frozen, hashable, written into every file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

from rc_hpc.core import constants
from rc_hpc.core.errors import UsageError


class Options:
    def to_dict(self) -> dict:
        """Plain JSON values."""
        return asdict(self)

    def to_json(self) -> str:
        """Canonical JSON text."""
        return json.dumps(self.to_dict(), sort_keys=True)

    def digest(self) -> str:
        """Hash of all options."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


def positive(name: str, value: float):
    if not 0 < value < float("inf"):
        raise UsageError(f"{name} must be a positive length in Å, not {value}")


def tolerance(name: str, value: float):
    positive(name, value)
    if value < constants.NUMERICAL_ZERO:
        raise UsageError(
            f"{name} {value} Å is below numerical zero: take {constants.NUMERICAL_ZERO} Å or more"
        )


def known_name(name: str, value: str, known: tuple[str, ...]):
    if value not in known:
        raise UsageError(f"--{name} {value!r}: one of {', '.join(known)}")
