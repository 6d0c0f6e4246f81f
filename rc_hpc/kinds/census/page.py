"""The structures of a census as the report page takes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import LabelStatus, System
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.census.coincidence import first_seen, points_of
from rc_hpc.kinds.census.details import certified_below
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.schema import CENSUS
from rc_hpc.kinds.common.atoms import packed_of
from rc_hpc.kinds.common.lists import closest_in, quarantine_in_words, short_in_words
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.common.subsets import CRYSTALS, MOLECULES
from rc_hpc.kinds.packed.reader import PackedReader, RowReader
from rc_hpc.oracle.cell import tile
from rc_hpc.report.page import Structures
from rc_hpc.symmetry.labels import label
from rc_hpc.symmetry.point_groups import SCHOENFLIES

#: Structures above which phantoms are counted but not drawn: the page stays of a bearable size.
MOST_DRAWN = 50_000
#: Cameras up to which a mask of them fits a number of the page.
MOST_CAMERAS = 31
#: Disc radius in covalent radii.
RADII = 0.5
#: Steps into which the extent of a structure, with its phantoms, is cut: atoms of the page lie at
#: whole numbers of them, some 0.002 Å, phantoms at whole numbers of four.
STEPS, PHANTOM = 4095, 4
#: Arrays with a value each pair of rays of a phantom.
_OF_PAIRS = ("pair", "seen", "atomA", "atomB")
#: Power of ten below which a length is told as 0.
LEAST_POWER = -12
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
        plain, arrays = _rows(census, options)
        atoms, positions = _atoms(structures, protocol)
        phantoms, points = _phantoms(census, options, protocol, atoms, positions)
        box, *steps = _places(atoms["atoms"], positions, phantoms["nPoints"], points)
        phantoms, drawn = _sorted_points(phantoms, steps[1])
        arrays |= atoms | phantoms | _cameras(protocol) | box
        arrays |= {"positions": steps[0].T, "points": drawn.T}
        used = np.unique(arrays["numbers"]).tolist()
        plain |= _look(used) | {
            "views": list(protocol.views),
            "pinhole": [bool(one) for one in protocol.pinhole],
            "subsets": list(map(str, census.read("subsets/name"))),
            "phantomSteps": PHANTOM,
            "leastPower": LEAST_POWER,
            "masks": [int(mask) for mask in census.read("subsets/mask")],
            "sizes": [int(size) for size in census.read("subsets/size")],
        }
        return Structures(plain, arrays)


def _rows(
    census: RowReader, options: CensusOptions
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What is told of each structure, and of it on each subset."""

    def column(name: str) -> np.ndarray:
        return census.read(f"structures/{name}")

    labels = CRYSTALS
    n = len(census)
    if census.molecules:
        labels = MOLECULES
        names, numbers, quarantine = ("", *SCHOENFLIES), [0] * n, [""] * n
    else:
        causes = {n: column(n) for n in ("quarantine", "sweep", "source_space_group")}
        names = ("", *list(System.__members__)[1:])
        numbers, quarantine = column("space_group").tolist(), quarantine_in_words(causes)
    plain: dict[str, Any] = {
        "noun": labels.noun,
        "id": list(map(str, column("id"))),
        "formula": list(map(str, column("formula"))),
        "status": [Status(code).name for code in column("status").tolist()],
        "message": list(map(str, column("message"))),
        "system": [names[code] for code in column(labels.coarsest).tolist()],
        "number": numbers,
        "quarantine": quarantine,
        "short": short_in_words(closest_in(census.path)),
    }
    cells = {
        name: census.read(f"cells/{name}")
        for name in ("n_phantoms", "phantom_delta", "certified", labels.granularities[-1])
    }
    right = census.read(f"cells/correct_{labels.coarsest}").astype(np.uint8)
    right[census.read("cells/label_status") == LabelStatus.not_done] = _NOT_DONE
    below = certified_below(
        cells["n_phantoms"],
        cells["phantom_delta"],
        cells["certified"],
        column("min_same_species"),
        column("delta_max"),
        options.delta,
    )
    read = cells[labels.granularities[-1]]
    arrays: dict[str, np.ndarray] = {
        "right": right,
        "read": read.astype(np.uint8),
        "certified": cells["certified"].astype(np.uint8),
        "below": coded(below),
        # Of what has no result there are none.
        "phantoms": np.maximum(cells["n_phantoms"], 0),
    }
    codes = [code for code in np.unique(read).tolist() if code]
    of_codes = [_named(code, census.molecules) for code in codes]
    plain |= {"delta": options.delta, "labels": dict(zip(codes, of_codes, strict=True))}
    return plain, arrays


