"""What is settled before any structure is computed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.packed.reader import PackedReader


def plan(packed: Path, options: CensusOptions) -> tuple[CensusOptions, None]:
    """Record the tau of a packed file where the reconstructions are labelled at another."""
    with PackedReader(packed) as reader:
        tau = float(json.loads(reader.attrs["options"])["tau"])
    return replace(options, packed_tau=None if tau == options.pack.tau else tau), None
