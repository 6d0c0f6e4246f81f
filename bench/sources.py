"""A census of a built-in source at defaults, and its cost: the encyclopedia, or the molecules.

Statuses, the reference table, R1 by number of views, and CPU time of packing and census.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from bench.end_to_end import command, run
from bench.unique import table

#: Exit code of a command that has recorded failures.
_FAILURES = 3


def measure(
    source: str = "aflow", first: int | None = None, orientation: str | None = None
) -> dict:
    """Pack the source, then the census.

    Parameters
    ----------
    source
        As a command takes it.
    first
        At most so many structures.
    orientation
        Of molecules.
    """
    folder = Path(tempfile.mkdtemp(prefix="rc-bench-"))
    try:
        packed, census = folder / "packed.h5", folder / "census.h5"
        more = [f"--first={first}"] if first else []
        more += [f"--orientation={orientation}"] if orientation else []
        cost = {
            "pack": _tolerant(command("pack", source, packed, more=tuple(more))),
            "census": _tolerant(command("census", str(packed), census)),
        }
        names = ("status", "reference", "views", "systems")
        return {
            "source": source,
            "cost": cost,
            **{name: table(census, name, folder) for name in names},
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tolerant(line: list[str]) -> dict:
    """Cost of a command that may record failures."""
    shell = ["sh", "-c", f'"$@"; code=$?; test $code -eq 0 -o $code -eq {_FAILURES}', "run", *line]
    try:
        return run(shell)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{' '.join(line)} ended with an error") from error
