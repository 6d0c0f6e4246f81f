"""The packing run: any source to a packed HDF5 file, by all ranks, in bounded memory."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from rc_hpc.core.constants import SWEEP
from rc_hpc.core.errors import Status, StructureError, UsageError
from rc_hpc.core.files import parts_folder
from rc_hpc.engine.run import (
    Run,
    RunOptions,
    count_failures,
    fail_row,
    identity_of,
    log,
    mergeable,
    on_root,
    open_recorder,
    open_run,
)
from rc_hpc.kinds.common.statics import vocabulary
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.packed.oracle import pack_structure
from rc_hpc.kinds.packed.schema import PACKED
from rc_hpc.parallel.launch import Comm
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.queue import WorkQueue
from rc_hpc.parallel.run import Totals, drive
from rc_hpc.parallel.shard import shard_batches
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.store.batch import empty_batch, empty_children, storable
from rc_hpc.store.content import input_hash
from rc_hpc.store.duplicates import resolve_duplicates
from rc_hpc.store.merge import merge
from rc_hpc.store.parts import PartStore, discard
from rc_hpc.structures.record import Item
from rc_hpc.structures.sources import filter_ids, iter_items

DIMS = {"setting": len(SWEEP)}
#: Structures in one batch: some seconds of work, so that a stop loses little.
BATCH_ROWS = 32


class Listing:
    """A source as a countable, repeatable stream of items.

    Parameters
    ----------
    sources, format, seed
        See `rc_hpc.structures.sources.iter_items`.
    ids
        Only these; None: all.
    outputs
        Files of this run, which are no part of a source although they may lie in its folder.
    """

    def __init__(
        self,
        sources: Iterable[str],
        ids: frozenset[str] | None = None,
        format: str | None = None,
        seed: int = 0,
        outputs: Iterable[Path] = (),
    ):
        self.sources, self.ids, self.format, self.seed = tuple(sources), ids, format, seed
        self._outputs = tuple(
            os.path.abspath(path) for output in outputs for path in (output, parts_folder(output))
        )

    def __iter__(self) -> Iterator[Item]:
        items = (
            item
            for item in iter_items(self.sources, format=self.format, seed=self.seed)
            if not self._ours(item.source)
        )
        return items if self.ids is None else filter_ids(items, set(self.ids))

    def _ours(self, source: str) -> bool:
        path = os.path.abspath(source)
        return any(path == own or path.startswith(f"{own}{os.sep}") for own in self._outputs)

    def count(self) -> int:
        """Number of items."""
        return self._some(sum(1 for _ in self))

    def measure(self) -> tuple[int, str]:
        """Number of items, and a hash of their ids and bytes in their order.

        Work under way is told apart by ids and places in the stream: it cannot go on
        where these have changed, and must not where the content has.
        """
        count, digest = 0, hashlib.sha256()
        for count, item in enumerate(self, 1):  # noqa: B007 - the last count is wanted
            try:
                content = hashlib.sha256(item.blob()).hexdigest()
            except OSError:
                content = ""  # its row will say why
            digest.update(json.dumps([item.id, content]).encode())
        return self._some(count), digest.hexdigest()

    def _some(self, count: int) -> int:
        if count == 0:
            raise UsageError(f"no structures in {', '.join(self.sources)}")
        return count


def run_packing(
    comm: Comm, listing: Listing, options: PackOptions, run: RunOptions, stop: StopSignal
) -> Totals | None:
    """Pack all items of a listing; all ranks together.

    Returns
    -------
    Totals
        None where the output was finished already.
    """
    count, digest = on_root(comm, listing.measure)
    identity = identity_of(options, listing_hash=digest, total=count)
    with open_run(comm, run, PACKED, DIMS, identity) as opened:
        return (
            None if opened.finished else _pack_all(comm, listing, options, run, stop, opened, count)
        )


def _pack_all(
    comm: Comm,
    listing: Listing,
    options: PackOptions,
    run: RunOptions,
    stop: StopSignal,
    opened: Run,
    count: int,
) -> Totals:
    # Items that are dearer to pack cannot be told before they are read: stream order.
    batches = np.arange(-(-count // BATCH_ROWS))
    if run.shard:
        batches = np.sort(shard_batches(np.ones(len(batches)), *run.shard))
    total = int(sum(min(BATCH_ROWS, count - b * BATCH_ROWS) for b in batches))
    with open_recorder(comm, opened) as recorder:
        worker = _Worker(comm, listing, options, opened, recorder)
        initial = 0 if run.shard else len(opened.completed)
        with Progress(
            total, "structures packed", run.progress, rank=comm.rank, initial=initial
        ) as progress:
            queue = worker.queue = WorkQueue(comm, len(batches), stop)
            totals = drive(comm, len(batches), batches, worker, progress, stop, queue)
    if totals.complete and not run.shard:
        on_root(comm, functools.partial(merge_packed, run.output))
    return totals


def merge_packed(output: Path, partial: bool = False) -> str:
    """Merge the parts of a packed file, and remove them where none is missing; returns the content hash.

    Raises
    ------
    RcError
        Rows are missing, unless `partial`; all are.
    """
    store, whole = mergeable(output, PACKED, partial)
    digest = merge(
        store.folder,
        output,
        PACKED,
        DIMS,
        vocabulary(),
        {"input_hash": input_hash(_origins(store)), "complete_rows": int(whole)},
        resolve=resolve_duplicates,
        checked=store.good,
    )
    if whole:
        discard(store.folder)
    return digest


def _origins(store: PartStore) -> Iterable[tuple[str, str]]:
    rows = set()  # by place in the stream as well: a row done twice is one row
    for part in store.good:
        ids, hashes, places = store.columns(
            part, "structures/id", "structures/sha256", "structures/duplicate"
        )
        rows.update(zip(ids, hashes, places.tolist(), strict=True))
    return ((id_, sha256) for id_, sha256, _ in rows)


class _Worker:
    """Does one batch of the stream; draws come in ascending order, so the stream is read once."""

    def __init__(self, comm: Comm, listing: Listing, options: PackOptions, opened: Run, recorder):
        self.rank, self.options, self.opened, self.recorder = comm.rank, options, opened, recorder
        self.stream, self.position = iter(listing), 0
        self.queue: WorkQueue | None = None

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
        batch = empty_batch(PACKED, len(items), DIMS)
        batch["structures/duplicate"][:] = rows
        atoms = []
        for row, item in enumerate(items):
            if self.queue.stopped:
                return None
            atoms.append(self._pack(batch, row, item))
        if items:
            self.opened.store.write(batch, _children(atoms), f"{self.rank}-{number}")
        return len(items), count_failures(batch)

    def _pack(self, batch: dict, row: int, item: Item):
        """Fill one row; returns (stored numbers, frac, conventional numbers, positions)."""
        fields: dict = {}
        batch["structures/id"][row] = item.id
        batch["structures/source"][row] = storable(item.source)
        atoms = (np.empty(0, int), np.empty((0, 3))) * 2
        try:
            blob = _bytes_of(item)
            fields["sha256"] = hashlib.sha256(blob).hexdigest() if blob else ""
            if item.id in self.opened.crashed:
                raise StructureError(
                    Status.crashed,
                    "native code crashed on this structure in two runs; it is left out",
                )
            structure = item.read(item, blob)
            atoms = (structure.numbers, structure.frac, *atoms[2:])
            atoms = (*atoms[:2], *pack_structure(structure, self.options, fields, self.recorder))
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


def _children(atoms: list[tuple]) -> dict:
    children = empty_children(PACKED, DIMS)
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
