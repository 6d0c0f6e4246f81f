"""Where the time of one cell goes: ``python -m bench.steps [--sizes 1000 10000 100000]``.

Of a small cell the kernels, the way of their arrays into compiled code and back, and the Python
around both; of large cells each step of the kernels, a candidate. CPU time; `--records DIR` keeps
a record.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.common import all_subsets, load_cells, write_record

SIZES = (1_000, 10_000, 100_000)
SPECIES = 10
DELTA, HORIZON = 0.01, 0.5
#: Other scales of ties, as a census asks for them.
TIES = (0.1, 10.0)


def quartile_us(call: Callable[[], Any], calls: int = 300) -> float:
    """CPU time of a call, microseconds: the lower quartile of many."""
    times = []
    for _ in range(calls):
        began = time.thread_time_ns()
        call()
        times.append(time.thread_time_ns() - began)
    return sorted(times)[calls // 4] / 1e3


def of_small(oracle: Any, cell: Any) -> dict[str, float]:
    """Microseconds of the oracle's call and of what it is made of."""
    from numba import njit

    from rc_hpc.core.constants import CENSUS_ZERO
    from rc_hpc.kernels.doors import read_cell

    given = (
        *oracle.atoms(cell.positions, cell.numbers),
        oracle.by_atom,
        oracle.cameras,
        oracle.optics,
        oracle.limits(DELTA, HORIZON, oracle.tie),
        oracle.readout(DELTA),
        np.array(TIES),
    )
    taking = njit(lambda a, b, c, d, e, f, g, h: 0)
    passing, receiving = njit(lambda arrays: arrays), njit(lambda arrays: 0)
    found = read_cell(*given)
    reading = oracle.run(cell.positions, cell.numbers, DELTA, HORIZON, ties=TIES)
    for function, arguments in ((taking, given), (passing, (found,)), (receiving, (found,))):
        function(*arguments)
    back = quartile_us(lambda: passing(found)) - quartile_us(lambda: receiving(found))
    whole = quartile_us(lambda: oracle.run(cell.positions, cell.numbers, DELTA, HORIZON, ties=TIES))
    call = quartile_us(lambda: read_cell(*given))
    return {
        "atoms": len(cell.numbers),
        "run": whole,
        "compiled call": call,
        "Python around it": whole - call,
        "arrays in": quartile_us(lambda: taking(*given)),
        "arrays out": back,
        "cover": quartile_us(lambda: oracle.cover(reading.enumeration, CENSUS_ZERO)),
    }


def of_large(oracle: Any, size: int, seed: int = 1) -> dict[str, Any]:
    """Microseconds a candidate of each step, of a random cell."""
    from rc_hpc.core.constants import CENSUS_ZERO
    from rc_hpc.kernels.candidates import (
        candidate_distances,
        count_candidates,
        fill_candidates,
        normal_heights,
    )
    from rc_hpc.kernels.points import sort_points
    from rc_hpc.oracle.reading import Compared
    from rc_hpc.structures.synthetic import random_cell

    structure, cameras = random_cell(size, SPECIES, seed), oracle.cameras
    spent: dict[str, float] = {}

    def timed(name: str, call: Callable[[], Any]) -> Any:
        began = time.thread_time()
        made = call()
        spent[name] = time.thread_time() - began
        return made

    atoms = oracle.atoms(structure.frac @ structure.lattice, structure.numbers)
    images, truth = timed("project", lambda: oracle.project(*atoms))
    points = timed("sort_points", lambda: sort_points(images, True, oracle.tie))
    heights = timed(
        "normal_heights",
        lambda: normal_heights(points, cameras.pairs, oracle.optics.screen_normal),
    )
    counts = timed(
        "count_candidates",
        lambda: count_candidates(*heights, points.starts, cameras.pairs, DELTA),
    )
    made = timed(
        "fill_candidates",
        lambda: fill_candidates(
            points, heights, cameras, oracle.optics, counts, DELTA, False, oracle.tie
        ),
    )
    distance = timed("candidate_distances", lambda: candidate_distances(made, truth))
    found = Compared(points, made, images.species, DELTA, oracle.tie, truth, distance)
    timed("certify", lambda: oracle.certify(found, DELTA))
    timed("reconstruct_subsets", lambda: oracle.reconstruct(found, DELTA))
    return {
        "atoms": size,
        "candidates": made.gap.size,
        "phantoms": float(np.mean(distance > CENSUS_ZERO)),
        "us_a_candidate": {name: s / made.gap.size * 1e6 for name, s in spent.items()},
    }


def measure(sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """The median of the released cells, or of the prototypes, and random large ones."""
    from rc_hpc.geometry.protocol import load_protocol
    from rc_hpc.oracle.geometry import GeometricOracle

    _, cells = load_cells(5, None, False)
    protocol = load_protocol("frozen")
    oracle = GeometricOracle(protocol, all_subsets(len(protocol.views)))
    cells = sorted(cells, key=lambda cell: len(cell.numbers))
    small = [of_small(oracle, cell) for cell in (cells[0], cells[len(cells) // 2])]
    of_large(oracle, 100)  # loads the kernels
    return {"small": small, "large": [of_large(oracle, size) for size in sizes]}


def main(argv: list[str] | None = None) -> int:
    """Measure, print, and keep a record."""
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    p.add_argument("--sizes", type=int, nargs="*", default=list(SIZES), help="atoms")
    p.add_argument("--records", type=Path, help="folder of the record; default: print alone")
    args = p.parse_args(argv)
    from rc_hpc.parallel.cache import prepare_numba_cache

    prepare_numba_cache()
    asked = {"measurement": "steps", "load_before": [round(x, 2) for x in os.getloadavg()]}
    found = measure(tuple(args.sizes))
    if args.records:
        print(write_record("steps", asked, found, args.records))
    from bench.report import steps

    print(steps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
