"""What the batch scripts make of how their step ended: from state files, whatever anybody prints.

SLURM's commands are stand-ins here, and so is the program; with the real ones: test_slurm.py.
"""

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rc_hpc.parallel.launch import child_environment

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "slurm"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")

#: In place of SLURM's commands: a step is one process, and a requeue leaves a note.
COMMANDS = {
    "srun": """
        for word in "$@"; do
            case $word in
                --output=*) log=${word#*=}; log=${log/\\%t/0}; shift ;;
                -*) shift ;;
                *) break ;;
            esac
        done
        export BATCH=$PPID
        exec "$@" > "$log" 2>&1
    """,
    "squeue": 'echo "${JOB_STATE:-RUNNING}"',
    "scontrol": 'echo "$*" >> scontrol.txt; [ -z "${NO_REQUEUE:-}" ]',
    "sbatch": 'echo "$*" >> sbatch.txt; echo 80',
    "sleep": "exit 0",
}

#: In place of the commands of rc_hpc: ends as the first line of plan.txt says, which it takes away.
PROGRAM = """
import os, signal, sys, time
from pathlib import Path
import h5py
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.parallel.state import RunState

with open("started.txt", "a") as file:
    print(*sys.argv[1:], file=file)
for stream in (sys.stdout, sys.stderr):
    print(os.environ["SENTENCES"], file=stream, flush=True)
plan = Path("plan.txt").read_text().splitlines()
Path("plan.txt").write_text("\\n".join(plan[1:]))
path = Path(sys.argv[sys.argv.index("--state") + 1]) if "--state" in sys.argv else None

for word in plan[0].split():
    word, _, code = word.partition("=")
    code = int(code or 0)
    match word:
        case "output":
            output = Path("out.h5")
            with h5py.File(output, "w") as h5:
                h5.attrs["content_hash"] = "5f" * 32
            state = RunState(path, "census", output)
        case "shard":
            output = Path("out.h5")
            Path("out.h5.parts").mkdir(exist_ok=True)
            state = RunState(path, "census", output, (0, 2))
        case "begin":
            state.begin()
        case "done":
            state.done(code)
        case "stopped":
            state.stopped(code)
        case "failed":
            state.failed(code, "as planned")
        case "lose":
            output.unlink()
        case "change":
            with h5py.File(output, "w") as h5:
                h5.attrs["content_hash"] = "another"
        case "other-attempt":
            os.environ["SLURM_RESTART_COUNT"] = "7"
            state = RunState(path, "census", output)
        case "signalled":
            with StopSignal() as stop:
                os.kill(int(os.environ["BATCH"]), signal.SIGUSR1)
                while not stop.requested:
                    time.sleep(0.01)
        case "signalled-unheard":
            os.kill(int(os.environ["BATCH"]), signal.SIGUSR1)
            time.sleep(30)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            os._exit(code)
"""

#: What programs and libraries may print: nothing of it may steer.
MISLEADING = (
    "census.h5: stopped in good order; the same command with --resume goes on; "
    "stopped by SIGTERM, saved: go on with --resume; Fatal error in MPI_Init_thread; error: failed"
)


@dataclass(frozen=True)
class Ended:
    """What a batch script did."""

    code: int
    starts: tuple[str, ...]
    requeued: bool
    submitted: tuple[str, ...]
    told: str


