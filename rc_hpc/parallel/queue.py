"""The queue all ranks draw batches from: no rank idles while there is work.

Five shared counters in the memory of rank 0. Only Fetch_and_op on a window from
Win.Allocate: that makes progress while rank 0 computes, and is right on all MPI libraries
tried (compare-and-swap crashes one, Win.Create stalls another).
"""

from __future__ import annotations

import time
from typing import Self

from rc_hpc.parallel.launch import Comm
from rc_hpc.parallel.signals import StopSignal

NEXT, BATCHES, ROWS, FAILURES, STOP = range(5)
N_CELLS = 5
#: Seconds between two looks at the shared stop flag: a look may cost 2 ms over a network.
LOOK_S = 0.2


class _LocalCells:
    """Counters of the only rank."""

    def __init__(self):
        self.values = [0] * N_CELLS

    def add(self, cell: int, value: int = 0) -> int:
        before = self.values[cell]
        self.values[cell] += value
        return before

    def close(self) -> None:
        pass


class _SharedCells:
    """Counters in an MPI window that rank 0 hosts."""

    def __init__(self, comm: Comm):
        import numpy as np
        from mpi4py import MPI

        self._mpi = MPI
        self._value = np.zeros(1, np.int64)
        self._before = np.zeros(1, np.int64)
        size = N_CELLS * self._value.itemsize if comm.rank == 0 else 0
        self._window = MPI.Win.Allocate(size, self._value.itemsize, comm=comm.mpi)
        if comm.rank == 0:
            self._window.Lock(0)
            self._window.Put(np.zeros(N_CELLS, np.int64), 0)
            self._window.Unlock(0)
        comm.barrier()
        self._window.Lock_all()

    def add(self, cell: int, value: int = 0) -> int:
        """Add `value` to a counter in one step no rank can come between; the value before."""
        self._value[0] = value
        op = self._mpi.SUM if value else self._mpi.NO_OP
        self._window.Fetch_and_op(self._value, self._before, 0, cell, op)
        self._window.Flush(0)
        return int(self._before[0])

    def close(self) -> None:
        self._window.Unlock_all()
        self._window.Free()


class WorkQueue:
    """Batch numbers 0 … `n_batches` - 1, each given to exactly one rank.

    Made and closed by all ranks together. As a context manager it is not closed after an
    exception: closing waits for all ranks, and the job is about to be aborted.

    Parameters
    ----------
    comm
        The ranks.
    n_batches
        Number of batches.
    stop
        This rank's signals; one that arrives stops all ranks.
    """

    def __init__(self, comm: Comm, n_batches: int, stop: StopSignal | None = None):
        self.n_batches = n_batches
        self._cells = _LocalCells() if comm.mpi is None else _SharedCells(comm)
        self._signal = stop
        self._stopped = False
        self._look = 0.0
        self._empty = False

    def next(self) -> int | None:
        """Number of a batch no other rank has; None when there is none left or all stop."""
        self._look = 0.0
        if self._empty or self.stopped:
            return None
        number = self._cells.add(NEXT, 1)
        self._empty = number >= self.n_batches
        return None if self._empty else number

    def report(self, rows: int, failures: int) -> None:
        """Count a batch as finished, with its rows and the failures among them."""
        self._cells.add(ROWS, rows)
        self._cells.add(FAILURES, failures)
        self._cells.add(BATCHES, 1)

    def totals(self) -> tuple[int, int, int]:
        """Batches drawn, rows done and failures, over all ranks so far."""
        claimed = min(self._cells.add(NEXT), self.n_batches)
        return claimed, self._cells.add(ROWS), self._cells.add(FAILURES)

    @property
    def finished(self) -> int:
        """Batches reported, over all ranks so far."""
        return self._cells.add(BATCHES)

    def request_stop(self) -> None:
        """Ask all ranks to stop after the batch they are in."""
        if not self._stopped:
            self._stopped = True
            self._cells.add(STOP, 1)

    @property
    def stopped(self) -> bool:
        """Whether any rank asked to stop. Cheap: may be polled between structures."""
        if not self._stopped:
            if self._signal is not None and self._signal.requested:
                self.request_stop()
            elif time.monotonic() >= self._look:
                self._stopped = self._cells.add(STOP) > 0
                self._look = time.monotonic() + LOOK_S
        return self._stopped

    def close(self) -> None:
        """Free the shared memory; waits for all ranks."""
        self._cells.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind, *_) -> None:
        if kind is None:
            self.close()
