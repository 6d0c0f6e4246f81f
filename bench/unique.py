"""Whether other crystals have the same pictures: the tables of one uniqueness sweep, and its cost.

One run of the sweep, one of the census on the same view subsets, and one of the census under the
merge rules that choose. All structures count, quarantined ones too; the truth of prototypes is the
label of their conventional cell.
"""

from __future__ import annotations

import csv
import shutil
import sys
import tempfile
from pathlib import Path

from bench.end_to_end import command, pack_each, run


def measure(
    prototypes: bool = False,
    every: int = 1,
    packed: Path | None = None,
    protocol: str = "frozen",
    tiling: str | None = None,
    delta: float | None = None,
    subsets: str = "all",
    policies: str = "all",
) -> dict:
    """Pack (where no packed file is given), then the three runs.

    Parameters
    ----------
    prototypes
        Take the prototypes in any case.
    every
        Take each `every`-th structure.
    protocol, tiling, delta, subsets, policies
        Of the sweep; by default exact pictures of one cell.
    """
    folder = Path(tempfile.mkdtemp(prefix="rc-bench-"))
    try:
        if packed is None:
            packed, name, n = pack_each(folder, every, prototypes)
        else:
            name, n = "prototypes" if prototypes else "e3 evaluation", None
        which = [f"--protocol={protocol}", f"--subsets={subsets}", "--quarantine=keep"]
        which.append(f"--truth={'conventional' if name == 'prototypes' else 'stored'}")
        which += [f"--tiling={tiling}"] if tiling else []
        more = [*which, f"--policy={policies}", *([f"--delta={delta}"] if delta else [])]
        made, census = folder / "unique.h5", folder / "census.h5"
        cost = {"unique": run(swept("unique", packed, made, more))}
        rules: dict[str, list[dict]] = {}
        for merge in ("dominance", "symmetric", "parsimonious"):
            asked = (*which, f"--merge={merge}")
            cost[merge] = run(command("census", str(packed), census, more=asked))
            rules[merge] = table(census, "views", folder)
        return {
            "set": name,
            "structures": n,
            "protocol": Path(protocol).stem,
            "tiling": tiling or "1,1,1",
            "delta": delta or 1e-6,
            "subsets": subsets,
            "cost": cost,
            "statuses": table(made, "unique", folder),
            "readers": table(made, "readers", folder),
            "reasons": table(made, "reasons", folder),
            "rules": rules,
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def swept(kind: str, packed: Path, output: Path, more: list[str]) -> list[str]:
    """Command line of a sweep of packed structures."""
    line = command("sweep", kind, output, more=tuple(more))
    place = line.index(kind)
    return [*line[: place + 1], str(packed), *line[place + 1 :]]


def table(path: Path, name: str, folder: Path) -> list[dict]:
    """Rows of a table, numbers as numbers."""
    tables = folder / "tables"
    line = [sys.executable, "-m", "rc_hpc.tables", str(path), "--table", name]
    run([*line, "--format", "csv", "-o", str(tables), "-q"])
    with open(tables / f"{name}.csv", newline="", encoding="utf-8") as text:
        return [{key: _number(value) for key, value in row.items()} for row in csv.DictReader(text)]


def _number(text: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
