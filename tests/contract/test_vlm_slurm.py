"""The batch script that asks a model, on a real SLURM of one node; it starts the server itself."""

import shlex
import sys
import time

import pytest
from slurm_cases import ROOT, Box, free_ports, needs_slurm

from rc_hpc.answers.predictions import read_predictions
from rc_hpc.pack import main as pack
from rc_hpc.parallel.state import read_state

pytestmark = [*needs_slurm, pytest.mark.slow]


@pytest.fixture(scope="module")
def box(tmp_path_factory):
    """A SLURM of one node."""
    box = Box(tmp_path_factory.mktemp("slurm"))
    box.control("start")
    yield box
    box.control("stop")


def test_a_stopped_job_comes_back_and_ends_its_work(box, tmp_path):
    assert pack(["synthetic:6", "-o", str(tmp_path / "packed.h5"), "--progress", "none", "-q"]) == 0
    port = free_ports()
    serve = shlex.join(
        [
            sys.executable,
            str(ROOT / "tests" / "vlm_stub.py"),
            str(tmp_path / "port"),
            "--port",
            str(port),
            "--latency",
            "0.3",
        ]
    )
    arguments = [
        "packed.h5",
        "--arms",
        "formula-only",
        "--model",
        "m",
        "--samples",
        "12",
        "--concurrency",
        "2",
        "-o",
        "a.h5",
    ]
    job = box.submit(
        tmp_path,
        "query_vlm.sh",
        *arguments,
        options=("--ntasks=1", "--cpus-per-task=1"),
        environ={"RC_SERVE": serve, "RC_SERVE_URL": f"http://127.0.0.1:{port}/v1"},
    )
    journal = tmp_path / "a.journal.jsonl"
    for _ in range(600):
        if journal.exists() and journal.read_text().count('"text"') > 5:
            break
        time.sleep(0.1)
    box.tell("scancel", "--batch", "--signal=USR1", job)
    told = box.complete(job)
    assert "back into the queue" in told
    [state] = tmp_path.glob("logs/*/attempt-0/query.state.json")
    assert read_state(state)["state"] == "stopped"
    file = read_predictions(tmp_path / "a.predictions" / "formula-only.json")
    assert (len(file.predictions), file.k, file.losses.lost_samples) == (6, 12, 0)
