"""A noise file as counts, read in one pass with bounded memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.core.errors import RcError, Status
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.common.counting import count_status, dataset_of, sets_of
from rc_hpc.kinds.noise.frames import NOISE_COLUMNS, Axes, NoiseTally, tally_noise
from rc_hpc.store import layout
from rc_hpc.store.reader import open_ours, read_table

#: Bytes of the widest column of a block of rows; the columns of a block take about ten times that.
BLOCK_BYTES = 1 << 23

_AXES = ("axes/rule", "axes/estimator", "axes/sigma", "axes/seed", "axes/delta", "axes/gain")


@dataclass(frozen=True)
class NoiseCounts:
    """What a noise file says in sum.

    Attributes
    ----------
    options
        Those of the file, as `NoiseOptions.to_dict` gives them.
    attrs
        Root attributes.
    axes
    kept, quarantined
        Tallies of the computed structures (status ok) without and with quarantine bits.
    status
        By status, in the order of the codes: rows, and the id and message of the first.
    """

    options: dict
    attrs: dict
    axes: Axes
    kept: NoiseTally
    quarantined: NoiseTally
    status: dict[str, tuple[int, str, str]]

    def sets(self) -> dict[str, NoiseTally]:
        """Tallies by the name of their set of structures; the first is the headline."""
        return sets_of(self.options, self.kept, self.quarantined, self.quarantined.n)


def count_noise(path: str | Path, block_bytes: int = BLOCK_BYTES) -> NoiseCounts:
    """Count a noise file, its rows streamed in blocks.

    Raises
    ------
    RcError
        Not a noise file of ours, or one without results for rows that should have them.
    """
    with open_ours(path, "noise") as h5:
        attrs = dict(h5.attrs)
        options = json.loads(attrs["options"])
        protocols = tuple(
            Protocol(p["name"], tuple(p["views"]), np.array(p["rotations"]), tuple(p["tiling"]))
            for p in options["protocols"]
        )
        static = read_table(path, _AXES)
        axes = Axes(
            protocols,
            tuple(zip(static["axes/rule"], static["axes/estimator"], strict=True)),
            static["axes/sigma"],
            len(static["axes/seed"]),
            static["axes/delta"],
            static["axes/gain"],
        )
        tilings = np.array([int(np.prod(protocol.tiling)) for protocol in protocols])
        columns = {
            name: dataset_of(h5, path, f"structures/{name}")
            for name in ("id", "message", "status", "quarantine", "n_atoms")
        }
        columns |= {name: dataset_of(h5, path, f"noise/{name}") for name in NOISE_COLUMNS}
        status: dict[str, tuple[int, str, str]] = {}
        found: list[NoiseTally] = []
        for block in [slice(0, 0), *layout.row_blocks(columns["median_error"], block_bytes)]:
            rows = {
                name: layout.read_rows(column, block)
                for name, column in columns.items()
                if name not in ("id", "message")
            }
            codes, flags = rows.pop("status"), rows.pop("quarantine")
            count_status(status, codes, columns, block.start)
            unfinished = (codes == Status.ok) & (rows["n_recovered"] < 0).any(axis=(1, 2, 3, 4))
            if unfinished.any():
                id_ = layout.read_rows(columns["id"], block.start + int(unfinished.argmax()))
                raise RcError(
                    f"{path}: structure {id_!r} has status ok but no result for some sigma: compute it again"
                )
            of_block = [
                tally_noise({name: values[chosen] for name, values in rows.items()}, tilings)
                for chosen in (
                    (codes == Status.ok) & (flags == 0),
                    (codes == Status.ok) & (flags != 0),
                )
            ]
            found = (
                [one + other for one, other in zip(found, of_block, strict=True)]
                if found
                else of_block
            )
    in_order = {name: status[name] for name in Status.__members__ if name in status}
    return NoiseCounts(options, attrs, axes, *found, in_order)
