"""Single structures of a census file, with their atoms."""

from __future__ import annotations

import json
from difflib import get_close_matches
from pathlib import Path

from rc_hpc.core.errors import UsageError
from rc_hpc.kinds.census.computed import Computed
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.schema import CENSUS
from rc_hpc.kinds.packed.reader import PackedReader, RowReader
from rc_hpc.store.batch import Rows


def read_computed(path: Path, packed: Path, id_: str) -> Computed:
    """One structure of a census file, with its atoms.

    Parameters
    ----------
    packed
        The file that the census was computed from.
    id_
        Of a structure; of several rows with this id the one that owns it is taken.

    Raises
    ------
    UsageError
        No structure has this id.
    """
    with RowReader(path, CENSUS) as census, PackedReader(packed) as structures:
        options = CensusOptions.from_dict(json.loads(census.attrs["options"]))
        row = row_of(census, id_)
        rows = Rows(*census.rows(row, row + 1))
        return Computed(options, Rows(*structures.rows(row, row + 1, ("atoms",))), rows)


def row_of(reader: RowReader, id_: str) -> int:
    """The row that owns an id.

    Raises
    ------
    UsageError
        No structure has this id; says which are near.
    """
    ids = reader.read("structures/id")
    owner = (ids == id_) & (reader.read("structures/duplicate") == 0)
    if not owner.any():
        near = get_close_matches(id_, ids.tolist(), 3, 0.4)
        listed = f"there are {', '.join(near)}" if near else f"the first is {ids[0]!r}"
        raise UsageError(
            f"{reader.path}: no structure {id_!r}; {listed} "
            f"(python -m rc_hpc.tables {reader.path} --table structures lists them)"
        )
    return int(owner.argmax())
