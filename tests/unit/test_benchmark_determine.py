"""Runs of ``benchmark determine`` on a package without scenes: texts tell of them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from package_cases import write_package
from question_cases import small_draw
from ranks import MPIEXEC, needs_ranks

from rc_hpc.benchmark.__main__ import main
from rc_hpc.benchmark.determined_file import read_determined
from rc_hpc.core.errors import Status
from rc_hpc.figures import main as figures
from rc_hpc.kinds.determined import oracle
from rc_hpc.parallel.launch import child_environment
from rc_hpc.tables import main as tables

pytestmark = pytest.mark.long

QUIET = ["--progress", "none", "-q"]


def content(path):
    """Content hash that a finished file carries."""
    with h5py.File(path, locking=False) as h5:
        return h5.attrs["content_hash"]


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Folder with a package of 48 questions and what its pictures determine."""
    folder = tmp_path_factory.mktemp("determined")
    drawn = small_draw()
    write_package(folder / "bench", list(drawn.mini), list(drawn.mini)[::2])
    assert main(["determine", str(folder / "bench"), "-o", str(folder / "d.h5"), *QUIET]) == 0
    return folder


def test_what_texts_do_not_tell_is_not_known(work):
    told = read_determined(work / "d.h5")
    assert (told.status == Status.ok).all() and len(told) == 48
    strata, known = told.questions["stratum"], told.asked("known")
    assert told.sights == ("centres", "visible-0.5", "pixels")
    assert not known[:, 1:].any() and not told.readings["known"][:, :, 3].any()
    for stratum in ("Q1b", "Q3", "Q4"):
        own = (strata == stratum) & (told.questions["scene_from"] == "text")
        assert own.any() and known[own, 0].all() and told.asked("determined")[own, 0].all()
    for stratum in ("Q2_easy", "Q2_hard", "Q6"):  # bonds and strict views are in no text
        assert not known[strata == stratum].any()
    nothing = told.questions["scene_from"] == "nothing"
    assert nothing.any() and all("no text describes" in m for m in told.message[nothing])
    assert np.allclose(told.floors["chance"], 0.25)


def test_shards_stops_and_subsets_give_the_same(work, tmp_path, monkeypatch, capsys):
    bench, whole = str(work / "bench"), content(work / "d.h5")
    shards = ["determine", bench, "-o", str(tmp_path / "s.h5"), *QUIET]
    for shard in ("1/2", "0/2"):
        assert main([*shards, "--shard", shard]) == 0
    assert main(["merge", str(tmp_path / "s.h5")]) == 0
    assert main(["status", str(tmp_path / "s.h5")]) == 0
    assert "48 of 48 questions in the finished file" in capsys.readouterr().out
    assert content(tmp_path / "s.h5") == whole
    seen, read, me = [], oracle.read_question, os.getpid()

    def stopping(*args, **more):
        seen.append(args)
        if len(seen) == 9:
            os.kill(me, signal.SIGUSR1)
        return read(*args, **more)

    monkeypatch.setattr(oracle, "read_question", stopping)
    monkeypatch.setattr("rc_hpc.engine.rows.BATCH_ROWS", 4)
    stopped = ["determine", bench, "-o", str(tmp_path / "t.h5"), *QUIET]
    assert main(stopped) == 0 and not (tmp_path / "t.h5").exists()
    monkeypatch.setattr(oracle, "read_question", read)
    assert main([*stopped, "--resume"]) == 0
    assert content(tmp_path / "t.h5") == whole
    assert main(["validate", str(tmp_path / "t.h5")]) == 0
    mini = ["determine", bench, "--set", "mini", "-o", str(tmp_path / "m.h5"), *QUIET]
    assert main(mini) == 0
    some, every = read_determined(tmp_path / "m.h5"), read_determined(work / "d.h5")
    rows = [every.ids.tolist().index(id_) for id_ in some.ids]
    assert (some.readings["remain"] == every.readings["remain"][rows]).all()


@needs_ranks
def test_two_ranks_give_the_same(work, tmp_path):
    command = [sys.executable, "-m", "rc_hpc.benchmark", "determine", str(work / "bench")]
    ended = subprocess.run(
        [MPIEXEC, "-n", "2", *command, "-o", str(tmp_path / "r.h5"), *QUIET],
        env=child_environment() | {"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    assert content(tmp_path / "r.h5") == content(work / "d.h5")


def test_tables_figures_and_dry_run(work, tmp_path, capsys):
    file = str(work / "d.h5")
    assert tables([file]) == 0
    told = capsys.readouterr().out
    assert "bootstrap 95 %" in told and "Questions that their own pictures" in told
    assert tables([file, "--table", "structures"]) == 0
    assert "All 48 questions" in capsys.readouterr().out
    assert tables([file, "--table", "failures"]) == 0
    assert "Of 48 questions none was refused." in capsys.readouterr().out
    assert figures([file, "-o", str(tmp_path / "f"), "-q"]) == 0
    assert {path.stem for path in (tmp_path / "f").iterdir()} == {"determined", "floors"}
    assert main(["determine", str(work / "bench"), "-o", str(tmp_path / "x.h5"), "--dry-run"]) == 0
    assert "questions: 48" in capsys.readouterr().out


@pytest.mark.parametrize(
    "args, told",
    [
        (["nowhere"], "give the folder of a package"),
        (["bench", "--thetas", "0.5,2"], "--thetas must be shares"),
        (["bench", "--scenes", "bench/questions.jsonl"], "not a"),
    ],
)
def test_what_is_asked_for_in_the_wrong_way(work, tmp_path, monkeypatch, capsys, args, told):
    monkeypatch.chdir(work)
    assert main(["determine", *args, "-o", str(tmp_path / "x.h5"), *QUIET]) in (1, 2)
    assert told in capsys.readouterr().err
