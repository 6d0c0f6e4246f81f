"""The same packed census by one rank and by two, both under mpiexec, in alternating rounds.

Start-up (Python, libraries, loading the kernels) and the merge are not shared between ranks, so
the whole command is told apart from its batches, on which all ranks work. Quiet machines only, and
the work must be long beside the start: a large packed file, or every reconstruction labelled.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from bench.end_to_end import command, packed_file, run


def mpiexec() -> str:
    """The launcher that belongs to this Python's MPI library, else the first on the path."""
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise SystemExit("no mpiexec: pip install mpi4py mpich, or load the cluster's MPI module")
    return found


def measure(
    rounds: int = 3,
    counts: tuple[int, ...] = (1, 2),
    packed: Path | None = None,
    evaluation: bool = False,
    label_every: bool = False,
) -> dict:
    """Rounds of the census by each number of ranks; parameters as in `end_to_end.measure`.

    Parameters
    ----------
    label_every
        Label every reconstruction, not the distinct ones only: the same result by ten times the
        work.
    """
    folder = Path(tempfile.mkdtemp(prefix="rc-bench-"))
    try:
        name, packed, source, more = packed_file(packed, folder, evaluation)
        if source:
            run(command("pack", source, packed, None, more))
        launcher, stages, output = mpiexec(), folder / "stages.json", folder / "census.h5"
        run(
            [launcher, "-n", "1", *command("census", str(packed), output)]
        )  # compiles where that is due
        census = ("--label-every",) if label_every else ()
        rows = []
        for number in range(rounds):
            for count in counts if number % 2 == 0 else reversed(counts):
                launched = [launcher, "-n", str(count)]
                row = {
                    "ranks": count,
                    "plain": run(
                        [*launched, *command("census", str(packed), output, None, census)]
                    ),
                }
                row["watched"] = run(
                    [*launched, *command("census", str(packed), output, stages, census)]
                )
                row["whole"] = json.loads(stages.read_text())["whole"]
                rows.append(row)
        return {"set": name, "runs": rows}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
