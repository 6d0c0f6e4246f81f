"""A run that dies or is told to stop, and is gone on with, gives what an undisturbed one gives."""

import os
import random
import re
import signal
import time

import h5py
import pytest
from census_cases import (
    call,
    column,
    content,
    finish,
    fork,
    run,
    small_crystals,
    start,
    wait_for,
    write_json,
)
from ranks import needs_mpi

from rc_hpc.core.errors import Exit, Status

PACKED, CENSUS = "x.packed.h5", "x.h5"
ARGS = ["-o", CENSUS, "--resume", "-q"]

#: For a program of its own: the same as `slow_down` and `crash_on`.
SLOW = (
    "sys.path.insert(0, {tests!r}); import test_census_kills; "
    "test_census_kills.slow_down({seconds})"
)
CRASH = (
    "sys.path.insert(0, {tests!r}); import test_census_kills; "
    "test_census_kills.crash_on({id!r}, {stage!r})"
)


def slow_down(seconds):
    """Make every structure take time in both stages, so that a signal finds work under way."""
    import rc_hpc.engine.packing as packing
    from rc_hpc.kinds.census.oracle import CensusOracle

    def slowed(function):
        def inner(*args, **more):
            time.sleep(seconds)
            return function(*args, **more)

        return inner

    packing.pack_structure = slowed(packing.pack_structure)
    CensusOracle.run = slowed(CensusOracle.run)


def slow_merge():
    """Make the merge take long after it has begun its file."""
    import rc_hpc.store.merge as merging

    real = merging._Assembly._write

    def slowly(*args):
        real(*args)
        time.sleep(30)

    merging._Assembly._write = slowly


def slow_fold():
    """Make every rank wait once it has made its chunks."""
    import rc_hpc.store.fold as folding

    real = folding.Spill._write

    def slowly(*args):
        told = real(*args)
        time.sleep(30)
        return told

    folding.Spill._write = staticmethod(slowly)


def slow_place():
    """Make the second rank wait before it writes its chunks into the file, and so the others."""
    import rc_hpc.store.fold as folding

    real = folding.Spill.place

    def slowly(self, *args):
        if self.path.name.startswith("1."):
            time.sleep(30)
        real(self, *args)

    folding.Spill.place = slowly


def crash_on(id_, output):
    """Let native code crash whenever it is asked about one structure in the run for `output`."""
    instead_on(id_, output, lambda *_: (os.kill(os.getpid(), signal.SIGSEGV), time.sleep(60)))


def hang_on(id_, output):
    """Let native code about one structure keep the interpreter for very long."""
    instead_on(id_, output, lambda *_: re.match("(a+)+$", "a" * 60 + "b"))


def instead_on(id_, output, instead):
    """Call `instead` of native code about one structure in the run for `output`."""
    from rc_hpc.symmetry.recorder import FlightRecorder

    real = FlightRecorder.call

    def call(self, function, *args):
        own = self._paths[0].parents[1].name == f"{output}.parts"
        if own and self._note.endswith(id_.encode()):
            return real(self, instead)
        return real(self, function, *args)

    FlightRecorder.call = call


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """Folder with source.json and what an undisturbed run makes of it."""
    return undisturbed(tmp_path_factory.mktemp("base"), 20)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """The same with more structures."""
    return undisturbed(tmp_path_factory.mktemp("large"), 48)


def undisturbed(folder, count):
    write_json(folder / "source.json", small_crystals(count, 5, seed=8))
    assert call("census", folder / "source.json", "-o", folder / "base.h5", "-q") == Exit.CLEAN
    return folder


def assert_same(base, folder):
    """The work is whole, equal to the undisturbed one, and nothing else is left."""
    assert content(folder / CENSUS) == content(base / "base.h5")
    assert content(folder / PACKED) == content(base / "base.packed.h5")
    assert not list(folder.glob(".*.tmp")) and not list(folder.glob("*.parts"))
    assert call("census", "validate", folder / CENSUS) == Exit.CLEAN
    assert call("pack", "validate", folder / PACKED) == Exit.CLEAN


def parts(folder, output):
    """Files of parts with their sizes: they grow by what is finished."""
    files = (folder / f"{output}.parts").glob("*.part")
    return {(path.name, path.stat().st_size) for path in files}


def kill(begin, folder, output, wait, early):
    """Kill a job in the stage that writes `output`, `wait` s after its start or after a part."""
    before = parts(folder, output)
    job = begin()
    if not early:
        assert wait_for(lambda: parts(folder, output) - before, job), finish(job)
    time.sleep(wait)
    alive = job.poll() is None
    os.killpg(job.pid, signal.SIGKILL)
    finish(job)
    assert alive and not (folder / output).exists(), "the run was over before it could be killed"


