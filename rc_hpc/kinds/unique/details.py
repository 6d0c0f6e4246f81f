"""What a uniqueness file says of each structure, for the lists of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import Uniqueness
from rc_hpc.kinds.common.counting import STATIC, subsets_of
from rc_hpc.kinds.common.lists import Details, options_in
from rc_hpc.kinds.common.subsets import Subsets, labels_of
from rc_hpc.kinds.unique.options import UniqueOptions
from rc_hpc.store.reader import read_table

#: Subsets that are named; of more the number is told.
_NAMED = 4


def details(path: Path) -> Details:
    """Columns of the lists: under each policy unique or not on all cameras, and on which not."""
    options = UniqueOptions.from_dict(options_in(path))
    wanted = ["policies/status", "structures/status"]
    read = read_table(path, [*STATIC, "axes/policy", *wanted])
    subsets = subsets_of({name: read[name] for name in STATIC})
    done = (read["structures/status"] == Status.ok).tolist()
    status = read["policies/status"]
    open_cells = np.isin(status, (Uniqueness.undetermined, Uniqueness.unknown))
    columns: dict[str, list[Any]] = {}
    labels = labels_of(options.to_dict())
    other = "crystal" if labels.cells else "molecule"
    order = np.argsort(-subsets.sizes, kind="stable")
    for p, policy in enumerate(read["axes/policy"].tolist()):
        if subsets.full is not None:
            columns[policy] = [
                Uniqueness(code).name if one else None
                for one, code in zip(done, status[:, p, subsets.full].tolist(), strict=True)
            ]
        columns[f"{policy}_undetermined"] = [
            _named([subsets.names[k] for k in order if row[k] == Uniqueness.undetermined])
            if one
            else None
            for one, row in zip(done, status[:, p], strict=True)
        ]
    told = (
        f"under each policy what is known of all cameras, and the subsets on which another {other} "
        f"of another {labels.noun} has the same pictures, the largest first "
        f"({options.caption()})"
    )
    wrong = (open_cells * subsets.sizes).sum(axis=(1, 2)).astype(np.int64)
    group = (wrong > 0).astype(np.int64)
    policies = read["axes/policy"].tolist()
    why = [_why(row, policies, subsets) if group[k] else "" for k, row in enumerate(status)]
    fails = ("left undetermined or unknown by some view subset",)
    spare = (*(f"{policy}_undetermined" for policy in policies), *policies)
    return Details(columns, why, group, wrong, fails, told, spare)


def _why(status: np.ndarray, policies: list[str], subsets: Subsets) -> str:
    """What is open of one structure, by policy, from its codes (P, K)."""
    told = []
    for code in (Uniqueness.undetermined, Uniqueness.unknown):
        its = [
            f"{policy} on {np.count_nonzero(row == code)} of {len(subsets.names)} subsets"
            for policy, row in zip(policies, status, strict=True)
            if (row == code).any()
        ]
        if its:
            told.append(f"{code.name} under {', '.join(its)}")
    return "; ".join(told)


def _named(names: list[str]) -> str:
    if not names:
        return ""
    return f"{len(names)}: {', '.join(names[:_NAMED])}{', ...' if len(names) > _NAMED else ''}"
