"""A design file: the measurements of the structures that took part, and rows by status."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.core.errors import RcError, Status
from rc_hpc.core.vocabulary import Side
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.common.counting import count_status, dataset_of
from rc_hpc.kinds.design.frames import DESIGN_COLUMNS, Design
from rc_hpc.store import layout
from rc_hpc.store.reader import open_ours

#: Bytes of the widest column of a block of rows.
BLOCK_BYTES = 1 << 23


@dataclass(frozen=True)
class DesignFile:
    """What a design file says.

    Attributes
    ----------
    options
        Those of the file, as `DesignOptions.to_dict` gives them.
    attrs
        Root attributes.
    design
    n_searched
        Structures that the search looked at; they are part of the training side.
    status
        By status, in the order of the codes: rows, and the id and message of the first.
    """

    options: dict
    attrs: dict
    design: Design
    n_searched: int
    status: dict[str, tuple[int, str, str]]


def read_design(path: str | Path, block_bytes: int = BLOCK_BYTES) -> DesignFile:
    """Read a design file; of its rows only those that took part are kept.

    Raises
    ------
    RcError
        Not a design file of ours, one without results for rows that should have them, or one
        with a side that has none.
    """
    with open_ours(path, "design") as h5:
        attrs = dict(h5.attrs)
        options = json.loads(attrs["options"])
        columns = {
            name: dataset_of(h5, path, f"structures/{name}") for name in ("id", "message", "status")
        }
        columns |= {
            name: dataset_of(h5, path, f"design/{name}") for name in ("split", *DESIGN_COLUMNS)
        }
        status: dict[str, tuple[int, str, str]] = {}
        blocks, n_searched = {"training": [], "held_out": []}, 0
        for block in [slice(0, 0), *layout.row_blocks(columns["largest_error"], block_bytes)]:
            rows = {
                name: layout.read_rows(column, block)
                for name, column in columns.items()
                if name not in ("id", "message")
            }
            codes, sides = rows.pop("status"), rows.pop("split")
            count_status(status, codes, columns, block.start)
            used = (codes == Status.ok) & (sides != Side.unused)
            unfinished = used & (rows["n_recovered"] < 0).any(axis=(1, 2, 3))
            if unfinished.any():
                id_ = layout.read_rows(columns["id"], block.start + int(unfinished.argmax()))
                raise RcError(
                    f"{path}: structure {id_!r} has status ok but no result for some sigma: compute it again"
                )
            n_searched += int((used & (sides == Side.searched)).sum())
            for name, own in (
                ("training", used & (sides != Side.held_out)),
                ("held_out", used & (sides == Side.held_out)),
            ):
                blocks[name].append({column: values[own] for column, values in rows.items()})
    sides = {
        name: {
            column: np.concatenate([block[column] for block in found]) for column in DESIGN_COLUMNS
        }
        for name, found in blocks.items()
    }
    for name, found in sides.items():
        if not len(found["correct"]):
            raise RcError(
                f"{path}: no {name.replace('_', '-')} structure has a result: look at the messages in structures/message"
            )
    protocols = tuple(
        Protocol(
            identity["name"],
            tuple(identity["views"]),
            np.array(identity["rotations"]),
            tuple(identity["tiling"]),
        )
        for identity in options["protocols"]
    )
    scores = tuple(
        {name: np.inf if value is None else value for name, value in one.items()}
        for one in options["scores"]
    )
    design = Design(
        protocols,
        scores,
        len(options["cameras"]),
        np.array(options["sigmas"]),
        sides["training"],
        sides["held_out"],
    )
    return DesignFile(
        options,
        attrs,
        design,
        n_searched,
        {name: status[name] for name in Status.__members__ if name in status},
    )
