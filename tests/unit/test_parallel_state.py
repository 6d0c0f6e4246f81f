"""State files: what a run tells of itself, and what is believed of it afterwards."""

import json
import os
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.parallel import state as states
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.state import End, RunState, judge, main, read_state, slurm_job

HASH = "5f" * 32


@pytest.fixture(autouse=True)
def no_job(monkeypatch):
    """This process as one outside SLURM."""
    for name in [name for name in os.environ if name.startswith("SLURM")]:
        monkeypatch.delenv(name)


@pytest.fixture
def output(tmp_path):
    """A finished result file."""
    path = tmp_path / "census.h5"
    write_result(path, HASH)
    return path


def write_result(path, content_hash):
    with h5py.File(path, "w") as h5:
        if content_hash:
            h5.attrs["content_hash"] = content_hash


def end_of(path):
    return judge(path, "", 0)


def test_a_run_tells_what_it_is_and_how_far(tmp_path, output, monkeypatch):
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "7")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "2")
    monkeypatch.setenv("SLURM_JOB_ID", "9")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "3")
    monkeypatch.setattr(states, "INTERVAL_S", 0)
    path = tmp_path / "state.json"
    with RunState(path, "census", output, (2, 8)) as state:
        assert not path.exists()
        state.begin()
        state.far(12, 24)
        told = read_state(path)
    assert (told["state"], told["done"], told["total"]) == ("running", 12, 24)
    assert (told["command"], told["shard"]) == ("census", [2, 8])
    assert told["output"] == str(output)
    assert (told["job"], told["array_task"], told["attempt"]) == ("7", "2", 3)
    assert (told["pid"], told["exit_code"], told["content_hash"]) == (os.getpid(), None, None)
    assert judge(path, "7_2", 3) == End.killed  # it left no end behind
    with state:
        state.stopped(130)
    told = read_state(path)
    assert (told["state"], told["exit_code"], told["done"]) == ("stopped", 130, 12)
    assert judge(path, "7_2", 3) == End.stopped
    for other in (("7_1", 3), ("7_2", 2), ("7", 3), ("9", 3)):
        assert judge(path, *other) == End.killed


def test_done_is_believed_only_of_the_output_that_stands(tmp_path, output):
    path = tmp_path / "state.json"
    state = RunState(path, "census", output)
    state.begin()
    state.done(3)
    told = read_state(path)
    assert (told["exit_code"], told["content_hash"]) == (3, HASH)
    assert end_of(path) == End.done
    write_result(output, "another")
    assert end_of(path) == End.lost
    write_result(output, "")
    assert end_of(path) == End.lost
    output.write_bytes(b"no HDF5")
    assert end_of(path) == End.lost
    output.unlink()
    assert end_of(path) == End.lost


def test_nothing_is_done_without_an_output(tmp_path, output):
    path = tmp_path / "state.json"
    with pytest.raises(RcError, match="nowhere"), RunState(path, "pack", tmp_path / "nowhere") as s:
        s.done()
    assert end_of(path) == End.failed
    write_result(output, "")
    with pytest.raises(RcError, match="no content hash"):
        RunState(path, "pack", output).done()


def test_a_shard_is_done_where_its_parts_or_the_merged_file_are(tmp_path):
    output, path = tmp_path / "census.h5", tmp_path / "state.json"
    RunState(path, "census", output, shard=(0, 2)).done()
    assert end_of(path) == End.lost
    (tmp_path / "census.h5.parts").mkdir()
    assert end_of(path) == End.done
    (tmp_path / "census.h5.parts").rmdir()
    write_result(output, HASH)
    assert end_of(path) == End.done


def test_a_run_without_an_output(tmp_path):
    path = tmp_path / "state.json"
    RunState(path, "check_launch").done()
    assert end_of(path) == End.done


@pytest.mark.parametrize(
    "error, code",
    [
        (UsageError("no such view"), 2),
        (RcError("no space"), 1),
        (ValueError("boom"), 1),
        (KeyboardInterrupt(), 130),
        (SystemExit(4), 4),
        (SystemExit("text"), 1),
    ],
)
def test_an_exception_is_a_failure_also_before_the_run_began(tmp_path, error, code):
    path = tmp_path / "state.json"
    with pytest.raises(type(error)), RunState(path, "census"):
        raise error
    told = read_state(path)
    assert (told["state"], told["exit_code"]) == ("failed", code)
    assert told["message"] == f"{type(error).__name__}: {error}"
    assert end_of(path) == End.failed


def test_leaving_without_work_leaves_no_state(tmp_path):
    path = tmp_path / "state.json"
    with RunState(path, "census"):  # a dry run
        pass
    with pytest.raises(SystemExit), RunState(path, "census"):
        sys.exit(0)
    assert end_of(path) == End.none


def test_the_state_of_an_earlier_run_is_not_taken_for_this_ones(tmp_path, output):
    path = tmp_path / "state.json"
    RunState(path, "census", output).done()
    assert end_of(path) == End.done
    with RunState(path, "census", output):  # and MPI does not start
        assert end_of(path) == End.none


