"""Rendering with several ranks, and after a kill."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import pytest
from ranks import MPIEXEC, needs_ranks

from rc_hpc.pack import main as pack
from rc_hpc.parallel.launch import child_environment

ROOT = Path(__file__).parents[2]
QUICK = ["--size", "128", "--progress", "none"]


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    output = tmp_path_factory.mktemp("packed") / "packed.h5"
    assert pack(["synthetic:30:6", "-o", str(output), "--progress", "none", "-q"]) in (0, 3)
    return output


@pytest.fixture(scope="module")
def clean(packed, tmp_path_factory):
    """Content hash and picture names of an undisturbed serial run."""
    output = tmp_path_factory.mktemp("clean") / "renders.h5"
    assert run(packed, output).returncode == 0
    return told(output)


def command(packed, output, *more):
    return [sys.executable, "-m", "rc_hpc.render", str(packed), "-o", str(output), *QUICK, *more]


def environment():
    return child_environment() | {
        "PYTHONPATH": str(ROOT),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }


def run(packed, output, *more, launcher=()):
    return subprocess.run(
        [*launcher, *command(packed, output, *more)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def told(output):
    with h5py.File(output) as h5:
        return h5.attrs["content_hash"], sorted(
            path.name for path in output.with_suffix("").iterdir()
        )


@needs_ranks
def test_two_ranks_write_what_one_writes(packed, clean, tmp_path):
    done = run(packed, tmp_path / "renders.h5", launcher=(MPIEXEC, "-n", "2"))
    assert done.returncode == 0, done.stderr
    assert told(tmp_path / "renders.h5") == clean


def test_a_killed_run_goes_on(packed, clean, tmp_path):
    output = tmp_path / "renders.h5"
    job = subprocess.Popen(
        command(packed, output),
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    folder, parts = output.with_suffix(""), output.with_name("renders.h5.parts")
    until = time.monotonic() + 120
    while time.monotonic() < until and not list(parts.glob("*.part")):
        time.sleep(0.005)
    job.send_signal(signal.SIGKILL)
    job.wait()
    assert not output.exists()
    assert 5 <= len(list(folder.iterdir())) < 150
    (folder / f".{'a' * 32}.png.nowhere.99999999.tmp").write_bytes(b"half")
    refused = run(packed, output)
    assert refused.returncode == 2 and "--resume" in refused.stderr
    done = run(packed, output, "--resume")
    assert done.returncode == 0, done.stderr
    content, names = told(output)
    names = [
        name for name in names if not name.endswith(".nowhere.99999999.tmp")
    ]  # another host's: kept for an hour
    assert (content, names) == clean
