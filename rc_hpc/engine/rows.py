"""A run of any kind over the rows of a packed file, or of the kind's own source.

Batches, ranks, parts and the merge.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from rc_hpc.core.apart import Cut
from rc_hpc.core.errors import Status, StructureError, UsageError
from rc_hpc.engine.gather import fill, gathered
from rc_hpc.engine.hand import Hand
from rc_hpc.engine.merging import merge_output
from rc_hpc.engine.run import Opened, Work, count_failures, fail_row, log, open_run
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.common.source import Source
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.packed.reader import PackedReader, packed_cell
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.parallel.launch import Comm, on_root
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.queue import WorkQueue
from rc_hpc.parallel.run import Totals, drive
from rc_hpc.parallel.shard import guided, shard_rows
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.parallel.state import RunState
from rc_hpc.store.batch import Batch, Children, empty_batch, empty_children
from rc_hpc.store.schema import Schema

#: A batch holds at most this predicted time, ms, and this many structures, so that a kill loses
#: little, and at least the time of so many draws by all ranks, and of writing it.
BATCH_MS, BATCH_ROWS = 1000.0, 1024
DRAW_MS, DRAWS, WRITE_MS = 0.05, 3, 5.0
#: Rows that lie this close together are read in one piece.
_NEAR = 64
#: Structures in one message to the hand.
_MESSAGE_ROWS = 32


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

        return {column.path: batch[column.path] for column in self.reader.schema.main}, cell


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
    numbers = _numbers(source)
    wanted = ~opened.done[numbers]
    if run.shard:
        mine = np.zeros(len(wanted), bool)
        mine[shard_rows(costs, *run.shard, BATCH_ROWS)] = True
        wanted &= mine
    left = np.flatnonzero(wanted)
    floor = max(WRITE_MS, DRAWS * comm.size * DRAW_MS)
    order, bounds = guided(costs[left], comm.size, BATCH_ROWS, BATCH_MS, floor)
    n = len(bounds) - 1
    with opened.recorder(comm) as recorder:
        compute = kind.load("oracle")(work.options, Given(shared, recorder, run.output))
        queue = WorkQueue(comm, n, stop)
        with (
            Hand(compute, run.cpu_budget, recorder, lambda: queue.stopped, gathered) as hand,
            Progress(len(left), kind.unit, run.progress, rank=comm.rank, state=state) as progress,
        ):
            plan = _Plan(left[order], bounds, costs, numbers)
            worker = _Worker(source, work, hand, opened, plan, queue)
            totals = drive(comm, n, np.arange(n), worker, progress, stop, queue)
    if totals.complete and not run.shard:
        merge_output(kind, run.output, comm=comm, store=opened.store)
    return totals


def _numbers(source: Source) -> np.ndarray:
    """Place of each row in the result, which is sorted by (id, duplicate, sha256)."""
    numbers = np.arange(len(source))
    if not isinstance(source, PackedRows):  # those of a packed file are
        keys = zip(source.ids, source.read("duplicate"), source.read("sha256"), strict=True)
        order = [row for *_, row in sorted((*key, row) for row, key in enumerate(keys))]
        numbers[order] = np.arange(len(order))
    return numbers


class _Plan(NamedTuple):
    """What all ranks draw from: rows in their order, cut at `bounds`; of each row of the source
    its predicted time, ms, and its place in the result.
    """

    rows: np.ndarray
    bounds: np.ndarray
    costs: np.ndarray
    numbers: np.ndarray


def same_pack(reader: PackedReader, options: PackOptions, but: Collection[str] = ()) -> None:
    """Refuse a file that was packed under other options; those named in `but` may differ.

    Raises
    ------
    UsageError
    """
    packed = json.loads(reader.attrs["options"])
    if packed.get("molecules", False) and not options.molecules:
        raise UsageError(
            f"{reader.path} holds molecules, which have no lattice: this command is about crystals"
        )
    for name, wanted in options.to_dict().items():
        # An option that the file's version did not have: its cells are taken as they are.
        if name not in but and packed.get(name, wanted) != wanted:
            raise UsageError(
                f"{reader.path} was packed with {name} {packed[name]}, this run asks for "
                f"{wanted}: use the same value, or pack the source again"
            )


class _Worker:
    """Does one batch: some rows of the source."""

    def __init__(
        self,
        source: Source,
        work: Work,
        hand: Hand,
        opened: Opened,
        plan: _Plan,
        queue: WorkQueue,
    ):
        self.source, self.hand, self.opened = source, hand, opened
        self.plan = plan
        self.queue = queue
        self.schema, self.dims = work.schema, work.dims
        assert opened.store is not None, "what is finished is not opened for work"
        self.store = opened.store
        self.drop = getattr(work.options, "quarantine", "keep") == "drop"
        self.drop &= "structures/quarantine" in {column.path for column in self.schema.main}

    def __call__(self, number: int) -> tuple[int, int] | None:
        first, last = self.plan.bounds[number : number + 2]
        rows = self.plan.rows[first:last]
        batch = empty_batch(self.schema, len(rows), self.dims)
        tables: list[dict | None] = []
        try:
            for stretch in np.split(rows, np.flatnonzero(np.diff(rows) > _NEAR) + 1):
                self._stretch(batch, stretch, tables)
        except Cut:
            self._write(
                {path: values[: len(tables)] for path, values in batch.items()}, rows, tables
            )
            return None
        self._write(batch, rows, tables)
        return len(rows), count_failures(batch)

    def _write(self, batch: Batch, rows: np.ndarray, tables: list[dict | None]) -> None:
        """Write the first rows of a batch, as many as are done."""
        if tables:
            children = joined(self.schema, self.dims, tables)
            self.store.write(batch, children, self.plan.numbers[rows[: len(tables)]])

    def _stretch(self, batch: Batch, rows: np.ndarray, tables: list[dict | None]) -> None:
        """Fill the next rows of a batch with rows of the source that lie close together."""
        start, first = int(rows[0]), len(tables)
        known, item = self.source.block(start, int(rows[-1]) + 1)
        for path, values in known.items():
            batch[path][first : first + len(rows)] = values[rows - start]
        for at in range(0, len(rows), _MESSAGE_ROWS):
            if self.queue.stopped:
                raise Cut
            those = rows[at : at + _MESSAGE_ROWS].tolist()
            self._message(batch, those, lambda row: item(row - start), tables)

    def _message(
        self,
        batch: Batch,
        rows: list[int],
        item: Callable[[int], Any],
        tables: list[dict | None],
    ) -> None:
        """Compute the next rows of a batch, given to the hand in one message."""
        end = len(tables) + len(rows)
        places: list[int] = []
        calls: list[tuple[tuple[Any], float]] = []
        for place, row in enumerate(rows, len(tables)):
            try:
                crashed = batch["structures/id"][place] in self.opened.crashed
                if not left_out(batch, place, drop=self.drop, crashed=crashed):
                    calls.append(((item(row),), float(self.plan.costs[row]) / 1000))
                    places.append(place)
            except Exception as error:  # noqa: BLE001 - whatever happens, the row is kept
                fail_row(batch, place, error, batch["structures/id"][place])
        for errors, results in self.hand.each(calls):
            done = []
            for place, problem in zip(places, errors, strict=False):
                if problem is None:
                    done.append(place)
                else:
                    fail_row(batch, place, problem, batch["structures/id"][place])
            for place, own in zip(done, fill(batch, done, results), strict=True):
                tables += [None] * (place - len(tables))
                tables.append(own)
                log.debug("%s: done", batch["structures/id"][place])
            places = places[len(errors) :]
        tables += [None] * (end - len(tables))


def left_out(batch: dict, row: int, *, drop: bool, crashed: bool = False) -> bool:
    """Whether one row of a batch is not computed; the batch receives the reason.

    Parameters
    ----------
    batch, row, drop, crashed
        See `compute_row`.

    Raises
    ------
    StructureError
        Native code crashed on it.
    """
    if batch["structures/status"][row] != Status.ok:
        return True
    if drop and batch["structures/quarantine"][row]:
        batch["structures/status"][row] = Status.quarantined
        batch["structures/message"][row] = (
            "its label is not stable (see structures/quarantine); --quarantine keep computes it"
        )
        return True
    if crashed:
        raise StructureError(
            Status.crashed,
            "native code crashed on this structure in two runs; it is left out",
        )
    return False


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
    try:
        if left_out(batch, row, drop=drop, crashed=crashed):
            return None
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
