"""Launch guard, serial communicator, guarded run."""

import os
import subprocess
import sys

import pytest

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.parallel import launch


def python(program, **environ):
    """Run `program` in a plain interpreter with `environ` added to an environment of no rank."""
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**launch.child_environment(), **environ},
    )


@pytest.mark.parametrize(
    "environ, tasks",
    [
        ({}, 1),
        ({"SLURM_NTASKS": "8"}, 1),  # a batch script: one plain process
        ({"SLURM_STEP_NUM_TASKS": "4"}, 4),
        ({"SLURM_STEP_NUM_TASKS": "1", "PMI_SIZE": "2"}, 2),  # hydra inside an allocation
        ({"OMPI_COMM_WORLD_SIZE": "3"}, 3),
        ({"PMI_SIZE": "many"}, 1),
    ],
)
def test_launched_tasks(environ, tasks):
    assert launch.launched_tasks(environ) == tasks


def test_launcher_rank_needs_a_launcher():
    assert launch.launcher_rank({"SLURM_PROCID": "3"}) == 0
    assert launch.launcher_rank({"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4"}) == 3
    assert launch.launcher_rank({"PMIX_RANK": "2"}) == 2


def test_child_environment_leaves_no_rank_behind():
    environ = {
        "PATH": "p",
        "PMI_SIZE": "2",
        "PMIX_RANK": "1",
        "OMPI_COMM_WORLD_SIZE": "2",
        "SLURM_STEP_NUM_TASKS": "2",
        "MPI_LOCALRANKID": "0",
        "SLURM_JOB_ID": "7",
        "MPI4PY_LIBMPI": "lib",
    }
    assert launch.child_environment(environ) == {
        "PATH": "p",
        "SLURM_JOB_ID": "7",
        "MPI4PY_LIBMPI": "lib",
    }


def test_serial_communicator():
    comm = launch.SerialComm()
    comm.barrier()
    assert (comm.rank, comm.size, comm.node_rank(), comm.mpi) == (0, 1, 0, None)
    assert comm.bcast("x") == "x"
    assert comm.gather("x") == comm.allgather("x") == ["x"]
    assert comm.ibarrier()()
    with pytest.raises(SystemExit) as leaving:
        comm.abort(4)
    assert leaving.value.code == 4


def test_one_task_never_imports_mpi4py():
    done = python(
        "import sys; from rc_hpc.parallel.launch import communicator\n"
        "print(communicator().size, 'mpi4py' in sys.modules, 'numpy' in sys.modules)"
    )
    assert done.stdout.split() == ["1", "False", "False"], done.stderr


GUARDED = """
import sys
from rc_hpc.parallel.launch import communicator, run_guarded
sys.exit(run_guarded(lambda: print('size', communicator().size)))
"""


def assert_cure(done):
    assert done.returncode == 1
    assert "size" not in done.stdout
    assert "Traceback" not in done.stderr
    assert "2 tasks" in done.stderr
    return done.stderr


def test_missing_mpi4py_names_the_cure():
    blocked = "import sys; sys.modules['mpi4py'] = None\n" + GUARDED
    assert 'pip install "rc_hpc[mpi]"' in assert_cure(python(blocked, SLURM_STEP_NUM_TASKS="2"))


def test_missing_mpi_library_names_the_cure(tmp_path):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    library = str(tmp_path / "libmpi.so")
    text = assert_cure(python(GUARDED, PMI_SIZE="2", MPI4PY_LIBMPI=library))
    assert library in text and "pip install" in text and "--mpi=pmi2" in text


def test_library_that_is_none_names_the_cure(tmp_path):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    (tmp_path / "libmpi.so").write_text("no library")
    text = assert_cure(python(GUARDED, PMI_SIZE="2", MPI4PY_LIBMPI=str(tmp_path / "libmpi.so")))
    assert "pip install" in text


@pytest.mark.mpi
@pytest.mark.parametrize("variable", ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"])
def test_singletons_are_refused(variable):
    """The wrong launcher: two tasks were started, MPI knows of one."""
    pytest.importorskip(
        "mpi4py.MPI", reason="mpi4py finds no MPI library", exc_type=(ImportError, RuntimeError)
    )
    text = assert_cure(python(GUARDED, **{variable: "2"}))
    assert "joined 1 of them" in text
    assert "--mpi=pmi2" in text and "--mpi=pmix" in text


@pytest.fixture
def serial(monkeypatch):
    """This process as one without a launcher."""
    for name in set(os.environ) - set(launch.child_environment()):
        monkeypatch.delenv(name)
    monkeypatch.setattr(launch, "_comm", None)


@pytest.mark.parametrize("result, code", [(None, 0), (0, 0), (3, 3)])
def test_guarded_gives_the_exit_code(serial, result, code):
    assert launch.run_guarded(lambda value: value, result) == code


@pytest.mark.parametrize(
    "error, code, text",
    [
        (RcError("no such file x.cif: check the path"), 1, "rc_hpc: error: no such file x.cif"),
        (UsageError("bad option"), 2, "rc_hpc: error: bad option"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_guarded_tells_known_errors_without_a_traceback(serial, capsys, error, code, text):
    def main():
        raise error

    assert launch.run_guarded(main) == code
    err = capsys.readouterr().err
    assert text in err and "Traceback" not in err


def test_guarded_shows_where_unknown_errors_come_from(serial, capsys):
    def main():
        raise ValueError("boom")

    assert launch.run_guarded(main) == 1
    err = capsys.readouterr().err
    assert err.startswith("rc_hpc: failed: ValueError: boom\nTraceback") and "in main" in err


def test_guarded_lets_argparse_leave(serial):
    with pytest.raises(SystemExit) as leaving:
        launch.run_guarded(sys.exit, 2)
    assert leaving.value.code == 2


def test_threads_default_to_one_and_stay_as_asked(monkeypatch):
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    environ = {}
    launch.limit_threads(environ)
    assert environ == dict.fromkeys(launch.THREAD_VARIABLES, "1")
    environ = {"OMP_NUM_THREADS": "4,2", "NUMBA_NUM_THREADS": "3"}
    launch.limit_threads(environ)
    assert environ == {
        "OMP_NUM_THREADS": "4,2",
        "NUMBA_NUM_THREADS": "3",
        "OPENBLAS_NUM_THREADS": "4",
        "MKL_NUM_THREADS": "4",
    }
