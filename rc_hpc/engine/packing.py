"""The packing run: any source to a packed HDF5 file, by all ranks, in bounded memory."""

from __future__ import annotations

import functools
import hashlib
import itertools
from dataclasses import replace

import numpy as np

from rc_hpc.core.errors import Status, StructureError
from rc_hpc.core.text import storable
from rc_hpc.engine.listing import Listing
from rc_hpc.engine.merging import merge_output
from rc_hpc.engine.run import Opened, Work, count_failures, fail_row, log, on_root, open_run
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.packed.oracle import pack_structure
from rc_hpc.kinds.packed.schema import PACKED
from rc_hpc.kinds.packed.work import dims
from rc_hpc.parallel.launch import Comm
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.queue import WorkQueue
from rc_hpc.parallel.run import Totals, drive
from rc_hpc.parallel.shard import shard_batches
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.parallel.state import RunState
from rc_hpc.store.batch import Batch, Children, empty_batch, empty_children
from rc_hpc.structures.record import Item
from rc_hpc.symmetry.guard import NULL_RECORDER
from rc_hpc.symmetry.recorder import FlightRecorder, NullRecorder

#: Structures in one batch: some seconds of work, so that a stop loses little.
BATCH_ROWS = 32


def run_packing(
    comm: Comm, listing: Listing, work: Work, stop: StopSignal, state: RunState
) -> Totals | None:
    """Pack all items of a listing; all ranks together.

    Returns
    -------
    Totals
        None where the output was finished already.
    """

    def identity() -> dict:
        count, digest = listing.measure()
        return work.identity(listing_hash=digest, total=count)

    measured = on_root(comm, identity)
    with open_run(comm, work, measured) as opened:
        if opened.finished:
            return None
        return _pack_all(comm, listing, work, stop, opened, measured["total"], state)


def _pack_all(
    comm: Comm,
    listing: Listing,
    work: Work,
    stop: StopSignal,
    opened: Opened,
    count: int,
    state: RunState,
) -> Totals:
    run = work.run
    # Items that are dearer to pack cannot be told before they are read: stream order.
    batches = np.arange(-(-count // BATCH_ROWS))
    if run.shard:
        batches = np.sort(shard_batches(np.ones(len(batches)), *run.shard))
    total = sum(min(BATCH_ROWS, count - b * BATCH_ROWS) for b in batches.tolist())
    initial = 0 if run.shard else len(opened.completed)
    with opened.recorder(comm) as recorder:
        worker = _Worker(comm, listing, work.options, opened, recorder)
        with Progress(
            total,
            "structures packed",
            run.progress,
            rank=comm.rank,
            initial=initial,
            state=state,
        ) as progress:
            queue = worker.queue = WorkQueue(comm, len(batches), stop)
            totals = drive(comm, len(batches), batches, worker, progress, stop, queue)
    if totals.complete and not run.shard:
        on_root(comm, functools.partial(merge_output, work.kind, run.output))
    return totals


class _Worker:
    """Does one batch of the stream; draws come in ascending order, so the stream is read once."""

    queue: WorkQueue  # set before the first batch

    def __init__(
        self, comm: Comm, listing: Listing, options: PackOptions, opened: Opened, recorder
    ):
        self.rank, self.options, self.opened, self.recorder = comm.rank, options, opened, recorder
        assert opened.store is not None, "what is finished is not opened for work"
        self.store = opened.store
        self.stream, self.position = iter(listing), 0

    def __call__(self, number: int) -> tuple[int, int] | None:
        start = number * BATCH_ROWS
        items = list(
            itertools.islice(self.stream, start - self.position, start - self.position + BATCH_ROWS)
        )
        self.position = start + len(items)
        items = [replace(item, id=storable(item.id)) for item in items]
        rows = np.arange(start, start + len(items))
        # Within a run `duplicate` is the place in the stream; the merge settles what it becomes.
        todo = ~self.opened.completed.contains([item.id for item in items], rows)
        items, rows = [item for item, do in zip(items, todo, strict=True) if do], rows[todo]
        batch = empty_batch(PACKED, len(items), dims(self.options))
        batch["structures/duplicate"][:] = rows
        atoms = []
        for row, item in enumerate(items):
            if self.queue.stopped:
                return None
            atoms.append(self._pack(batch, row, item))
        if items:
            self.store.write(batch, packed_children(atoms), f"{self.rank}-{number}")
        return len(items), count_failures(batch)

    def _pack(self, batch: dict, row: int, item: Item):
        crashed = item.id in self.opened.crashed
        return pack_item(batch, row, item, self.options, self.recorder, crashed=crashed)


def pack_item(
    batch: Batch,
    row: int,
    item: Item,
    options: PackOptions,
    recorder: FlightRecorder | NullRecorder = NULL_RECORDER,
    *,
    crashed: bool = False,
) -> tuple[np.ndarray, ...]:
    """Read and pack one item, into its row of a batch.

    Parameters
    ----------
    crashed
        Leave it out, since native code crashed on it.

    Returns
    -------
    tuple
        Stored numbers and fractional coordinates, conventional numbers and positions; empty
        where they could not be had.
    """
    fields: dict = {}
    batch["structures/id"][row] = item.id
    batch["structures/source"][row] = storable(item.source)
    atoms = (np.empty(0, int), np.empty((0, 3))) * 2
    try:
        blob = _bytes_of(item)
        fields["sha256"] = hashlib.sha256(blob).hexdigest() if blob else ""
        if crashed:
            raise StructureError(
                Status.crashed,
                "native code crashed on this structure in two runs; it is left out",
            )
        structure = item.read(item, blob)
        atoms = (structure.numbers, structure.frac, *atoms[2:])
        atoms = (*atoms[:2], *pack_structure(structure, options, fields, recorder))
    except Exception as error:  # noqa: BLE001 - whatever a reader throws, the row is kept
        fail_row(batch, row, error, item.id)
    for name, value in fields.items():
        batch[f"structures/{name}"][row] = storable(value) if isinstance(value, str) else value
    batch["structures/message"][row] = storable(batch["structures/message"][row])
    log.debug("%s: %s", item.id, Status(int(batch["structures/status"][row])).name)
    return atoms


def _bytes_of(item: Item) -> bytes:
    try:
        return item.blob()
    except OSError as error:
        raise StructureError(
            Status.read_error, f"{item.source}: {error.strerror or error}"
        ) from error


def packed_children(atoms: list[tuple[np.ndarray, ...]]) -> Children:
    """The child tables of a batch from what `pack_item` returned of each row."""
    children = empty_children(PACKED, dims(PackOptions()))
    for table, column, which in (("stored_atoms", "frac", 0), ("atoms", "position", 2)):
        sizes = [len(entry[which]) for entry in atoms]
        children[table] = {
            "structure": np.repeat(np.arange(len(atoms)), sizes),
            "number": np.concatenate(
                [np.empty(0, np.uint8), *(entry[which].astype(np.uint8) for entry in atoms)]
            ),
            column: np.concatenate([np.empty((0, 3)), *(entry[which + 1] for entry in atoms)]),
        }
    return children
