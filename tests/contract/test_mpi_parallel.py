"""Real ranks: the queue, the stop flag, failures and signals under mpiexec."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from ranks import MPIEXEC, needs_mpi

from rc_hpc.parallel.launch import child_environment

ROOT = Path(__file__).parents[2]

pytestmark = needs_mpi

HEAD = """
import json, os, signal, sys, time
from pathlib import Path
from rc_hpc.parallel.launch import communicator, run_guarded
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.queue import WorkQueue
from rc_hpc.parallel.run import drive
from rc_hpc.parallel.signals import StopSignal

def tell(name, value):
    part = Path(f'.{name}')
    part.write_text(json.dumps(value))
    part.rename(f'{name}.json')  # never seen half written
"""
TAIL = """
sys.exit(run_guarded(main))
"""


#: MPICH takes every rank for one of another node (other libraries ignore it).
APART = {"MPIR_CVAR_NOLOCAL": "1"}


def start(folder, ranks, program, environ=None):
    """Start `program` (text that defines ``main``) on `ranks` ranks in `folder`."""
    (folder / "program.py").write_text(HEAD + program + TAIL)
    environ = (
        child_environment()
        | (environ or {})
        | {
            "PYTHONPATH": str(ROOT),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_osc": "^ucx",  # it complains on standard error where it has no network
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        }
    )
    return subprocess.Popen(
        [MPIEXEC, "-n", str(ranks), sys.executable, "program.py"],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(job, timeout=60):
    """Exit code, standard output and standard error; a hang fails the test and is ended."""
    try:
        out, err = job.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        job.kill()
        out, err = job.communicate()
        pytest.fail(f"the ranks hang\n{out}\n{err}")
    return job.returncode, out, err


def run(folder, ranks, program, timeout=60, environ=None):
    return finish(start(folder, ranks, program, environ), timeout)


def is_open_mpi():
    done = subprocess.run(
        [MPIEXEC, "--version"],
        capture_output=True,
        text=True,
        timeout=60,
        env=child_environment(),
        check=True,
    )
    return "Open MPI" in done.stdout or "open-mpi" in done.stdout or "PRRTE" in done.stdout


def told(folder, prefix):
    return [json.loads(file.read_text()) for file in sorted(folder.glob(f"{prefix}*.json"))]


DRIVE = """
def main():
    comm = communicator()
    seen = []
    def process(batch):
        seen.append(batch)
        time.sleep(0.002 * (batch % 7) * (1 + 3 * comm.rank))  # unequal work, unequal ranks
        return batch, batch % 3 == 0
    n = 120
    with StopSignal() as stop, Progress(sum(range(n)), mode='plain', rank=comm.rank) as progress:
        totals = drive(comm, n, list(reversed(range(n))), process, progress, stop)
    tell(f'rank{comm.rank}', {'seen': seen, 'size': comm.size,
                              'totals': [totals.batches, totals.rows, totals.failures,
                                         totals.complete]})
"""


@pytest.mark.parametrize("ranks, environ", [(1, {}), (2, {}), (3, {}), (3, APART)])
def test_every_batch_is_done_once(tmp_path, ranks, environ):
    code, _, err = run(tmp_path, ranks, DRIVE, environ=environ)
    assert code == 0, err
    results = told(tmp_path, "rank")
    assert [result["size"] for result in results] == [ranks] * ranks
    assert Counter(batch for result in results for batch in result["seen"]) == Counter(range(120))
    assert all(result["seen"] for result in results)
    assert all(result["totals"] == [120, 7140, 40, True] for result in results)
    lines = err.splitlines()
    assert lines[-1].startswith("7140/7140 structures (100 %)") and lines[-1].endswith("40 failed")
    assert all(" structures (" in line for line in lines), "only rank 0 shows progress"


def test_tickets_are_unique_and_counts_exact(tmp_path):
    code, _, err = run(
        tmp_path,
        3,
        """
def main():
    comm = communicator()
    with WorkQueue(comm, 3000) as queue:
        mine = []
        while (number := queue.next()) is not None:
            mine.append(number)
            queue.report(2, 1)
        comm.barrier()
        tell(f'rank{comm.rank}', {'mine': mine, 'totals': [*queue.totals(), queue.finished]})
""",
    )
    assert code == 0, err
    results = told(tmp_path, "rank")
    assert sorted(number for result in results for number in result["mine"]) == list(range(3000))
    assert [result["totals"] for result in results] == [[3000, 6000, 3000, 3000]] * 3


@pytest.mark.parametrize("environ", [{}, APART], ids=["one node", "nodes"])
def test_ranks_draw_while_rank_0_computes(tmp_path, environ):
    """Rank 0, which hosts the queue, makes no MPI call until the others have done all else."""
    code, _, err = run(
        tmp_path,
        3,
        """
