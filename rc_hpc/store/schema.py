"""The data dictionary: every dataset that is written, with its type, unit and one sentence.

Files, validation and the tables are driven by these lists. A *main* column has one
row per structure; a *child* table has any number of rows per structure and points
back through its `structure` column. Trailing dimensions are named; lengths that are
not in `FIXED_DIMS` (`view`, `subset`, `setting`, ...) belong to a file, not to the schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from rc_hpc.constants import CRYSTAL_SYSTEMS
from rc_hpc.errors import Status
from rc_hpc.sweep_options import Side

#: Raised when a dataset changes its meaning or goes: other versions are refused.
SCHEMA_VERSION = 1

TEXT = "text"  # variable-length UTF-8

#: Lengths of the dimensions that are the same in every file.
FIXED_DIMS = {"vector": 3, "xyz": 3}


class System(IntEnum):
    """Crystal system as stored; 0 where there is no label."""

    none = 0
    triclinic = 1
    monoclinic = 2
    orthorhombic = 3
    tetragonal = 4
    trigonal = 5
    hexagonal = 6
    cubic = 7


assert tuple(s.name for s in System)[1:] == CRYSTAL_SYSTEMS


class LabelStatus(IntEnum):
    """How the label of one reconstruction came about."""

    labelled = 0
    no_atoms = 1
    failed = 2
    not_done = 3


@dataclass(frozen=True)
class Column:
    """One dataset.

    Attributes
    ----------
    path
        Dataset path below its table, or below the root for a main column.
    dtype
        NumPy dtype string, `TEXT`, or an IntEnum class (stored as an HDF5 enum).
    unit
        Unit as written to the `units` attribute: ``angstrom``, ``degree``, ``1``.
    description
        One sentence for people.
    dims
        Names of the trailing dimensions.
    fill
        Value of a row for which nothing was computed.
    """

    path: str
    dtype: Any
    unit: str
    description: str
    dims: tuple[str, ...] = ()
    fill: Any = 0

    @property
    def numpy_dtype(self) -> np.dtype:
        """Dtype in memory: object for text, uint8 for enums."""
        if self.dtype == TEXT:
            return np.dtype(object)
        if isinstance(self.dtype, type):
            return np.dtype(np.uint8)
        return np.dtype(self.dtype)


@dataclass(frozen=True)
class Schema:
    """Main columns and child tables of one kind of file."""

    kind: str
    title: str
    main: tuple[Column, ...]
    children: dict[str, tuple[Column, ...]]


def _label_columns(which: str, suffix: str) -> tuple[Column, ...]:
    return (
        Column(
            f"structures/space_group{suffix}",
            "i2",
            "1",
            f"Space-group number of the {which} cell at (tau, angle tolerance); 0 where spglib gave none.",
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
            f"Crystallographic point group of the {which} cell: index into /vocabulary/point_group, 0 is none.",
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
        "0 for the row that owns the id; 1, 2, ... for later rows with the same id, which a census does not compute.",
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
        "Space-group number of the stored cell at the settings of /settings/sweep; 0 where spglib gave none.",
        ("setting",),
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
        "structures/quarantine",
        "u1",
        "1",
        "Bit 0: unstable in the neighbourhood; bit 1: the source claims another space group. 0 is kept.",
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
        "Smallest distance between two atoms of one species within the drawn cell; inf where no species occurs twice.",
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

PACKED = Schema(
    "packed",
    "Crystal structures with conventional cells, symmetry labels and tolerance sweep, one row each.",
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
)

_CELL = ("subset",)
CELLS = (
    Column("cells/n_recovered", "i4", "1", "Atoms of the reconstruction.", _CELL, -1),
    Column(
        "cells/n_phantoms",
        "i4",
        "1",
        "Distinct accepted points farther than delta from every atom of their species (phantoms by acceptance).",
        _CELL,
        -1,
    ),
    Column(
        "cells/n_phantoms_exact",
        "i4",
        "1",
        "Distinct such points at which two rays meet exactly (phantoms by Definition 7).",
        _CELL,
        -1,
    ),
    Column(
        "cells/phantom_delta",
        "f8",
        "angstrom",
        "Smallest delta at which a phantom by acceptance exists; inf: none up to structures/delta_max.",
        _CELL,
        np.nan,
    ),
    Column(
        "cells/phantom_delta_exact",
        "f8",
        "angstrom",
        "Smallest delta at which a phantom by Definition 7 exists; inf: none up to structures/delta_max.",
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
        "No phantom by acceptance at delta, independent views, and atoms of one species more than 2 delta apart: the theorem applies.",
        _CELL,
        False,
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
        "Distance to the nearest image point of the species in each view; inf beyond structures/delta_max.",
        ("view",),
    ),
    Column(
        "distance",
        "f8",
        "angstrom",
        "Distance to the nearest true atom of the species: a phantom for every delta from max(gap, residuals) up to, not including, this.",
    ),
)

CENSUS = Schema(
    "census",
    "Model-free render ceilings: what the cameras determine of each structure, for every subset of them.",
    (*STRUCTURES, *CENSUS_STRUCTURES, *CELLS),
    {"phantoms": PHANTOMS},
)


class ProfileKind(IntEnum):
    """Which phantoms an interval of the delta profile is about."""

    acceptance = 0
    definition7 = 1


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
        "Smallest distance between two atoms of one species within the drawn cell, tiling included; inf where no species occurs twice.",
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
        "No phantom by acceptance at delta, and atoms of one species more than 2 delta apart: the theorem applies.",
        ("delta", "subset"),
        False,
    ),
    Column(
        "frontier/phantom_delta",
        "f8",
        "angstrom",
        "Smallest delta at which a phantom by acceptance exists; inf: none up to structures/delta_max.",
        _CELL,
        np.nan,
    ),
    Column(
        "frontier/phantom_delta_exact",
        "f8",
        "angstrom",
        "Smallest delta at which a phantom by Definition 7 exists; inf: none up to structures/delta_max.",
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
        "Up to, not including, this delta. Intervals of one structure, subset and kind are disjoint and ascending, and complete up to structures/delta_max.",
    ),
)

FRONTIER = Schema(
    "frontier",
    "Tolerance frontier: what the cameras determine of each structure at every delta, and at which deltas it has phantoms.",
    (*STRUCTURES, *FRONTIER_COLUMNS),
    {"profile": PROFILE},
)

_RUNS = ("protocol", "reading", "sigma", "seed")
NOISE_COLUMNS = (
    Column(
        "noise/separation",
        "f8",
        "angstrom",
        "Smallest distance between two atoms of one species within the drawn cell, tiling included; inf where no species occurs twice.",
        ("protocol",),
        np.nan,
    ),
    Column(
        "noise/budget_record",
        "f8",
        "angstrom",
        "The record's predicted tolerance (separation - tau) / (2 kappa), with the protocol's largest kappa.",
        ("protocol",),
        np.nan,
    ),
    Column(
        "noise/budget_certain",
        "f8",
        "angstrom",
        "Error of every centroid up to which no position can be mistaken for a neighbour's.",
        ("protocol", "reading"),
        np.nan,
    ),
    Column(
        "noise/budget_probable",
        "f8",
        "angstrom",
        "sigma up to which no position of the structure is mistaken for a neighbour's with probability 0.95.",
        ("protocol", "reading"),
        np.nan,
    ),
    Column(
        "noise/aligned",
        "i1",
        "1",
        "Shortest lattice vector of the conventional cell, coefficients up to 3, that this camera looks along: it shows atoms that differ by it at one place. 0, 0, 0 where there is none.",
        ("protocol", "view", "vector"),
    ),
    Column(
        "noise/n_images",
        "i4",
        "1",
        "Places at which this camera shows the drawn atoms, species by species; -1 beyond the protocol's views.",
        ("protocol", "view"),
        -1,
    ),
    Column("noise/n_recovered", "i4", "1", "Atoms read from the noisy centroids.", _RUNS, -1),
    Column(
        "noise/median_error",
        "f4",
        "angstrom",
        "Median distance of these from the nearest true atom of their species.",
        _RUNS,
        np.nan,
    ),
    Column("noise/largest_error", "f4", "angstrom", "Largest such distance.", _RUNS, np.nan),
    Column("noise/symprec", "f4", "angstrom", "spglib's symprec of the label.", _RUNS, np.nan),
    Column(
        "noise/space_group",
        "i2",
        "1",
        "Space-group number of the cell that was read; 0 is none: no atoms, or spglib gave up.",
        _RUNS,
    ),
    Column(
        "noise/correct_crystal_system",
        "?",
        "1",
        "Crystal system equals the true one.",
        _RUNS,
        False,
    ),
    Column("noise/correct_bravais", "?", "1", "Bravais lattice equals the true one.", _RUNS, False),
    Column("noise/correct_point_group", "?", "1", "Point group equals the true one.", _RUNS, False),
    Column("noise/correct_space_group", "?", "1", "Space group equals the true one.", _RUNS, False),
)

NOISE = Schema(
    "noise",
    "Centroid noise: what is read of each structure from pictures whose disc centres carry Gaussian errors.",
    (*STRUCTURES, *NOISE_COLUMNS),
    {},
)

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
        "Largest distance from a reconstructed atom to the nearest true atom of its species; inf where nothing is reconstructed.",
        _READ,
        np.nan,
    ),
    Column(
        "occlusion/atom_error",
        "f8",
        "angstrom",
        "Largest distance from a true atom to the nearest reconstructed atom of its species; inf where one has none.",
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
    "Occlusion: what the cameras determine of each structure where discs hide the centres of others.",
    (*STRUCTURES, *OCCLUSION_COLUMNS),
    {},
)


_PICTURES = ("protocol", "sigma", "seed")
_SIZES = ("protocol", "size")
DESIGN_COLUMNS = (
    Column(
        "design/split",
        Side,
        "1",
        "Part of the structure: unused, choosing between the sets found (training; searched: the search looked at it, too), or held out: the search and the choice knew nothing of it.",
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
        "View subsets of each size, from 2 on, with a phantom by acceptance at the design's delta; -1 beyond the protocol's views.",
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
    "Camera design: what is read of each structure under camera sets that a search found, and under known ones.",
    (*STRUCTURES, *DESIGN_COLUMNS),
    {},
)


class Renderer(IntEnum):
    """What drew a picture."""

    fast = 0
    ase = 1


PICTURES = (
    Column("structure", "i8", "1", "Row of /structures."),
    Column("view", "u1", "1", "Camera: index into /protocol/view."),
    Column("file", TEXT, "1", "Name of the PNG in the folder of pictures beside this file."),
    Column("bytes", "i8", "byte", "Size of the PNG."),
    Column("sha256", TEXT, "1", "SHA-256 of the PNG."),
    Column(
        "pixels_sha256",
        TEXT,
        "1",
        "SHA-256 of its pixels: rows from the top, three bytes (red, green, blue) each.",
    ),
    Column("convention", TEXT, "1", "Drawing convention, C1 to C5, or custom."),
    Column(
        "renderer",
        Renderer,
        "1",
        "What drew it: the fast path, or ASE where that was asked for or the structure is too wide for the fast path.",
    ),
    Column("size", "i4", "px", "Width and height."),
    Column(
        "tiling", "i4", "1", "Repetitions of the conventional cell along its vectors.", ("vector",)
    ),
    Column("radii_factor", "f8", "1", "Disc radius in units of ASE's covalent radius."),
    Column("px_per_angstrom", "f8", "px/angstrom", "Scale k."),
    Column(
        "origin_u",
        "f8",
        "px",
        "Column at which the origin of the cell's frame lies: a position's u is origin_u + k x, x the first column of position @ rotation.",
    ),
    Column(
        "origin_v", "f8", "px", "Row at which it lies: v is origin_v - k y, y the second column."
    ),
    Column(
        "tied_pairs",
        "i4",
        "1",
        "Pairs of drawn things at one depth whose paint may meet: where 0, the order of painting is no convention.",
    ),
    Column(
        "pixels_not_ase",
        "i4",
        "1",
        "Pixels that differ from ASE's own drawing; -1 where it was not compared.",
        fill=-1,
    ),
    Column(
        "largest_not_ase",
        "i2",
        "1",
        "Largest difference of a colour from ASE's, of 255; -1 where it was not compared.",
        fill=-1,
    ),
)

DISCS = (
    Column("structure", "i8", "1", "Row of /structures."),
    Column("view", "u1", "1", "Camera: index into /protocol/view."),
    Column("number", "u1", "1", "Atomic number."),
    Column("site", "i4", "1", "Atom of the conventional cell, from 0, of which this is a copy."),
    Column("u", "f8", "px", "Centre from the left edge; pixel i reaches from i to i + 1."),
    Column("v", "f8", "px", "Centre from the upper edge."),
    Column(
        "radius", "f8", "px", "Radius without the outline, which reaches half its width further."
    ),
    Column("depth", "f8", "angstrom", "Third column of position @ rotation; larger is nearer."),
)

RENDERS = Schema(
    "renders",
    "Pictures of crystal structures: what each PNG shows, how it was drawn, and where every atom lies in it.",
    (*STRUCTURES, Column("structures/n_drawn", "i4", "1", "Atoms drawn in each picture.")),
    {"pictures": PICTURES, "discs": DISCS},
)

SCHEMAS = {
    schema.kind: schema for schema in (PACKED, CENSUS, FRONTIER, OCCLUSION, NOISE, DESIGN, RENDERS)
}
