"""The loop every rank runs: draw a batch, do it, report, look for signals."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rc_hpc.parallel.launch import Comm
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.queue import WorkQueue
from rc_hpc.parallel.signals import StopSignal

#: Seconds between two looks of a rank that waits for the others.
POLL_S = 0.05


@dataclass(frozen=True)
class Totals:
    """What all ranks did together; the same on each of them.

    Attributes
    ----------
    batches, rows, failures : int
        Batches finished, their rows, and the failures among these.
    complete : bool
        Whether all batches were finished: a signal may have come first.
    stop_code : int
        Exit code of a run that is not complete: see `StopSignal.exit_code`; of any rank.
    """

    batches: int
    rows: int
    failures: int
    complete: bool
    stop_code: int = 0


def drive(
    comm: Comm,
    n_batches: int,
    order: Sequence[int] | np.ndarray,
    process: Callable[[int], tuple[int, int] | None],
    progress: Progress,
    stop: StopSignal,
    queue: WorkQueue | None = None,
) -> Totals:
    """Do all batches with all ranks; called by all ranks, returns on all of them together.

    Parameters
    ----------
    comm
        The ranks.
    n_batches
        Number of batches to do.
    order : (n_batches,)
        The batches, in the order they are to be drawn.
    process
        Does batch ``order[k]`` and returns (rows, failures), or None if it gave the batch up
        because of a stop: then the batch does not count as finished.
    progress
        Updated on rank 0, also while it waits for the others.
    stop
        This rank's signals. One that reaches any rank stops all of them, each after the
        batch it is in.
    queue
        A queue the caller made with ``WorkQueue(comm, n_batches, stop)``, so that `process`
        can poll `queue.stopped` within a batch. The queue is closed here.

    Returns
    -------
    Totals
    """
    if len(order) != n_batches:
        raise ValueError(f"order names {len(order)} batches, not {n_batches}")

    def show():
        if comm.rank == 0:
            progress.update(*queue.totals()[1:])

    queue = queue or WorkQueue(comm, n_batches, stop)
    with queue:
        while (drawn := queue.next()) is not None:
            done = process(int(order[drawn]))
            if done is not None:
                queue.report(*done)
            show()
        told = _tell_stop(queue, progress, stop)
        all_here = comm.ibarrier()
        while not all_here():
            time.sleep(POLL_S)
            # A signal that reaches only a waiting rank must still stop the working ones.
            if queue.stopped and not told:
                told = _tell_stop(queue, progress, stop)
            show()
        show()
        _, rows, failures = queue.totals()
        finished = queue.finished
    complete = finished == n_batches
    stop_code = 0 if complete else max(comm.allgather(stop.exit_code))
    return Totals(finished, rows, failures, complete, stop_code)


def _tell_stop(queue: WorkQueue, progress: Progress, stop: StopSignal) -> bool:
    if queue.stopped:
        cause = f"{stop.name} received" if stop.name else "a rank was asked to stop"
        progress.message(f"{cause}: finishing the batches in hand")
    return queue.stopped
