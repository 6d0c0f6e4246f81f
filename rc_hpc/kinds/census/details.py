"""What a census says of each structure, in words: right or wrong, on which cameras, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.constants import NUMERICAL_ZERO
from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import LabelStatus
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.common.counting import STATIC, subsets_of
from rc_hpc.kinds.common.lists import Details, options_in
from rc_hpc.kinds.common.subsets import Subsets, labels_of
from rc_hpc.store.reader import open_ours, read_table

_CELLS = ("n_phantoms", "phantom_delta", "certified", "label_status")
#: Subsets and pairs that are named; of more the number is told.
_NAMED = 4


def details(path: Path) -> Details:
    """Columns of the lists of structures."""
    options = CensusOptions.from_dict(options_in(path))
    labels = labels_of(options.to_dict())
    right = f"correct_{labels.coarsest}"
    with open_ours(path) as h5:  # older files lack it
        later = ["unique_any"] if "cells/unique_any" in h5 else []
    wanted = [f"cells/{name}" for name in (right, *_CELLS, *later)]
    read = read_table(path, [*STATIC, *wanted, "structures/status", "structures/min_same_species"])
    subsets = subsets_of({name: read[name] for name in STATIC})
    cells = {name: read[f"cells/{name}"] for name in (right, *_CELLS)}
    done = read["structures/status"] == Status.ok
    labelled = cells["label_status"] != LabelStatus.not_done
    wrong = labelled & ~cells[right] & done[:, None]
    columns: dict[str, list[Any]] = {}
    if subsets.full is not None:
        full = subsets.full
        columns["right"] = _told(done, np.where(wrong[:, full], "no", "yes"))
        columns["certified"] = _told(done, np.where(cells["certified"][:, full], "yes", "no"))
        if later:
            unique = read["cells/unique_any"][:, full]
            columns["unique"] = _told(done, np.where(unique, "yes", "no"))
        limit = np.minimum(cells["phantom_delta"][:, full], read["structures/min_same_species"] / 2)
        columns["certified_below_angstrom"] = _told(done, limit)
    columns["wrong_subsets"] = _told(
        done, [_names(*row, subsets) for row in zip(wrong, labelled, strict=True)]
    )
    pairs = subsets.sizes == 2
    if pairs.any():
        phantoms = np.where(pairs, cells["n_phantoms"], 0)
        columns["phantom_pairs"] = _told(done, [_counts(row, subsets) for row in phantoms])
        nearest = np.where(pairs, cells["phantom_delta"], np.inf).min(axis=1)
        nearest[nearest < NUMERICAL_ZERO] = 0
        columns["phantoms_from_angstrom"] = _told(done, nearest)
    fails = f"read as another {labels.noun} by some view subset"
    other = "crystal" if labels.cells else "molecule"
    told = (
        f"right, certified (at delta {options.delta:g} Å), unique (no other {other} has the "
        "pictures): on all cameras; certified below: at every delta under this one (a phantom may "
        "exist from there on and at delta be so near an atom that it no longer counts, hence a yes "
        "beside a smaller length); phantom pairs: pairs of cameras with phantoms at delta, and how "
        "many; phantoms from: the smallest delta with one (inf: none was found) "
        f"({options.caption()})"
    )
    everything = wrong.sum(axis=1)
    if subsets.full is not None:
        everything = everything + wrong[:, subsets.full] * wrong.shape[1]
    return Details(columns, everything.astype(np.int64), fails, told)


def _told(done: np.ndarray, values: Any) -> list[Any]:
    """Values of the structures that have results."""
    return [value if one else None for one, value in zip(done.tolist(), list(values), strict=True)]


def _names(wrong: np.ndarray, labelled: np.ndarray, subsets: Subsets) -> str:
    """The wrong subsets by name, the smallest last to be left out."""
    which = np.flatnonzero(wrong)
    if not len(which):
        return ""
    order = which[np.argsort(-subsets.sizes[which], kind="stable")]
    names = ", ".join(subsets.names[one] for one in order[:_NAMED])
    more = ", ..." if len(which) > _NAMED else ""
    return f"{len(which)} of {np.count_nonzero(labelled)}: {names}{more}"


def _counts(phantoms: np.ndarray, subsets: Subsets) -> str:
    """Pairs with phantoms, most first."""
    which = np.flatnonzero(phantoms)
    order = which[np.argsort(-phantoms[which], kind="stable")]
    told = [f"{subsets.names[one]} {phantoms[one]}" for one in order[:_NAMED]]
    return ", ".join(told) + (", ..." if len(which) > _NAMED else "")
