"""A run that works on the rows of a packed file: batches, ranks, parts and the merge, for any kind of result."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.core.errors import Status, StructureError, UsageError
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
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.kinds.packed.schema import STRUCTURES
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.parallel.launch import Comm
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.queue import WorkQueue
from rc_hpc.parallel.run import Totals, drive
from rc_hpc.parallel.shard import batch_costs, make_batches, shard_batches
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.store.batch import empty_batch, empty_children
from rc_hpc.store.merge import merge
from rc_hpc.store.parts import discard
from rc_hpc.store.schema import Schema
from rc_hpc.symmetry.recorder import FlightRecorder

#: A batch holds at most this predicted time, ms, and this many structures: long beside the
#: 20 ms that writing it takes, short enough for ranks to end close together.
BATCH_MS, BATCH_ROWS = 1000.0, 256
CUBIC = 7

#: One structure to the values of its columns by path, and of its child tables by table and column.
Compute = Callable[[PackedCell], tuple[dict, dict[str, dict]]]


@dataclass(frozen=True)
class Job:
    """What a run computes of every packed structure.

    Attributes
    ----------
    schema
        Of the output; its main columns begin with `STRUCTURES`.
    options
        What results depend on; has `pack` and `quarantine`.
    dims
        Lengths of the dimensions that the schema leaves open.
    statics
        Datasets of the file that belong to no structure, from the options as a dict.
    prepare
        Given the flight recorder, makes what computes a structure.
    weight
        Predicted time of a structure in units of a census's, one for all or for each row.
    """

    schema: Schema
    options: object
    dims: dict[str, int]
    statics: Callable[[dict], dict]
    prepare: Callable[[FlightRecorder], Compute]
    weight: float | np.ndarray = 1.0


def predicted_costs(n_atoms, system, status) -> np.ndarray:
    """Predicted time of each structure in a census, (n,), ms on a core of 2024.

    The labels dominate: their time grows with the atoms and is some twenty times higher for
    cubic cells, which have the most operations. Rows that are not computed cost next to nothing.
    """
    cost = 1.0 + 0.05 * np.asarray(n_atoms, float) * np.where(
        np.asarray(system) == CUBIC, 20.0, 1.0
    )
    return np.where(np.asarray(status) == Status.ok, cost, 0.01)


def run_rows(
    comm: Comm, packed: Path, job: Job, run: RunOptions, stop: StopSignal
) -> Totals | None:
    """Compute every structure of a packed file; all ranks together, dearest structures first.

    Returns
    -------
    Totals
        None where the output was finished already.
    """
    with PackedReader(packed) as reader:
        _same_pack(reader, job.options.pack)
        if comm.rank == 0 and not reader.attrs.get("complete_rows", 1):
            log.warning(
                "%s holds %d of %s structures (merged with --partial): only these are computed",
                packed,
                len(reader),
                reader.attrs["total"],
            )
        identity = identity_of(
            job.options, input_hash=str(reader.attrs["content_hash"]), total=len(reader)
        )
        with open_run(comm, run, job.schema, job.dims, identity) as opened:
            return None if opened.finished else _compute_all(comm, reader, job, run, stop, opened)


def _compute_all(
    comm: Comm, reader: PackedReader, job: Job, run: RunOptions, stop: StopSignal, opened: Run
) -> Totals:
    costs = job.weight * predicted_costs(
        reader.read("structures/n_atoms"),
        reader.read("structures/crystal_system_conventional"),
        reader.read("structures/status"),
    )
    bounds, order = make_batches(costs, min(1.0, BATCH_MS / costs.sum()), BATCH_ROWS)
    if run.shard:
        order = shard_batches(batch_costs(costs, bounds), *run.shard)
    done = opened.completed.contains(reader.ids, reader.read("structures/duplicate"))
    left = np.add.reduceat(~done, bounds[:-1], dtype=int)
    order = order[left[order] > 0]
    with open_recorder(comm, opened) as recorder:
        worker = _Worker(comm, reader, job, job.prepare(recorder), opened, done, bounds)
        with Progress(
            int(left[order].sum()), "structures", run.progress, rank=comm.rank
        ) as progress:
            queue = worker.queue = WorkQueue(comm, len(order), stop)
            totals = drive(comm, len(order), order, worker, progress, stop, queue)
    if totals.complete and not run.shard:
        on_root(comm, functools.partial(merge_rows, run.output, job.schema, job.statics))
    return totals


def merge_rows(
    output: Path, schema: Schema, statics: Callable[[dict], dict], partial: bool = False
) -> str:
    """Merge the parts of an output, and remove them where none is missing; returns the content hash.

    Raises
    ------
    RcError
        Rows are missing, unless `partial`; all are.
    """
    store, whole = mergeable(output, schema, partial)
    options = json.loads(store.identity["options"])
    digest = merge(
        store.folder,
        output,
        schema,
        store.dims,
        statics(options),
        {"complete_rows": int(whole)},
        checked=store.good,
    )
    if whole:
        discard(store.folder)
    return digest


def _same_pack(reader: PackedReader, options: PackOptions) -> None:
    found = json.loads(reader.attrs["options"])
    for name, wanted in options.to_dict().items():
        if found[name] != wanted:
            raise UsageError(
                f"{reader.path} was packed with {name} {found[name]}, this run asks for {wanted}: "
                "use the same value, or pack the source again"
            )


class _Worker:
    """Does one batch: a range of rows of the packed file, without those done before."""

    def __init__(
        self,
        comm: Comm,
        reader: PackedReader,
        job: Job,
        compute: Compute,
        opened: Run,
        done,
        bounds,
    ):
        self.rank, self.reader, self.job, self.compute, self.opened = (
            comm.rank,
            reader,
            job,
            compute,
            opened,
        )
        self.done, self.bounds = done, bounds
        self.drop = job.options.quarantine == "drop"
        self.queue: WorkQueue | None = None

    def __call__(self, number: int) -> tuple[int, int] | None:
        start, stop = int(self.bounds[number]), int(self.bounds[number + 1])
        packed, children = self.reader.rows(start, stop, ("atoms",))
        rows = np.flatnonzero(~self.done[start:stop])
        batch = empty_batch(self.job.schema, len(rows), self.job.dims)
        for column in STRUCTURES:
            batch[column.path][:] = packed[column.path][rows]
        first = np.searchsorted(children["atoms"]["structure"], np.arange(stop - start + 1))
        found = []
        for row, source in enumerate(rows):
            if self.queue.stopped:
                return None
            atoms = {
                name: values[first[source] : first[source + 1]]
                for name, values in children["atoms"].items()
            }
            found.append(self._row(batch, row, atoms))
        self.opened.store.write(batch, _join(self.job, found), f"{self.rank}-{number}")
        return len(rows), count_failures(batch)

    def _row(self, batch: dict, row: int, atoms: dict) -> dict | None:
        """Fill one row of the batch; returns its child tables, None where nothing was computed."""

        def value(name):
            return batch[f"structures/{name}"][row]

        id_ = value("id")
        if value("status") != Status.ok:
            return None
        if self.drop and value("quarantine"):
            batch["structures/status"][row] = Status.quarantined
            batch["structures/message"][row] = (
                "its label is not stable (see structures/quarantine); --quarantine keep computes it"
            )
            return None
        try:
            if id_ in self.opened.crashed:
                raise StructureError(
                    Status.crashed,
                    "native code crashed on this structure in two runs; it is left out",
                )
            fields, children = self.compute(
                PackedCell(
                    id_,
                    value("lattice"),
                    atoms["position"],
                    atoms["number"],
                    int(value("space_group")),
                    int(value("space_group_conventional")),
                    float(value("min_same_species")),
                )
            )
        except Exception as error:  # noqa: BLE001 - whatever happens, the row is kept
            fail_row(batch, row, error, id_)
            return None
        for path, found in fields.items():
            batch[path][row] = found
        log.debug("%s: done", id_)
        return children


def _join(job: Job, found: list[dict | None]) -> dict:
    """The child tables of a batch's rows, each as one."""
    joined = {}
    for table, columns in empty_children(job.schema, job.dims).items():
        entries = [
            (row, children[table]) for row, children in enumerate(found) if children is not None
        ]
        values = {
            name: np.concatenate([empty, *(entry[name] for _, entry in entries)])
            for name, empty in columns.items()
            if name != "structure"
        }
        sizes = [len(next(iter(entry.values()))) for _, entry in entries]
        values["structure"] = np.repeat([row for row, _ in entries], sizes)
        joined[table] = {name: values[name].astype(empty.dtype) for name, empty in columns.items()}
    return joined
