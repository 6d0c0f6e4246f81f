"""The shipped batch scripts on a real SLURM of one node, begun and ended by these tests."""

import importlib.util
import json
import shutil
import subprocess
import sys

import pytest
from census_cases import column, content, run
from slurm_cases import ROOT, SCRIPTS, Box, needs_slurm, until

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.parallel.state import read_state

SOURCE = "synthetic:24"
#: A job's first attempt rests this long after each batch: signals find it at work.
HOLD = {"HOLD_S": "1"}


@pytest.fixture(scope="module")
def box(tmp_path_factory):
    """A SLURM of one node."""
    box = Box(tmp_path_factory.mktemp("slurm"))
    box.control("start")
    yield box
    box.control("stop")


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """Folder with the census of one process alone."""
    folder = tmp_path_factory.mktemp("serial")
    code, _, err = run(folder, [SOURCE, "-q"])
    assert code == 0, err
    return folder


def on_slurm(test):
    """Decorator of a test that submits jobs."""
    for mark in needs_slurm:
        test = mark(test)
    return test


def rank_log(folder, step, rank=0, attempt=0):
    """Log of a rank of the only job in `folder`."""
    [path] = folder.glob(f"logs/*/attempt-{attempt}/{step}-{rank}.log")
    return path.read_text()


def state(folder, step, attempt=0, job="*"):
    """What a step of a job in `folder`, by default the only one, told of itself."""
    [path] = folder.glob(f"logs/{job}/attempt-{attempt}/{step}.state.json")
    return read_state(path)


def parts(folder, name="census"):
    """Finished batches of a run."""
    return list(folder.glob(f"{name}.h5.parts/*.part"))