def main():
    comm = communicator()
    def process(batch):
        if comm.rank == 0:
            limit = time.monotonic() + 30
            while len(list(Path().glob('batch*.json'))) < 19 and time.monotonic() < limit:
                time.sleep(0.001)
        else:
            while not Path('busy.json').exists():
                time.sleep(0.01)
        tell(f'batch{batch:02}', comm.rank)
        return 1, 0
    with WorkQueue(comm, 20) as queue:
        if comm.rank == 0:
            first = queue.next()
            tell('busy', first)
            process(first)
        while comm.rank and (batch := queue.next()) is not None:
            process(batch)
            queue.report(1, 0)
""",
        environ=environ,
    )
    assert code == 0, err
    ranks = Counter(told(tmp_path, "batch"))
    assert ranks[0] == 1 and ranks[1] + ranks[2] == 19
    last = max((tmp_path / f"batch{batch:02}.json").stat().st_mtime_ns for batch in range(20))
    [host] = told(tmp_path, "busy")
    assert (tmp_path / f"batch{host:02}.json").stat().st_mtime_ns == last


def test_nothing_to_do(tmp_path):
    code, _, err = run(
        tmp_path,
        2,
        """
def main():
    comm = communicator()
    with StopSignal() as stop, Progress(0, mode='none', rank=comm.rank) as progress:
        assert drive(comm, 0, [], None, progress, stop).complete
""",
    )
    assert code == 0, err


@pytest.mark.parametrize(
    "raising, text",
    [
        ("raise ValueError('boom')", "failed: ValueError: boom"),
        ("raise RuntimeError('no room')", "failed: RuntimeError: no room"),
        ("sys.exit(7)", "error: left with 7"),
    ],
)
def test_a_failure_on_one_rank_ends_the_job(tmp_path, raising, text):
    code, _, err = run(
        tmp_path,
        2,
        f"""
def main():
    comm = communicator()
    if comm.rank == 1:
        {raising}
    comm.barrier()
""",
        timeout=20,
    )
    assert code != 0
    assert "rank 1 of 2" in err and text in err
    assert ("Traceback" in err) == (not raising.startswith("sys.exit"))


def test_a_failure_within_a_batch_ends_the_job(tmp_path):
    """Rank 0 waits in the driver's end, where it shows progress."""
    code, _, err = run(
        tmp_path,
        2,
        """
def main():
    comm = communicator()
    def process(batch):
        if comm.rank == 1:
            tell('failing', batch)
            time.sleep(0.3)  # rank 0 is at the end by then
            raise ValueError('boom')
        while not Path('failing.json').exists():
            time.sleep(0.01)
        return 1, 0
    with StopSignal() as stop, Progress(9, mode='none', rank=comm.rank) as progress:
        drive(comm, 2, [0, 1], process, progress, stop)
""",
        timeout=20,
    )
    assert code != 0
    assert "rank 1 of 2" in err and "ValueError: boom" in err


def test_a_failure_before_mpi_started_ends_the_job(tmp_path):
    code, _, err = run(
        tmp_path,
        2,
        """
from rc_hpc.core.errors import UsageError
def main():
    if os.environ.get('PMI_RANK', os.environ.get('OMPI_COMM_WORLD_RANK')) == '1':
        raise UsageError('no file x.cif on this node')
    communicator().barrier()
""",
        timeout=20,
    )
    assert code != 0
    assert "rank 1 of 2" in err and "no file x.cif" in err


def test_a_fault_of_all_ranks_is_told_once(tmp_path):
    code, _, err = run(
        tmp_path,
        3,
        """
from rc_hpc.core.errors import UsageError
def main():
    raise UsageError('unknown protocol')
""",
        timeout=20,
    )
    assert code == 2
    assert err.count("unknown protocol") == 1 and "rank 0 of 3" in err


def test_exit_code_is_the_worst_of_all_ranks(tmp_path):
    code, _, err = run(
        tmp_path,
        2,
        """
def main():
    return 3 * communicator().rank
""",
    )
    assert code == 3, err


