"""What a census says of each structure, in words: right or wrong, on which cameras, and why."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.constants import NUMERICAL_ZERO
from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import LabelStatus
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.common.counting import STATIC, subsets_of
from rc_hpc.kinds.common.lists import Details, options_in, where_done
from rc_hpc.kinds.common.subsets import Labels, Subsets, labels_of
from rc_hpc.store.batch import Batch
from rc_hpc.store.reader import open_ours, read_table

_CELLS = ("n_phantoms", "phantom_delta", "certified", "label_status")
_STRUCTURES = ("status", "min_same_species", "delta_max")
#: Subsets and pairs that are named; of more the number is told.
_NAMED = 4
#: Columns that are left out first where there is little room.
_SPARE = (
    *("unique", "some_pair_phantoms_from_angstrom", "space_group"),
    *("all_cameras_certified_below_angstrom", "phantom_pairs"),
)


def certified_below(
    n_phantoms: np.ndarray,
    phantom_delta: np.ndarray,
    certified: np.ndarray,
    closest: np.ndarray,
    reach: np.ndarray,
    delta: float,
) -> np.ndarray:
    """Length under which every delta has a certificate, (n, K), Å; 0 where none has.

    Parameters
    ----------
    n_phantoms, phantom_delta, certified : (n, K)
        Columns of ``cells``.
    closest, reach : (n,) float64
        ``structures/min_same_species`` and ``structures/delta_max``, Å: no phantom was looked for
        beyond the second.
    delta
        Of the census, Å.
    """
    half = closest[:, None] / 2
    limit = np.minimum(np.minimum(phantom_delta, half), reach[:, None])
    limit[limit < NUMERICAL_ZERO] = 0
    # Neither phantoms nor close atoms forbid it: these cameras do not fix the atoms.
    blind = ~certified & (n_phantoms == 0) & (half > delta)
    return np.where(blind, 0.0, limit)


def details(path: Path) -> Details:
    """Columns of the lists of structures."""
    options = CensusOptions.from_dict(options_in(path))
    labels = labels_of(options.to_dict())
    right = f"correct_{labels.coarsest}"
    with open_ours(path) as h5:  # older files lack it
        later = ["unique_any"] if "cells/unique_any" in h5 else []
    names = (right, labels.coarsest, *_CELLS)
    wanted = [f"cells/{name}" for name in (*names, *later)]
    read = read_table(path, [*STATIC, *wanted, *(f"structures/{one}" for one in _STRUCTURES)])
    subsets = subsets_of({name: read[name] for name in STATIC})
    cells = {name: read[f"cells/{name}"] for name in names}
    cells["named"] = cells[labels.coarsest]
    done = read["structures/status"] == Status.ok
    labelled = cells["label_status"] != LabelStatus.not_done
    cells["wrong"] = wrong = labelled & ~cells[right] & done[:, None]
    cells["open"] = done[:, None] & ~cells["certified"]
    closest = read["structures/min_same_species"]
    columns: dict[str, list[Any]] = {}
    if subsets.full is not None:
        full = subsets.full
        columns["right"] = where_done(done, np.where(wrong[:, full], "no", "yes"))
        columns["certified"] = where_done(done, np.where(cells["certified"][:, full], "yes", "no"))
        if later:
            unique = read["cells/unique_any"][:, full]
            columns["unique"] = where_done(done, np.where(unique, "yes", "no"))
        limit = certified_below(
            cells["n_phantoms"],
            cells["phantom_delta"],
            cells["certified"],
            closest,
            read["structures/delta_max"],
            options.delta,
        )
        columns["all_cameras_certified_below_angstrom"] = where_done(done, limit[:, full])
    columns["wrong_subsets"] = where_done(
        done, [_names(*row, subsets) for row in zip(wrong, labelled, strict=True)]
    )
    pairs = subsets.sizes == 2
    if pairs.any():
        phantoms = np.where(pairs, cells["n_phantoms"], 0)
        columns["phantom_pairs"] = where_done(done, [_counts(row, subsets) for row in phantoms])
        nearest = np.where(pairs, cells["phantom_delta"], np.inf).min(axis=1)
        nearest[nearest < NUMERICAL_ZERO] = 0
        columns["some_pair_phantoms_from_angstrom"] = where_done(done, nearest)
    why = [
        _why({name: values[row] for name, values in cells.items()}, near, subsets, labels, options)
        if one
        else ""
        for row, (one, near) in enumerate(zip(done.tolist(), closest.tolist(), strict=True))
    ]
    fails, group = _groups(cells, subsets, labels)
    much = np.where(group == 1, wrong.sum(axis=1), cells["open"].sum(axis=1)).astype(np.int64)
    if subsets.full is not None:
        much += wrong[:, subsets.full] * wrong.shape[1]
    told = _captions(options, labels)
    return Details(columns, why, group, much, fails, told, _SPARE)


def _captions(options: CensusOptions, labels: Labels) -> str:
    other = "crystal" if labels.cells else "molecule"
    return (
        f"right, certified (at delta {options.delta:g} Å), unique (no other {other} has the "
        "pictures): on all cameras; all cameras certified below: at every delta under this one, as "
        "far as phantoms were followed, all cameras together have none (one may exist from there "
        "on and at delta be so near an atom that it no longer counts, hence a yes beside a smaller "
        "length); phantom pairs: pairs of cameras that, without the others, have phantoms at "
        "delta, and how many; some pair phantoms from: the smallest delta at which some pair has "
        "one, 0 where its rays meet exactly, so that no delta helps that pair (inf: none was "
        f"found) ({options.caption()})"
    )


def _groups(cells: Batch, subsets: Subsets, labels: Labels) -> tuple[list[str], np.ndarray]:
    """What fails, the worst first, and which of it each structure does, (n,), from 1 on."""
    wrong, open_ = cells["wrong"].any(axis=1), cells["open"]
    fails = [f"read as another {labels.noun} by some view subset"]
    if subsets.full is None:
        fails.append("right but not certified on some view subset")
        return fails, np.select([wrong, open_.any(axis=1)], [1, 2], 0).astype(np.int64)
    fails += [
        "right but not certified on all cameras",
        "right and certified on all cameras but not on some fewer",
    ]
    cases = [wrong, open_[:, subsets.full], open_.any(axis=1)]
    return fails, np.select(cases, [1, 2, 3], 0).astype(np.int64)


def _why(
    cell: Batch, closest: float, subsets: Subsets, labels: Labels, options: CensusOptions
) -> str:
    """What is wrong with one structure that has results, in words; empty where nothing is."""
    lines = []
    wrong, open_, full = cell["wrong"], cell["open"], subsets.full
    if wrong.any():
        classes = ("none", *labels.classes)
        read = Counter(classes[code] for code in cell["named"][wrong].tolist())
        which = " or ".join(
            f"{name} ({n})" if len(read) > 1 else name for name, n in read.most_common()
        )
        labelled = cell["label_status"] != LabelStatus.not_done
        lines.append(f"read as {which} on {_names(wrong, labelled, subsets)}")
    if full is not None and open_[full]:
        reason = _reason(cell, full, closest, options.delta)
        lines.append(f"not certified on all {subsets.sizes[full]} cameras: {reason}")
    elif open_.any() and not wrong.any():
        lines.append(f"not certified on {_names(open_, np.ones(len(open_), bool), subsets)}")
    return "; ".join(lines)


def _reason(cell: Batch, subset: int, closest: float, delta: float) -> str:
    """Why a subset has no certificate."""
    if n := int(cell["n_phantoms"][subset]):
        return f"{n} phantom{'s' * (n > 1)} at delta {delta:g} Å"
    if closest <= 2 * delta:
        return f"atoms of one element {closest:.3g} Å apart, which is within 2 delta"
    return "the directions of the cameras do not fix its atoms"


def _names(those: np.ndarray, every: np.ndarray, subsets: Subsets) -> str:
    """How many subsets of how many, and their names, the smallest last to be left out."""
    which = np.flatnonzero(those)
    if not len(which):
        return ""
    order = which[np.argsort(-subsets.sizes[which], kind="stable")]
    names = ", ".join(subsets.names[one] for one in order[:_NAMED])
    more = ", ..." if len(which) > _NAMED else ""
    return f"{len(which)} of {np.count_nonzero(every)}: {names}{more}"


def _counts(phantoms: np.ndarray, subsets: Subsets) -> str:
    """Pairs with phantoms, most first."""
    which = np.flatnonzero(phantoms)
    order = which[np.argsort(-phantoms[which], kind="stable")]
    told = [f"{subsets.names[one]} {phantoms[one]}" for one in order[:_NAMED]]
    return ", ".join(told) + (", ..." if len(which) > _NAMED else "")
