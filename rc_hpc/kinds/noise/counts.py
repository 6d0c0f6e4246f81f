"""A noise file as counts, read in one pass with bounded memory."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.kinds.common.counting import BLOCK_BYTES, Columns, Counts, RowFile
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.noise.tally import (
    LATER_COLUMNS,
    NOISE_COLUMNS,
    Axes,
    NoiseTally,
    tally_noise,
)
from rc_hpc.store.reader import open_ours

_AXES = (
    "axes/rule",
    "axes/estimator",
    "axes/sigma",
    "axes/seed",
    "axes/delta",
    "axes/gain",
)


#: What stands for columns that files of earlier versions lack.
_UNTOLD: dict[str, Callable[[Columns], np.ndarray]] = {
    "lowest_system": lambda rows: np.zeros_like(rows["space_group"]),
    "displaced_space_group": lambda rows: np.full_like(rows["space_group"], -1),
    "lattice_system": lambda rows: np.zeros(len(rows["n_atoms"]), np.uint8),
}


@dataclass(frozen=True)
class NoiseCounts(Counts):
    """What a noise file says in sum.

    Attributes
    ----------
    axes
    kept, quarantined
        Tallies of the computed structures (status ok) without and with quarantine bits.
    """

    axes: Axes
    kept: NoiseTally
    quarantined: NoiseTally


def count_noise(path: str | Path, block_bytes: int = BLOCK_BYTES) -> NoiseCounts:
    """Count a noise file.

    Raises
    ------
    RcError
        Not a noise file of ours, or one without results for rows that should have them.
    """
    columns = {name: f"structures/{name}" for name in ("n_atoms", "id", "flipped")}
    columns |= {name: f"noise/{name}" for name in NOISE_COLUMNS}
    with open_ours(path, "noise") as h5:
        truth = json.loads(h5.attrs["options"])["truth"]
        suffix = "" if truth == "stored" else "_conventional"
        columns["system"] = f"structures/crystal_system{suffix}"
        later = {name: f"noise/{name}" for name in LATER_COLUMNS}
        later["lattice_system"] = "structures/lattice_system"
        lacking = tuple(name for name, at in later.items() if at not in h5)
    columns |= {name: at for name, at in later.items() if name not in lacking}
    with RowFile(path, "noise", columns, "median_error", "sigma", _AXES) as file:
        protocols = tuple(map(protocol_of, file.options["protocols"]))
        rule, estimator, sigma, seed, delta, gain = (file.static[name] for name in _AXES)
        readings = tuple(zip(rule, estimator, strict=True))
        axes = Axes(protocols, readings, sigma, len(seed), delta, gain)
        tilings = np.array([math.prod(protocol.tiling) for protocol in protocols])

        def count(rows: Columns) -> NoiseTally:
            for name in lacking:
                rows[name] = _UNTOLD[name](rows)
            return tally_noise(rows, tilings)

        kept, quarantined = file.tallied(count, block_bytes)
        return NoiseCounts(file.options, file.attrs, file.status, axes, kept, quarantined)