def kill_often(base, folder, kills, seconds, rows, seed):
    """`kills` in each stage, a third of them at once or so; then a run that nobody disturbs."""
    luck = random.Random(seed)

    def begin():
        return fork(
            folder, "census", [base / "source.json", *ARGS], lambda: slow_down(seconds), rows
        )

    for output in (PACKED, CENSUS):
        for number in range(kills):
            kill(begin, folder, output, luck.uniform(0, 0.25), number % 3 == 1)
    assert (
        call("census", base / "source.json", "-o", folder / CENSUS, "--resume", "-q") == Exit.CLEAN
    )
    assert_same(base, folder)


def test_a_few_kills(base, tmp_path):
    kill_often(base, tmp_path, 3, 0.05, 2, seed=1)


@pytest.mark.slow
def test_many_kills(large, tmp_path):
    kill_often(large, tmp_path, 14, 0.1, 1, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [pytest.param(10, marks=needs_mpi)])
def test_many_kills_of_ranks(large, tmp_path, kills):
    """`kills` in each stage; mpiexec and both ranks die together."""
    luck = random.Random(3)
    slow = SLOW.format(tests=os.path.dirname(__file__), seconds=0.1)

    def begin():
        return start(tmp_path, [large / "source.json", *ARGS], 2, patch=slow, rows=1)

    for output in (PACKED, CENSUS):
        for _ in range(kills):
            kill(begin, tmp_path, output, luck.uniform(0, 0.2), early=False)
    code, _, err = run(tmp_path, [large / "source.json", *ARGS], 2)
    assert code == 0, err
    assert_same(large, tmp_path)


@pytest.mark.parametrize("output", [PACKED, CENSUS])
def test_a_kill_in_the_merge(base, tmp_path, output):
    if output == CENSUS:
        assert call("pack", base / "source.json", "-o", tmp_path / PACKED, "-q") == Exit.CLEAN
    job = fork(tmp_path, "census", [base / "source.json", *ARGS], slow_merge)
    assert wait_for(lambda: list(tmp_path.glob(f".{output}.*.tmp")), job), finish(job)
    os.kill(job.pid, signal.SIGKILL)
    finish(job)
    assert list(tmp_path.glob(".*.tmp")) and not (tmp_path / output).exists()
    assert (
        call("census", base / "source.json", "-o", tmp_path / CENSUS, "--resume", "-q")
        == Exit.CLEAN
    )
    assert_same(base, tmp_path)


@pytest.mark.parametrize(
    "slow, left",
    [
        pytest.param("slow_fold", f"{CENSUS}.parts/*.spill", marks=needs_mpi),
        pytest.param("slow_place", f".{CENSUS}.*.tmp", marks=needs_mpi),
    ],
)
def test_a_kill_while_ranks_make_or_write_chunks(base, tmp_path, slow, left):
    assert call("pack", base / "source.json", "-o", tmp_path / PACKED, "-q") == Exit.CLEAN
    slow = (
        f"sys.path.insert(0, {os.path.dirname(__file__)!r}); import test_census_kills; "
        f"test_census_kills.{slow}()"
    )
    job = start(tmp_path, [PACKED, *ARGS], 2, patch=slow)
    assert wait_for(lambda: list(tmp_path.glob(left)), job), finish(job)
    os.killpg(job.pid, signal.SIGKILL)
    finish(job)
    assert list(tmp_path.glob(left)) and not (tmp_path / CENSUS).exists()
    code, _, err = run(tmp_path, [PACKED, *ARGS], 2)
    assert code == 0, err
    assert_same(base, tmp_path)


@pytest.mark.parametrize(
    "number, output", [(signal.SIGTERM, PACKED), (signal.SIGUSR1, CENSUS), (signal.SIGINT, CENSUS)]
)
def test_a_signal_ends_a_run_in_good_order(base, tmp_path, number, output):
    job = fork(tmp_path, "census", [base / "source.json", "-o", CENSUS], lambda: slow_down(0.05))
    assert wait_for(lambda: parts(tmp_path, output), job), finish(job)
    os.kill(job.pid, number)
    code, out, err = finish(job)
    assert code == (Exit.INTERRUPTED if number == signal.SIGINT else Exit.CLEAN), err
    assert f"{number.name} received" in err and "--resume goes on" in err
    assert not (tmp_path / output).exists() and parts(tmp_path, output)
    assert call("census", "status", tmp_path / output) == Exit.CLEAN
    assert (
        call("census", base / "source.json", "-o", tmp_path / CENSUS, "--resume", "-q")
        == Exit.CLEAN
    )
    assert_same(base, tmp_path)


