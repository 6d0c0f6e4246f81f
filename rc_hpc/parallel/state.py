"""What a run tells other programs of itself: a small JSON file, one for each run or shard.

Rank 0 writes it, whole or not at all; people read messages, programs read this. In a command,
on every rank, once its options are read::

    with RunState(options.state, "census", output, shard, rank=launcher_rank()) as state:
        comm = communicator()
        state.begin()                                  # all ranks have come: the run exists
        ... Progress(total, state=state) ...           # tells how far it is
        if complete:
            state.done(exit_code)
        else:
            state.stopped(stop.exit_code)

What leaves the block as an exception is a state too: failed, with its exit code and message. A
run that dies in another way leaves `running` behind, one that MPI did not let begin leaves
nothing. Once a run has ended, ``python -m rc_hpc.parallel.state FILE`` says in one word how.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from rc_hpc.core.apart import Lost, alone
from rc_hpc.core.errors import Exit, RcError, UsageError
from rc_hpc.core.files import disk_errors, parts_folder, write_whole
from rc_hpc.core.text import parse_json

#: Version of the file's fields.
VERSION = 1
#: Seconds between two notes of how far a run is.
INTERVAL_S = 5.0
#: CPU time to look for the hash of an output, s.
_READ_S = 20.0


class End(StrEnum):
    """States of a run; `running` and `planned` are never the answer of `judge`.

    `killed`, `lost` and `none` are never in a file.
    """

    running = "running"
    done = "done"  # the output stands
    stopped = "stopped"  # work is left, and kept in good order
    failed = "failed"
    killed = "killed"  # it could not say how it ended
    lost = "lost"  # done, but the output is not what it has written
    none = "none"  # it never began
    planned = "planned"  # a dry run, which says what the run would want


class RunState:
    """The state file of a run, from its options to its end; without a path it does nothing.

    Parameters
    ----------
    path
        The file; None where nobody asked for one.
    command
        What runs, such as ``census``.
    output
        The file it is to write, which carries its content hash; None for a run without one.
    shard
        (i, N) where only parts are written.
    rank
        Number of this process, known before MPI starts; only 0 writes.
    """

    def __init__(
        self,
        path: Path | None,
        command: str,
        output: Path | None = None,
        shard: tuple[int, int] | None = None,
        rank: int = 0,
    ):
        self._path = path if rank == 0 else None
        self._known = False
        self._last = -float("inf")
        job, array_task, attempt = slurm_job()
        self._told: dict[str, Any] = {
            "rc_hpc_state": VERSION,
            "command": command,
            "output": None if output is None else os.path.abspath(output),
            "shard": None if shard is None else list(shard),
            "state": End.running,
            "done": 0,
            "total": None,
            "unit": "",
            "exit_code": None,
            "message": "",
            "content_hash": None,
            "expected_bytes": None,
            "job": job,
            "array_task": array_task,
            "attempt": attempt,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "time": "",
        }

    def begin(self) -> None:
        """Note that the run has begun.

        Raises
        ------
        UsageError
            The file is there and holds something else.
        RcError
            It cannot be written.
        """
        self._write(End.running)

    def far(self, done: int, total: int | None, unit: str = "structures") -> None:
        """Tell how much of the work is done; noted now and then, and at the end."""
        whole = None if total is None else int(total)
        self._told |= {"done": int(done), "total": whole, "unit": unit}
        at_work = self._known and self._told["state"] == End.running
        if at_work and time.monotonic() - self._last >= INTERVAL_S:
            with contextlib.suppress(RcError):  # no reason to end the work
                self._write(End.running, durable=False)

    def planned(self, expected_bytes: int) -> None:
        """Tell what a run would want, of a dry run."""
        self._told["expected_bytes"] = int(expected_bytes)
        self._write(End.planned)

    def stopped(self, exit_code: int = Exit.CLEAN) -> None:
        """Note an end in good order with work left."""
        self._write(End.stopped, exit_code)

    def failed(self, exit_code: int, message: str) -> None:
        """Note an end in failure."""
        self._told["message"] = message
        self._write(End.failed, exit_code)

    def done(self, exit_code: int = Exit.CLEAN) -> None:
        """Note that the work is done: the output, or this shard's parts, are written.

        Raises
        ------
        RcError
            The output is not there or carries no content hash.
        """
        output, whole = self._told["output"], self._told["shard"] is None
        if self._path is not None and output is not None and whole:
            self._told["content_hash"] = _content_hash(output)
            if not self._told["content_hash"]:
                raise RcError(f"{output}: is to be done, but has no content hash")
        self._write(End.done, exit_code)

    def _write(self, state: End, exit_code: int | None = None, durable: bool = True) -> None:
        if self._path is None:
            return
        self._make_room()
        self._told |= {
            "state": state,
            "exit_code": None if exit_code is None else int(exit_code),
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }
        write_whole(self._path, (json.dumps(self._told, indent=1) + "\n").encode(), durable)
        self._known = True
        self._last = time.monotonic()

    def _make_room(self) -> None:
        """Remove the state of an earlier run, which would be taken for that of this one."""
        if self._path is None or self._known:
            return
        with disk_errors(self._path), contextlib.suppress(FileNotFoundError):
            try:
                read_state(self._path)
            except (IsADirectoryError, ValueError):
                raise UsageError(
                    f"--state {self._path} is there and no state of a run: name another file"
                ) from None
            self._path.unlink()

    def __enter__(self) -> Self:
        self._make_room()
        return self

    def __exit__(self, _, error: BaseException | None, __) -> None:
        if error is None or (isinstance(error, SystemExit) and not error.code):
            return
        with contextlib.suppress(RcError):  # the error itself is what must be told
            self.failed(exit_code_of(error), f"{type(error).__name__}: {error}")


def exit_code_of(error: BaseException) -> int:
    """Exit code of a command that an exception ends."""
    if isinstance(error, RcError):
        return int(error.code)
    if isinstance(error, KeyboardInterrupt):
        return int(Exit.INTERRUPTED)
    if isinstance(error, SystemExit) and isinstance(error.code, int):
        return error.code
    return int(Exit.FATAL)


def slurm_job(environ: Mapping[str, str] = os.environ) -> tuple[str, str, int]:
    """Number of the job, of its task in an array (or empty), and how often it was restarted.

    SLURM_JOB_ID of an array's task is a number of its own, which for one of them is the array's.
    """
    job = environ.get("SLURM_ARRAY_JOB_ID") or environ.get("SLURM_JOB_ID", "")
    task = environ.get("SLURM_ARRAY_TASK_ID", "")
    return job, task, int(environ.get("SLURM_RESTART_COUNT") or 0)


def job_name(job: str, array_task: str) -> str:
    """A job as SLURM's commands call it: ``7``, or ``7_2`` for a task of an array."""
    return f"{job}_{array_task}" if array_task else job


