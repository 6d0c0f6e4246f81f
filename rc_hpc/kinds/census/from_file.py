"""Single structures of a census file, with their atoms."""

from __future__ import annotations

import json
from pathlib import Path

from rc_hpc.kinds.census.computed import Computed
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.schema import CENSUS
from rc_hpc.kinds.packed.about import row_of
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
