"""One structure of a uniqueness file in words, and its pair of crystals as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import System, Undecided, Uniqueness
from rc_hpc.kinds.common.lists import options_in
from rc_hpc.kinds.packed.about import chosen_subsets, row_of
from rc_hpc.kinds.packed.reader import RowReader
from rc_hpc.kinds.unique.pairs import Pair, pairs_of
from rc_hpc.kinds.unique.picture import draw_pair
from rc_hpc.kinds.unique.schema import UNIQUE
from rc_hpc.oracle.molecular import names_of
from rc_hpc.report import style
from rc_hpc.symmetry.point_groups import SCHOENFLIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def show(
    path: Path, _packed: Path | None, id_: str, subset: str | None
) -> tuple[str, Figure | None]:
    """What a uniqueness file says of one structure, and a witness drawn beside it.

    Parameters
    ----------
    path
        The file.
    id_
        Of the structure.
    subset
        View subset that is told of and drawn, cameras joined by ``+``; None: all, and the
        smallest with a witness is drawn.

    Raises
    ------
    UsageError
        There is no such structure or subset.
    """
    with RowReader(path, UNIQUE) as file:
        row = row_of(file, id_)

        def value(name: str) -> Any:
            return file.read(name, row, row + 1)[0]

        status = Status(int(value("structures/status")))
        if status != Status.ok:
            return f"{id_}\nstatus: {status.name}\n{value('structures/message')}", None
        names = list(map(str, file.read("subsets/name")))
        policies = list(map(str, file.read("axes/policy")))
        found, reason = value("policies/status"), value("policies/reason")
        named = names_of(file.molecules)
        systems = ("none", *SCHOENFLIES) if file.molecules else tuple(System.__members__)
        system = value(f"policies/{named.get('system', 'system')}")
        trivial = value("cells/trivial")
        coarsest = "point_group" if file.molecules else "crystal_system"
        truth = systems[int(value(f"structures/{coarsest}"))]
        lines = [f"{id_}: {value('structures/formula')}, {value('structures/n_atoms')} atoms"]
        lines.append(f"truth{'' if file.molecules else ' (as read)'}: {truth}")
        chosen = [k for k, _ in chosen_subsets(file, subset)]
    if subset is None:
        chosen = np.flatnonzero(~trivial).tolist()
        lines.append(
            f"every place forced, hence unique under every policy: {int(trivial.sum())} of "
            f"{len(names)} subsets"
        )
    for k in chosen:
        told = []
        for p, policy in enumerate(policies):
            code = Uniqueness(int(found[p, k]))
            more = ""
            if code in (Uniqueness.unique, Uniqueness.determined):
                more = f" ({systems[int(system[p, k])]})"
            elif code == Uniqueness.unknown:
                more = f" ({Undecided(int(reason[p, k])).name})"
            told.append(f"{policy} {code.name}{more}")
        lines.append(f"{names[k]}: {', '.join(told)}")
    pairs = [one for one in pairs_of(path, row) if subset is None or one.subset == names[chosen[0]]]
    if not pairs:
        return "\n".join(lines), None
    pair = min(pairs, key=_smallest)
    lines.append(
        f"drawn: {pair.labels[0]}, and {pair.labels[1]}, which has the same image points, "
        f"hidden ones too, under {pair.subset}"
    )
    with style.styled():
        return "\n".join(lines), draw_pair(pair, options_in(path)["protocol"])


def _smallest(pair: Pair) -> tuple[int, int]:
    return len(pair.subset.split("+")), -len(pair.policies)
