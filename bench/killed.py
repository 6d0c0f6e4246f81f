"""Pack and census of many synthetic structures on ranks that are killed, against undisturbed ones.

``python -m bench.killed WORK [--structures 200000] [--ranks 2] [--kills 5] [--slice-s S]``

Packs and censuses twice, undisturbed and with all ranks killed at even distances (the last time
when all rows are done, in the merge), and holds the content hashes against each other; then
the census is opened by tables, figures and xarray. Each of the stages is a piece in WORK: started
again, the program goes on where it was, in runs of at most `--slice-s` seconds if asked, which
stop in good order. The record tells CPU seconds and peak memory of the ranks by stage.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bench.common import ROOT, environment, write_record
from bench.end_to_end import child_environment
from bench.pieces import Pieces
from bench.ranks import mpiexec

#: Seconds between two looks at a command.
LOOK_S = 0.2
#: Exit code of a slice of time that is over.
AGAIN = 75


@dataclass
class Stage:
    """One command, run until its output stands.

    Attributes
    ----------
    name
        Of its files in the folder.
    words
        The command, without its output.
    kills : list of float
        Shares of the rows after which all ranks are killed; 1 is in the merge. A command tells
        of its rows each five seconds: a short one is over before all of these.
    """

    name: str
    words: list[str]
    kills: list[float] = field(default_factory=list)

    def run(self, folder: Path, ranks: int, until: float | None) -> dict[str, Any]:
        """CPU seconds, peak memory, kills, and the content hash.

        Raises
        ------
        TimeoutError
            The slice of time is over; what is done is kept.
        """
        note = folder / f"{self.name}.note"
        told = json.loads(note.read_text()) if note.exists() else _new()
        while True:
            ended = self._once(folder, ranks, told, until)
            note.write_text(json.dumps(told))
            if ended == "done":
                return told | {"content_hash": content_hash(folder / f"{self.name}.h5")}
            if ended == "stopped":
                raise TimeoutError(self.name)

    def _once(self, folder: Path, ranks: int, told: dict[str, Any], until: float | None) -> str:
        state = folder / f"{self.name}.state"
        state.unlink(missing_ok=True)
        launch = [mpiexec(), "-n", str(ranks)] if ranks > 1 else []
        own = ["-o", str(folder / f"{self.name}.h5"), "--resume", "-q", "--state", str(state)]
        began = time.perf_counter()
        process = subprocess.Popen(
            [*launch, sys.executable, "-m", *self.words, *own],
            cwd=ROOT,
            env=child_environment(),
            start_new_session=True,
        )
        due = self.kills[told["kills"]] if told["kills"] < len(self.kills) else None
        ended: str = ""
        seen: dict[int, tuple[float, int]] = {}
        while process.poll() is None:
            time.sleep(LOOK_S)
            family = _look(process.pid, seen)
            done = _share(state)
            if not ended and due is not None and done is not None and done >= due:
                told["kills"], ended = told["kills"] + 1, "killed"
                for pid in family:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            elif not ended and until is not None and time.monotonic() > until:
                ended = "stopped"
                process.terminate()
        told["runs"] += 1
        told["wall_s"] += time.perf_counter() - began
        told["cpu_s"] += sum(cpu for cpu, _ in seen.values())
        told["peak_bytes"] = max([told["peak_bytes"], *(peak for _, peak in seen.values())])
        if ended == "killed":
            return ended
        if process.returncode not in (0, 3):
            raise SystemExit(f"{self.name}: exit code {process.returncode}")
        return "done" if (folder / f"{self.name}.h5").exists() else "stopped"


def _new() -> dict[str, Any]:
    return {"runs": 0, "kills": 0, "wall_s": 0.0, "cpu_s": 0.0, "peak_bytes": 0}


def _share(state: Path) -> float | None:
    """Part of the rows that are done; 0 before the rows are known, None before the run began."""
    with contextlib.suppress(OSError, ValueError):
        told = json.loads(state.read_text())
        return told["done"] / told["total"] if told["total"] else 0.0
    return None


def _look(root: int, seen: dict[int, tuple[float, int]]) -> list[int]:
    """Processes that descend from one; their CPU seconds and peak memory as last seen."""
    tick = os.sysconf("SC_CLK_TCK")
    children: dict[int, list[int]] = {}
    stats = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError, StopIteration):
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            lines = (path / "status").read_text().splitlines()
            peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
            children.setdefault(int(fields[1]), []).append(int(path.name))
            stats[int(path.name)] = ((int(fields[11]) + int(fields[12])) / tick, 1024 * peak)
    family, left = [], [root]
    while left:
        family.append(left.pop())
        left += children.get(family[-1], [])
    seen.update({pid: stats[pid] for pid in family if pid in stats})
    return family


def content_hash(path: Path) -> str:
    """Content hash of a result file."""
    import h5py

    with h5py.File(path) as h5:
        return str(h5.attrs["content_hash"])


def opened(census: Path, folder: Path) -> dict[str, Any]:
    """CPU seconds of tables and figures of a census, and the rows that xarray sees."""
    from bench.end_to_end import run

    times = {}
    for name, words in (
        ("tables", ["tables", str(census)]),
        ("figures", ["figures", str(census), "-o", str(folder / "figures")]),
    ):
        times[f"{name}_cpu_s"] = run([sys.executable, "-m", f"rc_hpc.{words[0]}", *words[1:]])[
            "cpu_s"
        ]
    import rc_hpc

    before = time.process_time()
    tree = rc_hpc.open(census)
    rows = int(tree["structures"].sizes["structure"])
    return times | {"xarray_cpu_s": time.process_time() - before, "rows": rows}


def main(argv: list[str] | None = None) -> int:
    """Run what is left; 0 where all is equal."""
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("work", type=Path, help="folder of files and finished pieces")
    p.add_argument("--structures", type=int, default=200_000, help="default: %(default)s")
    p.add_argument("--ranks", type=int, default=2, help="default: %(default)s")
    p.add_argument("--kills", type=int, default=5, help="of each command; default: %(default)s")
    p.add_argument("--records", type=Path, help="folder of the record; default: WORK")
    p.add_argument(
        "--slice-s", type=float, help=f"stop after so long, with exit code {AGAIN}: run again"
    )
    args = p.parse_args(argv)
    folder = args.work.absolute()
    pieces, before = Pieces(folder), environment()["load"]
    until = None if args.slice_s is None else time.monotonic() + args.slice_s
    shares = [(k + 1) / args.kills for k in range(args.kills)]
    source = f"synthetic:{args.structures}"
    census = ["rc_hpc.census", str(folder / "pack.h5")]
    stages = [
        Stage("pack", ["rc_hpc.pack", source]),
        Stage("pack-killed", ["rc_hpc.pack", source], shares),
        Stage("census", census),
        Stage("census-killed", census, shares),
    ]
    found = {}
    try:
        for stage in stages:
            found[stage.name] = pieces.get(
                f"stage-{stage.name}",
                partial(stage.run, folder, args.ranks, until),
                source=source,
                ranks=args.ranks,
                kills=stage.kills,
            )
    except TimeoutError as error:
        print(f"{error}: the time is over; run the same again", file=sys.stderr)
        return AGAIN
    found["opened"] = pieces.get("opened", lambda: opened(folder / "census-killed.h5", folder))
    rows = [{"stage": name, **row} for name, row in found.items() if name != "opened"]
    asked = {"measurement": "killed", "load_before": before, "structures": args.structures}
    asked |= {"ranks": args.ranks, "kills": args.kills}
    results = {"stages": rows, "opened": found["opened"]}
    path = write_record("killed", asked, results, args.records or folder)
    print(f"{path} written; tables: python bench/report.py {path}")
    hashes = {row["stage"]: row["content_hash"] for row in rows}
    different = [name for name in ("pack", "census") if hashes[name] != hashes[f"{name}-killed"]]
    for name in different:
        print(f"{name}: DIFFERENT")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
