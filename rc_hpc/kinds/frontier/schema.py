"""Columns of a frontier file."""

from __future__ import annotations

import numpy as np

from rc_hpc.core.vocabulary import LabelStatus, ProfileKind
from rc_hpc.kinds.packed.schema import MOLECULES, STRUCTURES, in_words_of_molecules
from rc_hpc.store.schema import Column, Schema

_CELL = ("subset",)


_POINTS = ("reading", "delta", "subset")

_LABELS = ("reading", "delta", "symprec", "subset")

FRONTIER_COLUMNS = (
    Column(
        "structures/delta_max",
        "f8",
        "angstrom",
        "Largest delta up to which this structure's delta profile is complete.",
        fill=np.nan,
    ),
    Column(
        "structures/n_candidates",
        "i8",
        "1",
        "Candidates enumerated over all independent pairs up to delta_max.",
    ),
    Column(
        "structures/separation",
        "f8",
        "angstrom",
        "Smallest distance between two atoms of one species within the drawn cell, tiling "
        "included; inf where no species occurs twice.",
        fill=np.nan,
    ),
    Column("frontier/n_recovered", "i4", "1", "Atoms of the reconstruction.", _POINTS, -1),
    Column(
        "frontier/point_error",
        "f8",
        "angstrom",
        "Largest distance from a reconstructed atom to the nearest true atom of its species.",
        _POINTS,
        np.nan,
    ),
    Column(
        "frontier/label_status",
        LabelStatus,
        "1",
        "How the label came about.",
        _LABELS,
        LabelStatus.not_done,
    ),
    Column(
        "frontier/space_group",
        "i2",
        "1",
        "Space-group number of the reconstruction; 0 is none.",
        _LABELS,
    ),
    Column(
        "frontier/correct_crystal_system",
        "?",
        "1",
        "Crystal system equals the true one.",
        _LABELS,
        False,
    ),
    Column(
        "frontier/correct_bravais", "?", "1", "Bravais lattice equals the true one.", _LABELS, False
    ),
    Column(
        "frontier/correct_point_group", "?", "1", "Point group equals the true one.", _LABELS, False
    ),
    Column(
        "frontier/correct_space_group", "?", "1", "Space group equals the true one.", _LABELS, False
    ),
    Column(
        "frontier/certified",
        "?",
        "1",
        "No phantom by acceptance at delta, and atoms of one species more than 2 delta "
        "apart: the theorem applies.",
        ("delta", "subset"),
        False,
    ),
    Column(
        "frontier/phantom_delta",
        "f8",
        "angstrom",
        "Smallest delta at which a phantom by acceptance exists; inf: none up to "
        "structures/delta_max.",
        _CELL,
        np.nan,
    ),
    Column(
        "frontier/phantom_delta_exact",
        "f8",
        "angstrom",
        "Smallest delta at which a phantom by Definition 7 exists; inf: none up to "
        "structures/delta_max.",
        _CELL,
        np.nan,
    ),
)

PROFILE = (
    Column("structure", "i8", "1", "Row of /structures."),
    Column("subset", "i4", "1", "View subset: index into /subsets."),
    Column("kind", ProfileKind, "1", "Phantoms by acceptance or by Definition 7."),
    Column("delta_from", "f8", "angstrom", "Phantoms exist from this delta on."),
    Column(
        "delta_to",
        "f8",
        "angstrom",
        "Up to, not including, this delta. Intervals of one structure, subset and kind are "
        "disjoint and ascending, and complete up to structures/delta_max.",
    ),
)

_OF_CRYSTALS = (
    "frontier/space_group",
    "frontier/correct_crystal_system",
    "frontier/correct_bravais",
    "frontier/correct_space_group",
)
MOLECULE_COLUMNS = (
    *(in_words_of_molecules(one) for one in FRONTIER_COLUMNS if one.path not in _OF_CRYSTALS),
    Column(
        "frontier/point_group",
        "u1",
        "1",
        "Point group of the reconstruction: index into /vocabulary/schoenflies, 0 is none.",
        _LABELS,
    ),
)

FRONTIER = Schema(
    "frontier",
    "Tolerance frontier: what the cameras determine of each structure at every delta, and at "
    "which deltas it has phantoms.",
    (*STRUCTURES, *FRONTIER_COLUMNS),
    {"profile": PROFILE},
    Schema(
        "frontier",
        "Tolerance frontier of molecules: what the cameras determine of each at every delta, and "
        "at which deltas it has phantoms.",
        (*MOLECULES, *MOLECULE_COLUMNS),
        {"profile": PROFILE},
    ),
)
