"""Whole commands, one rank.

What each stage costs, and the census against the spglib calls it needs.

Every round runs the command twice in processes of their own: plain, for its cost as a
user meets it, and under the stopwatch of `stages.py`. The reference of the census is
spglib's own time: of the calls that the run made (the true cell's label comes with the
packed file), and of these with the true cell of every structure, that is of every
distinct reconstruction once.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from bench.common import ROOT, clocked, evaluation_ids, load_cells, shared_folder


def child_environment(root: Path = ROOT) -> dict[str, str]:
    """Environment of the measured commands: a checkout, one thread, no rank of anything."""
    from rc_hpc.parallel.launch import THREAD_VARIABLES, child_environment

    found = child_environment()
    found["PYTHONPATH"] = os.pathsep.join(filter(None, (str(root), found.get("PYTHONPATH"))))
    return found | dict.fromkeys(THREAD_VARIABLES, "1")


def run(command: list[str], root: Path = ROOT, cache: Path | None = None) -> dict:
    """CPU (all processes) and wall seconds of one command of a checkout.

    Parameters
    ----------
    cache
        Its kernel cache; None: the usual one.
    """
    environment = child_environment(root) | ({"NUMBA_CACHE_DIR": str(cache)} if cache else {})
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, cwd=root, env=environment, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "wall_s": wall,
    }


def command(
    module: str, source: str, output: Path, stages: Path | None = None, more: tuple[str, ...] = ()
) -> list[str]:
    """Command line of a census or pack, plain or under the stopwatch."""
    head = (
        ["-m", f"rc_hpc.{module}"]
        if stages is None
        else ["-m", "bench.stages", str(stages), module]
    )
    return [
        sys.executable,
        *head,
        source,
        "-o",
        str(output),
        "--overwrite",
        "--progress",
        "none",
        *more,
    ]


def pack_each(folder: Path, every: int, prototypes: bool) -> tuple[Path, str, int]:
    """Pack each `every`-th evaluation structure, else prototype, into a folder.

    The file, the set's name, and how many.
    """
    shared = None if prototypes else shared_folder()
    ids = (
        evaluation_ids(shared) if shared else [cell.id for cell in load_cells(prototypes=True)[1]]
    )[::every]
    (folder / "ids.txt").write_text("\n".join(ids), encoding="utf-8")
    source = str(shared / "data" / "e3" / "structures.json") if shared else "prototypes"
    packed = folder / "packed.h5"
    run(command("pack", source, packed, more=("--ids", str(folder / "ids.txt"))))
    return packed, "e3 evaluation" if shared else "prototypes", len(ids)


def true_cells(packed: Path) -> dict:
    """Seconds of labelling the conventional cell of every row of a packed file once."""
    import numpy as np
    import spglib

    from rc_hpc.core.constants import ANGLE_TOLERANCE, TAU
    from rc_hpc.kinds.packed.reader import PackedReader

    cpu = wall = 0.0
    calls = 0
    with PackedReader(packed) as reader:
        batch, children = reader.rows(0, len(reader))
    bounds = np.searchsorted(
        children["atoms"]["structure"], np.arange(len(batch["structures/id"]) + 1)
    )
    for row in np.flatnonzero(batch["structures/status"] == 0):
        atoms = slice(bounds[row], bounds[row + 1])
        lattice = batch["structures/lattice"][row]
        frac = np.mod(children["atoms"]["position"][atoms] @ np.linalg.inv(lattice), 1.0)
        cell = (lattice, frac, children["atoms"]["number"][atoms])
        (one_cpu, one_wall), _ = clocked(
            partial(spglib.get_symmetry_dataset, cell, TAU, ANGLE_TOLERANCE)
        )
        cpu, wall, calls = cpu + one_cpu, wall + one_wall, calls + 1
    return {"cpu_s": cpu, "wall_s": wall, "calls": calls}


def packed_file(
    given: Path | None, folder: Path, evaluation: bool
) -> tuple[str, Path, str, tuple[str, ...]]:
    """What is measured: its name, a packed file, the source it is packed from, options for that."""
    shared = shared_folder()
    more: tuple[str, ...] = ()
    if given is not None:
        return "packed file given", given, "", more
    if shared is None:
        name, source = "prototypes", "prototypes"
    else:
        name, source = "e3, all structures", str(shared / "data" / "e3" / "structures.json")
        if evaluation:
            name, ids = "e3 evaluation", folder / "ids.txt"
            ids.write_text("\n".join(evaluation_ids(shared)), encoding="utf-8")
            more = ("--ids", str(ids))
    return name, folder / "packed.h5", source, more


def measure(rounds: int = 3, packed: Path | None = None, evaluation: bool = False) -> dict:
    """Pack once under the stopwatch, then the census in rounds.

    Parameters
    ----------
    packed
        Start from this packed file; packing is then not measured.
    evaluation
        Only the 210 evaluation structures.
    """
    folder = Path(tempfile.mkdtemp(prefix="rc-bench-"))
    try:
        name, packed, source, more = packed_file(packed, folder, evaluation)
        stages = folder / "stages.json"
        results: dict[str, Any] = {"set": name, "pack": None, "rounds": []}
        if source:
            results["pack"] = run(command("pack", source, packed, stages, more)) | json.loads(
                stages.read_text()
            )
        run(command("census", str(packed), folder / "census.h5"))  # compiles where that is due
        for _ in range(rounds):
            plain = run(command("census", str(packed), folder / "census.h5"))
            watched = run(
                command("census", str(packed), folder / "census.h5", stages)
            ) | json.loads(stages.read_text())
            results["rounds"].append(
                {"plain": plain, "watched": watched, "true_cells": true_cells(packed)}
            )
        return results
    finally:
        shutil.rmtree(folder, ignore_errors=True)
