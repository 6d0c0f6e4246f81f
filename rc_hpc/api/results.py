"""What the functions give: the ceiling of one structure, and of many."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rc_hpc.api.inputs import NAMELESS
from rc_hpc.core.errors import Status, StructureError, UsageError
from rc_hpc.core.lazy import resolve
from rc_hpc.core.vocabulary import LabelStatus
from rc_hpc.kinds.census.computed import Computed
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.picture import draw_views
from rc_hpc.kinds.registry import KINDS
from rc_hpc.symmetry.labels import Label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from rc_hpc.kinds.census.counts import CensusCounts

CENSUS = KINDS["census"]
#: Columns that the notebook shows of each subset and structure.
_SUBSETS = (
    "views",
    "n_phantoms",
    "phantom_delta",
    "certified",
    "symbol",
    "crystal_system",
    "correct_crystal_system",
)
_STRUCTURES = (
    "status",
    "formula",
    "n_atoms",
    "space_group",
    "crystal_system",
    "certified",
    "correct",
    "message",
)
#: Rows that it shows.
_SHOWN = 40


class Cell(NamedTuple):
    """A conventional cell, in the frame that positions of phantoms refer to.

    Attributes
    ----------
    lattice : (3, 3) float64
        Vectors as rows, Å.
    positions : (n, 3) float64
        Cartesian, Å.
    numbers : (n,) uint8
        Atomic numbers.
    """

    lattice: np.ndarray
    positions: np.ndarray
    numbers: np.ndarray


class Ceiling:
    """What the cameras determine of one structure; `rc_hpc.ceiling` makes it.

    ``str`` says it in a sentence, a notebook shows it with its view subsets.
    """

    def __init__(self, computed: Computed, row: int):
        self._computed, self._row = computed, row
        subsets = computed.subsets([row])
        #: One row each view subset, by the names of its cameras; columns as in a census file.
        self.subsets: pd.DataFrame = subsets.droplevel("structure")
        #: One row each phantom up to `delta_max` of the options: element, position (Å, frame of
        #: `cell`), the two views whose rays meet there, and, in Å, the gap of these rays, the
        #: residual in each view and the distance to the nearest atom of the element. It is a
        #: phantom for every delta from the largest of gap and residuals up to, not including, the
        #: distance.
        self.phantoms: pd.DataFrame = computed.phantoms([row]).drop(columns="structure")

    @property
    def id(self) -> str:
        """Id, from the file or mapping that it came from."""
        return str(self._computed.value("structures/id", self._row))

    @property
    def formula(self) -> str:
        """Reduced formula."""
        return str(self._computed.value("structures/formula", self._row))

    @property
    def options(self) -> CensusOptions:
        """Options of the computation; ``options.to_dict()`` is their record in a file."""
        return self._computed.options

    @property
    def cell(self) -> Cell:
        """The conventional cell."""
        atoms = self._computed.packed.child("atoms", self._row)
        lattice = self._computed.value("structures/lattice", self._row)
        return Cell(lattice, atoms["position"], atoms["number"])

    @property
    def truth(self) -> Label:
        """The label that counts as true: number, symbol, crystal system, point group, Bravais."""
        return self._computed.truth(self._row)

    @property
    def label(self) -> Label | None:
        """The label of what all cameras give back; None where it has none, or was not asked for."""
        full = self._computed.full
        return None if full is None else self._computed.found(self._row, full)

    @property
    def certified(self) -> bool | None:
        """Whether no phantom stands against the structure at delta, with all cameras.

        Then the maximal reading of the pictures is the structure, and no other crystal with as many
        atoms of each species has these pictures; for any number of atoms see `unique`. None
        where the subset of all cameras was not asked for.
        """
        return self._of_all("certified")

    @property
    def unique(self) -> bool | None:
        """Whether no other crystal of this lattice has the exact pictures of all cameras.

        With whatever number of atoms. None where the subset of all cameras was not asked for.
        """
        return self._of_all("unique_any")

    @property
    def correct(self) -> bool | None:
        """Whether all cameras give back the true crystal system: what R1 counts."""
        return self._of_all("correct_crystal_system")

    def phantoms_on(self, subset: str) -> pd.DataFrame:
        """The phantoms by acceptance of one view subset at delta: rows of `phantoms`.

        Parameters
        ----------
        subset
            Names of cameras, joined by ``+``.

        Raises
        ------
        UsageError
            It is not among `subsets`.
        """
        cameras = set(subset.split("+"))
        if not any(cameras == set(name.split("+")) for name in self.subsets.index):
            raise UsageError(f"{subset!r} is no view subset of this ceiling: see subsets.index")
        return self._computed.phantoms_on([self._row], subset).drop(columns="structure")

    def plot(self, subset: str | None = None) -> Figure:
        """What each camera sees, with the phantoms of a view subset, above all subsets.

        Parameters
        ----------
        subset
            Whose phantoms are marked; by default of the wrong ones, else of all, the first
            that has most.
        """
        chosen = self._computed.telling(self.subsets) if subset is None else subset
        return draw_views(
            self.cell, self._computed.protocol, self.subsets, chosen, self.phantoms_on(chosen)
        )

    def __str__(self) -> str:
        truth, name = self.truth, self.formula
        if self.id != NAMELESS:
            name = f"{self.id} ({name})"
        proof = ""
        if self.certified is not None:
            cameras = _cameras(self._computed)
            proof = f"{'' if self.certified else 'not '}certified by all {cameras}, with "
        read = int((self.subsets["label_status"] != LabelStatus.not_done.name).sum())
        of = "them" if read == len(self.subsets) else str(len(self.subsets))
        right = int(self.subsets["correct_crystal_system"].sum())
        phantoms = int((self.subsets["n_phantoms"] > 0).sum())
        return (
            f"{name}, {truth.symbol} ({truth.number}), {truth.crystal_system}: at delta "
            f"{self.options.delta:g} Å {proof}the crystal system right on {right} of "
            f"{read} view subsets and phantoms on {phantoms} of {of}"
        )

    def __repr__(self) -> str:
        return f"<Ceiling: {self}>"

    def _repr_html_(self) -> str:
        return _html(str(self), self.subsets[list(_SUBSETS)])

    def _of_all(self, column: str) -> bool | None:
        full = self._computed.full
        return None if full is None else bool(self.subsets[column].iloc[full])


class Ceilings:
    """What the cameras determine of many structures; `rc_hpc.ceilings` makes it.

    ``ceilings[id]`` is the `Ceiling` of one, ``for id in ceilings`` goes through the ids, ``len``
    counts them. A structure that was refused is a row of `structures` like any other, with its
    status and what to do about it.
    """

    def __init__(self, computed: Computed):
        self._computed = computed
        rows = computed.computed()
        #: One row each structure, by id: status, message, labels, sizes; and, where the subset of
        #: all cameras was asked for, whether it is certified and its crystal system correct.
        self.structures: pd.DataFrame = computed.structures()
        #: One row each computed structure and view subset.
        self.subsets: pd.DataFrame = computed.subsets(rows)
        #: One row each phantom; columns as in `Ceiling.phantoms`, and the id.
        self.phantoms: pd.DataFrame = computed.phantoms(rows)
        count_batch = resolve("rc_hpc.kinds.census.counts:count_batch")
        self._counts: CensusCounts = count_batch(computed.options, computed.rows.batch)

    @property
    def options(self) -> CensusOptions:
        """Options of the computation."""
        return self._computed.options

    @property
    def views(self) -> pd.DataFrame:
        """R1 by number of views: mean, least and largest over the subsets."""
        return self.table("views")

    def table(self, name: str) -> pd.DataFrame:
        """A table as ``python -m rc_hpc.tables`` makes it of a census file, unrounded.

        Parameters
        ----------
        name
            reference, subsets, views, violations, falling, granularity, systems, phantom-deltas
            or status.

        Raises
        ------
        UsageError
            There is no such table.
        """
        if name not in CENSUS.table_lines:
            raise UsageError(f"no table {name!r}: a census has {', '.join(CENSUS.table_lines)}")
        (table,) = CENSUS.load("tables")(self._counts, [name])
        frame: pd.DataFrame = table.frame
        return frame

    def __getitem__(self, id_: str) -> Ceiling:
        """The ceiling of one structure.

        Raises
        ------
        KeyError
            No structure has this id.
        StructureError
            It was refused; says why.
        """
        batch = self._computed.rows.batch
        owner = (batch["structures/id"] == id_) & (batch["structures/duplicate"] == 0)
        if not owner.any():
            raise KeyError(id_)
        return ceiling_of(self._computed, int(owner.argmax()))

    def __iter__(self) -> Iterator[str]:
        return iter(self.structures.index)

    def __len__(self) -> int:
        return len(self.structures)

    def __contains__(self, id_: object) -> bool:
        return id_ in self.structures.index

    def __str__(self) -> str:
        delta, full = self.options.delta, self._computed.full
        kept = next(iter(self._counts.sets().values()))
        refused = len(self) - len(self._computed.computed())
        unstable = self._counts.n_quarantined * (self.options.quarantine == "mark")
        aside = [f"{refused} refused"] * bool(refused)
        aside += [f"{unstable} with an unstable label left out"] * bool(unstable)
        told = f"{len(self)} structures" + (f" ({', '.join(aside)})" if aside else "")
        told += f" at delta {delta:g} Å"
        cameras = _cameras(self._computed)
        if full is None:
            return f"{told}, on {len(self._computed.subset_names)} view subsets of {cameras}"
        return (
            f"{told}: with all {cameras}, R1 is {kept.correct[0, full]}/{kept.n} and "
            f"{kept.certified[full]} are certified"
        )

    def __repr__(self) -> str:
        return f"<Ceilings: {self}>"

    def _repr_html_(self) -> str:
        shown = [name for name in _STRUCTURES if name in self.structures]
        return _html(str(self), self.structures[shown])


def ceiling_of(computed: Computed, row: int) -> Ceiling:
    """The ceiling of one row.

    Raises
    ------
    StructureError
        The structure was refused; says why.
    """
    status = Status(int(computed.value("structures/status", row)))
    if status != Status.ok:
        raise StructureError(status, f"{status.name}: {computed.value('structures/message', row)}")
    return Ceiling(computed, row)


def _cameras(computed: Computed) -> str:
    return f"{len(computed.protocol.views)} cameras of {computed.protocol.name}"


def _html(sentence: str, frame: pd.DataFrame) -> str:
    import pandas as pd

    with pd.option_context("display.max_colwidth", None):  # messages end with the cure
        table = frame.to_html(max_rows=_SHOWN, notebook=True)
    return f"<p>{escape(sentence)}.</p>{table}"
