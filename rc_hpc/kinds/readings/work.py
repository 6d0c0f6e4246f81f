"""How pictures are read: what it takes besides reading those of one crystal."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.images.fast import FastRenderer
from rc_hpc.kinds.common.costs import NOTHING_MS, Rows
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.common.statics import protocol_datasets
from rc_hpc.kinds.readings.options import ReadingsOptions
from rc_hpc.kinds.readings.oracle import read_pictures
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.parallel.launch import launched_tasks
from rc_hpc.reader.convention import named
from rc_hpc.reader.records import SYMPRECS, Knowledge, Limits

#: Predicted time of a crystal, ms, and s.
EACH_MS, EACH_S = 1500.0, 2.0


def dims(options: ReadingsOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    views = len(options.protocol["views"]) if options.protocol else 0
    return {"view": views, "symprec": len(SYMPRECS), "frame": 9, "other_frame": 9}


def statics(options: ReadingsOptions) -> dict[str, Any]:
    """Datasets that belong to no crystal."""
    return protocol_datasets(protocol_of(options.protocol)) | {
        "reading/symprec": (
            np.array(SYMPRECS),
            "angstrom",
            "Tolerance of each of /readings/space_group.",
            ("symprec",),
        )
    }


def costs(_options: ReadingsOptions, _shared: Any, rows: Rows) -> np.ndarray:
    """Predicted time of each crystal, (n,), ms."""
    return np.where(rows("status") == Status.ok, EACH_MS, NOTHING_MS)


def facts(options: ReadingsOptions) -> tuple[dict[str, Any], float]:
    """What a dry run tells, and seconds for a crystal."""
    return {"known": options.knowledge}, EACH_S


def warm(_options: ReadingsOptions) -> None:
    """Read a small crystal once, which compiles every kernel on the way."""
    if launched_tasks() > 1:
        os.environ.setdefault("MPLCONFIGDIR", str(prepare_numba_cache().parent / "matplotlib"))
    rotations = load_protocol("frozen").rotations
    convention, size = named("C1"), 128
    knowledge = Knowledge("K0", rotations, size, convention)
    lattice = np.diag((4.0, 4.1, 4.3))
    scene = convention.scene(lattice, [26, 8], np.array(((0.3, 0.4, 0.2), (2.2, 2.1, 1.9))))
    pictures = [
        FastRenderer().draw(scene, convention.view(scene, rotation, size)) for rotation in rotations
    ]
    read_pictures(pictures, knowledge, Limits(max_tries=1))