def _named(code: int, molecules: bool) -> str:
    """A label as `show` names it."""
    if molecules:
        return f"point group {SCHOENFLIES[code - 1]}"
    read = label(code)
    return f"{read.crystal_system}, {read.symbol} ({code})"


def coded(lengths: np.ndarray) -> np.ndarray:
    """Lengths, Å, rounded down to three digits, as whole numbers below 2**16; 0 is 0.

    The others are 1 and the number of hundredths of the power of ten from the first on, that of
    the first 900 times: the page takes them apart.
    """
    codes = np.zeros(lengths.shape, np.uint16)
    some = lengths >= 10.0**LEAST_POWER
    power = np.clip(np.floor(np.log10(lengths[some])), LEAST_POWER, 60).astype(np.int64)
    # what is three digits long but for the last bit stays what it is
    hundredths = np.floor(lengths[some] / 10.0 ** (power - 2) * (1 + 1e-12)).astype(np.int64)
    codes[some] = 1 + 900 * (power - LEAST_POWER) + np.clip(hundredths, 100, 999) - 100
    return codes


def _atoms(
    structures: PackedReader, protocol: Protocol
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """How many atoms each structure has, their numbers and positions, one after the other."""
    sizes: list[int] = []
    positions: list[np.ndarray] = [np.empty((0, 3))]
    numbers: list[np.ndarray] = [np.empty(0, np.uint8)]
    for cell in structures.cells(range(len(structures))):
        if len(cell.numbers):
            _, its, species = tile(cell.lattice, cell.positions, cell.numbers, protocol.tiling)
            positions.append(its)
            numbers.append(species)
        sizes.append(len(cell.numbers) * int(np.prod(protocol.tiling)))
    arrays = {"atoms": np.array(sizes, np.int64), "numbers": np.concatenate(numbers)}
    return arrays, np.concatenate(positions)


def _phantoms(
    census: RowReader,
    options: CensusOptions,
    protocol: Protocol,
    atoms: dict[str, np.ndarray],
    positions: np.ndarray,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Phantoms by acceptance at delta: their points, and of each the pairs and cameras.

    A point is a phantom on the subsets that have one of its pairs, all of whose cameras see it.
    Of each pair the atoms are told that name its two rays.
    """
    n, views = len(census), len(options.protocol["views"])
    names = ("structure", "gap", "distance", "residual", "number", "position", "view_a", "view_b")
    # Of too many structures no phantom is drawn.
    rows = slice(None) if n <= MOST_DRAWN else slice(0, 0)
    table = {name: census.read(f"phantoms/{name}", rows.start or 0, rows.stop) for name in names}
    chosen = np.flatnonzero((table["gap"] <= options.delta) & (table["distance"] > options.delta))
    own = {name: values[chosen] for name, values in table.items()}
    bits = np.uint32(1) << np.arange(views, dtype=np.uint32)
    seen = ((own["residual"] <= options.delta) * bits).sum(axis=1, dtype=np.uint32)
    pair = bits[own["view_a"]] | bits[own["view_b"]]
    point = points_of(own["structure"], own["number"], own["position"])
    # Pairs of one point, seen by the same cameras, stand together, each once.
    order = np.lexsort((pair, seen, point, own["structure"]))
    key = np.stack([own["structure"][order], point[order], seen[order], pair[order]])
    fresh = np.ones(len(order), bool)
    fresh[1:] = (key[:, 1:] != key[:, :-1]).any(axis=0)
    order, key = order[fresh], key[:, fresh]
    first = np.ones(len(order), bool)
    first[1:] = (key[:2, 1:] != key[:2, :-1]).any(axis=0)
    starts = np.flatnonzero(first)
    arrays = {
        "nPoints": np.bincount(key[0][first], minlength=n),
        "nPairs": np.diff(np.append(starts, len(order))),
        "pair": key[3],
        "seen": key[2],
        **_rays(protocol, {name: values[order] for name, values in own.items()}, atoms, positions),
    }
    return arrays, own["position"][order[first]]


def _rays(
    protocol: Protocol,
    own: dict[str, np.ndarray],
    atoms: dict[str, np.ndarray],
    positions: np.ndarray,
) -> dict[str, np.ndarray]:
    """Of each phantom the atoms that name its rays, that of the first camera first.

    Parameters
    ----------
    own
        Columns of phantoms, in the order of their structures.
    """
    first = np.concatenate([[0], np.cumsum(atoms["atoms"])])
    named = np.zeros((len(own["structure"]), 2), np.int64)
    rows = np.searchsorted(own["structure"], np.arange(len(atoms["atoms"]) + 1))
    for k in np.flatnonzero(np.diff(rows)).tolist():
        drawn, its = slice(first[k], first[k + 1]), slice(rows[k], rows[k + 1])
        of_one = {name: values[its] for name, values in own.items()}
        numbers = atoms["numbers"][drawn]
        named[its] = first_seen(protocol, positions[drawn], numbers, of_one)
    turned = own["view_a"] > own["view_b"]
    named[turned] = named[turned, ::-1]
    return {"atomA": named[:, 0], "atomB": named[:, 1]}


def _sorted_points(
    phantoms: dict[str, np.ndarray], steps: np.ndarray
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The same phantoms, of each structure like with like, which compress to a half.

    Parameters
    ----------
    steps : (m, 3) int
        Their places.
    """
    n_pairs, owner = (
        phantoms["nPairs"],
        np.repeat(np.arange(len(phantoms["nPoints"])), phantoms["nPoints"]),
    )
    if not len(n_pairs):
        return phantoms, steps
    starts = np.cumsum(n_pairs) - n_pairs
    mixed = phantoms["seen"].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= phantoms["pair"].astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    kind = np.add.reduceat(mixed, starts)  # of points with other cameras almost surely another
    order = np.lexsort((*steps.T[::-1], kind, owner))
    sizes = n_pairs[order]
    within = np.arange(len(mixed)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = np.repeat(starts[order], sizes) + within
    moved = {name: phantoms[name][rows] for name in _OF_PAIRS}
    return phantoms | moved | {"nPairs": sizes}, steps[order]


def _places(
    atoms: np.ndarray, positions: np.ndarray, n_points: np.ndarray, points: np.ndarray
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """The box of each structure with its phantoms, and these as steps within it, (m, 3).

    Parameters
    ----------
    atoms, n_points : (n,)
        How many each structure has.
    positions, points : (m, 3)
        Å.
    """
    n = len(atoms)
    owners = np.repeat(np.arange(n), atoms), np.repeat(np.arange(n), n_points)
    low, high = np.full((n, 3), np.inf), np.full((n, 3), -np.inf)
    for owner, places in zip(owners, (positions, points), strict=True):
        np.minimum.at(low, owner, places)
        np.maximum.at(high, owner, places)
    low[~np.isfinite(low)] = 0
    step = np.maximum((high - low).max(axis=1, initial=0), 1.0) / STEPS
    steps = [
        np.rint((places - low[owner]) / (width * step[owner])[:, None]).astype(np.uint16)
        for owner, places, width in zip(owners, (positions, points), (1, PHANTOM), strict=True)
    ]
    return {"low": low, "step": step}, steps[0], steps[1]


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
    """Symbols, radii, Å, and colours of the elements in use."""
    from ase.data import chemical_symbols, covalent_radii
    from ase.data.colors import jmol_colors

    colours = {n: [round(255 * float(one)) for one in jmol_colors[n]] for n in numbers}
    return {
        "symbol": {n: chemical_symbols[n] for n in numbers},
        "radius": {n: round(RADII * float(covalent_radii[n]), 4) for n in numbers},
        "colour": {n: "#{:02x}{:02x}{:02x}".format(*rgb) for n, rgb in colours.items()},
    }
