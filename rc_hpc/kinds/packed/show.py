"""One packed structure in words, and as the frozen cameras see it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.kinds.common.picture import draw_atoms
from rc_hpc.kinds.packed.about import about, cell_in_words, row_of
from rc_hpc.kinds.packed.reader import PackedReader

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def show(
    path: Path, _packed: Path | None, id_: str, _subset: str | None
) -> tuple[str, Figure | None]:
    """What a packed file says of one structure, and its pictures; none of a refused one.

    Raises
    ------
    UsageError
        There is no such structure.
    """
    with PackedReader(path) as reader:
        row = row_of(reader, id_)
        lines, ok = about(reader, row)
        if not ok:
            return "\n".join(lines), None
        cell = reader.cell(row)
        distance = float(reader.read("structures/min_distance", row, row + 1)[0])
        if not reader.molecules:
            lines.append(cell_in_words(cell.lattice, 4))
        if np.isfinite(distance):
            lines.append(f"closest atoms: {distance:.4g} Å apart")
    return "\n".join(lines), draw_atoms(load_protocol("frozen"), cell.positions, cell.numbers)
