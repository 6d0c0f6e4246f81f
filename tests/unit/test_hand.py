"""Structures in a process that may be lost: several in a message, each with its own fate."""

import os
import signal
import time

import numpy as np
import pytest

from rc_hpc.core.apart import Apart, Cut
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.engine.gather import Gathered, fill, gathered
from rc_hpc.engine.hand import Hand
from rc_hpc.symmetry.recorder import NULL_RECORDER

pytestmark = pytest.mark.fast


def work(what):
    """Does as it is told."""
    if what == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "hang":
        while True:
            pass
    if what == "raise":
        raise StructureError(Status.too_large, "no")
    if what == "unsendable":
        return lambda: None
    if what == "slow":
        time.sleep(0.03)
    if isinstance(what, str) and what.startswith("once "):
        with open(what[5:], "ab", buffering=0) as file:
            file.write(b"x")
            if file.tell() == 1:
                os.kill(os.getpid(), signal.SIGSEGV)
    return what


def hand(budget=0.0, stopped=lambda: False, gather=list):
    """A hand that works."""
    return Hand(work, budget, NULL_RECORDER, stopped, gather)


def outcomes(calls, budget=0.0):
    """Result or status of each."""
    told = []
    with hand(budget) as one:
        for errors, values in one.each([((what,), 0.0) for what in calls]):
            left = iter(values)
            for error in errors:
                told.append(next(left) if error is None else getattr(error, "status", error))
    return told


def test_each_structure_has_its_own_fate(tmp_path):
    once = f"once {tmp_path / 'tries'}"
    calls = [1, "crash", 2, "raise", "slow", once, 3, "hang", "hang", 4, "crash", "slow", 5]
    lost = {"crash": Status.crashed, "hang": Status.timed_out, "raise": Status.too_large}
    assert outcomes(calls, budget=0.2) == [lost.get(what, what) for what in calls]
    assert (tmp_path / "tries").read_bytes() == b"xx"


def test_what_cannot_be_sent_costs_one_structure():
    first, problem, last = outcomes([1, "unsendable", 2])
    assert (first, last) == (1, 2)
    assert isinstance(problem, RuntimeError)


def test_a_stop_keeps_what_was_told_and_the_hand_goes_on_anew():
    stop = False
    with hand(stopped=lambda: stop) as one:
        told = []
        with pytest.raises(Cut):
            for _, values in one.each([((what,), 0.0) for what in ("slow", "slow", "hang")]):
                told += values
                stop = True
        assert told == ["slow"]
        stop = False
        assert one(7) == 7
        for _ in one.each([(("slow",), 0.0), (("hang",), 0.0)]):
            break
        assert one(8) == 8


def test_one_call_raises_what_was_raised():
    with Apart(work) as apart, pytest.raises(StructureError, match="no"):
        apart.call("raise")
    with hand() as one, pytest.raises(StructureError, match="twice"):
        one("crash")


def results(sizes):
    """Columns of all shapes, and a child table."""
    return [
        (
            {"a": np.arange(3) + n, "b": 1.5 * n, "c": "x" * n, "d": np.full((2, 2), n)},
            {"t": {"p": np.full((size, 3), float(n)), "q": ["y"] * size}},
        )
        for n, size in enumerate(sizes)
    ]


@pytest.mark.parametrize("sizes", [(2,), (2, 0, 3), ()])
@pytest.mark.parametrize("odd", [False, True])
def test_gathered_results_fill_as_single_ones_do(sizes, odd):
    singly = results(sizes)
    if odd and sizes:  # its columns differ: all stay as they are
        singly[-1][0].pop("d")
    made = []
    for given in (singly, gathered(singly)):
        batch = {
            "a": np.zeros((5, 3), int),
            "b": np.zeros(5),
            "c": np.full(5, "", object),
            "d": np.zeros((5, 2, 2), np.uint8),
        }
        made.append((batch, list(fill(batch, [4, 0, 2][: len(sizes)], given))))
    assert isinstance(gathered(singly), Gathered) == (len(sizes) > 1 and not odd)
    (plain, tables), (batch, others) = made
    for name, values in plain.items():
        np.testing.assert_array_equal(batch[name], values)
    for own, other in zip(tables, others, strict=True):
        np.testing.assert_array_equal(own["t"]["p"], other["t"]["p"])
        assert own["t"]["q"] == list(other["t"]["q"])


@pytest.mark.parametrize(
    "second", [np.zeros(2), np.zeros(3, np.int32), np.zeros((3, 1)), None, np.float64(1)]
)
def test_unlike_columns_stay_apart(second):
    made = gathered([({"a": np.zeros(3)}, {}), ({"a": second}, {})])
    assert isinstance(made, Gathered)
    assert isinstance(made.fields["a"], list)
