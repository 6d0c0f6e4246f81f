"""The queue of ranks, simulated: how long ranks idle, and the same of two ranks that ran.

Batches are cut as the commands cut them (`rc_hpc.parallel.shard.guided`, with their bounds), from
what they believe of each row: a census from `census_costs`, packing from nothing. Run as a
program it is one rank of a census that notes when it drew its first batch and found no more:
``python -m bench.queueing OUT PACKED CENSUS``.
"""

from __future__ import annotations

import heapq
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.common import ROOT

#: Numbers of ranks of the simulation.
SIMULATED = (16, 128, 1024, 4096)
#: Rows of a simulation at most; beyond, shares of idle time fall further.
ROWS = 1_000_000
LONG_S = 60.0


def batches(stage: str, believed_s: np.ndarray, ranks: int, draw_s: float) -> Any:
    """Rows in the order in which they are drawn, and the bounds of the batches, as the command."""
    from rc_hpc.engine import packing, rows
    from rc_hpc.parallel.shard import guided

    draws = rows.DRAWS * ranks * draw_s
    if stage == "pack":
        bounds = (packing.BATCH_ROWS, packing.BATCH_S, max(draws, packing.PACKING_S))
    else:
        bounds = (rows.BATCH_ROWS, rows.BATCH_MS / 1e3, max(draws, rows.WRITE_MS / 1e3))
    return guided(believed_s, ranks, *bounds)


def simulate(
    stage: str, costs_s: np.ndarray, believed_s: np.ndarray, ranks: int, draw_s: float
) -> float:
    """Part of the ranks' time that is idle: one counter serves draws one after another.

    Parameters
    ----------
    stage : str
        "pack" or "census".
    costs_s, believed_s
        Seconds of each row, true and as the command believes.
    ranks : int
    draw_s : float
        Seconds that a draw keeps the counter.
    """
    order, bounds = batches(stage, believed_s, ranks, draw_s)
    before = np.concatenate(([0.0], np.cumsum(costs_s[order])))
    times = before[bounds[1:]] - before[bounds[:-1]]
    free = [0.0] * ranks
    counter = 0.0
    for seconds in times.tolist():
        counter = max(counter, free[0]) + draw_s
        heapq.heapreplace(free, counter + seconds)
    end = max(free)
    return 1 - float(costs_s.sum()) / (ranks * end) if end else 0.0


def drawn_rows(work: dict[str, Any], n: int, seed: int = 1) -> np.ndarray:
    """Which of the measured rows each of `n` rows is."""
    return np.random.default_rng(seed).integers(0, len(work["pack_row_s"]), n)


def idle_shares(work: dict[str, Any], n: int, ranks: int, draw_s: float) -> dict[str, Any]:
    """Idle shares of packing and census, and of a census with one row of a minute in it.

    Parameters
    ----------
    work : dict
        `pack_row_s`, `census_row_s`, `believed_row_s`: of each measured row.
    n, ranks, draw_s
        Rows, of which at most `ROWS` are simulated; see `simulate`.
    """
    taken = drawn_rows(work, min(n, ROWS))
    pack, census, believed = (
        np.array(work[name])[taken] for name in ("pack_row_s", "census_row_s", "believed_row_s")
    )
    same = np.full(len(taken), float(pack.mean()))
    long, told = census.copy(), believed.copy()
    long[len(taken) // 3] = told[len(taken) // 3] = LONG_S
    return {
        "ranks": ranks,
        "rows": len(taken),
        "pack": simulate("pack", pack, same, ranks, draw_s),
        "census": simulate("census", census, believed, ranks, draw_s),
        "foreseen": simulate("census", long, told, ranks, draw_s),
        "unforeseen": simulate("census", long, believed, ranks, draw_s),
        "pack_work_s": float(pack.sum()) / ranks,
        "census_work_s": float(census.sum()) / ranks,
    }


def check(
    work: dict[str, Any], packed: Path, folder: Path, launch: list[str], rounds: int
) -> dict[str, Any]:
    """Idle share of two ranks in a census of the measured rows: simulated, and as it was.

    Two ranks on one machine wait for each other's start and for the cores, too; the share is of
    the time from a rank's first draw to the last rank's end.
    """
    costs, believed = (np.array(work[name]) for name in ("census_row_s", "believed_row_s"))
    simulated = simulate("census", costs, believed, 2, 5e-6)
    measured = []
    for number in range(rounds):
        out = folder / f"queue-{number}"
        program = [sys.executable, "-m", "bench.queueing", str(out), str(packed)]
        subprocess.run([*launch, "-n", "2", *program, str(folder / "two.h5")], cwd=ROOT, check=True)
        told = [json.loads(Path(f"{out}.{rank}").read_text()) for rank in range(2)]
        end = max(one["end_s"] for one in told)
        whole = sum(end - one["first_s"] for one in told)
        measured.append(sum(end - one["end_s"] for one in told) / whole)
    return {"rows": len(costs), "simulated": simulated, "measured": measured}


def one_rank(out: str, packed: str, output: str) -> int:
    """A census that notes when this rank drew first, and when it found nothing more to draw."""
    from rc_hpc.census import main
    from rc_hpc.parallel.launch import launcher_rank
    from rc_hpc.parallel.queue import WorkQueue

    plain = WorkQueue.next
    noted: dict[str, float] = {}

    def next_(self: WorkQueue) -> int | None:
        noted.setdefault("first_s", time.time())
        drawn = plain(self)
        if drawn is None:
            noted.setdefault("end_s", time.time())
        return drawn

    WorkQueue.next = next_  # type: ignore[method-assign]
    code = main([packed, "-o", output, "--overwrite", "--progress", "none", "-q"])
    Path(f"{out}.{launcher_rank()}").write_text(json.dumps(noted))
    return code


if __name__ == "__main__":
    sys.exit(one_rank(*sys.argv[1:]))
