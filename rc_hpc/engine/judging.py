"""Cameras judged without a search: by their geometry, and on structures."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.core.door import Talk, setup_logging
from rc_hpc.core.errors import Exit, Status, UsageError
from rc_hpc.engine.camera_options import CameraOptions, OnOptions
from rc_hpc.engine.listing import Listing
from rc_hpc.engine.memory import compute, pack, read_packed
from rc_hpc.engine.subset import places_in
from rc_hpc.geometry.alignment import aligned_vectors
from rc_hpc.geometry.camera_sets import geometric_scores, screen_length
from rc_hpc.geometry.cameras import kappa
from rc_hpc.geometry.conditioning import separation_angles
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.common.options import MANY_SUBSETS, load
from rc_hpc.kinds.packed.reader import PackedReader, packed_cell
from rc_hpc.kinds.registry import KINDS
from rc_hpc.oracle.cell import PackedCell, drawn
from rc_hpc.oracle.draws import counter_draws
from rc_hpc.oracle.labels import SpaceGroupLabel, agreement
from rc_hpc.oracle.noise import NoiseReading, NoisyOracle
from rc_hpc.report.camera_figure import CAMERAS
from rc_hpc.report.plot import Origin, write
from rc_hpc.report.tables import DIGITS, Table, show, write_bytes
from rc_hpc.report.tables import write as write_table
from rc_hpc.stats.crossing import crossing
from rc_hpc.stats.frames import frame_of
from rc_hpc.store.batch import Rows

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Measured:
    """What one protocol gives of the structures.

    Attributes
    ----------
    census
        Of all subsets of its cameras.
    right : (n, D) float64
        Share of the noise seeds in which each structure's system is read; None without noise.
    aligned : (n, V) bool
        Whether a lattice vector lies along each camera.
    screen : (n,) float64
        Shortest lattice vector on any screen, Å.
    """

    census: Rows
    right: np.ndarray | None
    aligned: np.ndarray
    screen: np.ndarray


def judge(options: CameraOptions, on: OnOptions, talk: Talk) -> Exit:
    """Print what protocols are worth, and draw them; returns the exit code.

    Raises
    ------
    UsageError
        A protocol or source that cannot be, or too many structures.
    """
    setup_logging(talk)
    protocols = _protocols(options)
    rows = _rows(options, on)
    cells = [] if rows is None else _cells(rows)
    if rows is not None and not cells:
        raise UsageError(f"--on {', '.join(on.source)}: no structure of it can be used")
    measured = [] if rows is None else [_measure(one, options, rows, cells) for one in protocols]
    refused = 0 if rows is None else len(rows) - len(cells)
    tables = _tables(options, protocols, measured, len(cells), refused)
    if options.output is None:
        show(tables, options.style)
    else:
        _write(options, tables, protocols, cells, talk.quiet)
    return Exit.FAILURES if refused else Exit.CLEAN


def _protocols(options: CameraOptions) -> list[Protocol]:
    beside = [] if options.beside in ("", "none") else options.beside.split(",")
    found: dict[str, Protocol] = {}
    for text in dict.fromkeys((*options.protocols, *beside)):
        protocol = load(text)
        if protocol.name in found:
            raise UsageError(f"{text}: there are two protocols named {protocol.name!r}")
        if 2 ** len(protocol.views) > MANY_SUBSETS:
            raise UsageError(f"{text}: {len(protocol.views)} cameras have too many subsets")
        found[protocol.name] = protocol
    return list(found.values())


def _rows(options: CameraOptions, on: OnOptions) -> Rows | None:
    if not on.source:
        if on.chosen.given:
            raise UsageError("--ids, --exclude, --first and --sample choose of --on SOURCE: add it")
        return None
    if packed := on.packed_file:
        with PackedReader(packed) as reader:
            places = places_in(reader, on.chosen)
        _few(options, len(places))
        return read_packed(packed, options.pack, places)
    listing = Listing.of(on)
    _few(options, listing.count())
    return pack(listing, options.pack)


def _few(options: CameraOptions, n: int) -> None:
    if n > options.most:
        raise UsageError(
            f"{n} structures are more than --most {options.most}: choose some with --sample "
            f"{options.most}, or raise --most"
        )


def _cells(rows: Rows) -> list[PackedCell]:
    usable = np.flatnonzero(rows.batch["structures/status"] == Status.ok)
    return [packed_cell(rows.batch, row, rows.child("atoms", row)) for row in usable.tolist()]


def _measure(
    protocol: Protocol, options: CameraOptions, rows: Rows, cells: Sequence[PackedCell]
) -> Measured:
    kind = KINDS["census"]
    asked = {"protocol": protocol, "delta": options.delta}
    census = CensusOptions.of(asked | {"quarantine": "keep"})
    census = dataclasses.replace(census, pack=options.pack)
    return Measured(
        compute(kind, census, rows),
        _noisy(protocol, options, cells),
        np.array([aligned_vectors(one.lattice, protocol.directions).any(axis=1) for one in cells]),
        np.array([screen_length(one.lattice, protocol.directions) for one in cells]),
    )


def _noisy(
    protocol: Protocol, options: CameraOptions, cells: Sequence[PackedCell]
) -> np.ndarray | None:
    """Share of the seeds in which each structure is right, by sigma; None of pinholes."""
    if not options.seeds or any(protocol.pinhole):
        return None
    pack_options = options.pack
    reading = NoiseReading(tau=pack_options.tau, angle_tolerance=pack_options.angle_tolerance)
    oracle, labeller = NoisyOracle(protocol, reading), SpaceGroupLabel()
    right = np.zeros((len(cells), len(options.sigmas)))
    seeds = range(options.seeds)
    for row, cell in enumerate(cells):
        _, positions, numbers, _ = drawn(cell, protocol.tiling)
        draws = [
            counter_draws(cell.id, seed, positions, numbers, len(protocol.views)) for seed in seeds
        ]
        read = oracle.run(cell, options.sigmas, seeds, draws)
        groups = np.asarray(read["space_group"]).astype(np.int64)
        same = agreement(labeller, groups, labeller.truth(cell, "stored"))["crystal_system"]
        right[row] = same.mean(axis=-1)
    return right


def _tables(
    options: CameraOptions,
    protocols: Sequence[Protocol],
    measured: Sequence[Measured],
    n: int,
    refused: int,
) -> list[Table]:
    each: Sequence[Measured | None] = measured or [None] * len(protocols)
    told = f"{n} structures" + (f", {refused} refused" if refused else "") if n else "no structures"
    noise = f"{options.seeds} noise seeds, sigma to {options.sigmas[-1]:g} Å"
    conditions = (f"{told}; delta {options.delta:g} Å; {noise}", DIGITS)
    pairs = list(itertools.zip_longest(protocols, each))

    def table(name: str, what: str, records: list[dict[str, Any]], counts: Sequence[str]) -> Table:
        columns = list(dict.fromkeys(key for record in records for key in record))
        caption = f"{what} ({'; '.join(conditions)})."
        frame: pd.DataFrame = frame_of(records, columns, [c for c in counts if c in columns])
        return Table(name, caption, frame, brief=f"{what}.", conditions=conditions)

    worth = [_worth(protocol, one, options) for protocol, one in pairs]
    directions = [row for protocol, one in pairs for row in _directions(protocol, one)]
    of_pairs = [row for protocol, one in pairs for row in _pairs(protocol, one)]
    counted = ("n", "aligned_count", "certified_count", "unique_count", "phantoms_count")
    return [
        table(
            "worth",
            "Protocols: kappa of their pairs and gain of all cameras (errors in space per error "
            "of an image point; gain one lost: the largest without one camera)"
            + (
                "; aligned: structures with a lattice vector along a camera; phantom rate: share "
                "of structures and pairs of cameras with a phantom; certified, unique (no other "
                "crystal of this lattice has the pictures) and R1 with all cameras; R1 of noise: "
                "mean over all sigmas but 0, and the sigma at which it falls below 0.95"
                if n
                else ""
            ),
            worth,
            counted,
        ),
        table(
            "directions",
            "Directions towards the viewer, in the frame of the conventional cell"
            + ("; structures with a lattice vector along them" if n else ""),
            directions,
            counted,
        ),
        table(
            "pairs",
            "Pairs of cameras: angle between their lines of sight, kappa"
            + ("; structures with a phantom, and R1" if n else ""),
            of_pairs,
            counted + ("right_count",),
        ),
    ]


def _worth(protocol: Protocol, one: Measured | None, options: CameraOptions) -> dict[str, Any]:
    scores = geometric_scores(protocol)
    record: dict[str, Any] = {"protocol": protocol.name, "cameras": len(protocol.views)}
    record |= {name: scores[name] for name in ("kappa_max", "kappa_mean", "gain", "gain_one_lost")}
    if one is None:
        return record
    usable, cells = _usable(one), one.census.batch
    sizes, full = _sizes(protocol), -1
    with_phantom = cells["cells/n_phantoms"][usable] > 0
    right = cells["cells/correct_crystal_system"][usable]
    record |= {
        "n": len(usable),
        "aligned_count": int(one.aligned.any(axis=1).sum()),
        "screen_length_angstrom": float(np.median(one.screen)),
        "phantom_rate": float(with_phantom[:, sizes == 2].mean()),
        "certified_count": int(cells["cells/certified"][usable][:, full].sum()),
        "unique_count": int(cells["cells/unique_any"][usable][:, full].sum()),
        "R1": float(right[:, full].mean()),
        "R1_pairs": float(right[:, sizes == 2].mean()),
    }
    if one.right is not None:
        curve, sigmas = one.right.mean(axis=0), np.array(options.sigmas)
        record |= {
            "noise_R1": float(curve[sigmas > 0].mean()),
            "crossing_angstrom": crossing(sigmas, curve),
        }
    return record


def _directions(protocol: Protocol, one: Measured | None) -> list[dict[str, Any]]:
    records = []
    for view, direction in enumerate(protocol.directions):
        record: dict[str, Any] = {"protocol": protocol.name, "camera": protocol.views[view]}
        record |= dict(zip("xyz", map(float, direction), strict=True))
        record["kind"] = "pinhole" if protocol.pinhole[view] else "orthographic"
        if one is not None:
            record |= {"aligned_count": int(one.aligned[:, view].sum()), "n": len(one.aligned)}
        records.append(record)
    return records


def _pairs(protocol: Protocol, one: Measured | None) -> list[dict[str, Any]]:
    angles, directions = separation_angles(protocol), protocol.directions
    records = []
    places = [place for place, size in enumerate(_sizes(protocol)) if size == 2]
    for (v, w), place in zip(
        itertools.combinations(range(len(protocol.views)), 2), places, strict=True
    ):
        record: dict[str, Any] = {
            "protocol": protocol.name,
            "pair": f"{protocol.views[v]}+{protocol.views[w]}",
            "angle_deg": angles.get((v, w), 0.0),
            "kappa": float(kappa(directions[v], directions[w])),
        }
        if one is not None:
            usable, cells = _usable(one), one.census.batch
            record |= {
                "n": len(usable),
                "phantoms_count": int((cells["cells/n_phantoms"][usable, place] > 0).sum()),
                "right_count": int(cells["cells/correct_crystal_system"][usable, place].sum()),
            }
        records.append(record)
    return records


def _usable(one: Measured) -> np.ndarray:
    return np.flatnonzero(one.census.batch["structures/status"] == Status.ok)


def _sizes(protocol: Protocol) -> np.ndarray:
    """Sizes of all subsets of the cameras, as a census has them."""
    n = len(protocol.views)
    return np.array([k for k in range(2, n + 1) for _ in itertools.combinations(range(n), k)])


def _write(
    options: CameraOptions,
    tables: Sequence[Table],
    protocols: Sequence[Protocol],
    cells: Sequence[PackedCell],
    quiet: bool,
) -> None:
    folder = options.output
    assert folder is not None
    names = ", ".join(one.name for one in protocols)
    written = [write_table(table, folder, options.style, {"protocols": names}) for table in tables]
    of_cell = {"lattice": cells[0].lattice.tolist()} if len(cells) == 1 else {}
    origin = Origin(names, "", {"deciding": options.to_dict(), **of_cell})
    by_name = {table.name: table for table in tables}
    written += write(CAMERAS, by_name, origin, (), folder)
    if options.style == "csv":
        text = "\n".join(f"{table.name}: {table.caption}" for table in tables)
        write_bytes(folder / "captions.txt", f"{text}\n".encode())
    if not quiet:
        print("\n".join(map(str, written)))
