"""Columns of a occlusion file."""

from __future__ import annotations

import numpy as np

from rc_hpc.core.vocabulary import LabelStatus
from rc_hpc.kinds.packed.schema import STRUCTURES
from rc_hpc.store.schema import Column, Schema

_VIEW = ("view",)

_SITES = ("condition", "subset")

_READ = ("reading", "condition", "subset")

OCCLUSION_COLUMNS = (
    Column("structures/n_drawn", "i4", "1", "Atoms drawn in each picture."),
    Column(
        "visibility/n_occluded",
        "i4",
        "1",
        "Drawn atoms whose centre lies inside a nearer disc.",
        _VIEW,
        -1,
    ),
    Column(
        "visibility/n_redundant",
        "i4",
        "1",
        "Those of them that a disc of their own symmetry orbit hides.",
        _VIEW,
        -1,
    ),
    Column(
        "visibility/n_hidden",
        "i4",
        "1",
        "Atoms of the cell of which the condition leaves no copy in the view.",
        ("condition", "view"),
        -1,
    ),
    Column(
        "sites/n_clear",
        "i4",
        "1",
        "Atoms of the cell that every view of the subset shows.",
        _SITES,
        -1,
    ),
    Column(
        "sites/n_lost",
        "i4",
        "1",
        "Atoms that fewer than two of the subset's views show: no reader can place them.",
        _SITES,
        -1,
    ),
    Column("sites/n_gone", "i4", "1", "Atoms that no view of the subset shows.", _SITES, -1),
    Column("occlusion/n_recovered", "i4", "1", "Atoms of the reconstruction.", _READ, -1),
    Column(
        "occlusion/point_error",
        "f8",
        "angstrom",
        "Largest distance from a reconstructed atom to the nearest true atom of its species; "
        "inf where nothing is reconstructed.",
        _READ,
        np.nan,
    ),
    Column(
        "occlusion/atom_error",
        "f8",
        "angstrom",
        "Largest distance from a true atom to the nearest reconstructed atom of its species; "
        "inf where one has none.",
        _READ,
        np.nan,
    ),
    Column(
        "occlusion/label_status",
        LabelStatus,
        "1",
        "How the label came about.",
        _READ,
        LabelStatus.not_done,
    ),
    Column(
        "occlusion/space_group",
        "i2",
        "1",
        "Space-group number of the reconstruction; 0 is none.",
        _READ,
    ),
    Column(
        "occlusion/correct_crystal_system",
        "?",
        "1",
        "Crystal system equals the true one.",
        _READ,
        False,
    ),
    Column(
        "occlusion/correct_bravais", "?", "1", "Bravais lattice equals the true one.", _READ, False
    ),
    Column(
        "occlusion/correct_point_group", "?", "1", "Point group equals the true one.", _READ, False
    ),
    Column(
        "occlusion/correct_space_group", "?", "1", "Space group equals the true one.", _READ, False
    ),
)

OCCLUSION = Schema(
    "occlusion",
    "Occlusion: what the cameras determine of each structure where discs hide the centres of "
    "others.",
    (*STRUCTURES, *OCCLUSION_COLUMNS),
    {},
)
