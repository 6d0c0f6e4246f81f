"""A distances file as counts, tables and a figure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.kinds.common.counting import BLOCK_BYTES, Columns, Counts, RowFile
from rc_hpc.kinds.common.tables import Maker, conditions_of, make, status_maker
from rc_hpc.kinds.distances.options import DistanceOptions
from rc_hpc.report import style
from rc_hpc.report.plot import Given, Plot
from rc_hpc.report.tables import Table
from rc_hpc.stats.frames import frame_of
from rc_hpc.stats.intervals import wilson

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Lengths at which structures are counted, Å.
LENGTHS = np.array([1.0, 2.0, 2.5, 3.0, 4.0, 6.0])


@dataclass(frozen=True)
class Tally:
    """Counts over some structures.

    Attributes
    ----------
    n
        Structures.
    closer : (L,) int64
        Those that have two atoms of one species closer than each of LENGTHS.
    """

    n: int
    closer: np.ndarray

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.n + other.n, self.closer + other.closer)


def tally(rows: Columns) -> Tally:
    """Tally of a block of rows."""
    nearest = rows["same_species"]
    return Tally(len(nearest), np.count_nonzero(nearest[:, None] < LENGTHS, axis=0))


@dataclass(frozen=True)
class DistanceCounts(Counts):
    """What a distances file says in sum: tallies without and with quarantine bits."""

    kept: Tally
    quarantined: Tally


def count(path: str | Path) -> DistanceCounts:
    """Count a distances file."""
    name = "same_species"
    columns = {name: f"distances/{name}"}
    with RowFile(path, "distances", columns, name, "species", result=name) as file:
        kept, quarantined = file.tallied(tally, BLOCK_BYTES)
        return DistanceCounts(file.options, file.attrs, file.status, kept, quarantined)


def _closer(counts: DistanceCounts) -> pd.DataFrame:
    records = []
    for name, counted in counts.sets().items():
        for length, closer in zip(LENGTHS, counted.closer, strict=True):
            low, high = wilson(closer, counted.n)
            share = closer / counted.n if counted.n else np.nan
            records.append((name, length, closer, counted.n, share, low, high))
    columns = ["structures", "length_angstrom", "count", "n", "share", "low95", "high95"]
    rows = [dict(zip(columns, record, strict=True)) for record in records]
    return frame_of(rows, columns, ["count", "n"])


TABLES = (
    Maker("distances", "Structures with two atoms of one species closer than a length", _closer),
    status_maker(),
)


def tables(counts: DistanceCounts, names: Iterable[str]) -> list[Table]:
    """The tables of these names."""
    return make(TABLES, conditions_of(DistanceOptions, counts), counts, names)


def _draw(given: Given) -> Figure:
    figure, axes = style.figure(style.COLUMN_IN, 2.4)
    ax = axes[0, 0]
    ax.plot(given.frame["length_angstrom"], given.frame["share"], **style.series(0))
    ax.set_xlabel("smallest same-species distance (Å)")
    ax.set_ylabel("share of structures below it")
    return figure


PLOTS = (Plot("distances", "distances", _draw),)
