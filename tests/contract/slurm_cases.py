"""What the tests on a real SLURM share: a cluster of one node, jobs, a site as users have it."""

import importlib.util
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rc_hpc.parallel.launch import child_environment

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "slurm"
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
MISSING = [
    name
    for name in ("slurmctld", "slurmd", "munged", "sbatch", "srun", "scontrol")
    if shutil.which(name, path=PATH) is None
]

#: For tests that submit jobs.
needs_slurm = [
    pytest.mark.slurm,
    pytest.mark.skipif(
        bool(MISSING),
        reason=f"no SLURM here ({', '.join(MISSING)}): "
        "apt-get install slurmctld slurmd slurm-client munge",
    ),
    pytest.mark.skipif(os.geteuid() != 0, reason="slurmd is started as root"),
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is missing"),
]

#: In place of the interpreter: batches of four structures, so that few of them are work for many
#: ranks and shards; with HOLD_S a job's first attempt rests after each, so that a signal finds it
#: at work; with REWORDED every message of rc_hpc comes in letters that nobody knows.
PYTHON = """
import codecs, os, runpy, sys, time
judge = sys.argv[1:3] == ["-m", "rc_hpc.parallel.state"]
if "REWORDED" in os.environ and not judge:
    class Reworded:
        def __init__(self, stream):
            self.stream = stream
        def write(self, text):
            return self.stream.write(codecs.encode(text, "rot13"))
        def __getattr__(self, name):
            return getattr(self.stream, name)
    sys.stdout, sys.stderr = Reworded(sys.stdout), Reworded(sys.stderr)
hold = 0.0
module = sys.argv[2] if sys.argv[1] == "-m" else ""
if not module.startswith("rc_hpc.parallel"):
    hold = float(os.environ.get("HOLD_S", 0))
    from rc_hpc.parallel.cache import prepare_numba_cache
    from rc_hpc.parallel.launch import limit_threads
    limit_threads()
    prepare_numba_cache()
    import rc_hpc.engine.packing, rc_hpc.engine.rows
    from rc_hpc.store.parts import PartStore
    rc_hpc.engine.rows.BATCH_ROWS = rc_hpc.engine.packing.BATCH_ROWS = 4
    write = PartStore.write
if hold and not int(os.environ.get("SLURM_RESTART_COUNT", 0)):
    def slowly(*args):
        write(*args)
        time.sleep(hold)
    PartStore.write = slowly
if "MPI_FAILS_ONCE" in os.environ and not judge:
    try:
        os.mkdir(os.environ["MPI_FAILS_ONCE"])
    except FileExistsError:
        pass
    else:
        os._exit(15)
del sys.argv[0]
if sys.argv[0] == "-m":
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
else:
    runpy.run_path(sys.argv[0], run_name="__main__")
"""
ENDED = (
    "COMPLETED",
    "FAILED",
    "CANCELLED",
    "TIMEOUT",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
)


class Box:
    """A running SLURM of one node, and the jobs submitted to it."""

    def __init__(self, folder: Path):
        self.folder = folder
        python, site = folder / "python", folder / "site.env"
        program = folder / "program.py"
        program.write_text(PYTHON)
        python.write_text(
            f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(program))} "$@"\n'
        )
        python.chmod(0o755)
        local = folder / "node-local"
        local.mkdir()
        site.write_text(
            f"RC_PYTHON={shlex.quote(str(python))}\nRC_LOCAL_DISK={shlex.quote(str(local))}\n"
        )
        outside = {
            name: value
            for name, value in child_environment().items()
            if not name.startswith(("SLURM", "SBATCH", "SRUN", "RC_"))
        }
        self.environ = outside | {
            "PATH": PATH,
            "SLURM_CONF": str(folder / "box" / "slurm.conf"),
            "RC_SITE": str(site),
            "PYTHONPATH": str(ROOT),
        }

    def control(self, action: str) -> None:
        """Start or stop the daemons."""
        done = subprocess.run(
            [
                "bash",
                ROOT / "tests" / "slurm_box.sh",
                action,
                self.folder / "box",
                str(free_ports()),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def tell(self, *command, environ=None, cwd=None, timeout=60) -> str:
        """Standard output of a command that must succeed."""
        done = subprocess.run(
            [str(word) for word in command],
            env=self.environ | (environ or {}),
            cwd=cwd,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    def submit(
        self, folder: Path, script: str, *args, options=("--ntasks=2",), environ=None
    ) -> str:
        """Submit a shipped script as a user does from the checkout, to run in `folder`.

        Returns the job's id.
        """
        return self.tell(
            "sbatch",
            "--parsable",
            f"--chdir={folder}",
            *options,
            f"slurm/{script}",
            *args,
            environ=environ,
            cwd=ROOT,
        )

    def show(self, job: str) -> dict[str, str]:
        """What SLURM says of a job."""
        line = self.tell("scontrol", "show", "job", "-o", job).splitlines()[0]
        return dict(word.split("=", 1) for word in line.split() if "=" in word)

    def wait(self, job: str, until=ENDED, restarts=0, timeout=150) -> dict[str, str]:
        """What SLURM says of a job once it is in one of some states.

        After as many restarts at least.
        """
        limit = time.monotonic() + timeout
        while (found := self.show(job))["JobState"] not in until or int(
            found["Restarts"]
        ) < restarts:
            assert found["JobState"] not in ENDED and time.monotonic() < limit, (
                f"{found}\n{self.log(found)}"
            )
            time.sleep(0.1)
        return found

    def complete(self, job: str) -> str:
        """Output of a job that must end well."""
        found = self.wait(job)
        assert found["JobState"] == "COMPLETED", f"{found}\n{self.log(found)}"
        return self.log(found)

    def log(self, found: dict[str, str]) -> str:
        """Output of a job."""
        path = Path(found["StdOut"])
        return path.read_text() if path.exists() else ""

    def requeue_now(self, job: str) -> None:
        """Let a requeued job start at once; SLURM makes it wait two minutes."""
        self.wait(job, ("PENDING",), restarts=1)
        time.sleep(1.5)  # sooner, the new start is taken for the old one
        self.tell("scontrol", "update", f"jobid={job}", "StartTime=now")


def free_ports() -> int:
    """The first of two free ports that follow each other."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


def until(condition, box: Box, job: str, timeout=90) -> None:
    """Wait until `condition()` holds while a job is at work."""
    limit = time.monotonic() + timeout
    while not condition():
        found = box.show(job)
        assert found["JobState"] not in ENDED and time.monotonic() < limit, (
            f"{found}\n{box.log(found)}"
        )
        time.sleep(0.1)
