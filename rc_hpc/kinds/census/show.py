"""One structure of a census in words and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rc_hpc.core.constants import NUMERICAL_ZERO
from rc_hpc.core.errors import Status, UsageError
from rc_hpc.core.text import rounded_down
from rc_hpc.kinds.census.coincidence import coincidences, points_of
from rc_hpc.kinds.census.computed import Computed
from rc_hpc.kinds.census.details import certified_below
from rc_hpc.kinds.census.from_file import read_computed
from rc_hpc.kinds.census.picture import draw_views
from rc_hpc.kinds.common.atoms import packed_of
from rc_hpc.kinds.common.lists import quarantine_in_words, short_in_words
from rc_hpc.oracle.cell import tile
from rc_hpc.symmetry.labels import label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Phantoms that are told one by one.
_TOLD = 3


class Cell(NamedTuple):
    """A conventional cell, or a molecule with a lattice of NaN, as `draw_views` takes it; Å."""

    lattice: np.ndarray
    positions: np.ndarray
    numbers: np.ndarray


def show(
    path: Path, packed: Path | None, id_: str, subset: str | None
) -> tuple[str, Figure | None]:
    """What a census says of one structure, and its picture; none of a refused one.

    Parameters
    ----------
    path
        The census.
    packed
        The packed file it was computed from; None: that beside it.
    id_
        Of the structure.
    subset
        View subset whose phantoms are shown, cameras joined by ``+``; None: the smallest of those
        that have most.

    Raises
    ------
    UsageError
        There is no such structure, subset or packed file.
    """
    computed = read_computed(path, packed_of(path, packed), id_)
    status = Status(int(computed.value("structures/status", 0)))
    lines = _about(computed)
    if status != Status.ok:
        return "\n".join(
            [*lines, f"status: {status.name}", computed.value("structures/message", 0)]
        ), None
    subsets = computed.subsets([0]).droplevel("structure")
    chosen = computed.telling(subsets) if subset is None else _asked(subsets, subset, path)
    phantoms = computed.phantoms_on([0], chosen)
    cell = _cell(computed)
    lines += [*_readings(computed, subsets), *_why(computed, cell, chosen, phantoms)]
    drawn = draw_views(cell, computed.protocol, subsets, chosen, phantoms, computed.labels)
    return "\n".join(lines), drawn


def _cell(computed: Computed) -> Cell:
    atoms = computed.packed.child("atoms", 0)
    lattice = np.full((3, 3), np.nan)
    if computed.labels.cells:
        lattice = computed.value("structures/lattice", 0)
    return Cell(lattice, atoms["position"], atoms["number"])


def _asked(subsets: pd.DataFrame, asked: str, path: Path) -> str:
    for name in subsets.index:
        if set(name.split("+")) == set(asked.split("+")):
            return str(name)
    raise UsageError(f"--subset {asked}: {path} has {', '.join(subsets.index)}")


def _about(computed: Computed) -> list[str]:
    """Name, sizes, true label, and what is doubtful of it."""
    row = computed.structures().iloc[0]
    title = f"{computed.value('structures/id', 0)}"
    if row["formula"]:
        title += f": {row['formula']}, {row['n_atoms']} atoms"
        title += " in the conventional cell" if computed.labels.cells else ""
    lines = [title]
    if not computed.labels.cells:
        if row["point_group"]:
            lines.append(f"truth: point group {row['point_group']}")
        return [*lines, *_doubtful(computed)]
    if row["space_group"]:
        truth = computed.truth(0)
        which = "as read" if computed.options.truth == "stored" else "conventional cell"
        lines.append(f"truth ({which}): {truth.crystal_system}, {truth.symbol} ({truth.number})")
    batch = {
        name: computed.rows.batch[f"structures/{name}"]
        for name in ("quarantine", "sweep", "source_space_group")
    }
    lines += _doubtful(computed)
    (causes,) = quarantine_in_words(batch)
    if causes:
        lines.append(f"quarantined: {causes}")
    return lines


def _doubtful(computed: Computed) -> list[str]:
    (short,) = short_in_words(computed.rows.batch["structures/min_distance_in_radii"])
    return [f"doubtful: its closest atoms are at {short}"] if short else []


def _readings(computed: Computed, subsets: pd.DataFrame) -> list[str]:
    """What the subsets give: all cameras first, then the wrong ones, then the pairs."""
    delta, lines = computed.options.delta, []
    if computed.full is not None:
        full = subsets.iloc[computed.full]
        lines.append(
            f"all {full['views']} cameras, delta {delta:g} Å: {_reading(full)}, "
            f"{_proof(computed, full)}"
        )
    read = subsets[subsets["label_status"] != "not_done"]
    wrong = read[~read[computed.right]]
    told = "" if len(read) == len(subsets) else f" that were labelled, of {len(subsets)}"
    lines.append(f"wrong on {len(wrong)} of {len(read)} view subsets{told}")
    lines += [f"  {name}: {_reading(one)}, {_phantoms(one)}" for name, one in wrong.iterrows()]
    rest = read.drop(wrong.index)
    rest = rest[rest["n_phantoms"] > 0]
    if len(rest):
        label_ = computed.labels.coarsest.replace("_", " ")
        lines.append(f"{label_} right in spite of phantoms on {len(rest)}")
        lines += [f"  {name}: {_reading(one)}, {_phantoms(one)}" for name, one in rest.iterrows()]
    return lines


def _proof(computed: Computed, full: pd.Series) -> str:
    """Whether all cameras together have a certificate, and below which delta."""
    below = certified_below(
        np.array([[full["n_phantoms"]]]),
        np.array([[full["phantom_delta"]]]),
        np.array([[full["certified"]]]),
        np.array([computed.value("structures/min_same_species", 0)]),
        np.array([computed.value("structures/delta_max", 0)]),
        computed.options.delta,
    )[0, 0]
    said = "certified" if full["certified"] else "not certified"
    if below == 0:
        return said
    near = " (between the two a phantom may come and go)"
    between = near if full["certified"] and below < computed.options.delta else ""
    also = ", and so" if full["certified"] else "; certified"
    return f"{said}{also} at every delta below {rounded_down(below)} Å{between}"


def _reading(one: pd.Series) -> str:
    if "space_group" not in one:
        group = f"point group {one['point_group']}" if one["point_group"] else "no point group"
        return f"{group}, {one['n_recovered']} atoms"
    if not one["space_group"]:
        return f"{one['n_recovered']} atoms without a label"
    read = label(int(one["space_group"]))
    return f"{read.crystal_system}, {read.symbol} ({read.number}), {one['n_recovered']} atoms"


def _phantoms(one: pd.Series) -> str:
    plural = "" if one["n_phantoms"] == 1 else "s"
    first = one["phantom_delta"]
    since = "however small delta is" if first < NUMERICAL_ZERO else f"from delta {first:.3g} Å on"
    return f"{one['n_phantoms']} phantom{plural}, {since}"


def _length(value: float) -> str:
    """A length, Å, without the noise of arithmetic."""
    return "0" if value < NUMERICAL_ZERO else f"{value:.3g}"


def _why(computed: Computed, cell: Cell, subset: str, phantoms: pd.DataFrame) -> list[str]:
    """The phantoms of a subset by the atoms that cause them."""
    if not len(phantoms):
        return [f"no phantoms on {subset}"]
    from ase.data import atomic_numbers

    protocol = computed.protocol
    _, positions, numbers = tile(cell.lattice, cell.positions, cell.numbers, protocol.tiling)
    rows = np.arange(len(phantoms)) * 0
    own = np.array([atomic_numbers[element] for element in phantoms["element"]])
    points = points_of(rows, own, phantoms[["x", "y", "z"]].to_numpy(float))
    nearest_last = phantoms.iloc[np.unique(points, return_index=True)[1]].sort_values(
        "distance", ascending=False, kind="stable"
    )
    lines = [f"why, on {subset}:"]
    for one in coincidences(protocol, positions, numbers, nearest_last.iloc[:_TOLD]):
        seen = [
            f"{protocol.views[camera]} sees {one.element} {atoms[0] + 1}"
            for camera, atoms in zip(one.cameras, one.atoms, strict=True)
        ]
        place = ", ".join(f"{x:.3f}" for x in np.round(one.position, 3) + 0.0)
        lines.append(
            f"  at ({place}) Å {' and '.join(seen)}: the rays pass {_length(one.gap)} Å from each "
            f"other, and no {one.element} is there (the nearest {one.distance:.3g} Å away)"
        )
    if len(nearest_last) > _TOLD:
        lines.append(f"  and {len(nearest_last) - _TOLD} more")
    return lines
