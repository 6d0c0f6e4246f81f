"""Every name that is stored: enums of the files, and the words that options take."""

from __future__ import annotations

from enum import IntEnum

ENUMERATIONS = ("all-pairs", "anchor")
#: Order in which the atoms of a cell are taken: the fixed one, or the file's as the record has it.
ATOM_ORDERS = ("fixed", "file")

MERGE_RULES = ("dominance", "best-residual", "least-squares", "mean", "first")

#: Merge rules of a census beside these: of all crystals that have the pictures the most symmetric,
#: with any number of atoms and with the fewest of each species.
CHOOSING_RULES = ("symmetric", "parsimonious")
CENSUS_MERGES = (*MERGE_RULES, *CHOOSING_RULES)

#: Which view subsets a census labels: all, those of three and more views, that of all cameras.
LABELLED = ("all", "3+", "full")

QUARANTINE_POLICIES = ("mark", "keep", "drop")

TRUTHS = ("stored", "conventional")


#: Noise: how the tolerance delta follows from sigma; `record` is the released experiment as a
#: whole.
NOISE_RULES = ("common", "paper", "record")

#: Noise: which centroids an atom's position is estimated from.
ESTIMATORS = ("all-views", "best-pair", "anchor-pair")

#: Noise: how the symmetry of the noisy cell is found; `true-error` sets symprec from the truth, as
#: the record did.
LABELLERS = ("statistical", "distance", "true-error")

#: Rule, estimator, merge and labeller of the released noise experiment.
RECORDED_READING = ("record", "anchor-pair", "first", "true-error")

#: Resampling filters of pixel files, by Pillow's names. All but `nearest` widen with the
#: reduction, so that fine lines are averaged rather than hit or missed.
FILTERS = ("bicubic", "bilinear", "lanczos", "hamming", "box", "nearest")


#: How the tolerance sweep goes about it: one call where that is all there is to learn, or all.
SWEEPS = ("short", "full")


class SweptBy(IntEnum):
    """Where the numbers of a tolerance sweep, and of other orders of the atoms, come from."""

    none = 0
    calls = 1  # spglib was called at every setting
    exactness = 2  # the symmetry is exact and no other is near: the label's number


class Side(IntEnum):
    """Part that a structure plays in a design."""

    unused = 0
    training = 1
    searched = 2
    held_out = 3


#: What a reader of pictures knows beside them; see `rc_hpc.reader.records.Knowledge`.
LEVELS = ("K0", "K1", "K2")
#: What it takes for the fill of an element: its exact colour, or, where pictures were changed after
#: they were drawn, the nearest one.
COLOURS = ("exact", "nearest")

#: The released study's own reading, which is told the truth, and the same with the elements told
#: too: no levels of knowledge, but named in their place; see `rc_hpc.reader.released`.
RELEASED = ("released", "released-oracle-species")


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


class LabelStatus(IntEnum):
    """How the label of one reconstruction came about."""

    labelled = 0
    no_atoms = 1
    failed = 2
    not_done = 3


class Known(IntEnum):
    """What a reader of pictures knows, or holds for likely, beside them; loose ones first."""

    any = 0
    counts = 1
    physical = 2
    fewest = 3


class Uniqueness(IntEnum):
    """Whether other crystals have the same pictures as one."""

    not_done = 0
    unique = 1
    determined = 2
    undetermined = 3
    unknown = 4
    inadmissible = 5


class Undecided(IntEnum):
    """Why it is not known whether a crystal system is determined."""

    none = 0
    limit = 1
    conflicts = 2
    seconds = 3
    operations = 4
    sites = 5
    translations = 6
    places = 7


class ProfileKind(IntEnum):
    """Which phantoms an interval of the delta profile is about."""

    acceptance = 0
    definition7 = 1


class Renderer(IntEnum):
    """What drew a picture."""

    fast = 0
    ase = 1


class ReadStatus(IntEnum):
    """How reading the pictures of a crystal has ended."""

    refused = 0
    read = 1
    uncertified = 2
    no_lattice = 3
    no_scale = 4
    convention = 5


class Outcome(IntEnum):
    """What became of a sample; stored as an HDF5 enum. Codes are never renumbered."""

    answered = 0
    refused = 1
    empty_by_length = 2  # the budget of tokens ended before any visible text
    request_error = 3  # the endpoint rejects this request for good
    gave_up = 4  # every attempt failed
    not_asked = 5  # nothing to ask about
