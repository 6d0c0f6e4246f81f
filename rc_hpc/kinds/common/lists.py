"""Lists of structures by name, of every kind of file: which of mine, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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


@dataclass(frozen=True)
class Details:
    """What a kind adds to the rows of its lists.

    Attributes
    ----------
    columns
        By name, a value each row of the file; None where a row has no result.
    wrong : (n,) int64
        How much of a structure is wrong; 0 is nothing. The failures are sorted by it.
    fails
        What makes a structure a failure beside a status other than ok: what it was.
    told
        What the columns mean and under which conditions they hold, for the caption.
    """

    columns: Mapping[str, Sequence[Any]]
    wrong: np.ndarray
    fails: str
    told: str


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
    refused = (frame["status"] != Status.ok.name).to_numpy()
    wrong = refused.astype(np.int64) * np.iinfo(np.int64).max
    fails, told = "refused", ""
    if details:
        for name, values in details.columns.items():
            dtype = "Float64" if name.endswith("_angstrom") else object
            place = len(frame.columns) - len(after)
            frame.insert(place, name, pd.Series(values, dtype=dtype))
        wrong = np.where(refused, wrong, details.wrong)
        fails, told = f"{fails} or {details.fails}", f". Columns: {details.told}"
    tables = []
    for name in names:
        if name == "failures":
            order = np.argsort(-wrong, kind="stable")
            its = frame.iloc[order[: int((wrong > 0).sum())]].reset_index(drop=True)
            count = f"{len(its)} {'was' if len(its) == 1 else 'were'}" if len(its) else "none was"
            order_told = "; the worst first" if len(its) > 1 else ""
            what = f"Of {len(frame)} {kind.unit} {count} {fails}{order_told}"
        else:
            its, what = frame, f"All {len(frame)} {kind.unit}"
        tables.append(Table(name, f"{what}{told}.", its, brief=f"{what}."))
    return tables


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
