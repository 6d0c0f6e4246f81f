"""The kernels against the same algorithm in C++ (`bench/cpp/oracle.cpp`), all 26 subsets.

The twin is built with one line, equal to the kernels in all that it returns (`unequal`), and called
in turn with them, structure by structure. Two ratios: the whole call from Python on both sides, and
the kernels as Numba's compiled function is called, without what `GeometricOracle.run` wraps around.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.common import Cell, all_subsets, clocked, load_cells

SOURCE = Path(__file__).parent / "cpp" / "oracle.cpp"
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")
#: Outputs of the twin, and how they are compared: names of `Reading`.
COUNTS = ("n_recovered", "reconstruction", "n_phantoms", "n_exact", "n_strict")
LENGTHS = ("point_error", "atom_error", "phantom_delta", "phantom_delta_exact")
_ORDER = (
    "n_recovered",
    "reconstruction",
    "point_error",
    "atom_error",
    "n_phantoms",
    "n_exact",
    "n_strict",
    "phantom_delta",
    "phantom_delta_exact",
)
HORIZONS = (0.01, 0.5)
DELTA = 0.01


def compiler() -> str | None:
    """A C++ compiler; None where there is none."""
    return shutil.which("g++") or shutil.which("c++")


@dataclass(frozen=True)
class Twin:
    """The C++ program, loaded, for one oracle's cameras and subsets."""

    function: Any
    oracle: Any

    @classmethod
    def of(cls, oracle: Any) -> Twin:
        """Build and load it."""
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "oracle.so"
            subprocess.run([compiler() or "g++", *FLAGS, "-o", library, SOURCE], check=True)
            function = ctypes.CDLL(str(library)).read_cell
        function.restype = ctypes.c_int64
        return cls(function, oracle)

    def prepare(self, cell: Cell, delta: float, horizon: float) -> tuple[list, dict]:
        """Arguments of a call, and the arrays that it fills."""
        from rc_hpc.oracle import geometry

        oracle, scales = self.oracle, geometry.SCALES
        order = np.argsort(cell.numbers, kind="stable")
        numbers = np.asarray(cell.numbers)[order]
        starts = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1], True]).astype(np.int64)
        n_subsets = len(oracle.subsets.masks)
        outputs = {
            name: np.empty(n_subsets, np.int64 if name in COUNTS else np.float64) for name in _ORDER
        }
        cameras, frames = oracle.cameras, oracle.optics
        inputs = [
            len(numbers),
            np.ascontiguousarray(cell.positions[order], np.float64),
            len(starts) - 1,
            starts,
            len(cameras.rotations),
            np.ascontiguousarray(cameras.rotations),
            len(cameras.pairs),
            np.ascontiguousarray(cameras.pairs),
            np.ascontiguousarray(cameras.kappa),
            *(
                np.ascontiguousarray(array)
                for array in (frames.normal, frames.screen_normal, frames.screen_side, frames.dual)
            ),
            float(delta),
            float(max(delta, horizon)),
            float(oracle.tie),
            *map(float, (scales.zero, scales.exact, scales.same)),
            geometry.PROFILE_CANDIDATES,
            n_subsets,
            np.ascontiguousarray(oracle.subsets.masks),
        ]
        arguments = [_argument(value) for value in (*inputs, *outputs.values())]
        return [arguments, inputs], outputs

    def __call__(self, prepared: list) -> int:
        """Number of candidates."""
        return int(self.function(*prepared[0]))


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(value)


def unequal(reading: Any, outputs: dict, total: int) -> list[str]:
    """What the twin and the kernels have different of one structure."""
    different = [
        name for name in _ORDER if not np.array_equal(getattr(reading, name), outputs[name])
    ]
    same = reading.enumeration.candidates.gap.size == total
    return different if same else ["candidates", *different]


def measure(
    every: int = 3, limit: int | None = None, rounds: int = 3, prototypes: bool = False
) -> dict:
    """Time both on the same cells, in turn.

    Returns
    -------
    dict
        `structures`: per structure its size, and by horizon [CPU s, wall s] of every call of the
        `twin`, of the compiled function (`kernel`) and of `GeometricOracle.run` (`oracle`).
    """
    from rc_hpc.geometry.protocol import load_protocol
    from rc_hpc.kernels.doors import read_cell
    from rc_hpc.oracle.geometry import GeometricOracle

    name, cells = load_cells(every, limit, prototypes)
    protocol = load_protocol("frozen")
    oracle = GeometricOracle(protocol, all_subsets(len(protocol.views)))
    twin = Twin.of(oracle)
    rows = []
    for number, cell in enumerate((cells[0], *cells)):  # the first once more, to be warm
        row: dict[str, Any] = {"id": cell.id, "n_atoms": len(cell.numbers)}
        for horizon in HORIZONS:
            prepared, outputs = twin.prepare(cell, DELTA, horizon)
            atoms = oracle.atoms(cell.positions, cell.numbers)
            limits = oracle.limits(DELTA, max(DELTA, horizon), oracle.tie)
            given = (
                False,
                oracle.cameras,
                oracle.optics,
                limits,
                oracle.readout(DELTA),
                np.empty(0),
            )
            calls: dict[str, list[list[float]]] = {"twin": [], "kernel": [], "oracle": []}
            run = partial(oracle.run, cell.positions, cell.numbers, DELTA, horizon)
            for _ in range(rounds):
                time, total = clocked(partial(twin, prepared))
                calls["twin"].append(time)
                time, _ = clocked(partial(read_cell, *atoms, *given))
                calls["kernel"].append(time)
                time, reading = clocked(run)
                calls["oracle"].append(time)
            row[str(horizon)] = calls | {"unequal": unequal(reading, outputs, total)}
        if number:
            rows.append(row)
    return {"set": name, "subsets": len(oracle.subsets.masks), "structures": rows}


def ratios(record: dict) -> dict[str, tuple[float, float]]:
    """CPU time of the kernels and of the oracle's call in units of the twin's, by horizon."""
    found = {}
    for horizon in map(str, HORIZONS):
        total = {
            kind: sum(
                float(np.median([cpu for cpu, _ in row[horizon][kind]]))
                for row in record["structures"]
            )
            for kind in ("twin", "kernel", "oracle")
        }
        found[horizon] = (total["kernel"] / total["twin"], total["oracle"] / total["twin"])
    return found
