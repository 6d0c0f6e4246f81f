"""The frontier run: a packed file to its reconstructions and labels at many tolerances."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rc_hpc.engine.rows import Job, merge_rows, run_rows
from rc_hpc.engine.run import RunOptions
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.common.statics import subset_dims, subset_statics
from rc_hpc.kinds.frontier.options import FrontierOptions
from rc_hpc.kinds.frontier.oracle import FrontierOracle
from rc_hpc.kinds.frontier.schema import FRONTIER
from rc_hpc.parallel.launch import Comm
from rc_hpc.parallel.run import Totals
from rc_hpc.parallel.signals import StopSignal

#: Predicted time of one more delta or reading, in units of a census.
POINT_WEIGHT = 0.1


def run_frontier(
    comm: Comm,
    packed: Path,
    protocol: Protocol,
    options: FrontierOptions,
    run: RunOptions,
    stop: StopSignal,
) -> Totals | None:
    """Tolerance frontier of a packed file; all ranks together.

    Returns
    -------
    Totals
        None where the output was finished already.
    """

    def prepare(recorder):
        return FrontierOracle(protocol, options, recorder).run

    weight = 1.0 + POINT_WEIGHT * len(options.readings) * len(options.deltas) * len(
        options.symprecs
    )
    return run_rows(
        comm, packed, Job(FRONTIER, options, dims_of(options), statics, prepare, weight), run, stop
    )


def merge_frontier(output: Path, partial: bool = False) -> str:
    """Merge the parts of a frontier, and remove them where none is missing; returns the content hash.

    Raises
    ------
    RcError
        Rows are missing, unless `partial`; all are.
    """
    return merge_rows(output, FRONTIER, statics, partial)


def dims_of(options: FrontierOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return subset_dims(options) | {
        "reading": len(options.readings),
        "delta": len(options.deltas),
        "symprec": len(options.symprecs),
    }


def statics(options: dict) -> dict:
    """Datasets of a frontier file that belong to no structure, from the options it was made with."""
    readings = [
        (enumeration, rule) for enumeration in options["enumerations"] for rule in options["rules"]
    ]
    return subset_statics(options) | {
        "axes/enumeration": (
            [enumeration for enumeration, _ in readings],
            "1",
            "Camera pairs that each reading triangulates.",
            ("reading",),
        ),
        "axes/merge": (
            [rule for _, rule in readings],
            "1",
            "Merge rule of each reading.",
            ("reading",),
        ),
        "axes/delta": (
            np.array(options["deltas"]),
            "angstrom",
            "Acceptance and merge tolerances.",
            ("delta",),
        ),
        "axes/symprec": (
            np.array(options["symprecs"]),
            "angstrom",
            "spglib's symprec of the reconstructions' labels.",
            ("symprec",),
        ),
    }
