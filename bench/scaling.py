"""One big cell through the kernel, and a small one seen by many cameras.

Seconds, candidates and memory, each size in a process of its own; seconds a subset of views.

Run as a program it measures one cell and prints JSON.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from bench.common import ROOT, all_subsets, clocked

SIZES = (20_000, 100_000)
SPECIES = 10
#: Numbers of cameras, and atoms of the cell that they see.
VIEWS, SEEN = (5, 16), 40


def measure(
    sizes=SIZES, delta: float = 0.01, delta_max: float = 0.01, seed: int = 1, rounds: int = 1
) -> dict:
    """Measure random cells of the given sizes, smallest and largest interleaved by round."""
    rows = []
    for _ in range(rounds):
        for size in sizes:
            command = [
                sys.executable,
                "-m",
                "bench.scaling",
                str(size),
                str(delta),
                str(delta_max),
                str(seed),
            ]
            done = subprocess.run(
                command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, env=os.environ
            )
            rows.append(json.loads(done.stdout))
    return {"cells": rows, "views": [of_views(views, delta, seed) for views in VIEWS]}


def of_views(n_views: int, delta: float, seed: int) -> dict:
    """Seconds of all subsets of so many cameras in random directions, the kernels warm."""
    from rc_hpc.geometry.protocol import load_protocol
    from rc_hpc.oracle.geometry import GeometricOracle
    from rc_hpc.structures.synthetic import random_cell

    directions = np.random.default_rng(seed).normal(size=(n_views, 3))
    cameras = [
        f'[[camera]]\nname = "c{k}"\ndirection = {direction.tolist()}\n'
        for k, direction in enumerate(directions)
    ]
    with tempfile.TemporaryDirectory(prefix="rc-bench-") as folder:
        path = Path(folder) / "views.toml"
        path.write_text('name = "views"\n' + "".join(cameras), encoding="utf-8")
        protocol = load_protocol(str(path))
    subsets = all_subsets(n_views)
    structure = random_cell(SEEN, 2, seed)
    positions = structure.frac @ structure.lattice
    oracle = GeometricOracle(protocol, subsets)
    rounds = []
    for _ in range(3):
        (cpu, _), found = clocked(lambda: oracle.run(positions, structure.numbers, delta, delta))
        rounds.append(cpu)
    return {
        "views": n_views,
        "subsets": len(subsets),
        "atoms": SEEN,
        "candidates": int(found.enumeration.candidates.gap.size),
        "cpu_s": sorted(rounds)[1],
    }


def one(size: int, delta: float, delta_max: float, seed: int) -> dict:
    """Seconds, candidates and peak memory of one cell, with the kernels loaded before."""
    from rc_hpc.parallel.cache import prepare_numba_cache

    prepare_numba_cache()
    from rc_hpc.geometry.protocol import load_protocol
    from rc_hpc.kinds.census.options import CensusOptions
    from rc_hpc.kinds.census.work import warm
    from rc_hpc.oracle.geometry import GeometricOracle
    from rc_hpc.structures.synthetic import random_cell

    warm(CensusOptions.of())
    structure, protocol = random_cell(size, SPECIES, seed), load_protocol("frozen")
    positions = structure.frac @ structure.lattice
    oracle = GeometricOracle(protocol, all_subsets(len(protocol.views)))
    before = _peak()
    (cpu, wall), found = clocked(lambda: oracle.run(positions, structure.numbers, delta, delta_max))
    return {
        "n_atoms": size,
        "n_species": SPECIES,
        "delta": delta,
        "delta_max": delta_max,
        "cpu_s": cpu,
        "wall_s": wall,
        "candidates": int(found.enumeration.candidates.gap.size),
        "reach": float(found.enumeration.reach),
        "n_recovered_full": int(found.n_recovered[-1]),
        "peak_bytes": _peak(),
        "before_bytes": before,
    }


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    print(
        json.dumps(one(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
    )
