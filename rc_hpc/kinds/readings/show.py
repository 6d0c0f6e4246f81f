"""One reading in words, and over its pictures."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.core.errors import RcError, Status, StructureError, UsageError
from rc_hpc.core.text import formatted
from rc_hpc.core.vocabulary import ReadStatus
from rc_hpc.images.files import HDF5
from rc_hpc.kinds.common.lists import options_in
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.packed.about import cell_in_words
from rc_hpc.kinds.packed.reader import RowReader
from rc_hpc.kinds.readings.oracle import opened
from rc_hpc.kinds.readings.picture import Shown, draw_reading
from rc_hpc.kinds.readings.schema import READINGS
from rc_hpc.kinds.readings.source import Pictured
from rc_hpc.kinds.renders.manifest import read_manifest
from rc_hpc.reader.convention import Convention, named
from rc_hpc.store.batch import Batch

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def show(
    path: Path, _packed: Path | None, id_: str, subset: str | None
) -> tuple[str, Figure | None]:
    """What was read of one crystal: discs found and atoms read, over its pictures.

    Parameters
    ----------
    path
        The file of readings.
    id_
        Of the crystal.
    subset
        Cameras whose pictures are drawn, joined by ``+``; None: all.

    Raises
    ------
    UsageError
        There is no such crystal or camera.
    """
    options = options_in(path)
    protocol = protocol_of(options["protocol"])
    wanted = list(protocol.views) if subset is None else subset.split("+")
    if strange := [name for name in wanted if name not in protocol.views]:
        raise UsageError(f"--subset {strange[0]}: cameras of {path}: {', '.join(protocol.views)}")
    with RowReader(path, READINGS) as file:
        if id_ not in file.ids:
            raise UsageError(
                f"{path}: no crystal {id_!r}: python -m rc_hpc.tables {path} --table doubts "
                "lists those without a certificate"
            )
        row = file.ids.index(id_)
        batch, children = file.rows(row, row + 1)
    own = {name: values[0] for name, values in batch.items()}
    if (status := Status(int(own["structures/status"]))) != Status.ok:
        return f"{id_}\nstatus: {status.name}\n{own['structures/message']}", None
    discs, sites = children["discs"], children["sites"]
    pictures, why = _pictures(own, protocol.views)
    convention = _drawn(options["convention"], discs, own["readings/scale"])
    views: list[Shown] = []
    alone: list[int] = []
    for name in wanted:
        view = protocol.views.index(name)
        seen = discs["view"] == view
        views.append(
            Shown(
                name,
                pictures[view] if pictures else None,
                np.column_stack((discs["u"], discs["v"]))[seen],
                discs["radius"][seen],
                _atoms(own, sites, convention, protocol.rotations[view], options["size"]),
                options["size"],
            )
        )
        alone += discs["edge_pixels"][seen][~views[-1].near.any(axis=0)].tolist()
    words = _told(id_, own, sites, discs, protocol.views)
    if alone and len(sites["number"]):
        were, have = ("was", "has") if len(alone) == 1 else ("were", "have")
        pixels = " to ".join(map(str, dict.fromkeys((min(alone), max(alone)))))
        words += (
            f"\nno atom was read where {len(alone)} of the discs drawn {were} found, which "
            f"{have} {pixels} edge pixels (dashed)"
        )
    if why:
        words += f"\n{why}: without its pictures what was found in them is drawn alone"
    return words, draw_reading(id_, views, discs["number"])


def _pictures(own: Mapping[str, Any], names: Sequence[str]) -> tuple[list[np.ndarray], str]:
    """Pictures of a crystal as they lie now, and why there are none."""
    source, id_ = Path(str(own["structures/source"])), str(own["structures/id"])
    try:
        if source.suffix in HDF5:
            manifest = read_manifest(source)
            if id_ not in manifest.row:
                return [], f"{source} has no {id_}"
            row = manifest.row[id_]
            asked = Pictured(id_, tuple(manifest.paths(row)), tuple(manifest.digests[row]))
        else:
            folder = source / id_ if (source / id_).is_dir() else source
            asked = Pictured(
                id_, tuple(folder / f"{name}.png" for name in names), ("",) * len(names)
            )
        return opened(asked), ""
    except (RcError, StructureError) as error:
        return [], str(error)


def _drawn(identity: Mapping[str, Any], discs: Batch, scales: np.ndarray) -> Convention:
    """The rules of drawing; radii of elements that a file told are those that discs have."""
    known = named(identity["name"], tuple(identity["tiling"]))
    radii = known.radii_A.copy()
    for number in np.unique(discs["number"]):
        mine = discs["number"] == number
        radii[number] = np.median(discs["radius"][mine] / scales[discs["view"][mine]])
    rules = {name: identity[name] for name in ("line_pt", "dash_A", "box", "margin", "order")}
    return dataclasses.replace(known, radii_A=radii, **rules)


def _atoms(
    own: Mapping[str, Any], sites: Batch, convention: Convention, rotation: np.ndarray, size: int
) -> np.ndarray:
    """Where the atoms read are drawn in one picture, (n, 2) px."""
    lattice = own["readings/lattice"]
    if not len(sites["number"]) or not np.isfinite(lattice).all():
        return np.empty((0, 2))
    numbers = sites["number"].astype(np.int64)
    scene = convention.scene(lattice, numbers, sites["fractional"] @ lattice)
    return convention.view(scene, rotation, size).centres


def _told(
    id_: str, own: Mapping[str, Any], sites: Batch, discs: Batch, names: Sequence[str]
) -> str:
    from ase.data import chemical_symbols

    status = ReadStatus(int(own["readings/status"])).name
    verdict = "certified" if own["readings/certified"] else f"not certified ({status})"
    lines = [f"{id_}: {verdict}, {own['readings/n_sites']} atoms read"]
    if own["readings/message"]:
        lines.append(str(own["readings/message"]))
    if own["readings/differing_pixels"] >= 0:
        lines.append(f"drawn again, {own['readings/differing_pixels']} pixels differ")
    if group := int(own["readings/space_group_by_pictures"]):
        lines.append(
            f"space group by pictures {group}; at the symprecs of the file "
            f"{', '.join(map(str, own['readings/space_group'].tolist()))}"
        )
    counts = np.bincount(discs["view"].astype(int), minlength=len(names))
    told = ", ".join(f"{name} {count}" for name, count in zip(names, counts, strict=True))
    lines.append(f"discs found: {told}")
    if np.isfinite(own["readings/lattice"]).all():
        lines.append(f"{cell_in_words(own['readings/lattice'], 6)}; atoms in units of a, b, c:")
    for element, place, sigma in zip(
        sites["number"], sites["fractional"], sites["sigma"], strict=True
    ):
        x, y, z = (formatted(one, "9.5f") for one in place)
        lines.append(f"  {chemical_symbols[element]:<2} {x} {y} {z}  ± {sigma:.1g} Å")
    return "\n".join(lines)
