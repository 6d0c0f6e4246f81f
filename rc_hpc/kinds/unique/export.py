"""Structures of a uniqueness file, and the crystals with the same pictures, for other programs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from rc_hpc.core.errors import UsageError
from rc_hpc.kinds.common.atoms import packed_of
from rc_hpc.kinds.common.exported import Exported
from rc_hpc.kinds.common.lists import options_in
from rc_hpc.kinds.packed.export import facts_of, rows_of
from rc_hpc.kinds.packed.reader import PackedReader, RowReader
from rc_hpc.kinds.unique.options import UniqueOptions
from rc_hpc.kinds.unique.pairs import pairs_of
from rc_hpc.kinds.unique.schema import UNIQUE
from rc_hpc.oracle.cell import tile


def export(
    path: Path, packed: Path | None, what: str, ids: Collection[str], subset: str | None
) -> Iterator[Exported]:
    """What is wanted of these structures, by default of all that are ok.

    ``reconstructions`` are the other crystals with the same pictures (witnesses), ``phantoms``
    their atoms that the structure does not have; of all view subsets by default. A structure
    without any gives nothing.

    Raises
    ------
    UsageError
        A structure or a subset is not there.
    """
    options = UniqueOptions.from_dict(options_in(path))
    with RowReader(path, UNIQUE) as file:
        names = list(map(str, file.read("subsets/name")))
        wanted = None if subset is None else set(subset.split("+"))
        if wanted is not None and all(set(name.split("+")) != wanted for name in names):
            raise UsageError(f"--subset {subset}: {path} has {', '.join(names)}")
        rows = rows_of(file, ids)
    if what == "cells":
        with PackedReader(packed_of(path, packed)) as structures:
            for cell in structures.cells(rows):
                lattice, positions, numbers = tile(
                    cell.lattice, cell.positions, cell.numbers, options.protocol["tiling"]
                )
                box = None if structures.molecules else lattice
                yield Exported(cell.id, box, positions, numbers, facts_of(cell))
        return
    for row in rows:
        for pair in pairs_of(path, row):
            if wanted is not None and set(pair.subset.split("+")) != wanted:
                continue
            chosen = pair.witness if what == "reconstructions" else pair.witness & ~pair.atom
            facts = {
                "id": pair.id,
                "subset": pair.subset,
                "policies": " ".join(pair.policies),
                "truth": pair.labels[0],
                "label": pair.labels[1],
            }
            columns = {"in_structure": np.asarray(pair.atom[chosen])}
            yield Exported(
                f"{pair.id}-{pair.subset}-{pair.policies[0]}",
                pair.lattice if np.isfinite(pair.lattice).all() else None,
                pair.positions[chosen],
                pair.numbers[chosen],
                facts,
                columns,
            )
