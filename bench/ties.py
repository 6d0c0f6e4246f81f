"""R1 of merge rules over errors of the image points: up to which error the frontier is flat.

Every atom's image in every view is moved by a normal error of its own, also where images coincide;
what is read with all cameras, and with the best-conditioned pair, is labelled at tau. One line a
reading, error and tolerance, as CSV.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import zlib
from pathlib import Path

import numpy as np

from rc_hpc.core.constants import TAU, TIE
from rc_hpc.core.errors import Status
from rc_hpc.geometry.protocol import load_protocol, parse_subsets
from rc_hpc.kernels.records import ImagePoints
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.oracle.cell import drawn
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.oracle.labels import SpaceGroupLabel
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.symmetry.labels import crystal_system

SIGMAS = (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
DELTAS = (0.01, 0.15, 0.5)
RULES = ("dominance", "best-residual")


def right(cell, oracle, sigma: float, deltas, tie: float) -> list[bool]:
    """Whether the crystal system comes back at each delta."""
    lattice, positions, numbers, _ = drawn(cell, oracle.protocol.tiling)
    images, _ = oracle.project(positions, numbers)
    errors = np.random.default_rng(zlib.crc32(cell.id.encode())).normal(size=images.screen.shape)
    moved = ImagePoints(images.screen + sigma * errors, images.starts, images.species)
    found = oracle.enumerate(moved, deltas[-1], deltas[-1], tie)
    labeller, outcomes = SpaceGroupLabel(TAU), []
    for delta in deltas:
        read = oracle.reconstruct(found.within(delta), delta)
        number, _ = labeller.label(lattice, *read.cells[read.entry[0]])
        outcomes.append(number > 0 and crystal_system(number) == crystal_system(cell.space_group))
    return outcomes


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packed", type=Path, help="packed structures")
    parser.add_argument("--tie", type=float, default=TIE, help="scale of ties, Å")
    parser.add_argument("--protocol", default="frozen")
    parser.add_argument("--every", type=int, default=1, help="take every N-th structure")
    asked = parser.parse_args()
    prepare_numba_cache()
    protocol = load_protocol(asked.protocol)
    kappas = protocol.kappas()
    best = min(kappas, key=lambda pair: kappas[pair])
    readings = {"all": parse_subsets("full", protocol.views), "pair": (best,)}
    with PackedReader(asked.packed) as packed:
        usable = np.flatnonzero(packed.read("structures/status") == Status.ok)
        cells = list(packed.cells(usable[:: asked.every]))
    print("views,merge,tie_angstrom,sigma_angstrom,delta_angstrom,R1_count,n")
    for (views, subsets), rule, sigma in itertools.product(readings.items(), RULES, SIGMAS):
        oracle = GeometricOracle(protocol, subsets, merge=rule)
        counts = np.sum([right(cell, oracle, sigma, DELTAS, asked.tie) for cell in cells], 0)
        for delta, count in zip(DELTAS, counts, strict=True):
            told = f"{asked.tie:g},{sigma:g},{delta:g},{count},{len(cells)}"
            print(f"{views},{rule},{told}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
