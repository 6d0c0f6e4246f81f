"""Opening a run of any kind: what it depends on, earlier work, and who else is at it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from rc_hpc.core.errors import RcError, Status, StructureError, UsageError
from rc_hpc.core.files import disk_errors, parts_folder, refuse_link
from rc_hpc.core.fingerprint import code_of
from rc_hpc.core.kind import Kind
from rc_hpc.engine.hand import CRASHES
from rc_hpc.engine.options import RunOptions
from rc_hpc.kinds.common.beside import Beside
from rc_hpc.parallel.launch import Comm, on_root
from rc_hpc.store.attributes import result_versions
from rc_hpc.store.claim import Claim
from rc_hpc.store.conditions import accepted, check_conditions
from rc_hpc.store.outputs import check_output
from rc_hpc.store.part_file import Found
from rc_hpc.store.parts import RECORD, PartStore, begun, begun_work, discard, done_rows
from rc_hpc.store.reader import open_ours
from rc_hpc.store.schema import Schema
from rc_hpc.symmetry.recorder import FlightRecorder, crashed_ids

log = logging.getLogger("rc_hpc")

#: Statuses that are no failure.
GOOD = (Status.ok, Status.quarantined)


@dataclass(frozen=True)
class Work:
    """A run of one kind, before it is opened; the same on all ranks.

    Attributes
    ----------
    kind, options, run
    beside
        What is written beside the output.
    """

    kind: Kind
    options: Any
    run: RunOptions
    beside: Beside

    @classmethod
    def of(cls, kind: Kind, options: Any, run: RunOptions) -> Self:
        """The work that these options make."""
        return cls(kind, options, run, (kind.load("beside") or Beside)(run.output))

    @property
    def schema(self) -> Schema:
        """Columns of the output."""
        schema: Schema = self.kind.load("schema")
        return schema.of(self.options.to_dict())

    @property
    def dims(self) -> dict[str, int]:
        """Lengths of the dimensions that the schema leaves open."""
        return self.kind.load("dims")(self.options)

    def check(self) -> None:
        """Refuse outputs that cannot or must not be written, before any work is done for them.

        Raises
        ------
        UsageError
        """
        run = self.run
        check_output(run.output, run.resume, run.overwrite, run.shard, self.kind.name)
        replace = bool(run.resume or run.overwrite or run.shard)
        self.beside.check(self.options, replace=replace)

    def identity(self, **more) -> dict:
        """What the result depends on.

        Options, packages, code, and what `more` says of the input.
        """
        return {
            "options": self.options.to_json(),
            "options_hash": self.options.digest(),
            "result_versions": result_versions() | self.beside.versions(),
            "code": code_of(self.kind.code),
            "cpu_budget_s": self.run.cpu_budget,
            **more,
        }


@dataclass
class Opened:
    """An opened run.

    Attributes
    ----------
    store
        None where the output is finished already.
    done : (total,) bool
        Rows of the source that earlier runs have done.
    crashed
        Ids given up after native crashes.
    flights
        Folder for the flight recorders.
    claim
        Keeps other runs away until the end of the `with` block; on rank 0 only.
    """

    store: PartStore | None
    done: np.ndarray
    crashed: set[str]
    flights: Path
    claim: Claim | None = None

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        return self.store is None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        if self.claim is not None:
            self.claim.release()

    def recorder(self, comm: Comm) -> FlightRecorder:
        """This rank's flight recorder, with room on the disk for its notes."""
        with disk_errors(self.flights):
            recorder = FlightRecorder(self.flights, comm.rank)
            recorder.call(int)  # writes once
        return recorder