@pytest.mark.parametrize("number", [pytest.param(signal.SIGUSR1, marks=needs_mpi)])
def test_a_signal_ends_all_ranks_in_good_order(base, tmp_path, number):
    job = start(
        tmp_path,
        [base / "source.json", "-o", CENSUS],
        2,
        patch=SLOW.format(tests=os.path.dirname(__file__), seconds=0.05),
    )
    assert wait_for(lambda: parts(tmp_path, PACKED), job), finish(job)
    os.kill(job.pid, number)
    code, _, err = finish(job)
    assert code == 0, err
    assert err.count("--resume goes on") == 1
    assert (
        call("census", base / "source.json", "-o", tmp_path / CENSUS, "--resume", "-q")
        == Exit.CLEAN
    )
    assert_same(base, tmp_path)


@pytest.mark.parametrize("output", [PACKED, CENSUS])
def test_a_structure_that_crashes_native_code_twice_is_left_out(base, tmp_path, output):
    victim = labelled_in_the_census(base)
    args = [base / "source.json", *ARGS]
    code, _, err = finish(fork(tmp_path, "census", args, lambda: crash_on(victim, output)))
    assert code == Exit.FAILURES, err
    check_left_out(base, tmp_path, victim, Status.crashed, "twice (SIGSEGV)")


@pytest.mark.parametrize("ranks", [pytest.param(2, marks=needs_mpi)])
def test_what_crashes_holds_up_no_rank(base, tmp_path, ranks):
    victim = labelled_in_the_census(base)
    patch = CRASH.format(tests=os.path.dirname(__file__), id=victim, stage=CENSUS)
    code, _, err = run(tmp_path, [base / "source.json", *ARGS], ranks, patch=patch)
    assert code == Exit.FAILURES, err
    check_left_out(base, tmp_path, victim, Status.crashed, "twice (SIGSEGV)")


@pytest.mark.parametrize("output", [PACKED, CENSUS])
def test_a_structure_that_takes_too_long_is_left_out(base, tmp_path, output):
    """Native code that keeps the interpreter: no handler of a signal and no thread can act."""
    victim = labelled_in_the_census(base)
    args = [base / "source.json", *ARGS, "--cpu-budget", 1]
    code, _, err = finish(fork(tmp_path, "census", args, lambda: hang_on(victim, output)))
    assert code == Exit.FAILURES, err
    check_left_out(base, tmp_path, victim, Status.timed_out, "--cpu-budget")
    with h5py.File(tmp_path / CENSUS) as h5:
        assert h5.attrs["cpu_budget_s"] == 1


@pytest.mark.parametrize("output", [PACKED, CENSUS])
def test_a_signal_ends_a_call_that_hangs(base, tmp_path, output):
    victim = labelled_in_the_census(base)
    args = [base / "source.json", *ARGS]
    job = fork(tmp_path, "census", args, lambda: hang_on(victim, output))
    flights = tmp_path / f"{output}.parts" / "flight"
    in_hand = victim.encode()
    assert wait_for(
        lambda: any(in_hand in path.read_bytes() for path in flights.glob("*.flight")), job
    ), finish(job)
    os.kill(job.pid, signal.SIGTERM)
    began = time.monotonic()
    code, _, err = finish(job)
    assert code == Exit.CLEAN and "SIGTERM received" in err
    assert time.monotonic() - began < 20
    assert (
        call("census", base / "source.json", "-o", tmp_path / CENSUS, "--resume", "-q")
        == Exit.CLEAN
    )
    assert_same(base, tmp_path)


def labelled_in_the_census(base):
    """Id of a structure of which not only the true cell, labelled before, is reconstructed."""
    return min(
        id_
        for id_, numbers in column(base / "base.h5", "cells/reconstruction").items()
        if numbers.max() > 0
    )


def check_left_out(base, folder, victim, why, told):
    """The victim has this status and a message; all others have their results."""
    status = column(folder / CENSUS, "structures/status")
    assert status.pop(victim) == why
    assert set(status.values()) == {Status.ok}
    assert told in column(folder / CENSUS, "structures/message")[victim]
    before, after = (
        column(path, "cells/space_group") for path in (base / "base.h5", folder / CENSUS)
    )
    assert all((before[id_] == after[id_]).all() for id_ in status)
