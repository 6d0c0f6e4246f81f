"""The queue all ranks draw batches from: no rank idles while there is work.

Five shared counters in the memory of rank 0. Only Fetch_and_op on a window from
Win.Allocate, which is right on all MPI libraries tried (compare-and-swap crashes one,
Win.Create stalls another).
"""

from __future__ import annotations

import threading
import time
from typing import Any, Self

import numpy as np

from rc_hpc.parallel.launch import Comm
from rc_hpc.parallel.signals import StopSignal

NEXT, BATCHES, ROWS, FAILURES, STOP = range(5)
N_CELLS = 5
#: Seconds between two looks at the shared stop flag: over a network one may cost 20 ms.
LOOK_S = 1.0
#: Seconds between two turns of rank 0 for the ranks of other nodes.
SERVE_S = 0.002


class _LocalCells:
    """Counters of the only rank."""

    def __init__(self):
        self.values = [0] * N_CELLS

    def add(self, values: dict[int, int]) -> list[int]:
        before = [self.values[cell] for cell in values]
        for cell, value in values.items():
            self.values[cell] += value
        return before

    def quiet(self) -> None:
        pass

    def close(self) -> None:
        pass


class _SharedCells:
    """Counters in an MPI window that rank 0 hosts."""

    def __init__(self, comm: Comm):
        from mpi4py import MPI

        self._mpi: Any = MPI
        self._comm: Any = comm.mpi
        self._values = np.zeros(N_CELLS, np.int64)
        self._before = np.zeros(N_CELLS, np.int64)
        item = self._values.itemsize
        self._window = MPI.Win.Allocate(
            N_CELLS * item if comm.rank == 0 else 0, item, comm=comm.mpi
        )
        if comm.rank == 0:
            self._window.Lock(0)
            self._window.Put(self._values, 0)
            self._window.Unlock(0)
        n_nodes = comm.allgather(comm.node_rank()).count(0)
        self._window.Lock_all()
        self._end = threading.Event()
        self._server = None
        if comm.rank == 0 and n_nodes > 1 and MPI.Query_thread() == MPI.THREAD_MULTIPLE:
            self._server = threading.Thread(target=self._serve, daemon=True)
            self._server.start()

    def _serve(self) -> None:
        # Between nodes MPICH answers other ranks only while this one calls MPI: without
        # these calls they would wait until rank 0 has finished its batch.
        while not self._end.wait(SERVE_S):
            self._comm.Iprobe()

    def add(self, values: dict[int, int]) -> list[int]:
        """Add to each counter in one step no rank can come between; the values before."""
        for cell, value in values.items():
            self._values[cell] = value
            op = self._mpi.SUM if value else self._mpi.NO_OP
            self._window.Fetch_and_op(
                self._values[cell : cell + 1], self._before[cell : cell + 1], 0, cell, op
            )
        self._window.Flush(0)
        return [int(self._before[cell]) for cell in values]

    def quiet(self) -> None:
        """End the thread that serves other nodes: none may call MPI once it is finalized."""
        self._end.set()
        if self._server is not None:
            self._server.join()

    def close(self) -> None:
        self._window.Unlock_all()
        # All ranks are past their last draw only after this: rank 0 serves them until then.
        done = self._comm.Ibarrier()
        while not done.Test():
            time.sleep(SERVE_S)
        self.quiet()
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
        [number] = self._cells.add({NEXT: 1})
        self._empty = number >= self.n_batches
        return None if self._empty else number

    def report(self, rows: int, failures: int) -> None:
        """Count a batch as finished, with its rows and the failures among them."""
        self._cells.add({ROWS: rows, FAILURES: failures, BATCHES: 1})

    def totals(self) -> tuple[int, int, int]:
        """Batches drawn, rows done and failures, over all ranks so far."""
        claimed, rows, failures = self._cells.add({NEXT: 0, ROWS: 0, FAILURES: 0})
        return min(claimed, self.n_batches), rows, failures

    @property
    def finished(self) -> int:
        """Batches reported, over all ranks so far."""
        return self._cells.add({BATCHES: 0})[0]

    def request_stop(self) -> None:
        """Ask all ranks to stop after the batch they are in."""
        if not self._stopped:
            self._stopped = True
            self._cells.add({STOP: 1})

    @property
    def stopped(self) -> bool:
        """Whether any rank asked to stop. Cheap: may be polled between structures."""
        if not self._stopped:
            if self._signal is not None and self._signal.requested:
                self.request_stop()
            elif time.monotonic() >= self._look:
                self._stopped = self._cells.add({STOP: 0}) != [0]
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
        else:
            self._cells.quiet()
