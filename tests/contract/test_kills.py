"""Commands that are killed, stopped, or whose folder goes: each comes to the undisturbed end."""

import importlib
import os
import random
import shutil
import signal
import time

import h5py
import pytest
from census_cases import Forked, call, content, finish, fork, start, wait_for
from ranks import needs_mpi
from test_census_kills import ARGS, CENSUS, PACKED, SLOW, slow_down, undisturbed
from training_cases import job as training
from training_cases import write_pixels, write_split

import rc_hpc.engine.hand
from rc_hpc.core.errors import Exit

#: Seconds that a kill comes within, so that it finds the command at its beginning or its work.
WITHIN_S = 2.5


def main_of(command):
    return importlib.import_module(f"rc_hpc.{command}").main


def slowly():
    """Structures, pictures and passes of a merge take a while each."""
    import rc_hpc.store.merge as merging
    import rc_hpc.training.pixel_files as pixels

    def slowed(function, seconds):
        return lambda *args, **more: (time.sleep(seconds), function(*args, **more))[1]

    hand = rc_hpc.engine.hand.Hand
    begin = hand.__init__
    hand.__init__ = lambda self, function, *more: begin(self, slowed(function, 0.15), *more)
    pixels.decode = slowed(pixels.decode, 0.05)
    merging._Assembly._write = slowed(merging._Assembly._write, 0.05)


def killed(folder, luck, work):
    """Exit status of `work` in a copy of this process that is killed at a moment of luck."""

    def disturbed():
        os.chdir(folder)
        slowly()
        return work()

    copy = Forked(disturbed)
    time.sleep(luck.uniform(0, WITHIN_S))
    if copy.poll() is None:
        os.killpg(copy.pid, signal.SIGKILL)
    return finish(copy)[0]


