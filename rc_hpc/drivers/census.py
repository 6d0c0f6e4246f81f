"""The census run: a packed file to a census file, by all ranks, dearest structures first."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np

from rc_hpc.constants import SWEEP
from rc_hpc.drivers.common import (
    Run,
    RunOptions,
    count_failures,
    fail_row,
    log,
    on_root,
    open_run,
    vocabulary,
)
from rc_hpc.errors import RcError, Status, StructureError, UsageError
from rc_hpc.geometry.pairs import subset_masks
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.options import CensusOptions, PackOptions
from rc_hpc.oracle.census import CensusOracle, PackedCell
from rc_hpc.parallel.launch import Comm
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.queue import WorkQueue
from rc_hpc.parallel.run import Totals, drive
from rc_hpc.parallel.shard import batch_costs, make_batches, shard_batches
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.store.batch import empty_batch, empty_children
from rc_hpc.store.merge import merge
from rc_hpc.store.parts import PartStore, discard, parts_folder
from rc_hpc.store.reader import PackedReader
from rc_hpc.store.schema import CENSUS, STRUCTURES
from rc_hpc.symmetry.recorder import FlightRecorder

#: A batch holds at most this predicted time, ms, and this many structures: long beside the
#: 20 ms that writing it takes, short enough for ranks to end close together.
BATCH_MS, BATCH_ROWS = 1000.0, 256
CUBIC = 7


def predicted_costs(n_atoms, system, status) -> np.ndarray:
    """Predicted time of each structure, (n,), ms on a core of 2024.

    The labels dominate: their time grows with the atoms and is some twenty times higher for
    cubic cells, which have the most operations. Rows that are not computed cost next to nothing.
    """
    cost = 1.0 + 0.05 * np.asarray(n_atoms, float) * np.where(np.asarray(system) == CUBIC, 20.0, 1.0)
    return np.where(np.asarray(status) == Status.ok, cost, 0.01)


def identity_of(options: CensusOptions, reader: PackedReader) -> dict:
    """What a census depends on."""
    return {
        "options": options.to_json(),
        "options_hash": options.digest(),
        "input_hash": str(reader.attrs["content_hash"]),
        "total": len(reader),
    }


def run_census(comm: Comm, packed: Path, protocol: Protocol, options: CensusOptions, run: RunOptions, stop: StopSignal) -> Totals | None:
    """Census of a packed file; all ranks together.

    Returns
    -------
    Totals
        None where the output was finished already.
    """
    with PackedReader(packed) as reader:
        _same_pack(reader, options.pack)
        identity = identity_of(options, reader)
        opened = open_run(comm, run, CENSUS, dims_of(options), identity)
        if opened.finished:
            return None
        costs = predicted_costs(
            reader.read("structures/n_atoms"), reader.read("structures/crystal_system_conventional"),
            reader.read("structures/status"))
        bounds, order = make_batches(costs, min(1.0, BATCH_MS / costs.sum()), BATCH_ROWS)
        if run.shard:
            order = shard_batches(batch_costs(costs, bounds), *run.shard)
        done = opened.completed.contains(reader.ids, reader.read("structures/duplicate"))
        left = np.add.reduceat(~done, bounds[:-1], dtype=int)
        order = order[left[order] > 0]
        with FlightRecorder(opened.flights, comm.rank) as recorder:
            oracle = CensusOracle(protocol, options, recorder)
            worker = _Worker(comm, reader, oracle, opened, done, bounds)
            with Progress(int(left[order].sum()), "structures", run.progress, rank=comm.rank) as progress:
                queue = worker.queue = WorkQueue(comm, len(order), stop)
                totals = drive(comm, len(order), order, worker, progress, stop, queue)
    if totals.complete and not run.shard:
        on_root(comm, functools.partial(merge_census, run.output))
    return totals


def merge_census(output: Path, partial: bool = False) -> str:
    """Merge the parts of a census and remove them; returns the content hash.

    Raises
    ------
    RcError
        Rows are missing, unless `partial`.
    """
    folder = parts_folder(output)
    store = PartStore.open(folder, CENSUS)
    total, done = store.identity["total"], len(store.completed())
    if done < total and not partial:
        raise RcError(f"{output}: {total - done} of {total} structures are not done yet: run with --resume (or merge --partial)")
    options = json.loads(store.identity["options"])
    digest = merge(folder, output, CENSUS, store.dims, statics(options), {"complete_rows": int(done >= total)})
    discard(folder)
    return digest


def dims_of(options: CensusOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return {"setting": len(SWEEP), "subset": len(options.subsets), "view": len(options.protocol["views"])}


def statics(options: dict) -> dict:
    """Datasets of a census file that belong to no structure, from the options it was made with."""
    identity = options["protocol"]
    protocol = Protocol(identity["name"], tuple(identity["views"]), np.array(identity["rotations"]), tuple(identity["tiling"]))
    subsets = [tuple(subset) for subset in options["subsets"]]
    kappas = protocol.kappas()
    return {
        **vocabulary(),
        "protocol/view": (protocol.views, "1", "Name of each camera.", ("view",)),
        "protocol/rotation": (
            protocol.rotations, "1", "Rotation of each camera: screen x, y and depth are columns of position @ rotation.",
            ("view", "xyz", "screen")),
        "protocol/direction": (protocol.directions, "1", "View direction of each camera, towards the viewer.", ("view", "xyz")),
        "protocol/tiling": (np.array(protocol.tiling), "1", "Repetitions of the conventional cell along its axes.", ("axis",)),
        "subsets/mask": (subset_masks(subsets), "1", "Cameras of the subset: bit v stands for /protocol/view[v].", ("subset",)),
        "subsets/name": (["+".join(protocol.views[v] for v in subset) for subset in subsets], "1", "Names of the subset's cameras.", ("subset",)),
        "subsets/size": (np.array([len(subset) for subset in subsets]), "1", "Number of cameras.", ("subset",)),
        "subsets/kappa": (
            np.array([max((k for pair, k in kappas.items() if set(pair) <= set(subset)), default=np.inf) for subset in subsets]),
            "1", "Largest conditioning number kappa among the subset's independent camera pairs; inf where it has none.", ("subset",)),
    }


def _same_pack(reader: PackedReader, options: PackOptions) -> None:
    found = json.loads(reader.attrs["options"])
    for name, wanted in options.to_dict().items():
        if found[name] != wanted:
            raise UsageError(
                f"{reader.path} was packed with {name} {found[name]}, the census asks for {wanted}: "
                "use the same value, or pack the source again"
            )


class _Worker:
    """Does one batch: a range of rows of the packed file, without those done before."""

    def __init__(self, comm: Comm, reader: PackedReader, oracle: CensusOracle, opened: Run, done, bounds):
        self.rank, self.reader, self.oracle, self.opened = comm.rank, reader, oracle, opened
        self.done, self.bounds = done, bounds
        self.drop = oracle.options.quarantine == "drop"
        self.dims = dims_of(oracle.options)
        self.queue: WorkQueue | None = None

    def __call__(self, number: int) -> tuple[int, int] | None:
        start, stop = int(self.bounds[number]), int(self.bounds[number + 1])
        packed, children = self.reader.rows(start, stop)
        rows = np.flatnonzero(~self.done[start:stop])
        batch = empty_batch(CENSUS, len(rows), self.dims)
        for column in STRUCTURES:
            batch[column.path][:] = packed[column.path][rows]
        first = np.searchsorted(children["atoms"]["structure"], np.arange(stop - start + 1))
        phantoms = []
        for row, source in enumerate(rows):
            if self.queue.stopped:
                return None
            atoms = {name: values[first[source]:first[source + 1]] for name, values in children["atoms"].items()}
            phantoms.append(self._compute(batch, row, atoms))
        children = {"phantoms": _join(phantoms, self.dims)}
        self.opened.store.write(batch, children, f"{self.rank}-{number}")
        return len(rows), count_failures(batch)

    def _compute(self, batch: dict, row: int, atoms: dict) -> dict | None:
        """Fill one row of the batch; returns its phantoms, None where nothing was computed."""
        def value(name):
            return batch[f"structures/{name}"][row]

        id_ = value("id")
        if value("status") != Status.ok:
            return None
        if self.drop and value("quarantine"):
            batch["structures/status"][row] = Status.quarantined
            batch["structures/message"][row] = "its label is not stable (see structures/quarantine); --quarantine mark computes it"
            return None
        try:
            if id_ in self.opened.crashed:
                raise StructureError(Status.crashed, "native code crashed on this structure in two runs; it is left out")
            fields, phantoms = self.oracle.run(PackedCell(
                id_, value("lattice"), atoms["position"], atoms["number"], int(value("space_group")),
                int(value("space_group_conventional")), float(value("min_same_species"))))
        except Exception as error:  # noqa: BLE001 - whatever happens, the row is kept
            fail_row(batch, row, error, id_)
            return None
        for path, found in fields.items():
            batch[path][row] = found
        log.debug("%s: done", id_)
        return phantoms


def _join(phantoms: list[dict | None], dims: dict) -> dict:
    """The phantoms of a batch's rows as one table."""
    table = empty_children(CENSUS, dims)["phantoms"]
    found = [(row, entry) for row, entry in enumerate(phantoms) if entry is not None]
    joined = {"structure": np.repeat([row for row, _ in found], [len(entry["gap"]) for _, entry in found])}
    joined |= {name: np.concatenate([empty, *(entry[name] for _, entry in found)]) for name, empty in table.items() if name != "structure"}
    return {name: joined[name].astype(empty.dtype) for name, empty in table.items()}
