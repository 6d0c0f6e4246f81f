"""Columns of a packed file, with which those of every kind begin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import SweptBy, System
from rc_hpc.store.schema import TEXT, Column, Schema


def _label_columns(which: str, suffix: str) -> tuple[Column, ...]:
    return (
        Column(
            f"structures/space_group{suffix}",
            "i2",
            "1",
            f"Space-group number of the {which} cell at (tau, angle tolerance); 0 where "
            "spglib gave none.",
        ),
        Column(
            f"structures/crystal_system{suffix}",
            System,
            "1",
            f"Crystal system of the {which} cell.",
        ),
        Column(
            f"structures/bravais{suffix}",
            "i1",
            "1",
            f"Bravais lattice of the {which} cell: index into /vocabulary/bravais, 0 is none.",
        ),
        Column(
            f"structures/point_group{suffix}",
            "i1",
            "1",
            f"Crystallographic point group of the {which} cell: index into "
            "/vocabulary/point_group, 0 is none.",
        ),
    )


STRUCTURES = (
    Column(
        "structures/id", TEXT, "1", "Identifier of the structure, as the source gives it.", fill=""
    ),
    Column(
        "structures/duplicate",
        "i4",
        "1",
        "0 for the row that owns the id; 1, 2, ... for later rows with the same id, which a "
        "census does not compute.",
    ),
    Column("structures/source", TEXT, "1", "File or collection it was read from.", fill=""),
    Column("structures/reader", TEXT, "1", "Program and version that read it.", fill=""),
    Column("structures/sha256", TEXT, "1", "SHA-256 of the bytes it was read from.", fill=""),
    Column(
        "structures/status",
        Status,
        "1",
        "Outcome of reading, checking, labelling and reconstructing.",
    ),
    Column(
        "structures/message",
        TEXT,
        "1",
        "What went wrong and what to do; empty where nothing did.",
        fill="",
    ),
    Column(
        "structures/formula",
        TEXT,
        "1",
        "Reduced chemical formula, elements by electronegativity.",
        fill="",
    ),
    Column("structures/n_atoms_stored", "i4", "1", "Atoms in the cell as read."),
    Column("structures/n_atoms", "i4", "1", "Atoms in the conventional cell."),
    Column(
        "structures/lattice_stored",
        "f8",
        "angstrom",
        "Lattice vectors (rows) of the cell as read.",
        ("vector", "xyz"),
        np.nan,
    ),
    Column(
        "structures/lattice",
        "f8",
        "angstrom",
        "Lattice vectors (rows) of the conventional standard cell.",
        ("vector", "xyz"),
        np.nan,
    ),
    Column(
        "structures/source_space_group",
        "i2",
        "1",
        "Space-group number claimed by the source; 0 where it claims none.",
    ),
    *_label_columns("stored", ""),
    *_label_columns("conventional", "_conventional"),
    Column(
        "structures/sweep",
        "i2",
        "1",
        "Space-group number of the stored cell at the settings of /settings/sweep; 0 where "
        "spglib gave none, -1 for a setting that the file was packed without.",
        ("setting",),
    ),
    Column(
        "structures/sweep_by",
        SweptBy,
        "1",
        "Where the numbers of the sweep, and of the other orders of the atoms, come from: spglib's "
        "calls, or one call, since the symmetry is exact and no other is near.",
        later=True,
    ),
    Column(
        "structures/neighbourhood_stable",
        "?",
        "1",
        "One space group over the production neighbourhood of tolerances.",
        fill=False,
    ),
    Column(
        "structures/flipped",
        "?",
        "1",
        "More than one space group over the whole sweep.",
        fill=False,
    ),
    Column(
        "structures/min_distance_in_radii",
        "f8",
        "1",
        "Smallest distance of two atoms, periodic images included, in sums of their covalent "
        "radii; inf where none is below 1. Below 0.7 the structure is doubtful.",
        fill=np.nan,
        later=True,
    ),
    Column(
        "structures/order_dependent",
        "?",
        "1",
        "spglib gives the stored cell another space group where its atoms come in another of "
        "eight fixed orders.",
        fill=False,
        later=True,
    ),
    Column(
        "structures/quarantine",
        "u1",
        "1",
        "Bit 0: unstable in the neighbourhood; bit 1: the source claims another space group; "
        "bit 2: the label depends on the order of the atoms. 0 is kept.",
    ),
    Column(
        "structures/min_distance",
        "f8",
        "angstrom",
        "Smallest distance between two atoms of the conventional cell, periodic.",
        fill=np.nan,
    ),
    Column(
        "structures/min_same_species",
        "f8",
        "angstrom",
        "Smallest distance between two atoms of one species within the drawn cell; inf where "
        "no species occurs twice.",
        fill=np.nan,
    ),
    Column(
        "structures/min_same_species_periodic", "f8", "angstrom", "The same, periodic.", fill=np.nan
    ),
)

ATOMS = (
    Column("structure", "i8", "1", "Row of /structures."),
    Column("number", "u1", "1", "Atomic number."),
)

_MOLECULAR = ("id", "duplicate", "source", "reader", "sha256", "status", "message")
MOLECULES = (
    *(one for one in STRUCTURES if one.path.removeprefix("structures/") in _MOLECULAR),
    Column("structures/formula", TEXT, "1", "Chemical formula in Hill's order.", fill=""),
    Column("structures/n_atoms", "i4", "1", "Atoms of the molecule."),
    Column(
        "structures/point_group",
        "u1",
        "1",
        "Point group within the group tolerance: index into /vocabulary/schoenflies, 0 is none.",
    ),
    Column(
        "structures/min_distance_in_radii",
        "f8",
        "1",
        "Smallest distance of two atoms in sums of their covalent radii; inf where none is "
        "below 1. Below 0.7 the molecule is doubtful.",
        fill=np.nan,
    ),
    Column(
        "structures/min_distance",
        "f8",
        "angstrom",
        "Smallest distance between two atoms; inf of a single one.",
        fill=np.nan,
    ),
    Column(
        "structures/min_same_species",
        "f8",
        "angstrom",
        "Smallest distance between two atoms of one species; inf where no species occurs twice.",
        fill=np.nan,
    ),
)


def in_words_of_molecules(column: Column) -> Column:
    """The same column where there is no lattice."""
    text = column.description
    for crystal, molecule in (
        ("crystal of this lattice", "molecule"),
        ("the conventional cell's frame", "the frame of the molecule as it stands"),
        ("the drawn cell's frame", "the frame of the molecule as it stands"),
        ("every crystal", "every molecule"),
        ("a crystal of another system", "a molecule of another point group"),
        ("within the drawn cell, tiling included", "of the molecule"),
        ("the true cell", "the molecule itself"),
    ):
        text = text.replace(crystal, molecule)
    return replace(column, description=text)


PACKED = Schema(
    "packed",
    "Crystal structures with conventional cells, symmetry labels and tolerance sweep, one "
    "row each.",
    STRUCTURES,
    {
        "stored_atoms": (
            *ATOMS,
            Column("frac", "f8", "1", "Fractional coordinates as read.", ("vector",)),
        ),
        "atoms": (
            *ATOMS,
            Column(
                "position",
                "f8",
                "angstrom",
                "Cartesian position in the conventional cell's frame.",
                ("xyz",),
            ),
        ),
    },
    Schema(
        "packed",
        "Molecules with their point groups, one row each; there is no lattice.",
        MOLECULES,
        {
            "atoms": (
                *ATOMS,
                Column(
                    "position",
                    "f8",
                    "angstrom",
                    "Position in the frame of the file, turned as the options say.",
                    ("xyz",),
                ),
            ),
        },
    ),
)
