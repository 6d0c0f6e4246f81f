"""Counting rows of a file in blocks."""

from __future__ import annotations

import h5py
import numpy as np

from rc_hpc.core.errors import RcError, Status
from rc_hpc.kinds.common.subsets import Subsets
from rc_hpc.store import layout

STATIC = ("subsets/mask", "subsets/name", "subsets/size", "subsets/kappa", "protocol/view")


def sets_of(options: dict, kept, quarantined, n_quarantined: int) -> dict:
    """What was counted without and with quarantine bits, by sets of structures as the quarantine policy wants them."""
    if options["quarantine"] == "keep":
        return {"all": kept + quarantined}
    sets = {"without quarantined": kept}
    if n_quarantined:
        sets["with quarantined"] = kept + quarantined
    return sets


def subsets_of(static: dict, n_views: int) -> Subsets:
    """The view subsets of a file, from its datasets below `subsets/`."""
    full = np.flatnonzero(static["subsets/mask"] == (1 << n_views) - 1)
    return Subsets(
        tuple(static["subsets/name"]),
        static["subsets/size"],
        static["subsets/kappa"],
        int(full[0]) if len(full) else None,
    )


def dataset_of(h5: h5py.File, path, name: str) -> h5py.Dataset:
    """A dataset that a file of this kind must have."""
    if name not in h5:
        raise RcError(f"{path}: has no dataset {name!r}: compute it again")
    return h5[name]


def count_status(status: dict, codes: np.ndarray, columns: dict, start: int) -> None:
    """Add the status codes of a block that starts at row `start`."""
    for code, first, count in zip(
        *np.unique(codes, return_index=True, return_counts=True), strict=True
    ):
        name, row = Status(code).name, start + int(first)
        if name not in status:
            status[name] = (
                0,
                *(layout.read_rows(columns[text], row) for text in ("id", "message")),
            )
        rows, *example = status[name]
        status[name] = (rows + int(count), *example)