def kill_often(folder, kills, seed, arguments, command, output):
    """How many of the kills met the command at work; then nobody disturbs it."""
    luck, met = random.Random(seed), 0
    main = main_of(command)
    words = [*map(str, arguments), "-o", output, "--resume", "-q"]
    for _ in range(kills):
        met += killed(folder, luck, lambda: int(main(words))) == -signal.SIGKILL
        if (folder / output).exists():
            (folder / output).unlink()
    words[words.index("-o") + 1] = str(folder / output)
    assert main(words) == Exit.CLEAN
    return met


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """Crystals, their pictures, and what undisturbed commands make of them."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert main_of("pack")(["synthetic:12", "-o", str(folder / "packed.h5"), "-q"]) == 0
    for name, (command, arguments) in commands(folder).items():
        words = [*map(str, arguments), "-o", str(folder / f"{name}.h5"), "-q"]
        assert main_of(command)(words) == 0
    return folder


def commands(folder):
    packed = folder / "packed.h5"
    noise = ["noise", packed, "--protocols", "frozen", "--seeds", "2", "--sigmas", "0,0.1"]
    return {
        "noise": ("sweep", noise),
        "occlusion": ("sweep", ["occlusion", packed]),
        "renders": ("render", [packed, "--size", "48"]),
        "pixels": ("pixels", [folder / "renders.h5", "--size", "32"]),
    }


# Of the 300 kills: noise, occlusion, render and pixels 40 each, merge 30, training 20 here; census
# 28 and 20 in two ranks, pack among them, query_vlm 10 and more in files of their own.
@pytest.mark.slow  # some 8 minutes
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ["noise", "occlusion", "renders", "pixels"])
def test_killed_often_it_ends_as_undisturbed(base, tmp_path, name):
    command, arguments = commands(base)[name]
    met = kill_often(tmp_path, 40, name, arguments, command, f"{name}.h5")
    assert met > 20
    assert content(tmp_path / f"{name}.h5") == content(base / f"{name}.h5")
    assert not [*tmp_path.glob("*.parts"), *tmp_path.glob(".*.tmp")]


@pytest.mark.slow
def test_a_merge_killed_often_ends_as_undisturbed(base, tmp_path):
    for shard in ("0/2", "1/2"):
        words = ["noise", *commands(base)["noise"][1][1:], "-o", tmp_path / "noise.h5"]
        assert main_of("sweep")([*map(str, words), "-q", "--shard", shard]) == 0
    luck, met = random.Random("merge"), 0
    merge = main_of("sweep")
    saved = shutil.copytree(tmp_path / "noise.h5.parts", tmp_path / "saved")
    for _ in range(30):
        work = ["merge", str(tmp_path / "noise.h5")]
        met += killed(tmp_path, luck, lambda work=work: int(merge(work))) == -signal.SIGKILL
        if (tmp_path / "noise.h5").exists():
            (tmp_path / "noise.h5").unlink()
            shutil.copytree(saved, tmp_path / "noise.h5.parts", dirs_exist_ok=True)
    assert met > 5
    assert merge(["merge", str(tmp_path / "noise.h5")]) == 0
    assert content(tmp_path / "noise.h5") == content(base / "noise.h5")


@pytest.mark.slow
@pytest.mark.torch
def test_training_killed_often_ends_as_undisturbed(tmp_path):
    data = write_pixels(tmp_path / "p.h5"), write_split(tmp_path / "split")
    words = [data[0], "--split", data[1], "--model", "test_vit", "--weights", "random", "-q"]
    words += ["--device", "cpu", "--batch-size", "7", "--holdout", "0.25", "--epochs", "3"]
    words = [*map(str, words), "--seeds", "23", "--save-every", "1"]
    clean, output = tmp_path / "clean.h5", tmp_path / "run.h5"
    assert training().main([*words, "-o", str(clean)]) == 0
    luck, met = random.Random("training"), 0
    for _ in range(20):
        again = [*words, "-o", str(output), "--resume"]
        met += (
            killed(tmp_path, luck, lambda again=again: int(training().main(again)))
            == -signal.SIGKILL
        )
        output.unlink(missing_ok=True)
    assert met > 5 and training().main([*words, "-o", str(output), "--resume"]) == 0
    assert content(output) == content(clean)


@pytest.fixture(scope="module")
def census(tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("census"), 12)


def test_a_claim_of_another_host_is_no_claim(census, tmp_path):
    """A node that died holds no lock; what its name stands in is an empty file."""
    job = fork(tmp_path, "census", [census / "source.json", *ARGS], lambda: slow_down(0.05), 2)
    parts = tmp_path / f"{PACKED}.parts"
    assert wait_for(lambda: list(parts.glob("*.part")), job)
    os.killpg(job.pid, signal.SIGKILL)
    finish(job)
    (parts / "lock").write_text("process 4711 on node17\n")
    (parts / "3.spill").write_bytes(b"half")
    asked = [census / "source.json", "-o", tmp_path / CENSUS, "--resume", "-q"]
    assert call("census", *asked) == Exit.CLEAN
    assert content(tmp_path / CENSUS) == content(census / "base.h5")
    assert not list(tmp_path.glob("*.parts"))


@pytest.mark.parametrize("output", [PACKED, CENSUS])
def test_a_folder_that_goes_ends_a_run_in_a_line(census, tmp_path, output):
    place = tmp_path / "place"
    place.mkdir()
    job = fork(place, "census", [census / "source.json", *ARGS], lambda: slow_down(0.1), 2)
    assert wait_for(lambda: list((place / f"{output}.parts").glob("*.part")), job)
    shutil.rmtree(place, ignore_errors=True)
    code, _, err = finish(job)
    assert code == Exit.FATAL, err
    assert "cannot be written (No such file or directory)" in err and "Traceback" not in err


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [pytest.param(2, marks=needs_mpi)])
def test_a_rank_that_is_stopped_for_30_s(census, tmp_path, ranks):
    """The others go on, and wait for it at the end."""
    patch = SLOW.format(tests=os.path.dirname(__file__), seconds=0.05)
    args = [census / "source.json", *ARGS]
    job = start(tmp_path, args, ranks, patch=patch, rows=1)
    parts = tmp_path / f"{PACKED}.parts"
    assert wait_for(lambda: list(parts.glob("1-*.part")), job), finish(job)
    (rank,) = {int(path.name.split("-")[1]) for path in parts.glob("flight/1-*.flight")}
    os.kill(rank, signal.SIGSTOP)
    time.sleep(30)
    assert job.poll() is None
    os.kill(rank, signal.SIGCONT)
    code, _, err = finish(job)
    assert code == 0, err
    assert content(tmp_path / CENSUS) == content(census / "base.h5")


def test_budget_is_recorded_and_belongs_to_the_run(census, tmp_path, capfd):
    asked = ["pack", census / "source.json", "-o", tmp_path / "x.h5", "-q", "--cpu-budget", "7"]
    assert call(*asked) == Exit.CLEAN
    with h5py.File(tmp_path / "x.h5") as h5:
        assert h5.attrs["cpu_budget_s"] == 7
    assert call(*asked[:-1], "8", "--resume") == Exit.FATAL
    assert "cpu_budget_s: was 7.0, now 8.0" in capfd.readouterr().err
