"""What all measurements share: the machine they ran on, the cells they ran over, two clocks."""

from __future__ import annotations

import datetime
import importlib.util
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
RECORDS = Path(__file__).parent / "records"
LIBRARIES = ("numpy", "numba", "scipy", "h5py", "spglib", "pymatgen", "mpi4py", "mpich")


@dataclass(frozen=True)
class Cell:
    """A conventional cell to be reconstructed.

    Cartesian positions (n, 3) in Å, atomic numbers (n,).
    """

    id: str
    positions: np.ndarray
    numbers: np.ndarray


def clocked(function: Callable[[], Any]) -> tuple[list[float], Any]:
    """[process CPU seconds, wall seconds] of one call, and its result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return [time.process_time() - cpu, time.perf_counter() - wall], result


def median(rounds: list[list[float]]) -> np.ndarray:
    """Median CPU and wall seconds (2,) of the rounds."""
    return np.array([statistics.median(column) for column in zip(*rounds, strict=True)])


def rows_so_far(path: Path, arguments: dict) -> list[dict] | None:
    """Rows of a record that grows; None, and a word, where other arguments made it."""
    if not path.is_file():
        return []
    before = json.loads(path.read_text(encoding="utf-8"))
    if before["arguments"] != arguments:
        print(f"{path} was measured with {before['arguments']}: give another --name")
        return None
    rows: list[dict] = before["rows"]
    return rows


def write_rows(path: Path, record: dict, rows: list[dict]) -> None:
    """Write a record that grows, a row a line, whole or not at all."""
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    text = json.dumps(record)[:-1] + f',\n "rows": [\n  {lines}\n ]}}\n'
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def environment() -> dict:
    """Versions and machine, without its name or any path."""
    import rc_hpc

    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "load": [round(value, 2) for value in os.getloadavg()],
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"python": platform.python_version(), "rc_hpc": rc_hpc.__version__}
        | _versions(),
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _versions() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def write_record(name: str, arguments: dict, results: dict, folder: Path = RECORDS) -> Path:
    """Write one raw record; `arguments` are those that shape the measurement."""
    folder.mkdir(parents=True, exist_ok=True)
    machine = environment()
    path = folder / f"{name}.json"
    path.write_text(
        _rows_on_lines({"name": name, **machine, "arguments": arguments, **results}),
        encoding="utf-8",
    )
    return path


def _rows_on_lines(record: dict) -> str:
    """JSON with one row of a list to a line: a record is read by people too."""
    fields = []
    for key, value in record.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            text = "[\n  " + ",\n  ".join(json.dumps(row) for row in value) + "\n ]"
        else:
            text = json.dumps(value)
        fields.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


def shared_folder() -> Path | None:
    """Folder of the released structures, where there is one (RC_HPC_SHARED, or ../shared)."""
    folder = Path(os.environ.get("RC_HPC_SHARED", ROOT.parent / "shared"))
    return folder if (folder / "data" / "e3" / "structures.json").is_file() else None


def evaluation_ids(shared: Path) -> list[str]:
    """Ids of the 210 evaluation structures in file order, which is by crystal system."""
    with open(shared / "data" / "e3" / "eval.jsonl", encoding="utf-8") as lines:
        return [json.loads(line)["material_id"] for line in lines]


def load_cells(
    every: int = 1, limit: int | None = None, prototypes: bool = False
) -> tuple[str, list[Cell]]:
    """Conventional cells of the evaluation structures, or of the prototypes where there are none.

    Parameters
    ----------
    every
        Take each `every`-th structure.
    limit
        At most so many.
    prototypes
        Take the prototypes in any case.

    Returns
    -------
    name of the set, cells
        Structures without a conventional cell are left out.
    """
    from rc_hpc.core.errors import StructureError
    from rc_hpc.structures.sources import iter_items
    from rc_hpc.symmetry.conventional import conventional_cell

    shared = None if prototypes else shared_folder()
    if shared is None:
        name, items = "prototypes", iter_items(["prototypes"])
        wanted = None
    else:
        name, items = "e3 evaluation", iter_items([str(shared / "data" / "e3" / "structures.json")])
        wanted = evaluation_ids(shared)
        found = {item.id: item for item in items if item.id in set(wanted)}
        items = (found[id_] for id_ in wanted)
    cells: list[Cell] = []
    for number, item in enumerate(items):
        if limit is not None and len(cells) == limit:
            break
        if number % every:
            continue
        try:
            read = item.read(item, item.blob())
            cell = conventional_cell(read.lattice, read.frac, read.numbers)
        except StructureError:
            continue
        cells.append(Cell(item.id, cell.positions, cell.numbers))
    return name, cells


def all_subsets(n_views: int) -> tuple[tuple[int, ...], ...]:
    """Every subset of two or more of the cameras."""
    return tuple(
        subset for size in range(2, n_views + 1) for subset in combinations(range(n_views), size)
    )


def twin():
    """The plain NumPy twin of the released algorithm, tests/naive.py."""
    path = ROOT / "tests" / "naive.py"
    spec = importlib.util.spec_from_file_location("naive", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["naive"] = module
    spec.loader.exec_module(module)
    return module
