"""What a file of scores says of each crystal, for the lists of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import ReadStatus
from rc_hpc.kinds.common.lists import Details, where_done
from rc_hpc.store.reader import read_table
from rc_hpc.symmetry.labels import crystal_system

_ROWS = (
    *("space_group", "n_atoms", "reading", "certified", "system_right", "space_group_right"),
    *("n_missing", "n_extra", "sites_exact", "largest_error", "cause"),
)
_SPARE = (
    *("largest_error_angstrom", "extra", "missing", "space_group_right", "reading"),
    *("n_atoms", "space_group"),
)


def details(path: Path) -> Details:
    """Columns of the lists: truth, what of the reading is right, and why not."""
    read = read_table(path, [*(f"score/{name}" for name in _ROWS), "structures/status"])
    rows = {name: read[f"score/{name}"] for name in _ROWS}
    done = read["structures/status"] == Status.ok
    right, exact = rows["system_right"][:, 0], rows["sites_exact"]
    certified = rows["certified"]
    whole = right & exact
    statuses = [ReadStatus(code).name for code in rows["reading"].tolist()]
    systems = [crystal_system(n) if n else None for n in rows["space_group"].tolist()]
    columns: dict[str, list[Any]] = {
        "crystal_system": systems,
        "space_group": [n or None for n in rows["space_group"].tolist()],
        "n_atoms": rows["n_atoms"].tolist(),
        "reading": statuses,
        "right": _yes(right),
        "space_group_right": _yes(rows["space_group_right"][:, 0]),
        "missing": rows["n_missing"].tolist(),
        "extra": rows["n_extra"].tolist(),
        "certified": _yes(certified),
        "largest_error_angstrom": [
            one if np.isfinite(one) else None for one in rows["largest_error"].tolist()
        ],
    }
    cases = [certified & ~whole, ~right, ~exact, ~certified]
    group = np.where(done, np.select(cases, [1, 2, 3, 4], 0), 0).astype(np.int64)
    why = []
    for row, code in enumerate(group.tolist()):
        cause = rows["cause"][row]
        told = {
            0: "",
            1: "certified and yet wrong",
            2: "not read with the true crystal system",
            3: "true crystal system, but not every site",
            4: "right, but not certified: the file of readings says why",
        }[code]
        why.append(f"{told}: {cause}" if code and cause else told)
    told = (
        "right: crystal system at the first symprec; missing and extra: atoms without a site, and "
        "sites without an atom; largest error: of a site found, a common shift taken out"
    )
    return Details(
        {name: where_done(done, values) for name, values in columns.items()},
        why,
        group,
        (rows["n_missing"] + rows["n_extra"]).astype(np.int64),
        (
            "certified but wrong",
            "not read with the true crystal system",
            "of the true crystal system but with a wrong site",
            "right but not certified",
        ),
        told,
        _SPARE,
    )


def _yes(values: np.ndarray) -> list[str]:
    return ["yes" if one else "no" for one in values.tolist()]
