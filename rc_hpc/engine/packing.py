"""The packing run: any source to a packed HDF5 file, by all ranks, in bounded memory."""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.apart import Cut
from rc_hpc.core.errors import RcError, Status, StructureError
from rc_hpc.core.text import storable
from rc_hpc.engine.hand import Hand
from rc_hpc.engine.listing import Listing
from rc_hpc.engine.merging import merge_output
from rc_hpc.engine.rows import DRAW_MS, DRAWS
from rc_hpc.engine.run import Opened, Work, count_failures, fail_row, log, open_run
from rc_hpc.kinds.packed.molecules import pack_molecule
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.packed.oracle import pack_structure
from rc_hpc.kinds.packed.schema import PACKED
from rc_hpc.kinds.packed.work import PACKING_S, dims
from rc_hpc.parallel.compiling import warm_once_per_node
from rc_hpc.parallel.launch import Comm, each, on_root
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.queue import WorkQueue
from rc_hpc.parallel.run import Totals, drive
from rc_hpc.parallel.shard import guided
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.parallel.state import RunState
from rc_hpc.store.batch import Batch, Children, empty_batch, empty_children
from rc_hpc.store.reader import read_table
from rc_hpc.store.schema import Schema
from rc_hpc.structures.checks import refuse
from rc_hpc.structures.record import Item, Molecule
from rc_hpc.symmetry.recorder import NULL_RECORDER, Recorder

#: Stored numbers and fractional coordinates, conventional numbers and positions.
Atoms = tuple[np.ndarray, ...]
NO_ATOMS: Atoms = (np.empty(0, int), np.empty((0, 3))) * 2
#: A batch holds at most this predicted time, s, and this many structures, so that a kill loses
#: little.
BATCH_S, BATCH_ROWS = 4.0, 128


def run_packing(
    comm: Comm, listing: Listing, work: Work, stop: StopSignal, state: RunState
) -> Totals | None:
    """Pack all items of a listing; all ranks together.

    Returns
    -------
    Totals
        None where the output was finished already.
    """

    run = work.run
    try:
        count, digest, strays = listing.measure(comm, lambda: stop.requested)
    except Cut:  # while the sources were listed
        return Totals(0, 0, 0, False, max(comm.allgather(stop.exit_code)))
    if strays and comm.rank == 0:
        log.warning("passed over: %s", strays)
    identity = on_root(comm, lambda: work.identity(listing_hash=digest, total=count))
    warm_once_per_node(comm, functools.partial(work.kind.load("warm"), work.options))
    with open_run(comm, work, identity) as opened:
        if opened.finished:
            _check_finished(comm, listing, run.output)
            return None
        if opened.done.any():
            _check_unchanged(comm, listing, opened)
        return _pack_all(comm, listing, work, stop, opened, state)


