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

from bench.common import evaluation_ids, load_cells, shared_folder
from bench.end_to_end import command, run
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
PARTS = (*list(NOISE)[:list(NOISE).index("open the run")], f"{SPGLIB} in label", f"{SPGLIB} in label: statistical test")


def measure(rounds: int = 2, every: int = 7, prototypes: bool = False) -> dict:
    """Pack each `every`-th structure, then the sweep in rounds.

    Parameters
    ----------
    prototypes
        Take the prototypes in any case.
    """
    folder = Path(tempfile.mkdtemp(prefix="rc-bench-"))
    try:
        shared = None if prototypes else shared_folder()
        ids = evaluation_ids(shared) if shared else [cell.id for cell in load_cells(prototypes=True)[1]]
        (folder / "ids.txt").write_text("\n".join(ids[::every]), encoding="utf-8")
        source = str(shared / "data" / "e3" / "structures.json") if shared else "prototypes"
        packed, stages = folder / "packed.h5", folder / "stages.json"
        run(command("pack", source, packed, more=("--ids", str(folder / "ids.txt"))))
        axes = ("--protocols", ",".join(PROTOCOLS), "--sigmas", ",".join(map(str, SIGMAS)), "--seeds", str(SEEDS))
        found = []
        for _ in range(rounds):
            one = {}
            for name, options in READINGS.items():
                run([sys.executable, "-m", "bench.stages", str(stages), "sweep", "noise", str(packed), "-o", str(folder / "noise.h5"),
                     "--overwrite", "--progress", "none", *axes, *options])
                one[name] = json.loads(stages.read_text())
            found.append(one)
        n = len(ids[::every])
        return {
            "set": "e3 evaluation" if shared else "prototypes", "structures": n, "pictures": n * len(PROTOCOLS) * len(SIGMAS) * SEEDS,
            "protocols": PROTOCOLS, "sigmas": SIGMAS, "seeds": SEEDS, "parts": PARTS, "rounds": found,
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)
