"""Conventional cells of a packed file for other programs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import Status, UsageError
from rc_hpc.kinds.common.exported import Exported
from rc_hpc.kinds.packed.reader import PackedReader, RowReader
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.symmetry.labels import label
from rc_hpc.symmetry.point_groups import SCHOENFLIES


def export(
    path: Path, packed: Path | None, what: str, ids: Collection[str], subset: str | None
) -> Iterator[Exported]:
    """The cells of these structures, by default of all that are ok; see `rc_hpc.core.kind.Kind`.

    Raises
    ------
    UsageError
        Something else than cells is wanted, or a structure is not there or was refused.
    """
    if what != "cells":
        raise UsageError(f"--what {what}: {path} is a packed file, which holds cells only")
    with PackedReader(path) as reader:
        for row in rows_of(reader, ids):
            cell = reader.cell(row)
            lattice = None if reader.molecules else cell.lattice
            yield Exported(cell.id, lattice, cell.positions, cell.numbers, facts_of(cell))


def facts_of(cell: PackedCell) -> dict[str, Any]:
    """Id and true label of a structure."""
    if cell.point_group:
        return {"id": cell.id, "point_group": SCHOENFLIES[cell.point_group - 1]}
    truth = label(cell.space_group)
    return {"id": cell.id, "space_group": truth.number, "crystal_system": truth.crystal_system}


def rows_of(reader: RowReader, ids: Collection[str]) -> list[int]:
    """Rows of structures that are ok, in the file's order; of these ids where any is given.

    Raises
    ------
    UsageError
        An id is not there, or its structure was refused; names it.
    """
    known = reader.read("structures/id")
    owner = reader.read("structures/duplicate") == 0
    status = reader.read("structures/status")
    wanted = owner & (np.isin(known, list(ids)) if ids else status == Status.ok)
    missing = [id_ for id_ in ids if id_ not in set(known[wanted])]
    if missing:
        raise UsageError(
            f"{reader.path}: no structure {missing[0]!r} ({len(missing)} of {len(ids)} ids): "
            f"python -m rc_hpc.tables {reader.path} --table structures lists those that are there"
        )
    refused = np.flatnonzero(wanted & (status != Status.ok))
    if len(refused):
        name, why = known[refused[0]], Status(status[refused[0]]).name
        raise UsageError(
            f"{reader.path}: {name!r} was refused ({why}) and has no cell: leave it out"
        )
    return [int(row) for row in np.flatnonzero(wanted)]
