"""The files of one run, named after the file of answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Outputs:
    """Where everything goes.

    Attributes
    ----------
    path
        File of answers.
    """

    path: Path

    @property
    def journal(self) -> Path:
        """Every reply as it came."""
        return self.path.with_name(f"{self.path.stem}.journal.jsonl")

    @property
    def emitted(self) -> Path:
        """Atoms of the extraction arm."""
        return self.path.with_name(f"{self.path.stem}.emitted.json")

    def prediction(self, arm: str) -> Path:
        """Prediction file of an arm."""
        return self.path.with_name(f"{self.path.stem}.predictions") / f"{arm}.json"
