"""A run of any kind over the rows of a packed file, or of the kind's own source.

Batches, ranks, parts and the merge.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Self

import numpy as np

from rc_hpc.core.apart import Cut
from rc_hpc.core.errors import Status, StructureError, UsageError
from rc_hpc.engine.hand import Hand
from rc_hpc.engine.merging import merge_output
from rc_hpc.engine.run import Opened, Work, count_failures, fail_row, log, on_root, open_run
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.common.source import Source
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.packed.reader import PackedReader, packed_cell
from rc_hpc.kinds.packed.schema import STRUCTURES
from rc_hpc.oracle.cell import PackedCell
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


class PackedRows:
    """Structures of a packed file, as the engine takes them; see `Source`.

    Parameters
    ----------
    path
    options
        Those that the file must have been packed under.
    but
        Names of those that may differ.
    tell
        Whether to warn of a file that lacks structures.

    Raises
    ------
    UsageError
        Packed under other options.
    """

    def __init__(
        self, path: Path, options: PackOptions, but: Collection[str] = (), tell: bool = False
    ):
        self.reader = PackedReader(path)
        attrs = self.reader.attrs
        self.content = str(attrs["content_hash"])
        try:
            same_pack(self.reader, options, but)
        except UsageError:
            self.reader.close()
            raise
        if tell and not attrs.get("complete_rows", 1):
            log.warning(
                "%s holds %d of %s structures (merged with --partial): only these are computed",
                path,
                len(self.reader),
                attrs["total"],
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.reader.close()

    def __len__(self) -> int:
        return len(self.reader)

    @property
    def ids(self) -> list[str]:
        """All ids, in row order."""
        return self.reader.ids

    def read(self, name: str) -> np.ndarray:
        """See `Source`."""
        return self.reader.read(f"structures/{name}")

    def block(self, start: int, stop: int) -> tuple[Batch, Callable[[int], PackedCell]]:
        """See `Source`."""
        batch, children = self.reader.rows(start, stop, ("atoms",))
        atoms = children["atoms"]
        first = np.searchsorted(atoms["structure"], np.arange(stop - start + 1))

        def cell(i: int) -> PackedCell:
            own = slice(first[i], first[i + 1])
            return packed_cell(batch, i, {name: values[own] for name, values in atoms.items()})

        return {column.path: batch[column.path] for column in STRUCTURES}, cell


def run_rows(
    comm: Comm, source: Source, work: Work, shared, stop: StopSignal, state: RunState
) -> Totals | None:
    """Compute every row of a source, open; all ranks together, dearest rows first.

    Parameters
    ----------
    shared
        From the kind's plan.

    Returns
    -------
    Totals
        None where the output was finished already.
    """
    content = source.content
    identity = on_root(comm, lambda: work.identity(input_hash=content, total=len(source)))
    with open_run(comm, work, identity) as opened:
        if opened.finished:
            return None
        return _compute_all(comm, source, work, shared, stop, opened, state)


def _compute_all(
    comm: Comm,
    source: Source,
    work: Work,
    shared,
    stop: StopSignal,
    opened: Opened,
    state: RunState,
) -> Totals:
    run, kind = work.run, work.kind
    costs = kind.load("costs")(work.options, shared, source.read)
    bounds, order = make_batches(costs, min(1.0, BATCH_MS / costs.sum()), BATCH_ROWS)
    if run.shard:
        order = shard_batches(batch_costs(costs, bounds), *run.shard)
    done = opened.completed.contains(source.ids, source.read("duplicate"))
    if opened.lost:
        done &= ~np.isin(source.ids, list(opened.lost))
    left = np.add.reduceat(~done, bounds[:-1], dtype=int)
    order = order[left[order] > 0]
    with opened.recorder(comm) as recorder:
        compute = kind.load("oracle")(work.options, Given(shared, recorder, run.output))
        queue = WorkQueue(comm, len(order), stop)
        total = int(left[order].sum())
        with (
            Hand(compute, run.cpu_budget, recorder, lambda: queue.stopped) as hand,
            Progress(total, kind.unit, run.progress, rank=comm.rank, state=state) as progress,
        ):
            worker = _Worker(comm, source, work, hand, opened, (done, bounds, costs), queue)
            totals = drive(comm, len(order), order, worker, progress, stop, queue)
    if totals.complete and not run.shard:
        on_root(comm, functools.partial(merge_output, kind, run.output))
    return totals


def same_pack(reader: PackedReader, options: PackOptions, but: Collection[str] = ()) -> None:
    """Refuse a file that was packed under other options; those named in `but` may differ.

    Raises
    ------
    UsageError
    """
    packed = json.loads(reader.attrs["options"])
    for name, wanted in options.to_dict().items():
        # An option that the file's version did not have: its cells are taken as they are.
        if name not in but and packed.get(name, wanted) != wanted:
            raise UsageError(
                f"{reader.path} was packed with {name} {packed[name]}, this run asks for "
                f"{wanted}: use the same value, or pack the source again"
            )


class _Worker:
    """Does one batch: a range of rows of the source, without those done before."""

    def __init__(
        self,
        comm: Comm,
        source: Source,
        work: Work,
        hand: Hand,
        opened: Opened,
        plan: tuple[np.ndarray, np.ndarray, np.ndarray],
        queue: WorkQueue,
    ):
        self.rank, self.source, self.hand, self.opened = comm.rank, source, hand, opened
        self.done, self.bounds, self.costs = plan
        self.queue = queue
        self.schema, self.dims = work.schema, work.dims
        assert opened.store is not None, "what is finished is not opened for work"
        self.store = opened.store
        self.drop = getattr(work.options, "quarantine", "keep") == "drop"

    def __call__(self, number: int) -> tuple[int, int] | None:
        start, stop = int(self.bounds[number]), int(self.bounds[number + 1])
        known, item = self.source.block(start, stop)
        rows = np.flatnonzero(~self.done[start:stop])
        batch = empty_batch(self.schema, len(rows), self.dims)
        for path, values in known.items():
            batch[path][:] = values[rows]
        tables = []
        for row, at in enumerate(rows):
            if self.queue.stopped:
                return None
            expected_s = float(self.costs[start + at]) / 1000
            compute = functools.partial(self.hand, expected_s=expected_s)
            try:
                tables.append(self._row(batch, row, functools.partial(item, int(at)), compute))
            except Cut:
                return None
        children = joined(self.schema, self.dims, tables)
        self.store.write(batch, children, f"{self.rank}-{number}")
        return len(rows), count_failures(batch)

    def _row(self, batch: dict, row: int, item: Callable[[], Any], compute: Compute) -> dict | None:
        """Fill one row of the batch; returns its child tables, None where nothing was computed."""
        crashed = batch["structures/id"][row] in self.opened.crashed
        return compute_row(batch, row, item, compute, drop=self.drop, crashed=crashed)


def compute_row(
    batch: Batch,
    row: int,
    item: Callable[[], Any],
    compute: Compute,
    *,
    drop: bool,
    crashed: bool = False,
) -> dict | None:
    """Compute one row of a batch.

    Parameters
    ----------
    batch
        With the row's known columns; receives what is computed, or why nothing was.
    item
        What the oracle takes.
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
        fields, children = compute(item())
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
