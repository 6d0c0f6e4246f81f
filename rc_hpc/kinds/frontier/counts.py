"""A frontier file as counts, read in one pass with bounded memory."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.vocabulary import ProfileKind
from rc_hpc.kinds.common.counting import (
    BLOCK_BYTES,
    STATIC,
    Block,
    Columns,
    Counts,
    RowFile,
    chosen,
    subsets_of,
)
from rc_hpc.kinds.common.lists import options_in
from rc_hpc.kinds.common.subsets import Labels, labels_of
from rc_hpc.kinds.frontier.frames import (
    POINT_COLUMNS,
    STRUCTURE_COLUMNS,
    Axes,
    FrontierTally,
    certified_steps,
    tally_frontier,
)
from rc_hpc.store import layout

_AXES = ("axes/enumeration", "axes/merge", "axes/delta", "axes/symprec")
_PROFILE = ("subset", "kind", "delta_from", "delta_to")


@dataclass(frozen=True)
class FrontierCounts(Counts):
    """What a frontier file says in sum.

    Attributes
    ----------
    axes
    kept, quarantined
        Tallies of the computed structures (status ok) without and with quarantine bits.
    curves
        By set of structures, where the certified structures of the full protocol change; see
        `certified_steps`.
    """

    axes: Axes
    kept: FrontierTally
    quarantined: FrontierTally
    curves: dict[str, tuple[np.ndarray, np.ndarray]]

    @property
    def labels(self) -> Labels:
        """What the structures are labelled by."""
        return labels_of(self.options)


def count_frontier(path: str | Path, block_bytes: int = BLOCK_BYTES) -> FrontierCounts:
    """Count a frontier file.

    Raises
    ------
    RcError
        Not a frontier file of ours, or one without results for rows that should have them.
    """
    columns = {name: f"structures/{name}" for name in ("delta_max", *STRUCTURE_COLUMNS)}
    labels = labels_of(options_in(Path(path)))
    names = (*POINT_COLUMNS, f"correct_{labels.coarsest}")
    columns |= {name: f"frontier/{name}" for name in names}
    static = (*STATIC, *_AXES)
    with RowFile(path, "frontier", columns, "point_error", "delta", static) as file:
        enumeration, merge, deltas, symprecs = (file.static[name] for name in _AXES)
        subsets = subsets_of(file.static)
        readings = tuple(zip(enumeration, merge, strict=True))
        axes = Axes(readings, deltas, symprecs, subsets)
        tiling = int(np.prod(file.options["protocol"]["tiling"]))
        curves = (_Curve(subsets.full), _Curve(subsets.full))
        of_blocks = []
        for block in file.blocks(block_bytes):
            owner, profile = _profile(file, block)
            tallies = []
            for curve, rows in zip(curves, block.policies(), strict=True):
                own = rows[owner]
                intervals = chosen(profile, own)
                some = chosen(block.rows, rows)
                reach = some.pop("delta_max")
                tallies.append(tally_frontier(some, intervals, axes.deltas, tiling, labels))
                place = np.cumsum(rows)[owner[own]] - 1
                curve.add(place, intervals, some["separation"], reach)
            of_blocks.append(tallies)
        kept, quarantined = (reduce(add, of_set) for of_set in zip(*of_blocks, strict=True))
        counts = FrontierCounts(file.options, file.attrs, file.status, axes, kept, quarantined, {})
    if subsets.full is not None:
        by_set = counts.by_policy(*curves)
        counts.curves.update({name: curve.steps() for name, curve in by_set.items()})
    return counts


def _profile(file: RowFile, block: Block) -> tuple[np.ndarray, Columns]:
    """Intervals of a block's rows: the row of each within the block, and their columns."""
    structure = file.dataset("profile/structure")
    part = slice(*(bisect_left(structure, row) for row in (block.start, block.stop)))
    profile = {name: layout.read_rows(file.dataset(f"profile/{name}"), part) for name in _PROFILE}
    return layout.read_rows(structure, part) - block.start, profile


class _Curve:
    """Intervals of the full protocol's profile, and the separations, of some structures."""

    def __init__(self, full: int | None):
        self.full = full
        self.n, self.reach = 0, np.inf
        self.blocks: list[tuple[Any, ...]] = []

    def add(
        self, owner: np.ndarray, profile: dict[str, Any], separation: np.ndarray, reach: Any
    ) -> None:
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
        structure, lower, upper, separation = map(np.concatenate, zip(*self.blocks, strict=True))
        return certified_steps(structure, lower, upper, separation, self.reach)
