"""One structure of an occlusion sweep in words, and as its cameras see it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rc_hpc.kinds.common.atoms import packed_of
from rc_hpc.kinds.common.lists import options_in
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.common.picture import draw_atoms
from rc_hpc.kinds.occlusion.schema import OCCLUSION
from rc_hpc.kinds.packed.about import about, chosen_subsets, row_of
from rc_hpc.kinds.packed.reader import PackedReader, RowReader
from rc_hpc.oracle.cell import tile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def show(
    path: Path, packed: Path | None, id_: str, subset: str | None
) -> tuple[str, Figure | None]:
    """How a structure is read under each condition, and what its views show.

    Parameters
    ----------
    packed
        The packed file it was computed from; None: that beside it.
    subset
        View subset, cameras joined by ``+``; None: all of the file.

    Raises
    ------
    UsageError
        There is no such structure, subset or packed file.
    """
    with RowReader(path, OCCLUSION) as file:
        row = row_of(file, id_)
        lines, ok = about(file, row)
        chosen = chosen_subsets(file, subset)
        if not ok:
            return "\n".join(lines), None
        conditions, removed = (
            list(map(str, file.read(f"axes/{n}"))) for n in ("condition", "removed")
        )
        axes = ("verification", "enumeration", "merge")
        readings = list(zip(*(map(str, file.read(f"axes/{one}")) for one in axes), strict=True))
        right = file.read("occlusion/correct_crystal_system", row, row + 1)[0]
        found = file.read("occlusion/n_recovered", row, row + 1)[0]
        gone = file.read("sites/n_gone", row, row + 1)[0]
    with PackedReader(packed_of(path, packed)) as structures:
        cell = structures.cell(row_of(structures, id_))
    protocol = protocol_of(options_in(path)["protocol"])
    _, positions, numbers = tile(cell.lattice, cell.positions, cell.numbers, protocol.tiling)
    for k, name in chosen:
        lines.append(f"{name}, {len(cell.numbers)} atoms in the cell:")
        for c, (condition, what) in enumerate(zip(conditions, removed, strict=True)):
            lines.append(
                f"  {condition} (taken away: {what}): {gone[c, k]} atoms are shown by no view"
            )
            for r, reading in enumerate(readings):
                verdict = "right" if right[r, c, k] else "another crystal system"
                lines.append(f"    {', '.join(reading)}: {verdict}, {found[r, c, k]} atoms")
    return "\n".join(lines), draw_atoms(protocol, positions, numbers)
