"""Columns of a distances file."""

from __future__ import annotations

import numpy as np

from rc_hpc.kinds.packed.schema import STRUCTURES
from rc_hpc.store.schema import Column, Schema

DISTANCES = Schema(
    "distances",
    "Distances: how near two atoms of one species come in each structure.",
    (
        *STRUCTURES,
        Column(
            "distances/same_species",
            "f8",
            "angstrom",
            "Smallest distance between two atoms of one species, periodic; inf where no pair is.",
            fill=np.nan,
        ),
        Column("distances/number", "u1", "1", "Atomic number of that species; 0 where none is."),
    ),
    {},
)
