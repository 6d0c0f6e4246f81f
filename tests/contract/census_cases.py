"""What the contract tests of the census share: small inputs, runs in this process and in others."""

import contextlib
import importlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py
import pytest
from ranks import MPIEXEC

from rc_hpc.parallel.launch import child_environment

ROOT = Path(__file__).parents[2]

#: Rows of a batch in these tests: small inputs shall still be many batches for ranks and shards.
BATCH_ROWS = 4
#: Runs a command with such batches; `{patch}` is code that comes before it.
PROGRAM = """
import os, sys, time
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.parallel.launch import limit_threads
limit_threads()
prepare_numba_cache()
import rc_hpc.engine.packing, rc_hpc.engine.rows
rc_hpc.engine.rows.BATCH_ROWS = rc_hpc.engine.packing.BATCH_ROWS = {rows}
{patch}
from rc_hpc.{command} import main
sys.exit(main(sys.argv[1:]))
"""


def content(path) -> str:
    """Content hash that a finished file carries."""
    with h5py.File(path, locking=False) as h5:
        return h5.attrs["content_hash"]


def column(path, name, by="structures/id"):
    """Dataset `name` as a dict by id."""
    with h5py.File(path, locking=False) as h5:
        ids, values = h5[by].asstr()[()], h5[name]
        values = values.asstr()[()] if h5py.check_string_dtype(values.dtype) else values[()]
    return dict(zip(ids.tolist(), values, strict=True))


def call(command, *args, rows=BATCH_ROWS) -> int:
    """Exit code of a command run in this process, with batches of `rows`."""
    import rc_hpc.engine.packing
    import rc_hpc.engine.rows

    main = {"census": "rc_hpc.census", "pack": "rc_hpc.pack", "sweep": "rc_hpc.sweep"}[command]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rc_hpc.engine.rows, "BATCH_ROWS", rows)
        patch.setattr(rc_hpc.engine.packing, "BATCH_ROWS", rows)
        return int(importlib.import_module(main).main([str(arg) for arg in args]))


class Forked:
    """A copy of this process at work, with what of `subprocess.Popen` the tests use.

    It has all imports behind it, so that tests of many runs need not wait for them.
    """

    def __init__(self, work):
        self.returncode = None
        self.output = [tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")]
        self.pid = os.fork()
        if self.pid:
            with contextlib.suppress(PermissionError):
                os.setpgid(self.pid, self.pid)
            return
        code = 70
        try:
            os.setpgid(0, 0)
            for target, file in enumerate(self.output, 1):
                os.dup2(file.fileno(), target)
            sys.stdout, sys.stderr = (open(target, "w", closefd=False) for target in (1, 2))
            code = work()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)

    def poll(self, options=os.WNOHANG):
        """Exit code, negative for a signal, or None while it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def communicate(self, timeout=None):
        """Wait for its end; standard output and standard error."""
        limit = time.monotonic() + (timeout or 0)
        while self.poll(0 if timeout is None else os.WNOHANG) is None:
            if time.monotonic() > limit:
                raise subprocess.TimeoutExpired("fork", timeout)
            time.sleep(0.01)
        texts = []
        for file in self.output:
            file.seek(0)
            texts.append(file.read())
        return tuple(texts)


def fork(folder, command, args, patch=lambda: None, rows=BATCH_ROWS):
    """Start a command in `folder` in a copy of this process, after `patch()`."""

    def work():
        os.chdir(folder)
        patch()
        return call(command, *args, rows=rows)

    return Forked(work)


def start(folder, args, ranks=1, command="census", patch="", environ=None, rows=BATCH_ROWS):
    """Start a command in `folder` in a process of its own, under mpiexec for more than one rank."""
    program = folder / f"program-{command}.py"
    program.write_text(PROGRAM.format(rows=rows, command=command, patch=patch))
    launch = [] if ranks == 1 else [MPIEXEC, "-n", str(ranks)]
    environ = (
        child_environment()
        | {
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_osc": "^ucx",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        }
        | (environ or {})
    )
    return subprocess.Popen(
        [*launch, sys.executable, str(program), *map(str, args)],
        cwd=folder,
        env=environ,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(job, timeout=300):
    """Exit code, standard output and standard error; a hang fails the test and is ended."""
    try:
        out, err = job.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        out, err = job.communicate()
        pytest.fail(f"the command hangs\n{out}\n{err}")
    return job.returncode, out, err


def run(folder, args, ranks=1, **more):
    """Start a command and wait for its end."""
    return finish(start(folder, args, ranks, **more))


def wait_for(condition, job, timeout=240):
    """Wait until `condition()` holds or the job has ended; whether it holds."""
    limit = time.monotonic() + timeout
    while not condition():
        if job.poll() is not None or time.monotonic() > limit:
            return condition()
        time.sleep(0.01)
    return True


def write_json(path, structures):
    """Write a dict of pymatgen structures in the released format: id to {"cif": text}."""
    from pymatgen.io.cif import CifWriter

    path.write_text(
        json.dumps(
            {id_: {"cif": str(CifWriter(structure))} for id_, structure in structures.items()}
        )
    )
    return path


def small_crystals(count=24, natoms=6, seed=3):
    """Seeded crystals as pymatgen structures by id.

    One atom of every fourth is 0.025 Å off its site.
    """
    import numpy as np
    from pymatgen.core import Lattice, Structure

    from rc_hpc.structures.synthetic import random_crystal

    found = {}
    for k in range(count):
        lattice, frac, numbers, _ = random_crystal(seed, k, natoms)
        if k % 4 == 3:  # far from all tolerances, 0.01 and 0.05 Å among them: quarantined
            frac[0] += np.linalg.solve(lattice.T, [0.012, 0.016, 0.015])
        found[f"crystal-{k:03}"] = Structure(Lattice(lattice), numbers.tolist(), frac)
    return found
