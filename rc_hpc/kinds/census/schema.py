"""Columns of a census file."""

from __future__ import annotations

import numpy as np

from rc_hpc.core.vocabulary import LabelStatus, System
from rc_hpc.kinds.packed.schema import MOLECULES, STRUCTURES, in_words_of_molecules
from rc_hpc.store.schema import Column, Schema

_CELL = ("subset",)


CELLS = (
    Column("cells/n_recovered", "i4", "1", "Atoms of the reconstruction.", _CELL, -1),
    Column(
        "cells/n_phantoms",
        "i4",
        "1",
        "Distinct accepted points farther than delta from every atom of their species "
        "(phantoms by acceptance).",
        _CELL,
        -1,
    ),
    Column(
        "cells/n_phantoms_exact",
        "i4",
        "1",
        "Distinct such points at which two rays meet within 1e-6 angstrom, all other views "
        "showing a point within delta: their number depends on delta.",
        _CELL,
        -1,
    ),
    Column(
        "cells/n_phantoms_strict",
        "i4",
        "1",
        "Distinct points farther than 1e-6 angstrom from every atom of their species at which "
        "two rays meet, and all other views show a point, within 1e-6 angstrom (phantoms by "
        "Definition 7): their number does not depend on delta.",
        _CELL,
        -1,
        later=True,
    ),
    Column(
        "cells/phantom_delta",
        "f8",
        "angstrom",
        "Smallest delta at which a phantom by acceptance exists; inf: none up to "
        "structures/delta_max.",
        _CELL,
        np.nan,
    ),
    Column(
        "cells/phantom_delta_exact",
        "f8",
        "angstrom",
        "Smallest delta at which a phantom exists whose rays meet within 1e-6 angstrom; inf: "
        "none up to structures/delta_max.",
        _CELL,
        np.nan,
    ),
    Column(
        "cells/point_error",
        "f8",
        "angstrom",
        "Largest distance from a reconstructed atom to the nearest true atom of its species.",
        _CELL,
        np.nan,
    ),
    Column(
        "cells/atom_error",
        "f8",
        "angstrom",
        "Largest distance from a true atom to the nearest reconstructed atom of its species.",
        _CELL,
        np.nan,
    ),
    Column(
        "cells/certified",
        "?",
        "1",
        "No phantom by acceptance at delta, independent views, and atoms of one species more "
        "than 2 delta apart: the theorem applies.",
        _CELL,
        False,
    ),
    Column(
        "cells/n_forced",
        "i4",
        "1",
        "Places at which rays of all views meet within 1e-6 angstrom and that alone explain some "
        "image point: every crystal with these pictures has an atom there. -1: such places do "
        "not explain all image points, as of parallel views.",
        _CELL,
        -1,
        later=True,
    ),
    Column(
        "cells/n_redundant",
        "i4",
        "1",
        "The other such places: each may be left out and the pictures stay the same.",
        _CELL,
        -1,
        later=True,
    ),
    Column(
        "cells/unique_any",
        "?",
        "1",
        "All such places are forced: no other crystal of this lattice has these pictures, with "
        "whatever number of atoms.",
        _CELL,
        False,
        later=True,
    ),
    Column(
        "cells/log10_explanations",
        "f8",
        "1",
        "Two views: log10 of the number of sets of such places that have these pictures, with "
        "any number of atoms; NaN elsewhere.",
        _CELL,
        np.nan,
        later=True,
    ),
    Column(
        "cells/near_tie",
        "?",
        "1",
        "Number of atoms or label is another with ties judged at a tenth of, or at ten times, "
        "the tie scale of the options; the number alone where nothing was labelled; not judged "
        "where merge is symmetric and has a choice.",
        _CELL,
        False,
        later=True,
    ),
    Column(
        "cells/reconstruction",
        "i4",
        "1",
        "Number of the reconstruction among the structure's distinct ones; 0 is the true cell.",
        _CELL,
        -1,
    ),
    Column(
        "cells/label_status",
        LabelStatus,
        "1",
        "How the label came about.",
        _CELL,
        LabelStatus.not_done,
    ),
    Column(
        "cells/space_group",
        "i2",
        "1",
        "Space-group number of the reconstruction; 0 is none.",
        _CELL,
    ),
    Column("cells/crystal_system", System, "1", "Crystal system of the reconstruction.", _CELL),
    Column(
        "cells/correct_crystal_system",
        "?",
        "1",
        "Crystal system equals the true one.",
        _CELL,
        False,
    ),
    Column("cells/correct_bravais", "?", "1", "Bravais lattice equals the true one.", _CELL, False),
    Column("cells/correct_point_group", "?", "1", "Point group equals the true one.", _CELL, False),
    Column("cells/correct_space_group", "?", "1", "Space group equals the true one.", _CELL, False),
)

CENSUS_STRUCTURES = (
    Column(
        "structures/delta_max",
        "f8",
        "angstrom",
        "Largest delta up to which this structure's phantom profile was followed.",
        fill=np.nan,
    ),
    Column(
        "structures/n_candidates",
        "i8",
        "1",
        "Candidates enumerated over all independent pairs up to delta_max.",
    ),
    Column("structures/n_reconstructions", "i4", "1", "Distinct reconstructions over the subsets."),
)

PHANTOMS = (
    Column("structure", "i8", "1", "Row of /structures."),
    Column("number", "u1", "1", "Atomic number."),
    Column("position", "f8", "angstrom", "Position in the conventional cell's frame.", ("xyz",)),
    Column(
        "view_a",
        "u1",
        "1",
        "First view of the pair whose rays meet there: index into /protocol/view.",
    ),
    Column("view_b", "u1", "1", "Second view of the pair."),
    Column("gap", "f8", "angstrom", "Distance between the two rays."),
    Column(
        "residual",
        "f8",
        "angstrom",
        "Distance to the nearest image point of the species in each view; inf beyond "
        "structures/delta_max.",
        ("view",),
    ),
    Column(
        "distance",
        "f8",
        "angstrom",
        "Distance to the nearest true atom of the species: a phantom for every delta from "
        "max(gap, residuals) up to, not including, this.",
    ),
)

_OF_CRYSTALS = (
    "cells/space_group",
    "cells/crystal_system",
    "cells/correct_crystal_system",
    "cells/correct_bravais",
    "cells/correct_space_group",
)
#: Of molecules: the point group in place of all that a space group says.
MOLECULE_CELLS = (
    *(in_words_of_molecules(one) for one in CELLS if one.path not in _OF_CRYSTALS),
    Column(
        "cells/point_group",
        "u1",
        "1",
        "Point group of the reconstruction: index into /vocabulary/schoenflies, 0 is none.",
        _CELL,
    ),
)

CENSUS = Schema(
    "census",
    "Model-free render ceilings: what the cameras determine of each structure, for every "
    "subset of them.",
    (*STRUCTURES, *CENSUS_STRUCTURES, *CELLS),
    {"phantoms": PHANTOMS},
    Schema(
        "census",
        "Model-free render ceilings of molecules: what the cameras determine of each, for every "
        "subset of them.",
        (*MOLECULES, *CENSUS_STRUCTURES, *MOLECULE_CELLS),
        {"phantoms": tuple(map(in_words_of_molecules, PHANTOMS))},
    ),
)
