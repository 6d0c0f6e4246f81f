"""A uniqueness file as counts, read in one pass with bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import Known
from rc_hpc.kinds.common.counting import BLOCK_BYTES, STATIC, Counts, RowFile, subsets_of
from rc_hpc.kinds.common.lists import options_in
from rc_hpc.kinds.common.subsets import Labels, Subsets, labels_of
from rc_hpc.kinds.unique.frames import UniqueTally, tally_unique
from rc_hpc.kinds.unique.pairs import Pair, pairs_of
from rc_hpc.oracle.molecular import names_of
from rc_hpc.store import layout

_CELLS = ("n_places", "n_phantoms", "n_redundant", "trivial", "maximal_system", "random_system")
_POLICIES = ("status", "reason", "system", "best_system")


@dataclass(frozen=True)
class UniqueCounts(Counts):
    """What a uniqueness file says in sum.

    Attributes
    ----------
    subsets
    policies : tuple of str
    kept, quarantined
        Tallies of the computed structures (status ok) without and with quarantine bits.
    pair
        The smallest structure with a witness, and that; None where there is none.
    """

    subsets: Subsets
    policies: tuple[str, ...]
    kept: UniqueTally
    quarantined: UniqueTally
    pair: Pair | None

    @property
    def labels(self) -> Labels:
        """What the structures are labelled by."""
        return labels_of(self.options)


def count_unique(path: str | Path, block_bytes: int = BLOCK_BYTES) -> UniqueCounts:
    """Count a uniqueness file.

    Raises
    ------
    RcError
        Not a uniqueness file of ours, or one without results for rows that should have them.
    """
    labels = labels_of(options_in(Path(path)))
    named = names_of(not labels.cells)
    columns = {name: f"cells/{named.get(name, name)}" for name in _CELLS}
    columns |= {name: f"policies/{named.get(name, name)}" for name in _POLICIES}
    columns |= {
        f"true_{which}": f"structures/{labels.coarsest}{which}"
        for which in (("", "_conventional") if labels.cells else ("",))
    }
    static = (*STATIC, "axes/policy")
    with RowFile(path, "unique", columns, "status", "subset", static, "status") as file:
        which = "" if file.options["truth"] == "stored" else "_conventional"
        subsets = subsets_of(file.static)
        kept, quarantined = file.tallied(
            lambda rows: tally_unique(rows, rows[f"true_{which}"]), block_bytes
        )
        policies = tuple(file.static["axes/policy"])
        pair = _smallest_pair(path, file, policies, subsets)
        return UniqueCounts(
            file.options, file.attrs, file.status, subsets, policies, kept, quarantined, pair
        )


def _smallest_pair(
    path: str | Path, file: RowFile, policies: tuple[str, ...], subsets: Subsets
) -> Pair | None:
    """The pair with the fewest views, atoms and places; of the tightest policy that has one."""
    owner = layout.read_rows(file.dataset("places/structure"))
    if not len(owner):
        return None
    subset = layout.read_rows(file.dataset("places/subset"))
    witness = layout.read_rows(file.dataset("places/witness"))
    n_atoms = layout.read_rows(file.dataset("structures/n_atoms"))
    status = layout.read_rows(file.dataset("structures/status"))
    cells, cell = np.unique(np.stack([owner, subset]), axis=1, return_inverse=True)
    # Fewest first knows other things than the rest: it is taken where there is nothing else.
    for name in sorted(policies, key=lambda name: (name == Known.fewest.name, -Known[name])):
        having = np.unique(cell[(witness >> policies.index(name) & 1) > 0])
        having = having[status[cells[0, having]] == Status.ok]
        if not len(having):
            continue
        size = np.bincount(cell)
        views = subsets.sizes[cells[1, having]]
        order = np.lexsort((size[having], n_atoms[cells[0, having]], views))
        row, k = (int(place) for place in cells[:, having[order[0]]])
        for pair in pairs_of(Path(path), row):
            if pair.subset == subsets.names[k] and name in pair.policies:
                return pair
    return None
