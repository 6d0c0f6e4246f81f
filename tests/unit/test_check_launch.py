"""What the launch check calls wrong; on real ranks it is tested with the batch scripts."""

import os

import pytest

from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.parallel.check_launch import (
    binding_faults,
    counter_faults,
    file_system,
    main,
    path_faults,
    rank_faults,
)
from rc_hpc.parallel.launch import SerialComm
from rc_hpc.parallel.state import read_state


@pytest.fixture(autouse=True)
def _cache_put_back():
    """Other tests find their kernels where they were; this is undone after monkeypatch."""
    yield
    prepare_numba_cache()


def rank(cpus, host="n1", asked=1, of=8, library="MPICH 5"):
    return {
        "host": host,
        "library": library,
        "python": "python3",
        "versions": "Python 3",
        "cpus": cpus,
        "cpus_of_node": of,
        "cpus_asked": asked,
    }


def test_ranks():
    assert rank_faults([rank([0]), rank([1])], 2) == []
    [text] = rank_faults([rank([0])], 2)
    assert text.startswith("2 tasks were asked for, 1 rank(s) joined: set RC_MPI")
    [text] = rank_faults([rank([0]), rank([1], library="Open MPI 4")], 2)
    assert "MPICH 5; Open MPI 4" in text


@pytest.mark.parametrize(
    "ranks",
    [
        [rank([0]), rank([1])],
        [rank([0, 1]), rank([0, 1])],  # not bound: the kernel places them
        [rank([0]), rank([0], host="n2")],
        [rank([0], of=1), rank([0], of=1)],  # more ranks than the node has CPUs
        [rank([0, 1], asked=2), rank([2, 3], asked=2)],
    ],
)
def test_good_bindings(ranks):
    assert binding_faults(ranks) == []


@pytest.mark.parametrize(
    "ranks, told",
    [
        ([rank([0]), rank([0])], "n1: 2 rank(s) share 1 CPU(s), 2 are theirs"),
        ([rank([0]), rank([3], host="n2"), rank([3], host="n2")], "n2: 2 rank(s) share 1 CPU(s)"),
        ([rank([0], asked=2), rank([1], asked=2)], "n1: 2 rank(s) share 2 CPU(s), 4 are theirs"),
        (
            [rank([0], asked=2), rank([1, 2, 3], asked=2)],
            "n1: a rank may use fewer CPUs than --cpus-per-task",
        ),
    ],
)
def test_bad_bindings(ranks, told):
    [text] = binding_faults(ranks)
    assert text.startswith(told)
    assert "SRUN_CPUS_PER_TASK" in text


def test_counter():
    assert counter_faults(SerialComm()) == []


def test_paths(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))
    assert path_faults(SerialComm(), tmp_path) == []
    assert os.environ["NUMBA_CACHE_DIR"].startswith(str(tmp_path / "numba"))
    assert not list(tmp_path.glob(".seen-by-all-*"))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "numba"))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "file"))
    texts = path_faults(SerialComm(), tmp_path / "nowhere")
    assert len(texts) == 3
    for name in ("MPLCONFIGDIR", "NUMBA_CACHE_DIR", "results cannot be written"):
        assert any(text.startswith(f"rank 0: {name}") for text in texts)


def test_file_system(tmp_path):
    mounts = tmp_path / "mounts"
    home = tmp_path / "home"
    mounts.write_text(
        f"disk / ext4 rw 0 0\nserver:/x {home} nfs4 rw 0 0\n"
        f"scratch {home}/local xfs rw 0 0\nover {home}/local tmpfs rw 0 0\n"
    )
    assert file_system(tmp_path, mounts) == "ext4"
    assert file_system(home / "me", mounts) == "nfs4"
    assert file_system(home / "local" / "me", mounts) == "tmpfs"
    assert file_system(home, tmp_path / "none") == ""


def test_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    state = tmp_path / "state.json"
    args = ["--output-folder", str(tmp_path), "--state", str(state)]
    assert main(args) == 0
    assert capsys.readouterr().out.endswith("\nPASSED\n")
    assert read_state(state)["state"] == "done"
    assert main([*args, "--tasks", "2"]) == 1
    told = read_state(state)
    assert (told["state"], told["exit_code"]) == ("failed", 1)
    assert "2 tasks were asked for" in told["message"]
    told = capsys.readouterr().out
    assert "CHANGE: 2 tasks were asked for" in told
    assert "PASSED" not in told