def test_only_rank_0_writes(tmp_path):
    path = tmp_path / "state.json"
    with pytest.raises(RcError), RunState(path, "census", rank=1) as state:
        state.begin()
        state.far(1, 2)
        state.stopped()
        raise RcError("rank 1 fails")
    assert not path.exists()


def test_without_a_path_nothing_happens(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with RunState(None, "census", tmp_path / "nowhere.h5") as state:
        state.begin()
        state.far(1, 2)
        state.done()
    assert list(tmp_path.iterdir()) == []


def test_another_file_is_not_replaced(tmp_path, output):
    for path in (output, tmp_path):
        with (
            pytest.raises(UsageError, match="no state of a run"),
            RunState(path, "census") as state,
        ):
            state.begin()
    with h5py.File(output) as h5:
        assert h5.attrs["content_hash"] == HASH
    other = tmp_path / "other.json"
    other.write_text("{}")
    with pytest.raises(UsageError, match=r"other\.json"):
        RunState(other, "census").begin()
    assert other.read_text() == "{}"


def test_what_cannot_be_written_names_the_file(tmp_path):
    with pytest.raises(RcError, match=r"nowhere/state\.json"):
        RunState(tmp_path / "nowhere" / "state.json", "census").begin()


def test_a_full_disk_does_not_end_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(states, "INTERVAL_S", 0)
    path = tmp_path / "state.json"
    state = RunState(path, "census")
    state.begin()
    before = path.read_text()

    def full(*_):
        raise RcError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(states, "write_whole", full)
        state.far(5, 9)
    assert path.read_text() == before
    state.stopped()
    assert read_state(path)["done"] == 5


def test_progress_tells_the_state_in_every_mode(tmp_path, monkeypatch):
    monkeypatch.setattr(states, "INTERVAL_S", 0)
    path = tmp_path / "state.json"
    state = RunState(path, "query_vlm")
    state.begin()
    with Progress(20, "replies", "none", initial=4, state=state) as progress:
        progress.update(3)
    told = read_state(path)
    assert (told["done"], told["total"], told["unit"]) == (7, 20, "replies")


def test_an_end_stays_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(states, "INTERVAL_S", 0)
    path = tmp_path / "state.json"
    state = RunState(path, "census")
    state.begin()
    state.stopped()
    state.far(np.int64(1), np.int64(2))
    assert end_of(path) == End.stopped


def test_how_far_is_noted_now_and_then_only(tmp_path):
    path = tmp_path / "state.json"
    state = RunState(path, "census")
    state.begin()
    for done in range(100):
        state.far(done, 100)
    assert read_state(path)["done"] == 0
    state.stopped()
    assert read_state(path)["done"] == 99


KILLED = """
import os, signal, sys
from pathlib import Path
from rc_hpc.parallel.state import RunState
with RunState(Path(sys.argv[1]), "census") as state:
    if sys.argv[2] == "begun":
        state.begin()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("when, word", [("early", "none"), ("begun", "killed")])
def test_a_killed_run(tmp_path, capsys, when, word):
    path = tmp_path / "state.json"
    done = subprocess.run([sys.executable, "-c", KILLED, path, when], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == f"{word}\n"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"rc_hpc_state": 99}', "\xff"])
def test_what_cannot_be_read_is_no_end_in_good_order(tmp_path, text):
    path = tmp_path / "state.json"
    path.write_bytes(text.encode("latin-1"))
    assert end_of(path) == End.killed


def test_the_command_judges_this_job_unless_told_another(tmp_path, monkeypatch, capsys):
    path = tmp_path / "state.json"
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    RunState(path, "pack").stopped()

    def word(*args):
        assert main([str(path), *args]) == 0
        return capsys.readouterr().out.strip()

    assert word() == "stopped"
    assert word("--job", "12", "--attempt", "0") == "stopped"
    assert word("--job", "13") == "killed"
    assert word("--attempt", "1") == "killed"
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    assert word() == "killed"


def test_the_command_needs_neither_numpy_nor_hdf5(tmp_path):
    path = tmp_path / "state.json"
    RunState(path, "pack").stopped()
    code = (
        "import sys; from rc_hpc.parallel.state import main; main(sys.argv[1:])\n"
        "print({'numpy', 'h5py', 'numba'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["stopped", "set()"]


@pytest.mark.parametrize(
    "environ, told",
    [
        ({}, ("", "", 0)),
        ({"SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": "2"}, ("7", "", 2)),
        (
            {"SLURM_JOB_ID": "9", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "0"},
            ("7", "0", 0),
        ),
    ],
)
def test_which_job(environ, told):
    assert slurm_job(environ) == told


def test_the_file_is_plain_json_of_known_fields(tmp_path, output):
    path = tmp_path / "state.json"
    RunState(path, "census", output).done()
    assert json.loads(path.read_text()).keys() == {
        "rc_hpc_state",
        "command",
        "output",
        "shard",
        "state",
        "done",
        "total",
        "unit",
        "exit_code",
        "message",
        "content_hash",
        "expected_bytes",
        "job",
        "array_task",
        "attempt",
        "host",
        "pid",
        "time",
    }