def read_state(path: Path) -> dict:
    """Fields of a state file.

    Raises
    ------
    OSError, ValueError
        There is none, or it is something else.
    """
    told = parse_json(path.read_text(encoding="utf-8"))
    if not isinstance(told, dict) or told.get("rc_hpc_state") != VERSION:
        raise ValueError(f"{path}: no state of a run, or of another version")
    return told


def judge(path: Path, job: str, attempt: int) -> End:
    """How a run has ended, asked once it has.

    Parameters
    ----------
    job, attempt
        As in `job_name` and `slurm_job`. What another attempt has left says nothing of this one.

    Returns
    -------
    End
        `done` only where the output stands with the content hash that the file names (of a
        shard: where its parts are, or what was merged from them).
    """
    try:
        told = read_state(path)
    except FileNotFoundError:
        return End.none
    except (OSError, ValueError):
        return End.killed
    if (job_name(told["job"], told["array_task"]), told["attempt"]) != (job, attempt):
        return End.killed
    if told["state"] == End.running:
        return End.killed
    if told["state"] == End.planned:
        return End.none
    if told["state"] == End.done and not _stands(told):
        return End.lost
    return End(told["state"])


def _stands(told: dict) -> bool:
    if told["output"] is None:
        return True
    output = Path(told["output"])
    if told["shard"] is not None:
        return parts_folder(output).is_dir() or output.is_file()
    return told["content_hash"] == _content_hash(output)


def _content_hash(output: str | Path) -> str:
    """Content hash that an HDF5 file carries; empty where it cannot be read."""
    try:  # HDF5 may crash or hang on a damaged file
        return str(alone(_read_hash, output, cpu_s=_READ_S))
    except (OSError, LookupError, RuntimeError, Lost):
        return ""


def _read_hash(output: str | Path) -> str:
    import h5py

    with h5py.File(output, "r", locking=False) as h5:
        return str(h5.attrs["content_hash"])


def main(argv: list[str] | None = None) -> int:
    """Print how a run has ended, in one word."""
    job, array_task, attempt = slurm_job()
    p = argparse.ArgumentParser(
        prog="python -m rc_hpc.parallel.state",
        description="How has the run ended that wrote a state file? Prints one word: done, "
        "stopped (with work left), failed, killed, lost (the output is not what it wrote), "
        "none (it never began).",
    )
    p.add_argument("file", type=Path, metavar="FILE", help="what --state named")
    p.add_argument("--job", default=job_name(job, array_task), help="default: this job")
    p.add_argument("--attempt", type=int, default=attempt, help="default: this job's")
    args = p.parse_args(argv)
    print(judge(args.file, args.job, args.attempt).value)
    return Exit.CLEAN


if __name__ == "__main__":
    sys.exit(main())
