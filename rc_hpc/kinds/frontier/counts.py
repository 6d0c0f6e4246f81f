"""A frontier file as counts, read in one pass with bounded memory."""

from __future__ import annotations

import json
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.core.errors import RcError, Status
from rc_hpc.core.vocabulary import ProfileKind
from rc_hpc.kinds.common.counting import STATIC, count_status, dataset_of, sets_of, subsets_of
from rc_hpc.kinds.frontier.frames import (
    POINT_COLUMNS,
    STRUCTURE_COLUMNS,
    Axes,
    FrontierTally,
    certified_steps,
    tally_frontier,
)
from rc_hpc.store import layout
from rc_hpc.store.reader import open_ours, read_table

#: Bytes of the widest column of a block of rows; the columns of a block take about ten times that.
BLOCK_BYTES = 1 << 23

_AXES = ("axes/enumeration", "axes/merge", "axes/delta", "axes/symprec")
_STRUCTURES = ("id", "message", "status", "quarantine", "delta_max", *STRUCTURE_COLUMNS)
_PROFILE = ("subset", "kind", "delta_from", "delta_to")


@dataclass(frozen=True)
class FrontierCounts:
    """What a frontier file says in sum.

    Attributes
    ----------
    options
        Those of the file, as `FrontierOptions.to_dict` gives them.
    attrs
        Root attributes.
    axes
    kept, quarantined
        Tallies of the computed structures (status ok) without and with quarantine bits.
    curves
        By set of structures, where the certified structures of the full protocol change; see `certified_steps`.
    status
        By status, in the order of the codes: rows, and the id and message of the first.
    """

    options: dict
    attrs: dict
    axes: Axes
    kept: FrontierTally
    quarantined: FrontierTally
    curves: dict[str, tuple[np.ndarray, np.ndarray]]
    status: dict[str, tuple[int, str, str]]

    def sets(self) -> dict[str, FrontierTally]:
        """Tallies by the name of their set of structures; the first is the headline."""
        return sets_of(self.options, self.kept, self.quarantined, self.quarantined.n)


def count_frontier(path: str | Path, block_bytes: int = BLOCK_BYTES) -> FrontierCounts:
    """Count a frontier file, its rows streamed in blocks.

    Raises
    ------
    RcError
        Not a frontier file of ours, or one without results for rows that should have them.
    """
    with open_ours(path, "frontier") as h5:
        static = read_table(path, (*STATIC, *_AXES))
        subsets = subsets_of(static, len(static["protocol/view"]))
        axes = Axes(
            tuple(zip(static["axes/enumeration"], static["axes/merge"], strict=True)),
            static["axes/delta"],
            static["axes/symprec"],
            subsets,
        )
        columns = {name: dataset_of(h5, path, f"structures/{name}") for name in _STRUCTURES}
        columns |= {name: dataset_of(h5, path, f"frontier/{name}") for name in POINT_COLUMNS}
        profiles = {
            name: dataset_of(h5, path, f"profile/{name}") for name in ("structure", *_PROFILE)
        }
        attrs = dict(h5.attrs)
        options = json.loads(attrs["options"])
        tiling = int(np.prod(options["protocol"]["tiling"]))
        status: dict[str, tuple[int, str, str]] = {}
        found: list = []
        curves = (_Curve(subsets.full), _Curve(subsets.full))
        for block in [slice(0, 0), *layout.row_blocks(columns["point_error"], block_bytes)]:
            rows = {
                name: layout.read_rows(column, block)
                for name, column in columns.items()
                if name not in ("id", "message")
            }
            codes, flags, reach = rows.pop("status"), rows.pop("quarantine"), rows.pop("delta_max")
            count_status(status, codes, columns, block.start)
            unfinished = (codes == Status.ok) & (rows["n_recovered"] < 0).any(axis=(1, 2, 3))
            if unfinished.any():
                id_ = layout.read_rows(columns["id"], block.start + int(unfinished.argmax()))
                raise RcError(
                    f"{path}: structure {id_!r} has status ok but no result for some delta: compute it again"
                )
            part = slice(
                *(bisect_left(profiles["structure"], row) for row in (block.start, block.stop))
            )
            profile = {name: layout.read_rows(column, part) for name, column in profiles.items()}
            owner = profile.pop("structure") - block.start
            block_found = []
            for curve, chosen in zip(
                curves,
                ((codes == Status.ok) & (flags == 0), (codes == Status.ok) & (flags != 0)),
                strict=True,
            ):
                own = chosen[owner]
                of_policy = {name: values[own] for name, values in profile.items()}
                block_found.append(
                    tally_frontier(
                        {name: values[chosen] for name, values in rows.items()},
                        of_policy,
                        axes.deltas,
                        tiling,
                    )
                )
                curve.add(
                    np.cumsum(chosen)[owner[own]] - 1,
                    of_policy,
                    rows["separation"][chosen],
                    reach[chosen],
                )
            found = (
                [one + other for one, other in zip(found, block_found, strict=True)]
                if found
                else block_found
            )
    in_order = {name: status[name] for name in Status.__members__ if name in status}
    steps = {}
    if subsets.full is not None:
        steps = {
            name: curve.steps() for name, curve in sets_of(options, *curves, found[1].n).items()
        }
    return FrontierCounts(options, attrs, axes, *found, steps, in_order)


class _Curve:
    """Intervals of the full protocol's profile, and the separations, of some structures."""

    def __init__(self, full: int | None):
        self.full = full
        self.n, self.reach = 0, np.inf
        self.blocks: list[tuple] = []

    def add(self, owner, profile: dict, separation, reach) -> None:
        """Add structures; `owner` counts among them."""
        chosen = (profile["subset"] == self.full) & (profile["kind"] == ProfileKind.acceptance)
        self.blocks.append(
            (
                owner[chosen] + self.n,
                profile["delta_from"][chosen],
                profile["delta_to"][chosen],
                separation,
            )
        )
        self.n += len(separation)
        self.reach = min(self.reach, reach.min(initial=np.inf))

    def __add__(self, other: _Curve) -> _Curve:
        joined = _Curve(self.full)
        joined.blocks = self.blocks + [(owner + self.n, *rest) for owner, *rest in other.blocks]
        joined.n, joined.reach = self.n + other.n, min(self.reach, other.reach)
        return joined

    def steps(self) -> tuple[np.ndarray, np.ndarray]:
        """See `certified_steps`; complete up to the least reach of all structures."""
        return certified_steps(
            *(np.concatenate(values) for values in zip(*self.blocks, strict=True)), self.reach
        )
