"""Long measurements in pieces: what is measured once is kept and not measured again."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Pieces:
    """A folder of finished pieces, one JSON file each.

    Attributes
    ----------
    folder
        Made where it is missing.
    """

    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, name: str, make: Callable[[], Any], **given: Any) -> Any:
        """What `make` gives as JSON tells it, from the folder where it was made from the same.

        Parameters
        ----------
        name
            Of the piece.
        make
        **given
            What the piece depends on.
        """
        path = self.folder / f"{name}.json"
        wanted = json.loads(json.dumps(given))
        if path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["given"] == wanted:
                return kept["found"]
        cpu, wall = time.process_time(), time.perf_counter()
        found = make()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        fresh = path.with_suffix(".fresh")
        fresh.write_text(json.dumps({"given": wanted, "found": found}), encoding="utf-8")
        fresh.replace(path)
        print(f"{name}: {cpu:.1f} CPU s here, {wall:.1f} s", file=sys.stderr)
        return json.loads(json.dumps(found))
