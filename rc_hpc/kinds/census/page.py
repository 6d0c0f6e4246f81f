"""The structures of a census as the report page takes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import LabelStatus, System
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.census.coincidence import points_of
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.schema import CENSUS
from rc_hpc.kinds.common.atoms import packed_of
from rc_hpc.kinds.common.lists import closest_in, quarantine_in_words, short_in_words
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.packed.reader import PackedReader, RowReader
from rc_hpc.oracle.cell import tile
from rc_hpc.report.page import Structures

#: Structures above which phantoms are counted but not drawn: the page stays of a bearable size.
MOST_DRAWN = 50_000
#: Cameras up to which a mask of them fits a number of the page.
MOST_CAMERAS = 31
#: Disc radius in covalent radii.
RADII = 0.5
#: How a reading that was not asked for is stored beside wrong (0) and right (1).
_NOT_DONE = 2


def page(path: Path, packed: Path | None) -> Structures | None:
    """All structures of a census; None where there are too many cameras for the page.

    Parameters
    ----------
    path
        The census.
    packed
        The packed file it was computed from; None: that beside it.

    Raises
    ------
    UsageError
        The packed file is not there.
    """
    with RowReader(path, CENSUS) as census, PackedReader(packed_of(path, packed)) as structures:
        options = CensusOptions.from_dict(json.loads(census.attrs["options"]))
        protocol = protocol_of(options.protocol)
        if len(protocol.views) > MOST_CAMERAS:
            return None
        plain, arrays = _rows(census)
        arrays |= _atoms(structures, protocol)
        arrays |= _phantoms(census, options)
        arrays |= _cameras(protocol)
        used = np.unique(arrays["numbers"]).tolist()
        plain |= _look(used) | {
            "views": list(protocol.views),
            "pinhole": [bool(one) for one in protocol.pinhole],
            "subsets": list(map(str, census.read("subsets/name"))),
            "masks": [int(mask) for mask in census.read("subsets/mask")],
            "sizes": [int(size) for size in census.read("subsets/size")],
        }
        return Structures(plain, arrays)


def _rows(census: RowReader) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What is told of each structure, and of it on each subset."""

    def column(name: str) -> np.ndarray:
        return census.read(f"structures/{name}")

    causes = {n: column(n) for n in ("quarantine", "sweep", "source_space_group")}
    system = column("crystal_system").tolist()
    plain = {
        "id": list(map(str, column("id"))),
        "formula": list(map(str, column("formula"))),
        "status": [Status(code).name for code in column("status").tolist()],
        "message": list(map(str, column("message"))),
        "system": [System(code).name if code else "" for code in system],
        "number": column("space_group").tolist(),
        "quarantine": quarantine_in_words(causes),
        "short": short_in_words(closest_in(census.path)),
    }
    right = census.read("cells/correct_crystal_system").astype(np.uint8)
    right[census.read("cells/label_status") == LabelStatus.not_done] = _NOT_DONE
    arrays: dict[str, np.ndarray] = {
        "right": right,
        "certified": census.read("cells/certified").astype(np.uint8),
        "phantoms": census.read("cells/n_phantoms").astype(np.int32),
    }
    return plain, arrays


def _atoms(structures: PackedReader, protocol: Protocol) -> dict[str, np.ndarray]:
    """The drawn atoms of all structures, one after the other."""
    sizes: list[int] = []
    positions: list[np.ndarray] = [np.empty((0, 3))]
    numbers: list[np.ndarray] = [np.empty(0, np.uint8)]
    for cell in structures.cells(range(len(structures))):
        if len(cell.numbers):
            _, its, species = tile(cell.lattice, cell.positions, cell.numbers, protocol.tiling)
            positions.append(its)
            numbers.append(species)
        sizes.append(len(cell.numbers) * int(np.prod(protocol.tiling)))
    return {
        "atoms": np.array(sizes, np.int32),
        "atomStart": np.cumsum([0, *sizes]).astype(np.uint32),
        "positions": np.concatenate(positions).astype(np.float32),
        "numbers": np.concatenate(numbers).astype(np.uint8),
    }


def _phantoms(census: RowReader, options: CensusOptions) -> dict[str, np.ndarray]:
    """Phantoms by acceptance at delta: their places, pairs, and the cameras that allow them."""
    n, views = len(census), len(options.protocol["views"])
    names = ("structure", "gap", "distance", "residual", "number", "position", "view_a", "view_b")
    # Of too many structures no phantom is drawn.
    rows = slice(None) if n <= MOST_DRAWN else slice(0, 0)
    table = {name: census.read(f"phantoms/{name}", rows.start or 0, rows.stop) for name in names}
    chosen = np.flatnonzero((table["gap"] <= options.delta) & (table["distance"] > options.delta))
    bits = np.uint32(1) << np.arange(views, dtype=np.uint32)
    near = table["residual"][chosen] <= options.delta
    seen = (near * bits).sum(axis=1, dtype=np.uint32)
    pair = bits[table["view_a"][chosen]] | bits[table["view_b"][chosen]]
    points = table["position"][chosen]
    same = points_of(table["structure"][chosen], table["number"][chosen], points)
    counts = np.bincount(table["structure"][chosen], minlength=n)
    return {
        "phantomStart": np.cumsum([0, *counts]).astype(np.uint32),
        "points": points.astype(np.float32),
        "pair": pair.astype(np.uint32),
        "seen": seen.astype(np.uint32),
        "point": same.astype(np.int32),
    }


def _cameras(protocol: Protocol) -> dict[str, np.ndarray]:
    views = len(protocol.views)
    centres = np.zeros((views, 3)) if protocol.centres is None else protocol.centres
    focal = np.zeros(views) if protocol.centres is None else protocol.focal
    return {
        "rotations": np.asarray(protocol.rotations, np.float32),
        "centres": np.nan_to_num(centres).astype(np.float32),
        "focal": np.nan_to_num(focal).astype(np.float32),
    }


def _look(numbers: list[int]) -> dict[str, Any]:
    """Radii, Å, and colours of the elements in use."""
    from ase.data import covalent_radii
    from ase.data.colors import jmol_colors

    colours = {n: [round(255 * float(one)) for one in jmol_colors[n]] for n in numbers}
    return {
        "radius": {n: round(RADII * float(covalent_radii[n]), 4) for n in numbers},
        "colour": {n: "#{:02x}{:02x}{:02x}".format(*rgb) for n, rgb in colours.items()},
    }