@pytest.fixture
def submit(tmp_path):
    """Function that runs a batch script as a job: its name, the plan of each step, arguments."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in COMMANDS.items():
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    real = shlex.quote(sys.executable)
    (folder / "python").write_text(
        f'#!/bin/bash\n[ "$2" != rc_hpc.parallel.state ] || exec {real} "$@"\n'
        'if [ "$2" = rc_hpc.warm ]; then echo "$*" >> warmed.txt; exit "${WARM_FAILS:-0}"; fi\n'
        f'exec {real} {program} "$@"\n'
    )
    for path in folder.iterdir():
        path.chmod(0o755)
    (folder / "site.env").write_text("")
    outside = {
        name: value
        for name, value in child_environment().items()
        if not name.startswith(("SLURM", "SBATCH", "SRUN", "RC_"))
    }
    work = tmp_path / "work"
    work.mkdir()

    def run(script, plan, *args, **environ):
        (work / "plan.txt").write_text("\n".join(plan))
        done = subprocess.run(
            ["bash", SCRIPTS / script, *args],
            cwd=work,
            env=outside
            | {
                "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "RC_PYTHON": str(folder / "python"),
                "RC_SITE": str(folder / "site.env"),
                "RC_LOCAL_DISK": str(tmp_path),
                "SLURM_JOB_ID": "7",
                "SLURM_JOB_NAME": "job",
                "SLURM_NTASKS": "1",
                "SENTENCES": "",
            }
            | environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return Ended(
            done.returncode,
            _lines(work / "started.txt"),
            "requeue 7" in _lines(work / "scontrol.txt"),
            _lines(work / "sbatch.txt"),
            done.stdout + done.stderr,
        )

    run.folder = work
    return run


def _lines(path):
    return tuple(path.read_text().splitlines()) if path.exists() else ()


CASES = {
    # what each start of the step does: (exit code of the job, starts, whether it is requeued)
    "done": (["output begin done"], (0, 1, False)),
    "done, failures recorded": (["output begin done=3 exit=3"], (0, 1, False)),
    "done, then something breaks": (["output begin done exit=139"], (0, 1, False)),
    "done, output removed": (["output begin done lose"], (1, 1, False)),
    "done, output replaced": (["output begin done change"], (1, 1, False)),
    "shard done": (["shard begin done"], (0, 1, False)),
    "stopped": (["output begin stopped"], (0, 1, True)),
    "interrupted": (["output begin stopped=130 exit=130"], (0, 1, True)),
    "failed": (["output begin failed=1 exit=1"], (1, 1, False)),
    "failed, another code": (["output begin failed=5 exit=5"], (5, 1, False)),
    "failed before it began": (["output failed=1 exit=1"], (1, 1, False)),
    "failed, but left with 0": (["output begin failed=1"], (1, 1, False)),
    "killed": (["output begin kill"], (137, 1, False)),
    "no end told": (["output begin exit"], (1, 1, False)),
    "state of another attempt": (["output other-attempt begin stopped"], (1, 1, False)),
    "done in another attempt": (["output other-attempt begin done"], (1, 1, False)),
    "MPI fails once": (["exit=15", "output begin done"], (0, 2, False)),
    "MPI fails twice": (["exit=15", "exit=143", "output begin done"], (0, 3, False)),
    "MPI fails always": (["exit=15"] * 4, (15, 3, False)),
    "MPI fails, then it is stopped": (["exit=15", "output begin stopped"], (0, 2, True)),
    "bad option": (["exit=2"] * 3, (2, 1, False)),
    "nothing was to be done": (["exit=0"], (0, 1, False)),
    "signalled, stopped": (["output begin signalled stopped"], (0, 1, True)),
    "signalled, done": (["output begin signalled done"], (0, 1, False)),
    "signalled, failed": (["output begin signalled failed=1 exit=1"], (1, 1, False)),
    "signalled, killed": (["output begin signalled kill"], (0, 1, True)),
    "signalled before it could listen": (["signalled-unheard"], (0, 1, True)),
    "signalled while MPI started": (["signalled exit=15"], (0, 1, True)),
}


@pytest.mark.parametrize("case", CASES)
def test_how_a_job_ends(submit, case):
    plan, expected = CASES[case]
    ended = submit("census.sh", plan, "x.h5", SENTENCES=MISLEADING)
    assert (ended.code, len(ended.starts), ended.requeued) == expected, ended.told


@pytest.mark.parametrize("case", ["done", "stopped", "failed", "killed", "MPI fails once"])
def test_it_ends_alike_where_nothing_is_printed(submit, case):
    plan, expected = CASES[case]
    ended = submit("census.sh", plan, "x.h5", SENTENCES="")
    assert (ended.code, len(ended.starts), ended.requeued) == expected, ended.told


@pytest.mark.parametrize(
    "environ", [{"JOB_STATE": "COMPLETING"}, {"RC_MAX_RESTARTS": "0"}, {"NO_REQUEUE": "1"}]
)
def test_who_cannot_come_back_says_so(submit, environ):
    ended = submit("render.sh", ["output begin stopped"], **environ)
    assert ended.code == 1
    assert ended.requeued == ("NO_REQUEUE" in environ)  # asked for
    assert "stopped" in ended.told or "goes on" in ended.told


@pytest.mark.parametrize(
    "script, step",
    [
        ("census.sh", "census"),
        ("render.sh", "render"),
        ("query_vlm.sh", "query"),
        ("train_resnet.sh", "train"),
        ("train_vit.sh", "train"),
        ("validate.sh", "validate"),
    ],
)
def test_every_script_asks_for_a_state_of_its_attempt(submit, script, step):
    ended = submit(script, ["output begin done"], SLURM_RESTART_COUNT="2")
    [words] = ended.starts
    assert words.endswith(f"--state logs/job-7/attempt-2/{step}.state.json"), words
    assert ended.code == 0, ended.told
    again = submit(script, ["output begin stopped"], SLURM_RESTART_COUNT="3")
    assert again.requeued, again.told


@pytest.mark.parametrize("fails", ["0", "1"])
def test_kernels_are_compiled_ahead_and_where_that_fails_by_the_run(submit, tmp_path, fails):
    ended = submit("census.sh", ["output begin done"], WARM_FAILS=fails)
    assert ended.code == 0 and len(ended.starts) == 1, ended.told
    [warmed] = list(tmp_path.rglob("warmed.txt"))
    assert warmed.read_text().split() == ["-m", "rc_hpc.warm", "census"]


def test_an_array_packs_and_submits(submit):
    ended = submit("census_array.sh", ["output begin done=3 exit=3"], "structures", "-o", "a.h5")
    assert ended.code == 0, ended.told
    assert len(ended.starts) == 1 and "rc_hpc.pack" in ended.starts[0]
    assert len(ended.submitted) == 2
    assert "@shard-of=8 a.packed.h5 -o a.h5" in ended.submitted[0]
    assert "--dependency=afterany:80" in ended.submitted[1]
    assert ended.submitted[1].endswith("@merge a.h5")


@pytest.mark.parametrize("sentences", ["", MISLEADING], ids=["silent", "misleading"])
@pytest.mark.parametrize(
    "plan, code, requeued",
    [("output begin stopped", 0, True), ("output begin failed=1 exit=1", 1, False)],
)
def test_an_array_is_not_submitted_before_all_is_packed(submit, plan, code, requeued, sentences):
    ended = submit("census_array.sh", [plan], "structures", SENTENCES=sentences)
    assert (ended.code, ended.requeued) == (code, requeued), ended.told
    assert ended.submitted == ()


def test_a_shard_has_a_state_of_its_own(submit):
    array = {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "1", "SLURM_JOB_ID": "9"}
    ended = submit("census_array.sh", ["shard begin done"], "@shard-of=2", "a.packed.h5", **array)
    assert ended.code == 0, ended.told
    assert (
        "--shard 1/2 a.packed.h5 --state logs/job-7_1/attempt-0/census.state.json"
        in (ended.starts[0])
    )


@pytest.mark.parametrize(
    "plan, code, starts, requeued",
    [
        ("exit=0", 0, 1, False),
        ("exit=1", 1, 1, False),
        ("signalled-unheard", 0, 1, True),
    ],
)
def test_a_merge_ends_by_its_exit_code(submit, plan, code, starts, requeued):
    ended = submit("census_array.sh", [plan] * 3, "@merge", "a.h5")
    assert (ended.code, len(ended.starts), ended.requeued) == (code, starts, requeued), ended.told
    assert "--state" not in ended.starts[0]


def test_no_script_reads_what_programs_print():
    for path in SCRIPTS.iterdir():
        for line in path.read_text().splitlines():
            assert "grep" not in line or "scontrol show job" in line, f"{path.name}: {line}"
