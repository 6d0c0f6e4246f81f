"""Is a job launched as the commands need it?

``srun python -m rc_hpc.parallel.check_launch --tasks N``
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from pathlib import Path

import rc_hpc
from rc_hpc.core.errors import Exit, UsageError
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.parallel.check_folder import folder_faults, free_bytes, size
from rc_hpc.parallel.launch import (
    Comm,
    communicator,
    launcher_rank,
    limit_threads,
    run_guarded,
)
from rc_hpc.parallel.queue import WorkQueue
from rc_hpc.parallel.state import RunState, read_state

#: File systems that other nodes see too.
NETWORK = (
    "nfs",
    "nfs4",
    "lustre",
    "gpfs",
    "beegfs",
    "ceph",
    "cifs",
    "smb3",
    "pvfs2",
    "panfs",
    "afs",
    "9p",
    "fuse.sshfs",
)
DRAWS_EACH = 50
LOCAL_DISK_CURE = "set RC_LOCAL_DISK to a folder on the node's own disk"
DESCRIPTION = "Is a job launched as the commands need it? Prints PASSED, or what to change."


def main(argv: list[str] | None = None) -> int:
    """Check on all ranks, print on rank 0; returns 0 where all is well, else 1."""
    p = argparse.ArgumentParser(
        prog="python -m rc_hpc.parallel.check_launch", description=DESCRIPTION
    )
    p.add_argument(
        "--tasks",
        type=int,
        default=1,
        metavar="N",
        help="ranks that were asked for; default: %(default)s",
    )
    p.add_argument(
        "--output-folder",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="where results shall go; default: here",
    )
    p.add_argument(
        "--plan",
        type=Path,
        metavar="FILE",
        help="what the --state of a command's --dry-run told: its output's folder, and the room "
        "that it wants there",
    )
    p.add_argument(
        "--state", type=Path, metavar="FILE", help="tell there how it ended, for scripts"
    )
    args = p.parse_args(argv)
    limit_threads()
    with RunState(args.state, "check_launch", rank=launcher_rank()) as state:
        comm = communicator()
        state.begin()
        folder, needed = _planned(args.plan, args.output_folder)
        ranks = comm.allgather(facts())
        paths = path_faults(comm, folder)
        wrong = (
            rank_faults(ranks, args.tasks)
            + binding_faults(ranks)
            + paths
            + ([] if paths else folder_faults(comm, folder, needed))
            + counter_faults(comm)
        )
        if comm.rank == 0:
            _tell(ranks, wrong)
            if not paths:
                kind = file_system(folder) or "unknown file system"
                free = f"{size(free_bytes(folder))} free"
                print(f"results in {folder.absolute()} ({kind}): {free}, {size(needed)} wanted")
            if not wrong:
                print("PASSED")
        if wrong:
            state.failed(Exit.FATAL, "; ".join(wrong))
        else:
            state.done()
    return int(bool(wrong))


def _planned(plan: Path | None, folder: Path) -> tuple[Path, int]:
    """Folder of the results, and bytes that are wanted there."""
    if plan is None:
        return folder, 0
    try:
        told = read_state(plan)
        return Path(told["output"]).parent, int(told["expected_bytes"])
    except (OSError, ValueError, LookupError, TypeError):
        raise UsageError(
            f"--plan {plan}: not the --state of a --dry-run that came to its end"
        ) from None


def facts() -> dict:
    """What this rank says of itself."""
    library = "no MPI"
    if communicator().mpi is not None:
        from mpi4py import MPI

        library = MPI.Get_library_version().strip("\x00 \n").splitlines()[0].strip()
    return {
        "host": platform.node(),
        "library": library,
        "python": sys.executable,
        "versions": f"Python {platform.python_version()}, rc_hpc {rc_hpc.__version__}",
        "cpus": sorted(os.sched_getaffinity(0)),
        "cpus_of_node": os.cpu_count() or 1,
        "cpus_asked": int(os.environ.get("SLURM_CPUS_PER_TASK", 1)),
    }


def rank_faults(ranks: list[dict], tasks: int) -> list[str]:
    """Wrong number of ranks, or ranks that run different programs; `ranks` as from `facts`."""
    wrong = []
    if len(ranks) != tasks:
        wrong.append(
            f"{tasks} tasks were asked for, {len(ranks)} rank(s) joined: set RC_MPI to a type of "
            "`srun --mpi=list` that belongs to the MPI library (pmi2: MPICH, Intel MPI; "
            "pmix: Open MPI)"
        )
    for name in ("library", "versions"):
        found = sorted({rank[name] for rank in ranks})
        if len(found) > 1:
            wrong.append(
                f"ranks differ in {name}: {'; '.join(found)}: let RC_PYTHON and the modules be "
                "the same on all nodes"
            )
    return wrong


def binding_faults(ranks: list[dict]) -> list[str]:
    """Ranks that may not use the CPUs they were given, or sit on each other's.

    `ranks` as from `facts`.
    """
    wrong = []
    for host in sorted({rank["host"] for rank in ranks}):
        here = [rank for rank in ranks if rank["host"] == host]
        needed = min(sum(rank["cpus_asked"] for rank in here), here[0]["cpus_of_node"])
        usable = len(set().union(*(rank["cpus"] for rank in here)))
        if usable < needed:
            wrong.append(
                f"{host}: {len(here)} rank(s) share {usable} CPU(s), {needed} are theirs: add "
                "--cpu-bind=cores (or none) to RC_SRUN, and keep SRUN_CPUS_PER_TASK"
            )
        elif any(
            len(rank["cpus"]) < min(rank["cpus_asked"], rank["cpus_of_node"]) for rank in here
        ):
            wrong.append(
                f"{host}: a rank may use fewer CPUs than --cpus-per-task gives it: keep "
                "SRUN_CPUS_PER_TASK, or add --cpu-bind=none to RC_SRUN"
            )
    return wrong


def path_faults(comm: Comm, output: Path) -> list[str]:
    """Folders that a rank cannot write, is alone to see, or must not share; alike on all ranks."""
    wanted = os.environ.get("NUMBA_CACHE_DIR")
    cache = prepare_numba_cache()
    found = []
    if wanted and Path(wanted).absolute() not in (cache, *cache.parents):
        found.append(f"NUMBA_CACHE_DIR {wanted} cannot be used (taken: {cache}): {LOCAL_DISK_CURE}")
    for name, folder in (
        ("NUMBA_CACHE_DIR", cache),
        ("MPLCONFIGDIR", Path(os.environ.get("MPLCONFIGDIR", cache))),
    ):
        why = _unwritable(folder, make=True)
        kind = file_system(folder)
        if why:
            found.append(f"{name} {folder}: {why}: {LOCAL_DISK_CURE}")
        elif kind in NETWORK:
            found.append(f"{name} {folder} is on a network file system ({kind}): {LOCAL_DISK_CURE}")
    why = _unwritable(output)
    if why:
        found.append(
            f"results cannot be written into {output.absolute()}: {why}: "
            "submit from a folder the nodes can write, or name one with -o"
        )
    where = {(rank, text) for rank, texts in enumerate(comm.allgather(found)) for text in texts}
    wrong = [
        f"rank {min(r for r, t in where if t == text)}: {text}"
        for text in sorted({text for _, text in where})
    ]
    return wrong + _shared_faults(comm, output)


def _shared_faults(comm: Comm, output: Path) -> list[str]:
    token = None
    if comm.rank == 0 and not _unwritable(output):
        handle, token = tempfile.mkstemp(prefix=".seen-by-all-", dir=output.absolute())
        os.close(handle)
    token = comm.bcast(token)
    seen = comm.allgather(token is None or _sees(Path(token)))
    if comm.rank == 0 and token is not None:
        os.unlink(token)
    if all(seen):
        return []
    return [
        f"{output.absolute()} of rank 0 is not what rank {seen.index(False)} sees there: "
        "submit from a folder that all nodes share"
    ]


def _sees(file: Path) -> bool:
    # Listing the folder makes a network file system look again.
    return file.parent.is_dir() and file.name in os.listdir(file.parent)


def counter_faults(comm: Comm) -> list[str]:
    """Whether the counter that deals out the work gives each number to one rank.

    Alike on all ranks.
    """
    total = DRAWS_EACH * comm.size
    drawn = []
    with WorkQueue(comm, total) as queue:
        while (number := queue.next()) is not None:
            drawn.append(number)
    dealt = sorted(number for numbers in comm.allgather(drawn) for number in numbers)
    if dealt == list(range(total)):
        return []
    return [
        "the ranks' shared counter gave a number twice or never: this MPI library's one-sided "
        "operations are broken; use another"
    ]


def file_system(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """Type of the file system that holds `path`; empty where that cannot be told."""
    try:
        lines = [line.split() for line in mounts.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return ""
    real = Path(os.path.realpath(path))
    found = [
        (len(Path(point).parts), number, kind)
        for number, (_, point, kind, *_) in enumerate(lines)
        if Path(point) in (real, *real.parents)
    ]
    return max(found, default=(0, 0, ""))[
        2
    ]  # the last of those mounted on one point hides the others


def _unwritable(folder: Path, make: bool = False) -> str:
    try:
        if make:
            folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"probe")
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _tell(ranks: list[dict], wrong: list[str]) -> None:
    hosts = sorted({rank["host"] for rank in ranks})
    print(f"{len(ranks)} rank(s) in one communicator on {len(hosts)} node(s): {', '.join(hosts)}")
    print(f"{ranks[0]['library']}; {ranks[0]['versions']}; {ranks[0]['python']}")
    for number, rank in enumerate(ranks):
        cpus = ",".join(map(str, rank["cpus"]))
        print(f"  rank {number} on {rank['host']}: CPUs {cpus} of {rank['cpus_of_node']}")
    fonts = os.environ.get("MPLCONFIGDIR", "its default")
    print(f"kernels cached in {os.environ['NUMBA_CACHE_DIR']}, matplotlib in {fonts}")
    for text in wrong:
        print(f"CHANGE: {text}")


if __name__ == "__main__":
    sys.exit(run_guarded(main))