@pytest.mark.skipif(
    shutil.which("shellcheck") is None, reason="no shellcheck here: apt-get install shellcheck"
)
def test_the_scripts_are_shellcheck_clean():
    files = [
        *sorted(SCRIPTS.glob("*.sh")),
        SCRIPTS / "site.env.example",
        ROOT / "tests" / "slurm_box.sh",
    ]
    assert len(files) >= 8
    done = subprocess.run(
        ["shellcheck", "-x", "-P", ROOT, *files], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


@on_slurm
def test_validate_finds_one_communicator_of_all_tasks(box, tmp_path):
    told = box.complete(box.submit(tmp_path, "validate.sh"))
    assert "2 rank(s) in one communicator on 1 node(s)" in told
    assert "\nPASSED\n" in told
    assert "CHANGE" not in told


@on_slurm
def test_a_start_that_mpi_itself_fails_is_repeated(box, tmp_path):
    told = box.complete(
        box.submit(tmp_path, "validate.sh", environ={"MPI_FAILS_ONCE": str(tmp_path / "failed")})
    )
    assert told.count("once more") == 1
    assert "\nPASSED\n" in told
    assert state(tmp_path, "validate")["state"] == "done"


@on_slurm
def test_validate_submits_itself_and_says_what_to_change(box, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    done = subprocess.run(
        ["bash", SCRIPTS / "validate.sh"],
        env=box.environ | {"MPLCONFIGDIR": str(file)},
        cwd=tmp_path,
        timeout=120,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"CHANGE: rank 0: MPLCONFIGDIR {file}: " in done.stdout
    assert "set RC_LOCAL_DISK" in done.stdout
    assert "PASSED" not in done.stdout.replace("NOT PASSED", "")


@on_slurm
def test_a_launch_without_pmi_stops_with_the_cure(box, tmp_path):
    found = box.wait(box.submit(tmp_path, "census.sh", SOURCE, environ={"RC_MPI": "none"}))
    assert (found["JobState"], found["Restarts"]) == ("FAILED", "0")
    told = box.log(found)
    assert "the launcher started 2 tasks" in told
    assert "srun --mpi=pmi2" in told
    assert told.count("the launcher started") == 1  # it said why: no use in starting it again
    assert state(tmp_path, "census")["state"] == "failed"
    assert not (tmp_path / "census.h5").exists()


@on_slurm
def test_census_equals_the_serial_one(box, serial, tmp_path):
    told = box.complete(box.submit(tmp_path, "census.sh", SOURCE))
    assert content(tmp_path / "census.h5") == content(serial / "census.h5")
    ended = state(tmp_path, "census")
    assert (ended["state"], ended["done"], ended["total"]) == ("done", 24, 24)
    assert ended["content_hash"] == content(tmp_path / "census.h5")
    assert "R1, full protocol" in told  # the summary reaches the job's own output
    assert "R1, full protocol" in rank_log(tmp_path, "census", 0)
    assert rank_log(tmp_path, "census", 1) == ""


@on_slurm
def test_array_with_dependent_merge_equals_the_serial_census(box, serial, tmp_path):
    environ = {"RC_SHARDS": "2", "RC_ARRAY": "--time=5"}
    told = box.complete(
        box.submit(
            tmp_path,
            "census_array.sh",
            SOURCE,
            "-o",
            "array.h5",
            "--delta",
            "0.01",
            environ=environ,
        )
    )
    words = told.split("submitted: array ")[1].split()
    array, merge = words[0], words[words.index("merge") + 1]
    assert box.show(merge)["Dependency"].startswith(f"afterany:{array}_")
    box.complete(merge)
    shards = [(tmp_path / f"rc-census-array-{array}_{shard}.out").read_text() for shard in range(2)]
    assert all(f"shard {shard}/2 is done" in text for shard, text in enumerate(shards))
    assert all("0/0 structures" not in text for text in shards)  # both had work to do
    assert content(tmp_path / "array.h5") == content(serial / "census.h5")


@on_slurm
@pytest.mark.parametrize("more", [{}, {"REWORDED": "1"}], ids=["as worded", "reworded"])
def test_the_signal_before_the_time_limit_requeues(box, serial, tmp_path, more):
    job = box.submit(tmp_path, "census.sh", SOURCE, environ=HOLD | more)
    until(lambda: parts(tmp_path, "census.packed"), box, job)
    # What --signal=B:USR1@180 makes SLURM send, but now.
    box.tell("scancel", "--batch", "--signal=USR1", job)
    box.requeue_now(job)
    box.complete(job)
    assert box.show(job)["Restarts"] == "1"
    stopped = state(tmp_path, "census")
    assert (stopped["state"], stopped["exit_code"]) == ("stopped", 0)
    assert (stopped["job"], stopped["attempt"]) == (job, 0)
    assert ("good order" in rank_log(tmp_path, "census")) == (not more)
    assert state(tmp_path, "census", attempt=1)["state"] == "done"
    assert content(tmp_path / "census.h5") == content(serial / "census.h5")
    if more:
        return
    # The batches of the first attempt were kept: the second begins beyond them.
    counts = [
        line
        for line in rank_log(tmp_path, "census", attempt=1).splitlines()
        if "structures packed" in line
    ]
    assert counts[-1].startswith("24/24 ")
    assert not counts[0].startswith("4/24 ")


@on_slurm
@pytest.mark.slow
def test_preempted_shards_are_requeued(box, serial, tmp_path):
    shutil.copy(serial / "census.packed.h5", tmp_path)
    array = box.submit(
        tmp_path,
        "census_array.sh",
        "@shard-of=2",
        "census.packed.h5",
        options=("--ntasks=2", "--array=0-1"),
        environ=HOLD,
    )
    shards = [f"{array}_{number}" for number in range(2)]
    until(lambda: len(parts(tmp_path)) > 1, box, shards[0])
    # The ranks get TERM, leave in good order and with 0: without a requeue the shards would count
    # as finished.
    box.complete(box.submit(tmp_path, "validate.sh", options=("--partition=urgent", "--ntasks=4")))
    for shard in shards:
        box.requeue_now(shard)
    for shard in shards:
        box.complete(shard)
        assert box.show(shard)["Restarts"] == "1"
        ends = [
            state(tmp_path, "census", attempt, f"rc-census-array-{shard}") for attempt in (0, 1)
        ]
        assert [end["state"] for end in ends] == ["stopped", "done"]
        assert [end["shard"] for end in ends] == [[int(shard[-1]), 2]] * 2
    box.complete(
        box.submit(tmp_path, "census_array.sh", "@merge", "census.h5", options=("--ntasks=1",))
    )
    assert content(tmp_path / "census.h5") == content(serial / "census.h5")


@on_slurm
def test_a_cancelled_job_stays_cancelled(box, tmp_path):
    job = box.submit(tmp_path, "census.sh", SOURCE, environ=HOLD)
    until(lambda: parts(tmp_path, "census.packed"), box, job)
    box.tell("scancel", job)
    found = box.wait(job)
    assert (found["JobState"], found["Restarts"]) == ("CANCELLED", "0")
    assert "back into the queue" not in box.log(found)


@on_slurm
@pytest.mark.slow
def test_a_real_time_limit(box, serial, tmp_path):
    """SLURM counts limits in minutes, and may send the signal a minute early."""
    job = box.submit(
        tmp_path,
        "census.sh",
        SOURCE,
        options=("--ntasks=2", "--time=2", "--signal=B:USR1@60"),
        environ={"HOLD_S": "12"},
    )
    box.requeue_now(job)
    box.tell("scontrol", "update", f"jobid={job}", "TimeLimit=10")
    box.complete(job)
    assert state(tmp_path, "census")["state"] == "stopped"
    assert content(tmp_path / "census.h5") == content(serial / "census.h5")


@on_slurm
def test_render_writes_what_one_process_writes(box, serial, tmp_path):
    packed = serial / "census.packed.h5"
    options = [packed, "--size", "48", "--tiling", "1", "-o", "pictures.h5"]
    box.complete(box.submit(tmp_path, "render.sh", *options))
    alone = tmp_path / "alone"
    alone.mkdir()
    code, _, err = run(alone, [*options, "-q"], command="render")
    assert code == 0, err
    assert content(tmp_path / "pictures.h5") == content(alone / "pictures.h5")
    names = sorted(path.name for path in (alone / "pictures").rglob("*.png"))
    assert len(names) == 24 * 5
    assert sorted(path.name for path in (tmp_path / "pictures").rglob("*.png")) == names


@pytest.fixture
def pixels(serial, tmp_path):
    """Folder with a pixel file and a split of a few small pictures."""
    steps = [
        ("render", [serial / "census.packed.h5", "--size", "48", "--tiling", "1", "-q"]),
        ("pixels", ["renders.h5", "--size", "32", "-q"]),
    ]
    for command, args in steps:
        code, _, err = run(tmp_path, args, command=command)
        assert code == 0, err
    systems = sorted(column(serial / "census.packed.h5", "structures/crystal_system").items())
    (tmp_path / "split").mkdir()
    for name, part in (("train", slice(0, 16)), ("eval", slice(16, 24))):
        lines = [
            json.dumps({"material_id": id_, "crystal_system": CRYSTAL_SYSTEMS[code - 1]})
            for id_, code in systems[part]
        ]
        (tmp_path / "split" / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


@on_slurm
@pytest.mark.skipif(importlib.util.find_spec("timm") is None, reason="torch or timm is missing")
def test_training_goes_on_after_a_requeue(box, pixels):
    args = [
        "--model",
        "test_resnet",
        "--weights",
        "random",
        "--device",
        "cpu",
        "--epochs",
        "16",
        "--batch-size",
        "16",
        "--save-every",
        "5",
    ]
    job = box.submit(
        pixels,
        "train_resnet.sh",
        *args,
        "-o",
        "small.h5",
        options=("--gres=none", "--cpus-per-task=1"),
    )
    until(lambda: list(pixels.glob("small.h5.parts/seed-23.pt")), box, job)
    box.tell("scancel", "--batch", "--signal=USR1", job)
    box.requeue_now(job)
    box.complete(job)
    assert box.show(job)["Restarts"] == "1"
    assert state(pixels, "train")["state"] == "stopped"
    assert state(pixels, "train", attempt=1)["state"] == "done"
    assert "epoch 1 of" not in rank_log(pixels, "train", attempt=1)
    box.tell(
        sys.executable,
        ROOT / "jobs" / "train_pixels.py",
        "pixels.h5",
        "--split",
        "split",
        *args,
        "-q",
        "-o",
        "alone.h5",
        cwd=pixels,
        timeout=300,
    )
    assert content(pixels / "small.h5") == content(pixels / "alone.h5")
