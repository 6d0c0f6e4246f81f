"""Stop signals, queue and driver in one process."""

import io
import os
import signal
from collections import Counter

import pytest

from rc_hpc.parallel.launch import SerialComm
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.queue import WorkQueue
from rc_hpc.parallel.run import Totals, drive
from rc_hpc.parallel.signals import STOP_SIGNALS, StopSignal

COMM = SerialComm()


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_signal_only_sets_the_flag(number):
    before = signal.getsignal(number)
    with StopSignal() as stop:
        assert not stop.requested and stop.name == ""
        os.kill(os.getpid(), number)
        assert stop.requested and stop.name == signal.Signals(number).name
    assert signal.getsignal(number) == before


@pytest.mark.parametrize(
    "numbers, code",
    [
        ([], 0),
        ([signal.SIGUSR1], 0),
        ([signal.SIGTERM], 0),
        ([signal.SIGINT], 130),
        ([signal.SIGINT, signal.SIGTERM], 130),
        ([signal.SIGTERM, signal.SIGINT], 0),
    ],
)
def test_the_first_signal_decides_the_exit_code(numbers, code):
    with StopSignal() as stop:
        for number in numbers:
            os.kill(os.getpid(), number)
    assert stop.exit_code == code


def test_the_second_interrupt_interrupts():
    with StopSignal() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.name == "SIGTERM"
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            signal.sigtimedwait([], 1)


def test_queue_gives_each_number_once_and_counts():
    with WorkQueue(COMM, 3) as queue:
        assert [queue.next() for _ in range(5)] == [0, 1, 2, None, None]
        queue.report(10, 1)
        queue.report(5, 0)
        assert queue.totals() == (3, 15, 1)
        assert queue.finished == 2


def test_queue_stops_on_request_and_on_signal():
    queue = WorkQueue(COMM, 3)
    assert queue.next() == 0 and not queue.stopped
    queue.request_stop()
    assert queue.stopped and queue.next() is None
    assert queue.totals()[0] == 1
    stop = StopSignal()
    queue = WorkQueue(COMM, 3, stop)
    assert queue.next() == 0
    stop.requested = True
    assert queue.stopped and queue.next() is None


def quiet():
    return Progress(None, mode="none", stream=io.StringIO())


def test_drive_does_all_batches_in_order():
    seen = []

    def process(batch):
        seen.append(batch)
        return 10, batch % 2

    order = [2, 0, 3, 1]
    assert drive(COMM, 4, order, process, quiet(), StopSignal()) == Totals(4, 40, 2, True)
    assert seen == order
    assert drive(COMM, 0, [], process, quiet(), StopSignal()) == Totals(0, 0, 0, True)


def test_drive_finishes_the_batch_in_hand_on_a_signal():
    seen = Counter()
    stream = io.StringIO()

    def process(batch):
        seen[batch] += 1
        if batch == 1:
            os.kill(os.getpid(), signal.SIGUSR1)
        return 1, 0

    with StopSignal() as stop, Progress(4, mode="plain", stream=stream) as progress:
        totals = drive(COMM, 4, range(4), process, progress, stop)
    assert totals == Totals(2, 2, 0, False)
    assert seen == {0: 1, 1: 1}
    assert "SIGUSR1 received" in stream.getvalue()
    assert stream.getvalue().splitlines()[-1].startswith(("2/4", "SIGUSR1"))


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_drive_tells_the_exit_code_of_a_stop(number, code):
    def process(batch):
        if batch == last:
            os.kill(os.getpid(), number)
        return 1, 0

    last = 0
    with StopSignal() as stop:
        assert drive(COMM, 2, range(2), process, quiet(), stop) == Totals(1, 1, 0, False, code)
    last = 1  # all work is done: the signal changes nothing
    with StopSignal() as stop:
        assert drive(COMM, 2, range(2), process, quiet(), stop) == Totals(2, 2, 0, True, 0)


def test_drive_does_not_count_a_batch_given_up():
    queue = WorkQueue(COMM, 3)

    def process(batch):
        queue.request_stop()
        return None if queue.stopped else (1, 0)

    assert drive(COMM, 3, range(3), process, quiet(), StopSignal(), queue) == Totals(0, 0, 0, False)


def test_drive_lets_errors_through():
    def process(batch):
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        drive(COMM, 1, [0], process, quiet(), StopSignal())


def test_drive_needs_an_order_of_all_batches():
    with pytest.raises(ValueError, match="order"):
        drive(COMM, 3, [0, 1], lambda batch: (1, 0), quiet(), StopSignal())
