"""The tolerance frontier over 20 deltas against one census of the same structures and view subsets.

Whole commands from one packed file, one rank, plain; in each round the census, then the frontier,
on all 26 subsets and on the full protocol alone.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from bench.end_to_end import command, pack_each, run

#: 20 tolerances, Å, through the two that the released study reads at.
DELTAS = (
    0.001,
    0.002,
    0.003,
    0.005,
    0.007,
    0.01,
    0.015,
    0.02,
    0.03,
    0.04,
    0.05,
    0.07,
    0.1,
    0.12,
    0.15,
    0.2,
    0.25,
    0.3,
    0.4,
    0.5,
)
SUBSETS = ("all", "full")


def measure(rounds: int = 3, every: int = 1, prototypes: bool = False) -> dict:
    """Pack each `every`-th structure, then census and frontier in rounds.

    Parameters
    ----------
    prototypes
        Take the prototypes in any case.
    """
    folder = Path(tempfile.mkdtemp(prefix="rc-bench-"))
    try:
        packed, name, n = pack_each(folder, every, prototypes)
        deltas = ("--deltas", ",".join(map(str, DELTAS)))
        found = []
        for _ in range(rounds):
            one = {}
            for subsets in SUBSETS:
                census = command(
                    "census", str(packed), folder / "census.h5", more=("--subsets", subsets)
                )
                frontier = [
                    *command(
                        "sweep",
                        "frontier",
                        folder / "frontier.h5",
                        more=("--subsets", subsets, *deltas),
                    )
                ]
                frontier.insert(frontier.index("frontier") + 1, str(packed))
                one[subsets] = {"census": run(census), "frontier": run(frontier)}
            found.append(one)
        nothing = run(
            [sys.executable, "-c", "import rc_hpc.engine.command, rc_hpc.kinds.census.work, pandas"]
        )
        return {"set": name, "structures": n, "deltas": DELTAS, "start": nothing, "rounds": found}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
