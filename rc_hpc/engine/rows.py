"""A run of any kind over the rows of a packed file: batches, ranks, parts and the merge."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np

from rc_hpc.core.errors import Status, StructureError, UsageError
from rc_hpc.engine.merging import merge_output
from rc_hpc.engine.run import Opened, Work, count_failures, fail_row, log, on_root, open_run
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.packed.reader import PackedReader, packed_cell
from rc_hpc.kinds.packed.schema import STRUCTURES
from rc_hpc.parallel.launch import Comm
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.queue import WorkQueue
from rc_hpc.parallel.run import Totals, drive
from rc_hpc.parallel.shard import batch_costs, make_batches, shard_batches
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.parallel.state import RunState
from rc_hpc.store.batch import Batch, Children, empty_batch, empty_children
from rc_hpc.store.schema import Schema

#: A batch holds at most this predicted time, ms, and this many structures: long beside the
#: 20 ms that writing it takes, short enough for ranks to end close together.
BATCH_MS, BATCH_ROWS = 1000.0, 256


def run_rows(
    comm: Comm, packed: Path, work: Work, shared, stop: StopSignal, state: RunState
) -> Totals | None:
    """Compute every structure of a packed file; all ranks together, dearest structures first.

    Parameters
    ----------
    shared
        From the kind's plan.

    Returns
    -------
    Totals
        None where the output was finished already.
    """
    with PackedReader(packed) as reader:
        same_pack(reader, work.options.pack)
        if comm.rank == 0 and not reader.attrs.get("complete_rows", 1):
            log.warning(
                "%s holds %d of %s structures (merged with --partial): only these are computed",
                packed,
                len(reader),
                reader.attrs["total"],
            )
        content = str(reader.attrs["content_hash"])
        identity = on_root(comm, lambda: work.identity(input_hash=content, total=len(reader)))
        with open_run(comm, work, identity) as opened:
            if opened.finished:
                return None
            return _compute_all(comm, reader, work, shared, stop, opened, state)


def _compute_all(
    comm: Comm,
    reader: PackedReader,
    work: Work,
    shared,
    stop: StopSignal,
    opened: Opened,
    state: RunState,
) -> Totals:
    run, kind = work.run, work.kind
    costs = kind.load("costs")(work.options, shared, lambda name: reader.read(f"structures/{name}"))
    bounds, order = make_batches(costs, min(1.0, BATCH_MS / costs.sum()), BATCH_ROWS)
    if run.shard:
        order = shard_batches(batch_costs(costs, bounds), *run.shard)
    done = opened.completed.contains(reader.ids, reader.read("structures/duplicate"))
    if opened.lost:
        done &= ~np.isin(reader.ids, list(opened.lost))
    left = np.add.reduceat(~done, bounds[:-1], dtype=int)
    order = order[left[order] > 0]
    with opened.recorder(comm) as recorder:
        compute = kind.load("oracle")(work.options, Given(shared, recorder, run.output))
        worker = _Worker(comm, reader, work, compute, opened, done, bounds)
        total = int(left[order].sum())
        with Progress(total, "structures", run.progress, rank=comm.rank, state=state) as progress:
            queue = worker.queue = WorkQueue(comm, len(order), stop)
            totals = drive(comm, len(order), order, worker, progress, stop, queue)
    if totals.complete and not run.shard:
        on_root(comm, functools.partial(merge_output, kind, run.output))
    return totals


def same_pack(reader: PackedReader, options: PackOptions) -> None:
    """Refuse a file that was packed under other options.

    Raises
    ------
    UsageError
    """
    packed = json.loads(reader.attrs["options"])
    for name, wanted in options.to_dict().items():
        if packed[name] != wanted:
            raise UsageError(
                f"{reader.path} was packed with {name} {packed[name]}, this run asks for "
                f"{wanted}: use the same value, or pack the source again"
            )


class _Worker:
    """Does one batch: a range of rows of the packed file, without those done before."""

    queue: WorkQueue  # set before the first batch

    def __init__(
        self,
        comm: Comm,
        reader: PackedReader,
        work: Work,
        compute: Compute,
        opened: Opened,
        done,
        bounds,
    ):
        self.rank, self.reader, self.compute, self.opened = comm.rank, reader, compute, opened
        self.done, self.bounds = done, bounds
        self.schema, self.dims = work.schema, work.dims
        assert opened.store is not None, "what is finished is not opened for work"
        self.store = opened.store
        self.drop = work.options.quarantine == "drop"

    def __call__(self, number: int) -> tuple[int, int] | None:
        start, stop = int(self.bounds[number]), int(self.bounds[number + 1])
        packed, packed_children = self.reader.rows(start, stop, ("atoms",))
        all_atoms = packed_children["atoms"]
        rows = np.flatnonzero(~self.done[start:stop])
        batch = empty_batch(self.schema, len(rows), self.dims)
        for column in STRUCTURES:
            batch[column.path][:] = packed[column.path][rows]
        first = np.searchsorted(all_atoms["structure"], np.arange(stop - start + 1))
        tables = []
        for row, source in enumerate(rows):
            if self.queue.stopped:
                return None
            own = slice(first[source], first[source + 1])
            atoms = {name: values[own] for name, values in all_atoms.items()}
            tables.append(self._row(batch, row, atoms))
        children = joined(self.schema, self.dims, tables)
        self.store.write(batch, children, f"{self.rank}-{number}")
        return len(rows), count_failures(batch)

    def _row(self, batch: dict, row: int, atoms: dict) -> dict | None:
        """Fill one row of the batch; returns its child tables, None where nothing was computed."""
        crashed = batch["structures/id"][row] in self.opened.crashed
        return compute_row(batch, row, atoms, self.compute, drop=self.drop, crashed=crashed)


def compute_row(
    batch: Batch, row: int, atoms: Batch, compute: Compute, *, drop: bool, crashed: bool = False
) -> dict | None:
    """Compute one structure of a batch, into its row.

    Parameters
    ----------
    batch
        With the structure's packed columns; receives what is computed, or why nothing was.
    atoms
        Its rows of the packed table.
    drop
        Leave it out where its label is not stable.
    crashed
        Leave it out, since native code crashed on it.

    Returns
    -------
    dict or None
        Its child tables; None where nothing was computed.
    """
    id_ = batch["structures/id"][row]
    if batch["structures/status"][row] != Status.ok:
        return None
    if drop and batch["structures/quarantine"][row]:
        batch["structures/status"][row] = Status.quarantined
        batch["structures/message"][row] = (
            "its label is not stable (see structures/quarantine); --quarantine keep computes it"
        )
        return None
    try:
        if crashed:
            raise StructureError(
                Status.crashed,
                "native code crashed on this structure in two runs; it is left out",
            )
        fields, children = compute(packed_cell(batch, row, atoms))
    except Exception as error:  # noqa: BLE001 - whatever happens, the row is kept
        fail_row(batch, row, error, id_)
        return None
    for path, value in fields.items():
        batch[path][row] = value
    log.debug("%s: done", id_)
    return children


def joined(schema: Schema, dims: dict[str, int], tables: list[dict | None]) -> Children:
    """The child tables of a batch's rows, each as one."""
    whole = {}
    for table, columns in empty_children(schema, dims).items():
        entries = [(row, own[table]) for row, own in enumerate(tables) if own is not None]
        values = {
            name: np.concatenate([empty, *(entry[name] for _, entry in entries)])
            for name, empty in columns.items()
            if name != "structure"
        }
        sizes = [len(next(iter(entry.values()))) for _, entry in entries]
        values["structure"] = np.repeat([row for row, _ in entries], sizes)
        whole[table] = {name: values[name].astype(empty.dtype) for name, empty in columns.items()}
    return whole
