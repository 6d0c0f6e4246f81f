"""What the launch check calls wrong; on real ranks it is tested with the batch scripts."""

import configparser
import fcntl
import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pytest

from rc_hpc.core.errors import UsageError
from rc_hpc.core.lazy import resolve
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.parallel.check_folder import folder_faults
from rc_hpc.parallel.check_launch import (
    binding_faults,
    counter_faults,
    file_system,
    main,
    path_faults,
    rank_faults,
)
from rc_hpc.parallel.launch import SerialComm
from rc_hpc.parallel.state import judge, read_state

ROOT = Path(__file__).parents[2]


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


def refused(*_):
    raise OSError(38, "Function not implemented")


def test_a_folder_that_keeps_its_promises(tmp_path):
    assert folder_faults(SerialComm(), tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("module", "name", "told"),
    [
        (os, "replace", "rename: Function not implemented: files are written whole"),
        (os, "fsync", "fsync: Function not implemented"),
        (os, "link", "link: Function not implemented"),
        (fcntl, "flock", "lock: Function not implemented: a second run"),
    ],
)
def test_a_file_system_that_lacks_one_is_named_with_the_cure(
    tmp_path, monkeypatch, module, name, told
):
    monkeypatch.setattr(module, name, refused)
    [text] = folder_faults(SerialComm(), tmp_path)
    assert told in text and str(tmp_path) in text
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_locks_nobody_out_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    [text] = folder_faults(SerialComm(), tmp_path)
    assert "rank 0 gets a lock that rank 0 holds" in text


def test_a_file_that_loses_what_a_rank_wrote_is_found(tmp_path, monkeypatch):
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda handle, data, at: real(handle, data, at - at % 4096))
    [text] = folder_faults(SerialComm(), tmp_path)
    assert "share: bytes are not those that their rank wrote" in text
    assert list(tmp_path.iterdir()) == []


def test_the_room_that_a_dry_run_predicts_is_looked_for(tmp_path, capsys, monkeypatch):
    plan, output = tmp_path / "plan.json", tmp_path / "out" / "c.h5"
    output.parent.mkdir()
    census = ["prototypes", "-o", str(output), "--dry-run", "--state", str(plan)]
    assert resolve("rc_hpc.census:main")(census) == 0
    told = read_state(plan)
    assert told["state"] == "planned" and told["expected_bytes"] > 288 * 2000
    assert "room that it wants" in capsys.readouterr().out
    assert judge(plan, "", 0).value == "none"
    assert main(["--plan", str(plan)]) == 0
    assert f"results in {output.parent}" in capsys.readouterr().out
    monkeypatch.setattr("rc_hpc.parallel.check_folder.free_bytes", lambda folder: 1000)
    assert main(["--plan", str(plan)]) == 1
    assert "has 1 kB free, the run wants some" in capsys.readouterr().out
    with pytest.raises(UsageError, match="not the --state of a --dry-run"):
        main(["--plan", str(output.parent)])


def test_the_recipe_of_a_container_fits_the_program():
    """As far as it can be looked at without Apptainer: its shell, its files, its own test."""
    text = (ROOT / "slurm" / "rc_hpc.def").read_text(encoding="utf-8")
    parts = dict(re.findall(r"^%(\w+)[^\n]*\n(.*?)(?=^%|\Z)", text, re.M | re.S))
    assert text.startswith("Bootstrap: ") and {"post", "files", "test", "runscript"} <= set(parts)
    for name in ("post", "test", "runscript", "environment"):
        done = subprocess.run(["sh", "-n"], input=parts[name], text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
    for line in parts["files"].split("\n"):
        if line.strip():
            assert (ROOT / line.split()[0]).exists(), line
    extras = re.search(r"rc_hpc\[([\w,]+)\]", parts["post"]).group(1).split(",")
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    assert set(extras) <= set(setup["options.extras_require"])
    for module in re.findall(r"-m (rc_hpc[\w.]*)", parts["test"] + parts["runscript"]):
        assert importlib.util.find_spec(module), module
