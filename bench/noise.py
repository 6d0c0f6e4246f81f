"""The noise sweep, one rank: the share of generation, correspondence, triangulation and label.

Every round runs the command under the stopwatch of `stages.py` once for each reading, on the
same structures, cameras, sigmas and number of seeds; the shares are read within one run.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from bench.end_to_end import pack_each, run
from bench.stages import NOISE, SPGLIB

PROTOCOLS, SIGMAS, SEEDS = ("frozen", "off-axis"), (0.01, 0.05), 2
#: Options of each reading that is measured.
READINGS = {
    "all views": (),
    "anchor pair": ("--estimators", "anchor-pair"),
    "all views, labels by distance": ("--labeller", "distance"),
    "record": ("--rules", "record"),
}
#: What a reading consists of; the rest is the command's.
PARTS = (
    *list(NOISE)[: list(NOISE).index("open the run")],
    f"{SPGLIB} in label",
    f"{SPGLIB} in label: statistical test",
)


def measure(rounds: int = 2, every: int = 7, prototypes: bool = False) -> dict:
    """Pack each `every`-th structure, then the sweep in rounds.

    Parameters
    ----------
    prototypes
        Take the prototypes in any case.
    """
    folder = Path(tempfile.mkdtemp(prefix="rc-bench-"))
    try:
        packed, name, n = pack_each(folder, every, prototypes)
        stages = folder / "stages.json"
        axes = (
            "--protocols",
            ",".join(PROTOCOLS),
            "--sigmas",
            ",".join(map(str, SIGMAS)),
            "--seeds",
            str(SEEDS),
        )
        found = []
        for _ in range(rounds):
            one = {}
            for reading, options in READINGS.items():
                run(
                    [
                        sys.executable,
                        "-m",
                        "bench.stages",
                        str(stages),
                        "sweep",
                        "noise",
                        str(packed),
                        "-o",
                        str(folder / "noise.h5"),
                        "--overwrite",
                        "--progress",
                        "none",
                        *axes,
                        *options,
                    ]
                )
                one[reading] = json.loads(stages.read_text())
            found.append(one)
        return {
            "set": name,
            "structures": n,
            "pictures": n * len(PROTOCOLS) * len(SIGMAS) * SEEDS,
            "protocols": PROTOCOLS,
            "sigmas": SIGMAS,
            "seeds": SEEDS,
            "parts": PARTS,
            "rounds": found,
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)
