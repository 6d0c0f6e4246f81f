"""Rows of a census in memory as frames: codes by name, a row each subset, phantom or structure.

They may come from a census that was not written, or from files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import LabelStatus
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.schema import CENSUS
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.common.statics import subset_statics
from rc_hpc.kinds.common.subsets import Labels, labels_of
from rc_hpc.store.batch import Rows
from rc_hpc.store.schema import Column
from rc_hpc.symmetry.labels import BRAVAIS_LATTICES, POINT_GROUPS, Label, label
from rc_hpc.symmetry.point_groups import SCHOENFLIES

if TYPE_CHECKING:
    import pandas as pd

#: Names by stored code of the columns that hold such codes.
_VOCABULARIES = {
    "structures/bravais": ("", *BRAVAIS_LATTICES),
    "structures/bravais_conventional": ("", *BRAVAIS_LATTICES),
    "structures/point_group": ("", *POINT_GROUPS),
    "structures/point_group_conventional": ("", *POINT_GROUPS),
}
_OF_MOLECULES = dict.fromkeys(("structures/point_group", "cells/point_group"), ("", *SCHOENFLIES))


@dataclass(frozen=True)
class Computed:
    """A census in memory.

    Attributes
    ----------
    options
    packed, rows
        The structures, and what was computed of them, row by row.
    """

    options: CensusOptions
    packed: Rows
    rows: Rows

    @cached_property
    def protocol(self) -> Protocol:
        """Cameras and tiling."""
        return protocol_of(self.options.protocol)

    @cached_property
    def subset_names(self) -> list[str]:
        """The view subsets by the names of their cameras."""
        return list(self._statics["subsets/name"][0])

    @cached_property
    def full(self) -> int | None:
        """Place of the subset of all cameras; None where it was not computed."""
        sizes = self._statics["subsets/size"][0]
        largest = int(np.argmax(sizes))
        return largest if sizes[largest] == len(self.protocol.views) else None

    @cached_property
    def _statics(self) -> dict[str, Any]:
        return subset_statics(self.options)

    @cached_property
    def labels(self) -> Labels:
        """What the structures are labelled by."""
        return labels_of(self.options.to_dict())

    @property
    def right(self) -> str:
        """Column that tells whether a reading has the true label, the coarsest there is."""
        return f"correct_{self.labels.coarsest}"

    def telling(self, subsets: pd.DataFrame) -> str:
        """Of the subsets of one structure the one to look at first.

        Of those read wrongly, if any, the first that has most phantoms.
        """
        read = subsets["label_status"] != LabelStatus.not_done.name
        wrong = subsets[read & ~subsets[self.right].astype(bool)]
        return str((wrong if len(wrong) else subsets)["n_phantoms"].idxmax())

    def value(self, path: str, row: int) -> Any:
        """One value of a column of structures."""
        return self.rows.batch[path][row]

    def computed(self) -> np.ndarray:
        """Rows that have results."""
        return np.flatnonzero(self.rows.batch["structures/status"] == Status.ok)

    def truth(self, row: int) -> Label:
        """The label that counts as true; of a crystal."""
        which = "" if self.options.truth == "stored" else "_conventional"
        return label(int(self.value(f"structures/space_group{which}", row)))

    def found(self, row: int, subset: int) -> Label | None:
        """The label of a reconstruction of a crystal."""
        number = int(self.rows.batch["cells/space_group"][row, subset])
        return label(number) if number else None

    def structures(self) -> pd.DataFrame:
        """One row each structure, by id: status and message, labels, sizes; and its ceiling."""
        import pandas as pd

        batch = self.rows.batch
        columns = [one for one in self._columns if not one.dims]
        frame = {_name(one): self._named(one, batch[one.path]) for one in columns}
        ids = pd.Index(frame.pop("id"), name="structure")
        if self.full is not None:
            done = batch["structures/status"] == Status.ok
            for name, path in (("certified", "certified"), ("correct", self.right)):
                values = pd.Series(batch[f"cells/{path}"][:, self.full], dtype="boolean")
                frame[name] = values.where(done).array
        return pd.DataFrame(frame, index=ids)

    def subsets(self, rows: Sequence[int] | np.ndarray) -> pd.DataFrame:
        """One row each structure and view subset; the columns are those of the file's `cells`."""
        import pandas as pd

        batch, statics = self.rows.batch, self._statics
        ids = batch["structures/id"][rows]
        frame: dict[str, Any] = {
            "views": np.tile(statics["subsets/size"][0], len(rows)),
            "kappa": np.tile(statics["subsets/kappa"][0], len(rows)),
        }
        for column in self._columns:
            if not column.path.startswith("cells/"):
                continue
            frame[_name(column)] = self._named(column, batch[column.path][rows].reshape(-1))
            if column.path == "cells/space_group":
                frame["symbol"] = [label(int(n)).symbol if n else "" for n in frame["space_group"]]
        index = pd.MultiIndex.from_arrays(
            [np.repeat(ids, len(self.subset_names)), self.subset_names * len(rows)],
            names=["structure", "subset"],
        )
        return pd.DataFrame(frame, index=index)

    def phantoms(self, rows: Sequence[int] | np.ndarray) -> pd.DataFrame:
        """One row each phantom of these structures, in long form."""
        import pandas as pd

        views = self.protocol.views
        its = [self.rows.child("phantoms", int(row)) for row in rows]
        columns = self.rows.children["phantoms"]
        table = {
            name: np.concatenate([empty[:0], *(one[name] for one in its)])
            for name, empty in columns.items()
        }
        frame: dict[str, Any] = {
            "structure": self.rows.batch["structures/id"][table["structure"]],
            "element": _symbols()[table["number"]],
        }
        frame |= dict(zip("xyz", table["position"].T, strict=True))
        frame |= {name: np.array(views, object)[table[name]] for name in ("view_a", "view_b")}
        frame["gap"] = table["gap"]
        frame |= {f"residual_{view}": table["residual"][:, v] for v, view in enumerate(views)}
        frame["distance"] = table["distance"]
        return pd.DataFrame(frame)

    def phantoms_on(self, rows: Sequence[int] | np.ndarray, subset: str) -> pd.DataFrame:
        """The phantoms by acceptance at delta of these structures on one view subset."""
        delta, frame, cameras = self.options.delta, self.phantoms(rows), subset.split("+")
        near = frame[[f"residual_{camera}" for camera in cameras]].max(axis=1) <= delta
        pair = frame["view_a"].isin(cameras) & frame["view_b"].isin(cameras)
        away = (frame["gap"] <= delta) & (frame["distance"] > delta)
        return frame[near & pair & away].reset_index(drop=True)

    @cached_property
    def _columns(self) -> tuple[Column, ...]:
        return CENSUS.of(self.options.to_dict()).main

    def _named(self, column: Column, values: np.ndarray) -> np.ndarray:
        """Values with names in place of codes."""
        vocabularies = _VOCABULARIES if self.labels.cells else _OF_MOLECULES
        if column.path in vocabularies:
            return np.asarray(np.array(vocabularies[column.path], object)[values])
        if isinstance(column.dtype, type) and issubclass(column.dtype, IntEnum):
            names = {int(member): member.name for member in column.dtype}
            return np.array([names[code] for code in values.tolist()], object)
        return values


def _name(column: Column) -> str:
    return column.path.rpartition("/")[2]


def _symbols() -> np.ndarray:
    from ase.data import chemical_symbols

    return np.array(chemical_symbols, object)
