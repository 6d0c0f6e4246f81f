"""The geometry of all 26 view subsets against the plain NumPy twin of the released algorithm.

The twin is called once a subset, as the released program is; `GeometricOracle.run` does
all subsets at once, from all camera pairs. Both get the same cells, and within a round
each structure goes through the twin and through every variant of the kernel before the
next one: whatever else the machine does, it does to both.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from bench.common import Cell, all_subsets, clocked, load_cells, twin

#: Name: delta and delta_max in Å, enumeration, merge rule, and the twin's delta it is compared at.
VARIANTS = {
    "delta 0.01, horizon 0.01": (0.01, 0.01, "all-pairs", "dominance"),
    "delta 0.01, horizon 0.5 (default)": (0.01, 0.5, "all-pairs", "dominance"),
    "delta 0.15, horizon 0.15": (0.15, 0.15, "all-pairs", "dominance"),
    "parity (anchor, first), delta 0.01": (0.01, 0.01, "anchor", "first"),
    "parity (anchor, first), delta 0.15": (0.15, 0.15, "anchor", "first"),
}
TWIN_DELTAS = (0.01, 0.15)


def measure(
    every: int = 5,
    limit: int | None = None,
    rounds: int = 2,
    repeats: int = 5,
    prototypes: bool = False,
) -> dict:
    """Time the twin and the kernel on the same cells.

    Parameters
    ----------
    every, limit, prototypes
        Which structures; see `load_cells`.
    rounds
        Passes over all structures, each with the twin and the kernel.
    repeats
        Calls of the kernel per variant, structure and round: one takes a fraction of a
        millisecond, below what one call measures well.

    Returns
    -------
    dict
        `structures`: per structure its size and, for the twin by delta and for the kernel by
        variant, [CPU s, wall s] of every call.
    """
    from rc_hpc.geometry.protocol import load_protocol
    from rc_hpc.oracle.geometry import GeometricOracle

    name, cells = load_cells(every, limit, prototypes)
    naive, protocol = twin(), load_protocol("frozen")
    subsets = all_subsets(len(protocol.views))
    oracles = {
        key: GeometricOracle(protocol, subsets, enumeration, merge)
        for key, (_, _, enumeration, merge) in VARIANTS.items()
    }

    def call_twin(cell: Cell, delta: float):
        for subset in subsets:
            naive.released_reconstruct(
                cell.positions, cell.numbers, [protocol.rotations[v] for v in subset], delta
            )

    def call_kernel(cell: Cell, key: str):
        delta, delta_max, *_ = VARIANTS[key]
        return oracles[key].run(cell.positions, cell.numbers, delta, delta_max)

    for cell in cells[:2]:  # compiles or loads the kernels; both sides warm
        call_twin(cell, TWIN_DELTAS[0])
        for key in VARIANTS:
            call_kernel(cell, key)
    rows: list[dict[str, Any]] = [
        {
            "id": cell.id,
            "n_atoms": len(cell.numbers),
            "candidates": int(
                call_kernel(cell, "delta 0.01, horizon 0.01").enumeration.candidates.gap.size
            ),
            "twin": {str(delta): [] for delta in TWIN_DELTAS},
            "kernel": {key: [] for key in VARIANTS},
        }
        for cell in cells
    ]
    for _ in range(rounds):
        for cell, row in zip(cells, rows, strict=True):
            for delta in TWIN_DELTAS:
                row["twin"][str(delta)].append(clocked(partial(call_twin, cell, delta))[0])
            for key in VARIANTS:
                for _ in range(repeats):
                    row["kernel"][key].append(clocked(partial(call_kernel, cell, key))[0])
    compared = {key: str(delta) for key, (delta, *_) in VARIANTS.items()}
    return {"set": name, "subsets": len(subsets), "compared": compared, "structures": rows}
