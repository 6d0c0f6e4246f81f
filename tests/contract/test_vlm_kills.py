"""Runs that are killed at any moment.

In the end every sample is answered exactly once, and nothing was paid for twice unknown.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from rc_hpc.answers.file import read_answers
from rc_hpc.pack import main as pack
from rc_hpc.parallel.launch import child_environment
from rc_hpc.query_vlm import main
from rc_hpc.render import main as render
from rc_hpc.vlm.journal import read_journal

ROOT = Path(__file__).parents[2]
ARMS = ("pixels", "coordinates", "question-only", "formula-only")
QUIET = ["--progress", "none", "-q"]


@pytest.fixture
def endpoint(tmp_path):
    """Base URL of a stub in a process of its own, which outlives the clients."""
    port = tmp_path / "port"
    stub = subprocess.Popen(
        [
            sys.executable,
            ROOT / "tests" / "vlm_stub.py",
            port,
            "--faults",
            "0.4",
            "--latency",
            "0.05",
            "--seed",
            "5",
        ],
        env=child_environment(),
    )
    while not port.exists():
        assert stub.poll() is None
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port.read_text()}"
    stub.kill()
    stub.wait()


def kill_often(folder, endpoint, n_structures, samples, kills, concurrency):
    """Counts of the stub and how many requests each kill lost in flight."""
    assert pack([f"synthetic:{n_structures}", "-o", str(folder / "packed.h5"), *QUIET]) == 0
    assert (
        render(
            [str(folder / "packed.h5"), "-o", str(folder / "renders.h5"), "--size", "64", *QUIET]
        )
        == 0
    )
    arguments = [
        str(folder / "packed.h5"),
        "--pictures",
        str(folder / "renders.h5"),
        "--arms",
        ",".join(ARMS),
        "--samples",
        str(samples),
        "-o",
        str(folder / "a.h5"),
        "--base-url",
        f"{endpoint}/v1",
        "--model",
        "m",
        "--concurrency",
        str(concurrency),
        "--resume",
        *QUIET,
    ]
    journal, luck, lost = folder / "a.journal.jsonl", random.Random(11), []
    total = n_structures * len(ARMS) * samples
    for number in range(kills):
        size = journal.stat().st_size if journal.exists() else 0
        goal = size + luck.randint(
            0, 2 * 1400 * total // (3 * kills)
        )  # a record takes some 1,400 bytes
        job = subprocess.Popen(
            [sys.executable, ROOT / "jobs" / "query_vlm.py", *arguments],
            env=child_environment(),
            start_new_session=True,
        )
        while job.poll() is None and not (journal.exists() and journal.stat().st_size > goal):
            time.sleep(0.005)
        assert job.poll() is None, "the run was over before it could be killed"
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        if number % 3 == 2:  # as if the kill had come within a write
            data = journal.read_bytes()
            journal.write_bytes(data + b'{"key": "0123", "outcome": "answ')
        lost.append(len(read_journal(journal).lost))
    codes = [main(arguments)]
    while (
        codes[-1] == 3 and len(codes) < 4
    ):  # eight faults in a row: given up, and asked again by the next run
        codes.append(main(arguments))
    assert codes[-1] == 0
    with urllib.request.urlopen(f"{endpoint}/stub/counts") as answer:
        return json.load(answer), lost


def check(folder, counts, lost, n_structures, samples, concurrency):
    total = n_structures * len(ARMS) * samples
    tables, _ = read_answers(folder / "a.h5")
    found = tables["samples"]
    triples = set(
        zip(
            found["structure"].tolist(),
            found["arm"].tolist(),
            found["sample"].tolist(),
            strict=True,
        )
    )
    assert len(triples) == len(found["key"]) == len(set(found["key"])) == total
    assert (
        (found["outcome"] == 0).all()
        and (found["answer_line"] > 0).all()
        and np.all(tables["arms"]["n_answered"] == n_structures * samples)
    )
    contents = read_journal(folder / "a.journal.jsonl")
    assert len(contents.places) == total and contents.n_repeated == 0 and not contents.lost
    # Replies that no journal has were in flight at a kill, and the journal knew of each.
    replied = sum(counts["replied"].values())
    assert total <= replied <= total + sum(lost) and max(lost) <= concurrency
    assert sum(counts["met"].values()) > counts["n"] / 3
    return {
        "requests": counts["n"],
        "replies": replied,
        "faults": sum(counts["met"].values()),
        "kinds": len(counts["met"]),
        "lost": lost,
    }


def test_killed_runs_come_to_the_same_end(tmp_path, endpoint):
    counts, lost = kill_often(tmp_path, endpoint, 10, 4, 2, 16)
    check(tmp_path, counts, lost, 10, 4, 16)


@pytest.mark.slow
def test_ten_kills_of_2000_requests_at_64_at_once(tmp_path, endpoint):
    counts, lost = kill_often(tmp_path, endpoint, 50, 10, 10, 64)
    print(check(tmp_path, counts, lost, 50, 10, 64))
