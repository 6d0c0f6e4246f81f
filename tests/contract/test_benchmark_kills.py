"""The three arms of a package, asked by runs that are killed, under faults: scored like one run."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rc_hpc.answers.file import read_answers
from rc_hpc.benchmark.__main__ import main as benchmark
from rc_hpc.benchmark.letters import FOUR_LETTERS
from rc_hpc.parallel.launch import child_environment
from rc_hpc.query_vlm import main
from rc_hpc.vlm.journal import read_journal

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "unit"))
from package_cases import questions, write_package  # noqa: E402

QUIET = ["--progress", "none", "-q"]


def endpoint(folder, *more):
    """A stub in a process of its own, and its base URL."""
    port = folder / f"port-{len(more)}"
    stub = subprocess.Popen(
        [sys.executable, ROOT / "tests" / "vlm_stub.py", port, "--letters", *more],
        env=child_environment(),
    )
    while not port.exists():
        assert stub.poll() is None
        time.sleep(0.02)
    return stub, f"http://127.0.0.1:{port.read_text()}/v1"


def accuracy(folder, answers, package):
    """The table of accuracies."""
    asked = [str(answers), "--benchmark", str(package), "--table", "accuracy", "--format", "csv"]
    assert benchmark(["score", *asked, "-o", str(folder), "-q"]) == 0
    return pd.read_csv(folder / "accuracy.csv")


def killed_and_whole(folder, per_stratum, kills, concurrency):
    """Tables of a run that was killed and of one that was not; requests lost in flight."""
    made = questions(per_stratum)
    package, total = write_package(folder / "package", made), per_stratum * (8 + 6 + 8)
    stub, url = endpoint(folder, "--faults", "0.4", "--latency", "0.05", "--seed", "5")
    arguments = [str(package), "--model", "m", "--concurrency", str(concurrency), *QUIET]
    killed = [*arguments, "-o", str(folder / "a.h5"), "--base-url", url, "--resume"]
    journal, luck, lost = folder / "a.journal.jsonl", random.Random(3), []
    try:
        for _ in range(kills):
            size = journal.stat().st_size if journal.exists() else 0
            goal = size + luck.randint(0, 1000 * total // (2 * kills))
            job = subprocess.Popen(
                [sys.executable, ROOT / "jobs" / "query_vlm.py", *killed],
                env=child_environment(),
                start_new_session=True,
            )
            while job.poll() is None and not (journal.exists() and journal.stat().st_size > goal):
                time.sleep(0.005)
            assert job.poll() is None, "the run was over before it could be killed"
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
            lost.append(len(read_journal(journal).lost))
        codes = [main(killed)]
        while codes[-1] == 3 and len(codes) < 4:  # eight faults in a row are given up
            codes.append(main(killed))
        assert codes[-1] == 0
    finally:
        stub.kill()
        stub.wait()
    stub, url = endpoint(folder)
    try:
        assert main([*arguments, "-o", str(folder / "b.h5"), "--base-url", url]) == 0
    finally:
        stub.kill()
        stub.wait()
    tables = [read_answers(folder / name, FOUR_LETTERS)[0] for name in ("a.h5", "b.h5")]
    for name in ("prediction", "votes", "structure", "arm"):
        a, b = (table["predictions"][name] for table in tables)
        assert np.array_equal(a, b), name
    assert len(tables[0]["samples"]["key"]) == total
    assert (tables[0]["samples"]["outcome"] == 0).all()
    frames = [accuracy(folder / f"t-{name}", folder / name, package) for name in ("a.h5", "b.h5")]
    return frames, lost


def test_killed_runs_are_scored_like_whole_ones(tmp_path):
    (killed, whole), lost = killed_and_whole(tmp_path, 3, 1, 8)
    pd.testing.assert_frame_equal(killed, whole)
    assert max(lost) <= 8


@pytest.mark.slow  # 120 s on a busy machine
def test_ten_kills_of_three_arms(tmp_path):
    (killed, whole), lost = killed_and_whole(tmp_path, 40, 10, 16)
    pd.testing.assert_frame_equal(killed, whole)
    assert max(lost) <= 16 and len(lost) == 10
