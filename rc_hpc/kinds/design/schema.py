"""Columns of a design file."""

from __future__ import annotations

import numpy as np

from rc_hpc.core.vocabulary import Side
from rc_hpc.kinds.packed.schema import STRUCTURES
from rc_hpc.store.schema import Column, Schema

_PICTURES = ("protocol", "sigma", "seed")

_SIZES = ("protocol", "size")

DESIGN_COLUMNS = (
    Column(
        "design/split",
        Side,
        "1",
        "Part of the structure: unused, choosing between the sets found (training; searched: "
        "the search looked at it, too), or held out: the search and the choice knew nothing of it.",
    ),
    Column(
        "design/n_recovered",
        "i4",
        "1",
        "Atoms read from the noisy centroids; -1 for structures that take no part.",
        _PICTURES,
        -1,
    ),
    Column(
        "design/largest_error",
        "f4",
        "angstrom",
        "Largest distance of one of them from the nearest true atom of its species.",
        _PICTURES,
        np.nan,
    ),
    Column(
        "design/space_group",
        "i2",
        "1",
        "Space-group number of the cell that was read; 0 is none.",
        _PICTURES,
    ),
    Column("design/correct", "?", "1", "Crystal system equals the true one.", _PICTURES, False),
    Column(
        "design/phantom_subsets",
        "i4",
        "1",
        "View subsets of each size, from 2 on, with a phantom by acceptance at the design's "
        "delta; -1 beyond the protocol's views.",
        _SIZES,
        -1,
    ),
    Column("design/n_phantoms", "i4", "1", "Their phantoms in sum.", _SIZES, -1),
    Column(
        "design/n_aligned",
        "i4",
        "1",
        "Cameras with a lattice vector along them, coefficients up to 3.",
        ("protocol",),
        -1,
    ),
    Column(
        "design/screen_length",
        "f8",
        "angstrom",
        "Shortest length of such a lattice vector on the screens of all cameras.",
        ("protocol",),
        np.nan,
    ),
)

DESIGN = Schema(
    "design",
    "Camera design: what is read of each structure under camera sets that a search found, "
    "and under known ones.",
    (*STRUCTURES, *DESIGN_COLUMNS),
    {},
)
