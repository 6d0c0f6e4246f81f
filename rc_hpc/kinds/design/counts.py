"""A design file: the measurements of the structures that took part, and rows by status."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import RcError
from rc_hpc.core.vocabulary import Side
from rc_hpc.geometry.camera_sets import SCORES
from rc_hpc.kinds.common.counting import BLOCK_BYTES, Counts, RowFile, chosen
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.design.frames import DESIGN_COLUMNS, Design


@dataclass(frozen=True)
class DesignFile(Counts):
    """What a design file says.

    Attributes
    ----------
    design
    n_searched
        Structures that the search looked at; they are part of the training side.
    """

    design: Design
    n_searched: int


def read_design(path: str | Path, block_bytes: int = BLOCK_BYTES) -> DesignFile:
    """Read a design file; of its rows only those that took part are kept.

    Raises
    ------
    RcError
        Not a design file of ours, one without results for rows that should have them, or one
        with a side that has none.
    """
    columns = {name: f"design/{name}" for name in ("split", *DESIGN_COLUMNS)}
    blocks: dict[str, list[Any]] = {"training": [], "held_out": []}
    n_searched = 0
    with RowFile(path, "design", columns, "largest_error", "sigma") as file:
        for block in file.blocks(block_bytes, lambda rows: rows["split"] != Side.unused):
            side = block.rows["split"]
            n_searched += int((block.computed & (side == Side.searched)).sum())
            held_out = side == Side.held_out
            blocks["training"].append(chosen(block.rows, block.computed & ~held_out))
            blocks["held_out"].append(chosen(block.rows, block.computed & held_out))
    sides = {
        name: {column: np.concatenate([one[column] for one in each]) for column in DESIGN_COLUMNS}
        for name, each in blocks.items()
    }
    for name, measured in sides.items():
        if not len(measured["correct"]):
            raise RcError(
                f"{path}: no {name.replace('_', '-')} structure has a result: "
                "look at the messages in structures/message"
            )
    options = file.options
    scores = [  # older files lack some
        dict.fromkeys(SCORES, np.nan)
        | {name: np.inf if value is None else value for name, value in one.items()}
        for one in options["scores"]
    ]
    design = Design(
        tuple(map(protocol_of, options["protocols"])),
        tuple(scores),
        len(options["cameras"]),
        np.array(options["sigmas"]),
        sides["training"],
        sides["held_out"],
    )
    return DesignFile(options, file.attrs, file.status, design, n_searched)
