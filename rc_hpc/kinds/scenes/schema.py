"""Columns of a file of scenes."""

from __future__ import annotations

from rc_hpc.benchmark.scene_file import TABLES
from rc_hpc.kinds.packed.schema import STRUCTURES
from rc_hpc.store.schema import Column, Schema

SCENES = Schema(
    "scenes",
    "Scenes of crystal structures: displayed atoms, bonds, cameras, and what is visible.",
    (
        *STRUCTURES,
        Column("structures/n_scenes", "i4", "1", "Scenes of the structure."),
        Column(
            "structures/n_too_small",
            "i4",
            "1",
            "Scenes left out: their smallest disc has less colour than least_fill.",
        ),
    ),
    TABLES,
)
