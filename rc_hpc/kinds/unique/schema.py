"""Columns of a uniqueness file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rc_hpc.core.vocabulary import System, Undecided, Uniqueness
from rc_hpc.kinds.packed.schema import MOLECULES, STRUCTURES, in_words_of_molecules
from rc_hpc.oracle.molecular import GROUPS
from rc_hpc.store.schema import Column, Schema

_CELL = ("subset",)
_ASKED = ("policy", "subset")

UNIQUE_COLUMNS = (
    Column(
        "cells/n_places",
        "i4",
        "1",
        "Places: points that land on a pictured point of their species in every view, within "
        "delta; -1: they do not explain all points, as of parallel views.",
        _CELL,
        -1,
    ),
    Column(
        "cells/n_phantoms",
        "i4",
        "1",
        "Places farther than delta from every atom of their species.",
        _CELL,
        -1,
    ),
    Column(
        "cells/n_redundant",
        "i4",
        "1",
        "Places that are the only one on no image point.",
        _CELL,
        -1,
    ),
    Column(
        "cells/log10_explanations",
        "f8",
        "1",
        "Two views: log10 of the number of explanations with any number of atoms, sites within "
        "0.1 angstrom allowed; NaN elsewhere.",
        _CELL,
        np.nan,
    ),
    Column(
        "cells/log10_explanations_counts",
        "f8",
        "1",
        "The same with as many atoms of each species as there are; NaN also where that is too "
        "large to count.",
        _CELL,
        np.nan,
    ),
    Column(
        "cells/trivial",
        "?",
        "1",
        "Every place is the only one on some image point: unique under every policy.",
        _CELL,
        False,
    ),
    Column(
        "cells/maximal_system",
        System,
        "1",
        "Crystal system of all places together, the maximal explanation.",
        _CELL,
    ),
    Column(
        "cells/random_system",
        System,
        "1",
        "Crystal system of one explanation with known counts, drawn at random: of two views all "
        "equally likely, of more as the solver answers.",
        _CELL,
    ),
    Column("policies/status", Uniqueness, "1", "What was found under each policy.", _ASKED),
    Column("policies/reason", Undecided, "1", "Why a cell is unknown.", _ASKED),
    Column("policies/n_seen", "i4", "1", "Explanations that were labelled.", _ASKED, -1),
    Column(
        "policies/system_mask",
        "u1",
        "1",
        "Their crystal systems: bit n stands for system n.",
        _ASKED,
    ),
    Column(
        "policies/system",
        System,
        "1",
        "The one crystal system of all explanations, of a unique or determined cell.",
        _ASKED,
    ),
    Column(
        "policies/best_system",
        System,
        "1",
        "The crystal system of the most symmetric explanation; none where it is not known.",
        _ASKED,
    ),
)

PLACES = (
    Column("structure", "i8", "1", "Row of /structures."),
    Column("subset", "i4", "1", "View subset: index into /subsets."),
    Column("number", "u1", "1", "Atomic number."),
    Column("position", "f8", "angstrom", "Position in the drawn cell's frame.", ("xyz",)),
    Column("atom", "?", "1", "Whether it is an atom of the structure, not a phantom."),
    Column(
        "witness",
        "u1",
        "1",
        "Bit p is set where the witness of /axes/policy[p] has an atom there: a crystal of another "
        "system with the same pictures.",
    ),
)


def _of_molecules(column: Column) -> Column:
    """The same column where there is no lattice, and a point group in place of the system."""
    table, _, name = column.path.partition("/")
    text = in_words_of_molecules(column)
    if name not in GROUPS:
        return text
    told = text.description.replace("Crystal system", "Point group").replace(
        "crystal system", "point group"
    )
    told = told.removesuffix(".") + ": index into /vocabulary/schoenflies."
    return replace(text, path=f"{table}/{GROUPS[name]}", dtype="u1", description=told)


UNIQUE = Schema(
    "unique",
    "Uniqueness: whether other crystals have the same pictures as each structure, for every "
    "subset of the cameras.",
    (*STRUCTURES, *UNIQUE_COLUMNS),
    {"places": PLACES},
    Schema(
        "unique",
        "Uniqueness: whether other molecules have the same pictures as each, for every subset of "
        "the cameras.",
        (
            *MOLECULES,
            *(_of_molecules(one) for one in UNIQUE_COLUMNS if one.path != "policies/system_mask"),
        ),
        {"places": tuple(map(in_words_of_molecules, PLACES))},
    ),
)
