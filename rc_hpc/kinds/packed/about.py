"""What every file of structures says of one of them, in words."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from rc_hpc.core.cells import cell_parameters
from rc_hpc.core.errors import Status, UsageError
from rc_hpc.core.vocabulary import System
from rc_hpc.kinds.common.lists import quarantine_in_words, short_in_words
from rc_hpc.kinds.packed.reader import RowReader
from rc_hpc.symmetry.labels import label
from rc_hpc.symmetry.point_groups import SCHOENFLIES


def row_of(reader: RowReader, id_: str) -> int:
    """The row that owns an id.

    Raises
    ------
    UsageError
        No structure has this id; says which are near.
    """
    ids = reader.read("structures/id")
    owner = (ids == id_) & (reader.read("structures/duplicate") == 0)
    if not owner.any():
        near = get_close_matches(id_, ids.tolist(), 3, 0.4)
        listed = f"there are {', '.join(near)}" if near else f"the first is {ids[0]!r}"
        raise UsageError(
            f"{reader.path}: no structure {id_!r}; {listed} "
            f"(python -m rc_hpc.tables {reader.path} --table structures lists them)"
        )
    return int(owner.argmax())


def about(reader: RowReader, row: int) -> tuple[list[str], bool]:
    """Name, size, true label, what is doubtful of a structure; and whether it has a result."""
    batch, _ = reader.rows(row, row + 1, ())

    def value(name: str) -> Any:
        return batch[f"structures/{name}"][0]

    title = str(value("id"))
    if value("formula"):
        cell = "" if reader.molecules else " in the conventional cell"
        title += f": {value('formula')}, {value('n_atoms')} atoms{cell}"
    lines = [title]
    if reader.molecules:
        if group := int(value("point_group")):
            lines.append(f"point group {SCHOENFLIES[group - 1]}")
    elif number := int(value("space_group")):
        own = label(number)
        system = System(int(value("crystal_system"))).name
        lines.append(f"as read: {system}, {own.symbol} ({number})")
        other = int(value("space_group_conventional"))
        if other not in (0, number):
            lines.append(f"conventional cell: {label(other).symbol} ({other})")
        causes = {
            name: batch[f"structures/{name}"]
            for name in ("quarantine", "sweep", "source_space_group")
        }
        (cause,) = quarantine_in_words(causes)
        lines += [f"quarantined: {cause}"] if cause else []
    (short,) = short_in_words(np.array([value("min_distance_in_radii")], float))
    lines += [f"doubtful: its closest atoms are at {short}"] if short else []
    status = Status(int(value("status")))
    if status != Status.ok:
        lines += [f"status: {status.name}", str(value("message"))]
    return lines, status == Status.ok


def cell_in_words(lattice: np.ndarray, digits: int) -> str:
    """Lengths and angles of the vectors (rows, Å), to so many significant digits."""
    sides, angles = (
        ", ".join(f"{one:.{digits}g}" for one in values) for values in cell_parameters(lattice)
    )
    return f"cell: a, b, c {sides} Å; alpha, beta, gamma {angles} degrees"


def chosen_subsets(reader: RowReader, subset: str | None) -> list[tuple[int, str]]:
    """Places and names of the view subsets that are meant; None stands for all.

    Raises
    ------
    UsageError
        It is not there.
    """
    names = list(map(str, reader.read("subsets/name")))
    chosen = [
        (k, name)
        for k, name in enumerate(names)
        if subset is None or set(name.split("+")) == set(subset.split("+"))
    ]
    if not chosen:
        raise UsageError(f"--subset {subset}: {reader.path} has {', '.join(names)}")
    return chosen


def ranges(values: Sequence[float], where: Sequence[bool]) -> str:
    """Runs of ascending values that are meant: ``0.01 to 0.05, 0.2``; empty where none is."""
    told, first = [], None
    for k, one in enumerate([*where, False]):
        if one and first is None:
            first = k
        elif not one and first is not None:
            low, high = values[first], values[k - 1]
            told.append(f"{low:g}" if low == high else f"{low:g} to {high:g}")
            first = None
    return ", ".join(told)
