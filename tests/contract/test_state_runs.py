"""State files and exit codes of real ranks that end in every way."""

import os
import signal
import time

import pytest
from test_mpi_parallel import finish, is_open_mpi, pytestmark, run, start  # noqa: F401

from rc_hpc.parallel.state import End, judge, read_state

#: A run of many short batches that writes nothing but its state; `{trouble}` comes in each of them.
PROGRAM = """
from rc_hpc.core.errors import RcError
from rc_hpc.parallel.launch import launcher_rank
from rc_hpc.parallel.state import RunState

def main():
    with RunState(Path('state.json'), 'test', rank=launcher_rank()) as state:
        comm = communicator()
        state.begin()
        def process(batch):
            tell(f'started{{comm.rank}}', batch)
            time.sleep(0.02)
            {trouble}
            return 1, 0
        with StopSignal() as stop:
            with Progress({n}, mode='none', rank=comm.rank, state=state) as progress:
                totals = drive(comm, {n}, range({n}), process, progress, stop)
        if totals.complete:
            state.done()
            return 0
        state.stopped(totals.stop_code)
        return totals.stop_code
"""


@pytest.fixture(autouse=True)
def no_job(monkeypatch):
    """These ranks as outside SLURM."""
    for name in [name for name in os.environ if name.startswith("SLURM")]:
        monkeypatch.delenv(name)


def end_of(folder):
    return judge(folder / "state.json", "", 0)


def test_ranks_that_do_all(tmp_path):
    code, _, err = run(tmp_path, 2, PROGRAM.format(trouble="pass", n=20))
    assert (code, end_of(tmp_path)) == (0, End.done), err
    told = read_state(tmp_path / "state.json")
    assert (told["done"], told["total"], told["exit_code"]) == (20, 20, 0)


@pytest.mark.parametrize("number, expected", [(signal.SIGINT, 130), (signal.SIGUSR1, 0)])
def test_a_stop_of_all_ranks(tmp_path, number, expected):
    if number == signal.SIGINT and is_open_mpi():
        pytest.skip("Open MPI's mpiexec itself ends the ranks soon after INT")
    job = start(tmp_path, 2, PROGRAM.format(trouble="pass", n=5000))
    limit = time.monotonic() + 60
    while not all((tmp_path / f"started{rank}.json").exists() for rank in (0, 1)):
        assert job.poll() is None and time.monotonic() < limit, "the ranks do not start"
        time.sleep(0.02)
    os.kill(job.pid, number)
    code, _, err = finish(job)
    assert (code, end_of(tmp_path)) == (expected, End.stopped), err
    told = read_state(tmp_path / "state.json")
    assert told["exit_code"] == expected
    assert 0 < told["done"] < 5000


def test_an_interrupt_of_one_rank_is_one_of_the_run(tmp_path):
    """Rank 0 leaves with 130 for all: a launcher would cut short who leaves after a bad code."""
    trouble = "if comm.rank == 1 and batch > 9: os.kill(os.getpid(), signal.SIGINT)"
    code, _, err = run(tmp_path, 2, PROGRAM.format(trouble=trouble, n=5000))
    assert (code, end_of(tmp_path)) == (130, End.stopped), err
    assert read_state(tmp_path / "state.json")["exit_code"] == 130


def test_an_error_of_rank_0_is_told(tmp_path):
    trouble = "if comm.rank == 0: raise RcError('no space on the disk')"
    code, _, err = run(tmp_path, 2, PROGRAM.format(trouble=trouble, n=500))
    assert code != 0 and end_of(tmp_path) == End.failed, err
    told = read_state(tmp_path / "state.json")
    assert (told["exit_code"], told["message"]) == (1, "RcError: no space on the disk")


@pytest.mark.parametrize(
    "trouble",
    [
        "if comm.rank == 1: raise RcError('no space on the disk')",
        "if comm.rank == 1: os.kill(os.getpid(), signal.SIGKILL)",
        "if comm.rank == 0: os.kill(os.getpid(), signal.SIGKILL)",
    ],
)
def test_ranks_that_are_ended_leave_no_end(tmp_path, trouble):
    code, _, err = run(tmp_path, 2, PROGRAM.format(trouble=trouble, n=500))
    assert code != 0 and end_of(tmp_path) == End.killed, err


def test_mpi_that_does_not_start_leaves_nothing(tmp_path):
    """As on a busy node: one rank ends in MPI's start, the other waits there and is ended."""
    dies = """
from rc_hpc.parallel.launch import launcher_rank
if launcher_rank() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
"""
    code, _, err = run(tmp_path, 2, dies + PROGRAM.format(trouble="pass", n=5))
    assert code != 0 and end_of(tmp_path) == End.none, err


def test_the_second_interrupt_ends_it_at_once(tmp_path):
    trouble = "[os.kill(os.getpid(), signal.SIGINT) for _ in range(2)]; time.sleep(5)"
    code, _, err = run(tmp_path, 1, PROGRAM.format(trouble=trouble, n=50))
    assert (code, end_of(tmp_path)) == (130, End.failed), err
    told = read_state(tmp_path / "state.json")
    assert (told["exit_code"], told["message"]) == (130, "KeyboardInterrupt: ")
