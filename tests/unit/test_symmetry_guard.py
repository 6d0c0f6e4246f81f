"""The guard: broken cells are refused by name, and native crashes leave evidence."""

import faulthandler
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rc_hpc
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.symmetry import recorder as recorder_module
from rc_hpc.symmetry.guard import NULL_RECORDER, FlightRecorder, check_cell, crashed_ids
from rc_hpc.symmetry.labels import label_cell

CUBIC = np.eye(3) * 4.0
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(rc_hpc.__file__).parents[1])}

CHILD = """
import os, signal, sys
from rc_hpc.symmetry.guard import FlightRecorder

folder, identifier, signal_name, when = sys.argv[1:]
recorder = FlightRecorder(folder, tag=3)
die = lambda: os.kill(os.getpid(), getattr(signal, signal_name))
recorder.about("a-much-longer-identifier-that-was-in-flight-before")
recorder.call(int)
recorder.about(identifier)
if when == "in_flight":
    recorder.call(die)
recorder.call(int)
die()
"""


def _die(folder, identifier, signal_name, when="in_flight"):
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(folder), identifier, signal_name, when],
        timeout=60,
        env=ENVIRONMENT,
    )
    assert done.returncode == -getattr(signal, signal_name)


@pytest.mark.parametrize("signal_name", ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE"])
def test_native_crash_in_flight_counts(tmp_path, signal_name):
    _die(tmp_path, "mp-1", signal_name)
    assert crashed_ids(tmp_path) == {"mp-1": 1}


@pytest.mark.parametrize("signal_name", ["SIGKILL", "SIGTERM"])
def test_kill_from_outside_does_not_count(tmp_path, signal_name):
    _die(tmp_path, "mp-1", signal_name)
    assert len(list(tmp_path.glob("*.flight"))) == 1  # the note itself survived
    assert crashed_ids(tmp_path) == {}


def test_crash_with_nothing_in_flight_does_not_count(tmp_path):
    _die(tmp_path, "mp-1", "SIGSEGV", when="after")
    assert crashed_ids(tmp_path) == {}


def test_real_crash_of_spglib(tmp_path):
    """spglib itself, past the checks, on a NaN position (where its version still crashes)."""
    code = (
        "import sys, numpy as np, spglib\n"
        "from rc_hpc.symmetry.guard import FlightRecorder\n"
        "recorder = FlightRecorder(sys.argv[1])\n"
        "recorder.about('nan')\n"
        "cell = (np.eye(3) * 4, [[0, 0, np.nan], [0.5, 0.5, 0.5]], [1, 1])\n"
        "recorder.call(spglib.get_symmetry_dataset, cell, 0.01, 5.0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path)], timeout=60, env=ENVIRONMENT
    )
    if done.returncode >= 0:
        pytest.skip("this spglib survives NaN")
    assert crashed_ids(tmp_path) == {"nan": 1}


def test_counts_add_up_over_starts_and_files_are_folded(tmp_path):
    odd = "data/ü x/" + "y" * 3000 + "\udcff.cif"  # any file name, never truncated
    _die(tmp_path, odd, "SIGSEGV")
    assert crashed_ids(tmp_path) == {odd: 1}
    assert [path.name for path in tmp_path.iterdir()] == ["crashes.json"]
    assert crashed_ids(tmp_path) == {odd: 1}  # nothing new: nothing counted again
    _die(tmp_path, odd, "SIGSEGV")
    _die(tmp_path, "mp-2", "SIGSEGV")
    assert crashed_ids(tmp_path) == {odd: 2, "mp-2": 1}


def test_death_between_folding_and_removal_counts_once(tmp_path, monkeypatch):
    _die(tmp_path, "mp-1", "SIGSEGV")
    with monkeypatch.context() as patch:
        patch.setattr(recorder_module.Path, "unlink", _die_here)
        with pytest.raises(KeyboardInterrupt):
            crashed_ids(tmp_path)
    assert len(list(tmp_path.glob("*.fault"))) == 1
    assert crashed_ids(tmp_path) == {"mp-1": 1}
    assert json.loads((tmp_path / "crashes.json").read_text())["crashes"] == {"mp-1": 1}


def test_empty_folder(tmp_path):
    assert crashed_ids(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []


def test_recorder_leaves_nothing_after_close(tmp_path):
    was_enabled = faulthandler.is_enabled()
    with FlightRecorder(tmp_path, tag=0) as recorder:
        recorder.about("copper")
        found, _ = label_cell(CUBIC, [[0, 0, 0]], [29], recorder=recorder)
        assert found.number == 221
        with pytest.raises(ZeroDivisionError):
            recorder.call(lambda: 1 / 0)
        (flight,) = tmp_path.glob("0-*.flight")
        assert flight.read_bytes().startswith(b"00000000")
    assert list(tmp_path.iterdir()) == []
    assert faulthandler.is_enabled() is was_enabled


def test_labelling_is_in_flight_during_the_native_call(tmp_path, monkeypatch):
    import spglib

    seen = []

    def spy(*_):
        (flight,) = tmp_path.glob("*.flight")
        seen.append(flight.read_bytes())

    monkeypatch.setattr(spglib, "get_symmetry_dataset", spy)
    with FlightRecorder(tmp_path) as recorder:
        recorder.about("mp-1")
        label_cell(CUBIC, [[0, 0, 0]], [29], recorder=recorder)
    assert seen == [b"00000004mp-1"]


def test_null_recorder():
    NULL_RECORDER.about("mp-1")
    assert NULL_RECORDER.call(max, 1, 2) == 2


@pytest.mark.parametrize(
    ("lattice", "frac", "numbers", "status"),
    [
        (CUBIC, [[0, 0, np.nan]], [29], Status.non_finite),
        (CUBIC * np.inf, [[0, 0, 0]], [29], Status.non_finite),
        (CUBIC, np.empty((0, 3)), [], Status.empty),
        (np.diag([4.0, 4.0, 0.0]), [[0, 0, 0]], [29], Status.singular_cell),
        (np.diag([1e200, 1e200, 1e200]), [[0, 0, 0]], [29], Status.singular_cell),
        ([[4, 0, 0], [0, 4, 0], [4, 4, 1e-9]], [[0, 0, 0]], [29], Status.singular_cell),
        (CUBIC, [[0, 0, 0], [0.5, 0.5, 0.5]], [29], Status.read_error),
        (CUBIC, [[0, 0, 0], [0, 0, 0]], [29, 8], Status.close_atoms),
        (np.diag([4, 4, 0.05]), [[0, 0, 0]], [29], Status.close_atoms),
    ],
)
def test_broken_cells(lattice, frac, numbers, status):
    with pytest.raises(StructureError) as caught:
        check_cell(lattice, frac, numbers)
    assert caught.value.status is status


def test_close_atoms_are_named():
    """Across the face of a skewed cell, with the distance and the species."""
    lattice = np.array([[5, 0, 0], [12, 4, 0], [-7, 3, 6.0]])
    frac = np.array([[0.5, 0.5, 0.5], [0.999, 0.2, 0.3], [0.001, 1.2, -0.7]])
    with pytest.raises(StructureError, match=r"atom 2 \(O\) and atom 3 \(Cu\) are 0\.01 Å"):
        check_cell(lattice, frac, [29, 8, 29])
    check_cell(lattice, frac, [29, 8, 29], min_distance=0.009)


def test_own_image_is_named():
    with pytest.raises(StructureError, match=r"atom 1 \(Cu\) and its own periodic image are 0\.05"):
        check_cell(np.diag([4, 4, 0.05]), [[0, 0, 0]], [29])


def _die_here(*_args, **_kwargs):
    raise KeyboardInterrupt