def open_run(comm: Comm, work: Work, identity: dict) -> Opened:
    """Open the parts folder of an output under the rules of --resume, --overwrite and --shard.

    Raises
    ------
    UsageError
        There is earlier work and neither option was given.
    RcError
        The earlier work belongs to other options, another input or other code, another run is
        at work on it, or nothing can be written.
    """
    run, folder = work.run, parts_folder(work.run.output)
    shard = "" if run.shard is None else f"-{run.shard[0]}-of-{run.shard[1]}"
    flights = folder / f"flight{shard}"
    claim = None

    def prepare() -> bool:
        nonlocal claim
        check_output(run.output, run.resume, run.overwrite, run.shard, work.kind.name)
        merged = run.output.exists() and not begun(folder) and not run.overwrite
        if merged and _finished(work, identity):
            work.beside.still_there()
            return True
        claim = Claim(folder, run.shard)
        try:
            _earlier(work, folder, flights)
            _store(work, folder, identity, 0)
        except BaseException:
            claim.release()
            raise
        return False

    if on_root(comm, prepare):
        return Opened(None, np.empty(0, bool), set(), flights)
    try:
        store = _store(work, folder, identity, comm.rank)
        found = _look(comm, store)
        done, crashed = on_root(comm, lambda: _done(work, store, found, identity["total"], flights))
    except BaseException:
        if claim is not None:
            claim.release()
        raise
    return Opened(store, done, crashed, flights, claim)


def _store(work: Work, folder: Path, identity: dict, rank: int) -> PartStore:
    return PartStore(folder, work.schema, work.dims, identity, work.run.accept_code, rank)


def _earlier(work: Work, folder: Path, flights: Path) -> None:
    """Refuse, or remove, the work of earlier runs as --resume, --overwrite and --shard say."""
    run = work.run
    if run.overwrite:
        discard(folder)
    elif not (run.resume or run.shard):
        if begun_work(folder):
            raise UsageError(
                f"{folder} holds the unfinished work of an earlier run: --resume goes on with it, "
                "--overwrite starts anew"
            )
        (folder / RECORD).unlink(missing_ok=True)  # that run did not come to any work
    refuse_link(flights)
    with disk_errors(flights):
        flights.mkdir(exist_ok=True)


def _look(comm: Comm, store: PartStore) -> list[dict[str, Found] | RcError] | None:
    """What lies in the files of earlier runs: each rank reads its share; all of it on rank 0."""
    names = on_root(comm, store.names)
    found: dict[str, Found] | RcError
    try:
        found = {name: store.look(name) for name in names[comm.rank :: comm.size]}
    except RcError as error:
        found = error
    return comm.gather(found)


def _done(
    work: Work,
    store: PartStore,
    gathered: list[dict[str, Found] | RcError] | None,
    total: int,
    flights: Path,
) -> tuple[np.ndarray, set[str]]:
    """Rows that earlier runs have done, and ids given up after crashes."""
    found: dict[str, Found] = {}
    for one in gathered or []:
        if isinstance(one, RcError):
            raise one
        found |= one
    run = work.run
    if run.shard:  # other shards are at work in the same folder: look, but move nothing
        store.good = [part for one in found.values() for part in one.parts]
    else:
        store.clean()
        store.settle(found)
    crashed = {id_ for id_, times in crashed_ids(flights).items() if times >= CRASHES}
    lost = work.beside.begin(store, store.good, fresh=run.overwrite, shared=run.shard is not None)
    done = done_rows(store.good, total)
    done[list(lost)] = False
    return done, crashed


def _finished(work: Work, identity: dict) -> bool:
    """Whether an output without parts is this very work, with no row missing."""
    output = work.run.output
    with open_ours(output, work.kind.name) as h5:
        before = {key: h5.attrs[key] for key in identity if key != "total" and key in h5.attrs}
        complete = bool(h5.attrs.get("complete_rows", True))
    now = {key: value for key, value in identity.items() if key != "total"}
    now = accepted(before, now, work.run.accept_code)
    # Hashes of the input that only a merge knows are not in the identity, and the other way round.
    shared = before.keys() & now.keys() | {"code"}
    check_conditions(
        output, {key: before.get(key) for key in shared}, {key: now.get(key) for key in shared}
    )
    return complete


def fail_row(batch: dict, row: int, error: Exception, what: str) -> None:
    """Record an error as the row's status and message."""
    if isinstance(error, StructureError):
        status, message = error.status, str(error)
    else:
        status = Status.internal
        message = f"{type(error).__name__}: {error}".replace("\n", " ")
        log.error("%s: unexpected error, recorded as status 'internal'", what, exc_info=error)
    batch["structures/status"][row] = status
    batch["structures/message"][row] = message


def count_failures(batch: dict) -> int:
    """Rows of a batch that failed."""
    return int(np.sum(~np.isin(batch["structures/status"], GOOD)))
