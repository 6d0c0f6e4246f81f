"""Lists of structures by name, of every kind of file: which of mine, and why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.core.constants import SHORT_DISTANCE
from rc_hpc.core.errors import Status
from rc_hpc.core.kind import Kind
from rc_hpc.core.vocabulary import System
from rc_hpc.report.tables import Table
from rc_hpc.store.batch import Batch
from rc_hpc.store.reader import open_ours, read_table
from rc_hpc.symmetry.point_groups import SCHOENFLIES

if TYPE_CHECKING:
    import pandas as pd

#: Causes of a quarantine by their bits.
CAUSES = (
    "label depends on the tolerance",
    "source claims another space group",
    "label depends on the order of the atoms",
)
_COLUMNS = ("id", "formula", "n_atoms", "crystal_system", "space_group", "status")
_AFTER = ("short_distance", "quarantine", "message")
_NEEDED = (*_COLUMNS, *_AFTER[1:], "sweep", "source_space_group")
#: Columns that `why` tells too: where there is little room they are left out first.
REPEATED = ("message", "status", "right", "certified", "wrong_subsets", "quarantine")
#: Those that are left out next, and those that are left out last, of every kind of file.
_SPARE, _LAST = ("short_distance", "n_atoms"), ("space_group", "crystal_system", "formula")
#: What makes a structure a failure in every kind of file: the first of all, and the last.
_REFUSED, _QUARANTINED = "refused", "quarantined only"


@dataclass(frozen=True)
class Details:
    """What a kind adds to the rows of its lists.

    Attributes
    ----------
    columns
        By name, a value each row of the file; None where a row has no result.
    why : (n,) sequence of str
        What is wrong with each row that has a result, in words; empty where nothing is.
    group : (n,) int64
        Which of `fails` each row is, from 1 on; 0 is none.
    wrong : (n,) int64
        How much of a structure is wrong: the failures of a group are sorted by it.
    fails
        What each group is, the worst first, as told behind a number of structures.
    told
        What the columns mean and under which conditions they hold, for the caption.
    spare
        Columns that are left out first where there is little room.
    """

    columns: Mapping[str, Sequence[Any]]
    why: Sequence[str]
    group: np.ndarray
    wrong: np.ndarray
    fails: Sequence[str]
    told: str
    spare: Sequence[str] = ()


def where_done(done: np.ndarray, values: Iterable[Any]) -> list[Any]:
    """Values of the rows that have results; None of the others."""
    return [value if one else None for one, value in zip(done.tolist(), values, strict=True)]


def lists_of(path: Path, kind: Kind, names: Sequence[str]) -> list[Table]:
    """The lists of these names (of `rc_hpc.core.kind.LIST_LINES`).

    Raises
    ------
    RcError
        Not a file of this kind, or one that lacks a column.
    """
    import pandas as pd

    of_kind = kind.load("details")
    details = of_kind(path) if of_kind else None
    columns = {column.path for column in kind.load("schema").of(options_in(path)).main}
    after: tuple[str, ...] = _AFTER
    if columns.issuperset(f"structures/{name}" for name in _NEEDED):
        frame = _basic(path)
    elif "structures/point_group" in columns:
        frame, after = _molecules(path), ("short_distance", "message")
    else:
        frame, after = _plain(path), ("message",)
    if details is None:
        nothing = np.zeros(len(frame), np.int64)
        details = Details({}, [""] * len(frame), nothing, nothing, (), "")
    for name, values in details.columns.items():
        whole = all(value is None or type(value) is int for value in values)
        dtype = "Float64" if name.endswith("_angstrom") else "Int64" if whole else object
        frame.insert(len(frame.columns) - len(after), name, pd.Series(values, dtype=dtype))
    group, why = _failing(frame, details)
    frame.insert(2 if "formula" in frame else 1, "why", pd.Series(why, dtype=object))
    told = ""
    if details.told:
        told = (
            f"; why: what keeps a row from being right, certified and beyond doubt; {details.told}"
        )
    spare = (*REPEATED, *_SPARE, *details.spare, *_LAST)
    tables = []
    for name in names:
        if name == "failures":
            order = np.lexsort((-details.wrong, group))
            its = frame.iloc[order[np.count_nonzero(group == 0) :]].reset_index(drop=True)
            doubts = (_QUARANTINED,) if "quarantine" in frame else ()
            what = _listed(group, kind.unit, (_REFUSED, *details.fails, *doubts))
        else:
            its, what = frame, f"All {len(frame)} {kind.unit}"
        told_of = told if len(its) else ""
        tables.append(Table(name, f"{what}{told_of}.", its, brief=f"{what}.", spare=spare))
    return tables


def _failing(frame: pd.DataFrame, details: Details) -> tuple[np.ndarray, list[str]]:
    """Which group of failures each row is, (n,), 0 for none and from 1 on; and why, in words."""
    statuses = frame["status"].tolist()
    messages = frame["message"].tolist()
    n = len(statuses)
    causes = frame["quarantine"].tolist() if "quarantine" in frame else [""] * n
    group, why = np.zeros(n, np.int64), list(details.why)
    for row, (status, message, cause) in enumerate(zip(statuses, messages, causes, strict=True)):
        doubtful = f"quarantined: {cause}" if cause else ""
        own = int(details.group[row])
        if status == Status.quarantined.name:
            group[row], why[row] = len(details.fails) + 2, doubtful or f"quarantined: {message}"
        elif status != Status.ok.name:
            group[row], why[row] = 1, f"{_REFUSED} ({status}): {message}"
        else:
            group[row] = own + 1 if own else (len(details.fails) + 2 if cause else 0)
            why[row] = "; ".join(filter(None, [why[row], doubtful]))
    return group, why


def _listed(group: np.ndarray, unit: str, names: Sequence[str]) -> str:
    """How many failures there are of each group, by their names, for a caption."""
    counts = np.bincount(group, minlength=len(names) + 1)[1:].tolist()
    told = [f"{count} {name}" for count, name in zip(counts, names, strict=True) if count]
    if not told:
        last = names[-1].removesuffix(" only")
        every = " or ".join(filter(None, [", ".join(names[:-1]), last]))
        return f"Of {len(group)} {unit} none was {every}"
    n = sum(counts)
    listed = f"{n} {'is' if n == 1 else 'are'} listed{', the worst first' * (n > 1)}"
    return f"Of {len(group)} {unit} {listed}: {', '.join(told)}"


def _basic(path: Path) -> pd.DataFrame:
    """What every file says of each structure."""
    import pandas as pd

    read = read_table(path, [f"structures/{name}" for name in _NEEDED])
    batch = {name: read[f"structures/{name}"] for name in _NEEDED}
    statuses = [Status(code).name for code in batch["status"].tolist()]
    systems = [System(code).name for code in batch["crystal_system"].tolist()]
    known = batch["space_group"] > 0
    columns = {name: batch[name] for name in ("id", "formula")}
    columns["n_atoms"] = pd.array(batch["n_atoms"], "Int64")
    columns["crystal_system"] = np.where(known, systems, "")
    columns["space_group"] = pd.array(batch["space_group"], "Int64")
    columns["status"] = np.array(statuses, object)
    columns["short_distance"] = np.array(short_in_words(closest_in(path)), object)
    columns["quarantine"] = np.array(quarantine_in_words(batch), object)
    columns["message"] = batch["message"]
    frame = pd.DataFrame(columns)
    for name, lacking in (("n_atoms", batch["n_atoms"] == 0), ("space_group", ~known)):
        frame.loc[lacking, name] = pd.NA
    return frame


def _molecules(path: Path) -> pd.DataFrame:
    """What every file says of each molecule."""
    import pandas as pd

    names = ("id", "formula", "n_atoms", "point_group", "status", "message")
    read = read_table(path, [f"structures/{name}" for name in names])
    batch = {name: read[f"structures/{name}"] for name in names}
    frame = pd.DataFrame({name: batch[name] for name in ("id", "formula")})
    frame["n_atoms"] = pd.array(batch["n_atoms"], "Int64")
    frame.loc[batch["n_atoms"] == 0, "n_atoms"] = pd.NA
    frame["point_group"] = np.array(("", *SCHOENFLIES), object)[batch["point_group"]]
    frame["status"] = [Status(code).name for code in batch["status"].tolist()]
    frame["short_distance"] = short_in_words(closest_in(path))
    frame["message"] = batch["message"]
    return frame


def _plain(path: Path) -> pd.DataFrame:
    """What a file says of rows that are no packed structures."""
    import pandas as pd

    read = read_table(path, [f"structures/{name}" for name in ("id", "status", "message")])
    statuses = [Status(code).name for code in read["structures/status"].tolist()]
    columns = {"id": read["structures/id"], "status": statuses}
    return pd.DataFrame({**columns, "message": read["structures/message"]}, dtype=object)


def closest_in(path: Path) -> np.ndarray:
    """Smallest distance of each structure in sums of radii; NaN where the file does not tell."""
    name = "structures/min_distance_in_radii"
    with open_ours(path) as h5:
        if name not in h5:
            return np.full(len(h5["structures/id"]), np.nan)
    return read_table(path, [name])[name]


def short_in_words(closest: np.ndarray) -> list[str]:
    """What is doubtful of distances (in sums of covalent radii), in words; empty where nothing."""
    return [
        f"{one:.2f} of the covalent radii" if one < SHORT_DISTANCE else ""
        for one in np.asarray(closest).tolist()
    ]


def quarantine_in_words(batch: Batch) -> list[str]:
    """Why each structure is quarantined, in words; empty where it is not.

    Parameters
    ----------
    batch
        Columns ``quarantine``, ``sweep`` and ``source_space_group``.
    """
    causes = []
    for bits, sweep, claimed in zip(
        batch["quarantine"].tolist(), batch["sweep"], batch["source_space_group"], strict=True
    ):
        its = [CAUSES[bit] for bit in range(len(CAUSES)) if bits >> bit & 1]
        if bits & 1:
            groups = ", ".join(str(number) for number in dict.fromkeys(sweep.tolist()) if number)
            its[0] += f" ({groups})"
        if bits & 2:
            its[bits & 1] += f" ({claimed})"
        causes.append("; ".join(its))
    return causes


def options_in(path: Path) -> dict[str, Any]:
    """The options that a file records."""
    with open_ours(path) as h5:
        options: dict[str, Any] = json.loads(h5.attrs["options"])
    return options
