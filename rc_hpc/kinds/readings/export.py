"""Crystals as they were read, for other programs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import UsageError
from rc_hpc.core.vocabulary import ReadStatus
from rc_hpc.kinds.common.exported import Exported
from rc_hpc.kinds.packed.export import rows_of
from rc_hpc.kinds.packed.reader import RowReader
from rc_hpc.kinds.readings.schema import READINGS
from rc_hpc.symmetry.labels import label


def export(
    path: Path, _packed: Path | None, what: str, ids: Collection[str], subset: str | None
) -> Iterator[Exported]:
    """The cells that were read of these crystals, by default of all whose pictures could be opened.

    Of pictures in which no crystal was found the atoms are an empty list, which no file gets.

    Raises
    ------
    UsageError
        Something else than cells is wanted, or a crystal is not there or was refused.
    """
    if what != "cells":
        raise UsageError(f"--what {what}: {path} holds readings, of which there are cells only")
    if subset is not None:
        raise UsageError(f"--subset {subset}: a reading is of all pictures of its crystal")
    with RowReader(path, READINGS) as file:
        for row in rows_of(file, ids):
            batch, children = file.rows(row, row + 1, ("sites",))
            own = {name: values[0] for name, values in batch.items()}
            sites, lattice = children["sites"], own["readings/lattice"]
            n = len(sites["number"]) if np.isfinite(lattice).all() else 0
            yield Exported(
                str(own["structures/id"]),
                lattice,
                sites["fractional"][:n] @ lattice,
                sites["number"][:n].astype(np.int64),
                _facts(own),
                {"sigma_angstrom": sites["sigma"][:n]},
            )


def _facts(own: dict[str, Any]) -> dict[str, Any]:
    """Id, how reading ended, and the labels at the first tolerance and by pictures; 0: none."""
    group = int(own["readings/space_group"][0])
    return {
        "id": str(own["structures/id"]),
        "reading": ReadStatus(int(own["readings/status"])).name,
        "certified": bool(own["readings/certified"]),
        "differing_pixels": int(own["readings/differing_pixels"]),
        "space_group": group,
        "crystal_system": label(group).crystal_system if group else "none",
        "space_group_by_pictures": int(own["readings/space_group_by_pictures"]),
        "largest_sigma_angstrom": float(own["readings/largest_sigma"]),
    }
