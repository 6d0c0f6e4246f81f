"""The packing run: any source to a packed HDF5 file, by all ranks, in bounded memory."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rc_hpc.core.apart import Cut, Lost, alone
from rc_hpc.core.errors import RcError, Status, StructureError
from rc_hpc.core.text import storable
from rc_hpc.engine.hand import Hand
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
from rc_hpc.symmetry.recorder import NULL_RECORDER, Recorder

#: Stored numbers and fractional coordinates, conventional numbers and positions.
Atoms = tuple[np.ndarray, ...]
NO_ATOMS: Atoms = (np.empty(0, int), np.empty((0, 3))) * 2
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
        # Files are scanned, and those of databases parsed: where that can be ended.
        try:
            count, digest, strays = alone(listing.measure, stopped=lambda: stop.requested)
        except Lost as lost:
            raise RcError(
                f"{', '.join(listing.sources)}: {lost} while its structures were listed: list "
                "its files in parts to find the one"
            ) from lost
        if strays:
            log.warning("passed over: %s", strays)
        return work.identity(listing_hash=digest, total=count)

    measured = on_root(comm, functools.partial(_unless_stopped, identity))
    if measured is None:  # while the sources were listed
        return Totals(0, 0, 0, False, max(comm.allgather(stop.exit_code)))
    with open_run(comm, work, measured) as opened:
        if opened.finished:
            return None
        return _pack_all(comm, listing, work, stop, opened, measured["total"], state)


def _unless_stopped(function: Callable[[], dict]) -> dict | None:
    try:
        return function()
    except Cut:
        return None


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
        queue = WorkQueue(comm, len(batches), stop)
        made_of = functools.partial(_made_of, options=work.options, recorder=recorder)
        with (
            Hand(made_of, run.cpu_budget, recorder, lambda: queue.stopped) as hand,
            Progress(
                total,
                "structures packed",
                run.progress,
                rank=comm.rank,
                initial=initial,
                state=state,
            ) as progress,
        ):
            worker = _Worker(comm, listing, work.options, opened, hand, queue)
            totals = drive(comm, len(batches), batches, worker, progress, stop, queue)
    if totals.complete and not run.shard:
        on_root(comm, functools.partial(merge_output, work.kind, run.output))
    return totals


class _Worker:
    """Does one batch of the stream; draws come in ascending order, so the stream is read once."""

    def __init__(
        self,
        comm: Comm,
        listing: Listing,
        options: PackOptions,
        opened: Opened,
        hand: Hand,
        queue: WorkQueue,
    ):
        self.rank, self.options, self.opened, self.hand = comm.rank, options, opened, hand
        self.queue = queue
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
            try:
                atoms.append(self._pack(batch, row, item))
            except Cut:
                return None
        if items:
            self.store.write(batch, packed_children(atoms), f"{self.rank}-{number}")
        return len(items), count_failures(batch)

    def _pack(self, batch: Batch, row: int, item: Item) -> Atoms:
        fields: dict[str, Any]
        try:
            if item.id in self.opened.crashed:
                raise StructureError(
                    Status.crashed,
                    "native code crashed on this structure in two runs; it is left out",
                )
            fields, atoms = self.hand(item)
        except StructureError as lost:
            fields, atoms = _failed(lost, item.id), NO_ATOMS
            fields["sha256"] = self.hand.once(_digest_of, item, default="")
        return _fill(batch, row, item, fields, atoms)


def pack_item(batch: Batch, row: int, item: Item, options: PackOptions) -> Atoms:
    """Read and pack one item, into its row of a batch.

    Returns
    -------
    tuple
        Stored numbers and fractional coordinates, conventional numbers and positions; empty
        where they could not be had.
    """
    return _fill(batch, row, item, *_made_of(item, options))


def _made_of(
    item: Item, options: PackOptions, recorder: Recorder = NULL_RECORDER
) -> tuple[dict[str, Any], Atoms]:
    """Fields and atoms of an item; whatever is wrong with it is in the fields."""
    fields: dict[str, Any] = {}
    atoms = NO_ATOMS
    try:
        blob = _bytes_of(item)
        fields["sha256"] = _digest(blob)
        structure = item.read(item, blob)
        atoms = (structure.numbers, structure.frac, *atoms[2:])
        atoms = (*atoms[:2], *pack_structure(structure, options, fields, recorder))
    except Exception as error:  # noqa: BLE001 - whatever a reader throws, the row is kept
        fields |= _failed(error, item.id)
    return fields, atoms


def _failed(error: Exception, what: str) -> dict[str, Any]:
    row: Batch = {"structures/status": np.zeros(1, int), "structures/message": np.array([""], "O")}
    fail_row(row, 0, error, what)
    return {name.rpartition("/")[2]: values[0] for name, values in row.items()}


def _fill(batch: Batch, row: int, item: Item, fields: dict[str, Any], atoms: Atoms) -> Atoms:
    fields = {"id": item.id, "source": item.source, **fields}
    for name, value in fields.items():
        batch[f"structures/{name}"][row] = storable(value) if isinstance(value, str) else value
    log.debug("%s: %s", item.id, Status(int(batch["structures/status"][row])).name)
    return atoms


def _digest(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest() if blob else ""


def _digest_of(item: Item) -> str:
    return _digest(_bytes_of(item))


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
