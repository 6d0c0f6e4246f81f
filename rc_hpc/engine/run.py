"""Opening a run of any kind: what it depends on, earlier work, and who else is at it."""

from __future__ import annotations

import logging
from collections.abc import Callable
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
from rc_hpc.parallel.launch import Comm
from rc_hpc.store.attributes import result_versions
from rc_hpc.store.claim import Claim
from rc_hpc.store.completed import Completed
from rc_hpc.store.conditions import accepted, check_conditions
from rc_hpc.store.outputs import check_output
from rc_hpc.store.parts import RECORD, PartStore, begun, discard
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
        return self.kind.load("schema")

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
    completed
        Rows that earlier runs have done.
    crashed
        Ids given up after native crashes.
    lost
        Ids that are done, but must be done again.
    flights
        Folder for the flight recorders.
    claim
        Keeps other runs away until the end of the `with` block; on rank 0 only.
    """

    store: PartStore | None
    completed: Completed
    crashed: set[str]
    lost: set[str]
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


def on_root(comm: Comm, function: Callable):
    """Result of `function` on rank 0, on all ranks; its RcError is raised on all of them."""
    result = None
    if comm.rank == 0:
        try:
            result = function()
        except RcError as error:
            result = error
    result = comm.bcast(result)
    if isinstance(result, RcError):
        raise result
    return result


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

    def store() -> PartStore:
        return PartStore(folder, work.schema, work.dims, identity, run.accept_code)

    def prepare() -> tuple[Completed, set[str], set[str]] | None:
        nonlocal claim
        check_output(run.output, run.resume, run.overwrite, run.shard, work.kind.name)
        merged = run.output.exists() and not begun(folder) and not run.overwrite
        if merged and _finished(work, identity):
            work.beside.still_there()
            return None
        claim = Claim(folder, run.shard)
        try:
            return _earlier(work, folder, flights, store)
        except BaseException:
            claim.release()
            raise

    earlier = on_root(comm, prepare)
    if earlier is None:
        return Opened(None, Completed([]).seal(), set(), set(), flights)
    completed, crashed, lost = earlier
    return Opened(store(), completed, crashed, lost, flights, claim)


def _earlier(
    work: Work, folder: Path, flights: Path, open_store: Callable[[], PartStore]
) -> tuple[Completed, set[str], set[str]]:
    """What earlier runs have done, the ids given up after crashes, and those to do again."""
    run = work.run
    if run.overwrite:
        discard(folder)
    elif not (run.resume or run.shard):
        if any(folder.glob("*.h5")):
            raise UsageError(
                f"{folder} holds the unfinished work of an earlier run: --resume goes on with it, "
                "--overwrite starts anew"
            )
        (folder / RECORD).unlink(missing_ok=True)  # that run did not come to any work
    store = open_store()
    if run.shard:  # other shards are at work in the same folder: look, but move nothing
        parts = [part for part in store.names() if not store.problem(part)]
    else:
        store.clean()
        parts = store.scan()
    refuse_link(flights)
    with disk_errors(flights):
        flights.mkdir(exist_ok=True)
        crashed = {id_ for id_, times in crashed_ids(flights).items() if times >= CRASHES}
    lost = work.beside.begin(store, parts, fresh=run.overwrite, shared=run.shard is not None)
    return store.completed(parts), crashed, lost


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