def _check_finished(comm: Comm, listing: Listing, output: Path) -> None:
    """Refuse a finished output whose source holds something else now; each rank reads its share.

    Raises
    ------
    RcError
    """
    low, high = (len(listing) * k // comm.size for k in (comm.rank, comm.rank + 1))

    def look() -> list[bytes]:
        items = listing.items(low, high)
        return [_name_of(storable(item.id), _read_digest(item)) for item in items]

    gathered = comm.gather(each(comm, look))

    def compare() -> None:
        table = read_table(output, ("structures/id", "structures/sha256"))
        packed = Counter(map(_name_of, *table.values()))
        packed.subtract(chain.from_iterable(gathered or []))
        if changed := sum(count for count in packed.values() if count > 0):
            raise RcError(
                f"{output}: {changed} structure{'s differ' if changed > 1 else ' differs'} from "
                "the source as it is now: use the old one, --overwrite, or another -o"
            )

    on_root(comm, compare)


def _name_of(id_: str, digest: str) -> bytes:
    return hashlib.blake2b(f"{digest} {id_}".encode(), digest_size=16).digest()


def _check_unchanged(comm: Comm, listing: Listing, opened: Opened) -> None:
    """Refuse to go on where what was packed has changed in the source; each rank reads its share.

    Raises
    ------
    RcError
    """
    assert opened.store is not None, "what is finished is not opened for work"
    store = opened.store
    parts = on_root(comm, lambda: store.good)

    def look() -> list[str]:
        changed: list[str] = []
        for part in parts[comm.rank :: comm.size]:
            digests, ids = store.columns(part, "structures/sha256", "structures/id")
            for k, row in enumerate(part.rows.tolist()):
                (item,) = listing.items(row, row + 1)
                if (storable(item.id), _read_digest(item)) != (ids[k], digests[k]):
                    changed.append(ids[k])
        return changed

    changed = sorted(set(chain.from_iterable(comm.allgather(each(comm, look)))))
    if changed:
        raise RcError(
            f"{store.folder}: {len(changed)} of the structures that are packed already have changed"
            f" in the source since ({', '.join(changed[:3])}{', ...' if changed[3:] else ''}): "
            "use the old ones, --overwrite, or another -o"
        )


def _pack_all(
    comm: Comm, listing: Listing, work: Work, stop: StopSignal, opened: Opened, state: RunState
) -> Totals:
    run = work.run
    # Items that are dearer to pack cannot be told before they are read: stream order.
    count = len(opened.done)
    wanted = ~opened.done
    if run.shard:  # whole stretches: no shard walks what is another's
        i, n = run.shard
        inside = np.arange(count)
        wanted &= (inside >= count * i // n) & (inside < count * (i + 1) // n)
    left = np.flatnonzero(wanted)
    floor = DRAWS * comm.size * DRAW_MS / 1000
    costs = np.full(len(left), PACKING_S)
    order, bounds = guided(costs, comm.size, BATCH_ROWS, BATCH_S, max(floor, PACKING_S))
    n_batches = len(bounds) - 1
    initial = 0 if run.shard else count - len(left)
    with opened.recorder(comm) as recorder:
        queue = WorkQueue(comm, n_batches, stop)
        made_of = functools.partial(_made_of, options=work.options, recorder=recorder)
        with (
            Hand(made_of, run.cpu_budget, recorder, lambda: queue.stopped) as hand,
            Progress(
                len(left) + initial,
                "structures packed",
                run.progress,
                rank=comm.rank,
                initial=initial,
                state=state,
            ) as progress,
        ):
            plan = np.sort(left[order]), bounds
            worker = _Worker(listing, work.options, opened, hand, queue, plan)
            totals = drive(comm, n_batches, np.arange(n_batches), worker, progress, stop, queue)
    if totals.complete and not run.shard:
        merge_output(work.kind, run.output, comm=comm, store=opened.store)
    return totals


class _Worker:
    """Does one batch of places in the source; draws ascend, so that each rank goes forward."""

    def __init__(
        self,
        listing: Listing,
        options: PackOptions,
        opened: Opened,
        hand: Hand,
        queue: WorkQueue,
        plan: tuple[np.ndarray, np.ndarray],
    ):
        self.listing, self.options, self.opened, self.hand = listing, options, opened, hand
        self.queue = queue
        self.schema = packed_schema(options)
        self.rows, self.bounds = plan
        assert opened.store is not None, "what is finished is not opened for work"
        self.store = opened.store

    def __call__(self, number: int) -> tuple[int, int] | None:
        rows = self.rows[self.bounds[number] : self.bounds[number + 1]]
        batch = empty_batch(self.schema, len(rows), dims(self.options))
        atoms: list[Atoms] = []
        try:
            for item in self._items(rows):
                if self.queue.stopped:
                    raise Cut
                atoms.append(self._pack(batch, len(atoms), item))
        except Cut:
            self._write({path: values[: len(atoms)] for path, values in batch.items()}, rows, atoms)
            return None
        self._write(batch, rows, atoms)
        return len(rows), count_failures(batch)

    def _items(self, rows: np.ndarray) -> Iterator[Item]:
        for stretch in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1):
            for item in self.listing.items(int(stretch[0]), int(stretch[-1]) + 1):
                yield replace(item, id=storable(item.id))

    def _write(self, batch: Batch, rows: np.ndarray, atoms: list[Atoms]) -> None:
        """Write the first rows of a batch, as many as are done."""
        if atoms:
            children = packed_children(atoms, self.options)
            self.store.write(batch, children, rows[: len(atoms)])

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
        if isinstance(structure, Molecule):
            atoms = (*atoms[:2], *_packed_molecule(structure, options, fields, recorder))
        else:
            if options.molecules:
                raise refuse(item, Status.read_error, "it has a lattice: leave out --molecules")
            atoms = (structure.numbers, structure.frac, *atoms[2:])
            atoms = (*atoms[:2], *pack_structure(structure, options, fields, recorder))
    except Exception as error:  # noqa: BLE001 - whatever a reader throws, the row is kept
        fields |= _failed(error, item.id)
    return fields, atoms


def _packed_molecule(
    molecule: Molecule, options: PackOptions, fields: dict[str, Any], recorder: Recorder
) -> Atoms:
    if not options.molecules:
        raise StructureError(
            Status.read_error,
            f"{molecule.source}, {molecule.id}: it is a molecule, and these are crystals: give "
            "molecules to a run of their own, with --molecules",
        )
    return pack_molecule(molecule, options, fields, recorder)


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


def _read_digest(item: Item) -> str:
    """SHA-256 of an item's bytes; empty where they cannot be read."""
    try:
        return _digest(item.blob())
    except OSError:
        return ""


def _digest_of(item: Item) -> str:
    return _digest(_bytes_of(item))


def _bytes_of(item: Item) -> bytes:
    try:
        return item.blob()
    except OSError as error:
        raise StructureError(
            Status.read_error, f"{item.source}: {error.strerror or error}"
        ) from error


def packed_schema(options: PackOptions) -> Schema:
    """Columns of what is packed: of crystals or of molecules."""
    return PACKED.of(options.to_dict())


def packed_children(atoms: list[tuple[np.ndarray, ...]], options: PackOptions) -> Children:
    """The child tables of a batch from what `pack_item` returned of each row."""
    children = empty_children(packed_schema(options), dims(options))
    for table, column, which in (("stored_atoms", "frac", 0), ("atoms", "position", 2)):
        if table not in children:
            continue
        sizes = [len(entry[which]) for entry in atoms]
        children[table] = {
            "structure": np.repeat(np.arange(len(atoms)), sizes),
            "number": np.concatenate(
                [np.empty(0, np.uint8), *(entry[which].astype(np.uint8) for entry in atoms)]
            ),
            column: np.concatenate([np.empty((0, 3)), *(entry[which + 1] for entry in atoms)]),
        }
    return children
