"""Cells, reconstructions and phantoms of a census for other programs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO
from rc_hpc.core.errors import UsageError
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.census.coincidence import points_of
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.oracle import geometry_of, read_symmetric, symmetric_reader
from rc_hpc.kinds.census.schema import CENSUS
from rc_hpc.kinds.common.atoms import packed_of
from rc_hpc.kinds.common.exported import Exported
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.common.subsets import labels_of
from rc_hpc.kinds.packed.export import facts_of, rows_of
from rc_hpc.kinds.packed.reader import PackedReader, RowReader
from rc_hpc.oracle.cell import drawn


def export(
    path: Path, packed: Path | None, what: str, ids: Collection[str], subset: str | None
) -> Iterator[Exported]:
    """What is wanted of these structures, by default of all that are ok.

    Reconstructions are computed again under the options of the file. Phantoms of a structure that
    has none are an empty list of atoms, which no file gets.

    Parameters
    ----------
    path
        The census.
    packed
        The packed file it was computed from; None: that beside it.
    what
        Of `rc_hpc.core.kind.EXPORTED`.
    ids
        Empty: all.
    subset
        View subset, cameras joined by ``+``; None: all cameras.

    Raises
    ------
    UsageError
        A structure or a subset is not there.
    """
    with RowReader(path, CENSUS) as census, PackedReader(packed_of(path, packed)) as structures:
        options = CensusOptions.from_dict(json.loads(census.attrs["options"]))
        protocol = protocol_of(options.protocol)
        place = _place(census, protocol, subset)
        right = f"correct_{labels_of(options.to_dict()).coarsest}"
        oracle = geometry_of(protocol, [options.subsets[place]], options)
        symmetric = symmetric_reader(oracle, options)
        for row in rows_of(census, ids):
            cell = structures.cell(row)
            lattice, positions, numbers, _ = drawn(cell, protocol.tiling)
            facts = facts_of(cell) | _facts(census, row, place, right)
            columns: dict[str, np.ndarray] = {}
            if what == "reconstructions":
                reading = oracle.run(positions, numbers, options.delta, CENSUS_ZERO)
                covered = oracle.cover(reading.enumeration, CENSUS_ZERO)
                if symmetric is not None and covered.n_redundant[0] > 0:
                    read_symmetric(symmetric, reading, np.array([0]), lattice)
                numbers, positions = reading.cells[reading.entry[0]]
            elif what == "phantoms":
                positions, numbers, columns = _phantoms(census, row, options, place)
            box = None if structures.molecules else lattice
            yield Exported(cell.id, box, positions, numbers, facts, columns)


def _place(census: RowReader, protocol: Protocol, subset: str | None) -> int:
    """Place of a subset among those of the file."""
    names = list(map(str, census.read("subsets/name")))
    wanted = set(protocol.views if subset is None else subset.split("+"))
    for place, name in enumerate(names):
        if set(name.split("+")) == wanted:
            return place
    asked = "all cameras" if subset is None else subset
    raise UsageError(
        f"--subset: {census.path} was not computed on {asked}, only on {', '.join(names)}"
    )


def _facts(census: RowReader, row: int, place: int, right: str) -> dict[str, Any]:
    """What the census says of one structure on one subset."""

    def value(name: str) -> Any:
        return census.read(f"cells/{name}", row, row + 1)[0, place].item()

    return {
        "subset": str(census.read("subsets/name")[place]),
        "right": value(right),
        "certified": value("certified"),
        "n_phantoms": value("n_phantoms"),
        "phantoms_from_angstrom": value("phantom_delta"),
    }


def _phantoms(
    census: RowReader, row: int, options: CensusOptions, place: int
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Phantoms by acceptance at delta on one subset; the deltas between which each is one."""
    table = census.rows(row, row + 1, ("phantoms",))[1]["phantoms"]
    cameras = list(options.subsets[place])
    residual = table["residual"][:, cameras].max(axis=1) if len(table["gap"]) else table["gap"]
    first = np.maximum(table["gap"], residual)
    own = np.isin(table["view_a"], cameras) & np.isin(table["view_b"], cameras)
    own &= (first <= options.delta) & (table["distance"] > options.delta)
    chosen = np.flatnonzero(own)
    points = points_of(
        table["structure"][chosen], table["number"][chosen], table["position"][chosen]
    )
    chosen = chosen[np.unique(points, return_index=True)[1]]
    between = {
        "phantom_from_angstrom": first[chosen],
        "phantom_below_angstrom": table["distance"][chosen],
    }
    return table["position"][chosen], table["number"][chosen], between
