"""Columns of a readings file."""

from __future__ import annotations

import numpy as np

from rc_hpc.core.vocabulary import ReadStatus
from rc_hpc.kinds.common.source import about
from rc_hpc.store.schema import TEXT, Column, Schema

_VIEW = ("view",)

READ = (
    Column(
        "readings/status",
        ReadStatus,
        "1",
        "How reading ended; `read` alone is certified.",
        fill=ReadStatus.refused,
    ),
    Column("readings/message", TEXT, "1", "Why it is not certified.", fill=""),
    Column(
        "readings/certified",
        "?",
        "1",
        "Its pictures, drawn again, differ in too few pixels for any error that the label feels.",
        fill=False,
    ),
    Column(
        "readings/differing_pixels",
        "i4",
        "1",
        "Pixels of all pictures that differ where the reading is drawn; -1: none was drawn.",
        fill=-1,
    ),
    Column("readings/tries", "i4", "1", "Searches made."),
    Column("readings/n_sites", "i4", "1", "Atoms read."),
    Column("readings/lattice", "f8", "angstrom", "Vectors read, rows.", ("vector", "xyz"), np.nan),
    Column(
        "readings/frame_covariance",
        "f8",
        "angstrom^2",
        "Covariance of their nine numbers, row by row, without that of the scale of all of them.",
        ("frame", "other_frame"),
        np.nan,
    ),
    Column(
        "readings/largest_sigma",
        "f8",
        "angstrom",
        "Largest standard error of a site along its worst direction.",
        fill=np.nan,
    ),
    Column(
        "readings/space_group_by_pictures",
        "i2",
        "1",
        "Space group of highest order whose symmetrised cell draws the pictures as well; 0: none.",
    ),
    Column(
        "readings/space_group",
        "i2",
        "1",
        "Space group of the cell read at each of /reading/symprec; 0: none.",
        ("symprec",),
    ),
    Column("readings/scale", "f8", "px/angstrom", "Scale of each picture.", _VIEW, np.nan),
    Column(
        "readings/scale_sigma", "f8", "px/angstrom", "Its standard error; 0: known.", _VIEW, np.nan
    ),
    Column("readings/n_discs", "i4", "1", "Discs found in each picture.", _VIEW),
)

DISCS = (
    Column("structure", "i8", "1", "Row of /structures."),
    Column("view", "u1", "1", "Camera: index into /protocol/view."),
    Column("number", "u1", "1", "Atomic number, from the fill."),
    Column("u", "f8", "px", "Centre from the left edge; pixel i reaches from i to i + 1."),
    Column("v", "f8", "px", "Centre from the upper edge."),
    Column("variance_u", "f8", "px^2", "Of u, at the scale found."),
    Column("covariance_uv", "f8", "px^2", "Of u and v."),
    Column("variance_v", "f8", "px^2", "Of v."),
    Column("radius", "f8", "px", "To the middle of the outline."),
    Column("edge_pixels", "i4", "1", "Pixels of the outline's inner edge that tell the centre."),
    Column("visible", "f8", "1", "Share of the outline that is seen."),
)

SITES = (
    Column("structure", "i8", "1", "Row of /structures."),
    Column("number", "u1", "1", "Atomic number."),
    Column("fractional", "f8", "1", "Position in units of the vectors read.", ("vector",)),
    Column("sigma", "f8", "angstrom", "Standard error along the worst direction."),
)

READINGS = Schema(
    "readings",
    "Crystals read from their pictures: discs, lattice, sites, labels, and whether the pictures "
    "drawn again are the same.",
    (*about("a crystal"), *READ),
    {"discs": DISCS, "sites": SITES},
)
