"""A noise file as counts, read in one pass with bounded memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.kinds.common.counting import BLOCK_BYTES, Columns, Counts, RowFile
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.noise.tally import NOISE_COLUMNS, Axes, NoiseTally, tally_noise

_AXES = (
    "axes/rule",
    "axes/estimator",
    "axes/sigma",
    "axes/seed",
    "axes/delta",
    "axes/gain",
)


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
    columns = {"n_atoms": "structures/n_atoms"}
    columns |= {name: f"noise/{name}" for name in NOISE_COLUMNS}
    with RowFile(path, "noise", columns, "median_error", "sigma", _AXES) as file:
        protocols = tuple(map(protocol_of, file.options["protocols"]))
        rule, estimator, sigma, seed, delta, gain = (file.static[name] for name in _AXES)
        readings = tuple(zip(rule, estimator, strict=True))
        axes = Axes(protocols, readings, sigma, len(seed), delta, gain)
        tilings = np.array([math.prod(protocol.tiling) for protocol in protocols])

        def count(rows: Columns) -> NoiseTally:
            return tally_noise(rows, tilings)

        kept, quarantined = file.tallied(count, block_bytes)
        return NoiseCounts(file.options, file.attrs, file.status, axes, kept, quarantined)