def test_singletons_of_the_wrong_launcher_are_refused(tmp_path):
    """Ranks that MPI does not join: their PMI connection is taken away."""
    code, out, err = run(
        tmp_path,
        2,
        """
for name in [name for name in os.environ if name.startswith(('PMI', 'HYDI', 'MPI_LOCAL', 'OMPI'))]:
    del os.environ[name]
os.environ['SLURM_STEP_NUM_TASKS'] = '2'
def main():
    print('ran as', communicator().size)
""",
    )
    assert code == 1
    assert "ran as" not in out
    assert "joined 1 of them" in err and "--mpi=pmi2" in err and "--mpi=pmix" in err


def test_a_stop_on_one_rank_reaches_all(tmp_path):
    """Also a rank in the middle of a batch, and from a rank that only waits."""
    code, _, err = run(
        tmp_path,
        3,
        """
def main():
    comm = communicator()
    stop = StopSignal()
    queue = WorkQueue(comm, 1000, stop)
    rounds = 0
    def process(batch):
        nonlocal rounds
        if comm.rank == 2:
            os.kill(os.getpid(), signal.SIGUSR1)
            return 1, 0
        while not queue.stopped:  # structures of an endless batch
            rounds += 1
            time.sleep(0.01)
        return None
    with stop, Progress(9, mode='none', rank=comm.rank) as progress:
        totals = drive(comm, 1000, range(1000), process, progress, stop, queue)
    assert not totals.complete and totals.batches == totals.rows == 1
    tell(f'rank{comm.rank}', stop.name)
""",
        timeout=40,
    )
    assert code == 0, err
    assert told(tmp_path, "rank") == ["", "", "SIGUSR1"]
    assert "a rank was asked to stop" in err


def test_a_signal_to_a_waiting_rank_stops_the_working_one(tmp_path):
    code, _, err = run(
        tmp_path,
        2,
        """
def main():
    comm = communicator()
    stop = StopSignal()
    queue = WorkQueue(comm, 1, stop)
    def process(batch):
        tell('working', comm.rank)
        while not queue.stopped:
            time.sleep(0.01)
        return None
    with stop, Progress(9, mode='none', rank=comm.rank) as progress:
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
        if comm.rank == 1:
            while not Path('working.json').exists():
                time.sleep(0.01)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
        totals = drive(comm, 1, [0], process, progress, stop, queue)
    assert not totals.complete
    tell(f'rank{comm.rank}', stop.name)
""",
        timeout=40,
    )
    assert code == 0, err
    assert told(tmp_path, "rank") == ["", "SIGTERM"]


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM])
def test_a_signal_to_mpiexec_ends_all_ranks_in_good_order(tmp_path, number):
    if number == signal.SIGTERM and is_open_mpi():
        pytest.skip("Open MPI's mpiexec itself ends the ranks soon after TERM")
    job = start(
        tmp_path,
        2,
        """
def main():
    comm = communicator()
    def process(batch):
        tell(f'started{comm.rank}', batch)
        time.sleep(0.2)
        tell(f'batch{batch:05}', comm.rank)
        return 1, 0
    with StopSignal() as stop, Progress(5000, mode='plain', rank=comm.rank) as progress:
        totals = drive(comm, 5000, range(5000), process, progress, stop)
    tell(f'rank{comm.rank}', [totals.batches, totals.rows, totals.complete])
""",
    )
    limit = time.monotonic() + 60
    while not all((tmp_path / f"started{rank}.json").exists() for rank in (0, 1)):
        assert job.poll() is None and time.monotonic() < limit, "the ranks do not start"
        time.sleep(0.02)
    os.kill(job.pid, number)
    code, _, err = finish(job)
    assert code == 0, err
    done = len(told(tmp_path, "batch"))
    assert 0 < done < 5000
    assert told(tmp_path, "rank") == [[done, done, False]] * 2
    assert f"{number.name} received: finishing the batches in hand" in err


@pytest.mark.parametrize("environ", [{}, APART], ids=["one node", "nodes"])
def test_one_rank_compiles_for_all_who_see_the_folder(tmp_path, environ):
    code, _, err = run(
        tmp_path,
        3,
        """
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.parallel.compiling import warm_once_per_node
def main():
    os.environ['NUMBA_CACHE_DIR'] = str(Path('cache').absolute())
    folder = prepare_numba_cache()
    comm = communicator()
    def warm():
        ready = Path('compiled.json').exists()
        if not ready:
            time.sleep(0.5)
            tell('compiled', comm.rank)
        tell(f'rank{comm.rank}', ready)
    warm_once_per_node(comm, warm)
    comm.barrier()
    assert not list(folder.iterdir())
""",
        environ=environ,
    )
    assert code == 0, err
    assert told(tmp_path, "compiled") == [0]
    assert told(tmp_path, "rank") == [False, True, True]
