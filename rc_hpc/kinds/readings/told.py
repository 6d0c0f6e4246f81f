"""What a level of knowledge opens of a manifest's truth: here alone it is opened for readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.kinds.renders.manifest import read_manifest
from rc_hpc.store import layout
from rc_hpc.store.reader import open_ours


def geometry(path: Path, ids: set[str], level: str) -> dict[str, dict[str, Any]]:
    """Lattices, scales, origins and, at level K2, elements of a manifest, by id."""
    with open_ours(path, "renders") as h5:
        every = list(map(str, layout.read_rows(h5["structures/id"])))
        lattices = h5["structures/lattice"][()]
        views = len(h5["protocol/view"])
        row, view = h5["pictures/structure"][()].astype(int), h5["pictures/view"][()].astype(int)
        scales, origins = np.full((len(every), views), np.nan), np.full((len(every), views, 2), 0.0)
        scales[row, view] = h5["pictures/px_per_angstrom"][()]
        for axis, name in enumerate(("origin_u", "origin_v")):
            origins[row, view, axis] = h5[f"pictures/{name}"][()]
        species: dict[int, list[int]] = {}
        if level == "K2":
            first = (h5["discs/view"][()] == 0) & (h5["discs/site"][()] >= 0)
            tiles = int(np.prod(h5["protocol/tiling"][()]))
            for at, number in zip(
                h5["discs/structure"][()][first], h5["discs/number"][()][first], strict=True
            ):
                species.setdefault(int(at), []).append(int(number))
            species = {at: sorted(numbers)[::tiles] for at, numbers in species.items()}
    found: dict[str, dict[str, Any]] = {}
    for at, id_ in enumerate(every):
        if id_ in ids and np.isfinite(scales[at]).all() and id_ not in found:
            found[id_] = {
                "lattice_A": lattices[at],
                "pixels_per_A": scales[at],
                "origins_px": origins[at],
            } | ({"species": tuple(species[at])} if level == "K2" else {})
    return found


def centres(path: Path, ids: set[str]) -> dict[str, dict[str, Any]]:
    """True lattices, elements, and places of all discs of a manifest, by id: fields of `Told`."""
    manifest = read_manifest(path)
    with open_ours(path, "renders") as h5:
        lattices = h5["structures/lattice"][()]
        pictures = {
            name: h5[f"pictures/{name}"][()]
            for name in ("structure", "view", "px_per_angstrom", "origin_u", "origin_v")
        }
    where = {
        (int(row), int(view)): k
        for k, (row, view) in enumerate(zip(pictures["structure"], pictures["view"], strict=True))
    }
    tiles = int(np.prod(manifest.tiling))
    found: dict[str, dict[str, Any]] = {}
    for id_ in ids:
        row = manifest.row[id_]
        if not manifest.whole[row]:
            continue
        discs = [manifest.discs(row, view) for view in range(len(manifest.views))]
        n = len(discs[0]["u"]) // tiles
        places = []
        for view, one in enumerate(discs):
            k = where[row, view]
            right, down = (one[c][:n] - pictures[f"origin_{c}"][k] for c in "uv")
            places.append(np.column_stack((right, -down)) / pictures["px_per_angstrom"][k])
        found[id_] = {
            "lattice_A": lattices[row],
            "numbers": discs[0]["number"][:n].astype(np.int64),
            "places_A": np.array(places),
            "centres_px": np.array([np.column_stack((one["u"], one["v"])) for one in discs]),
        }
    return found
