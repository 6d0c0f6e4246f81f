"""What packing and the census share: opening a run, its rows, and its end."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from rc_hpc.core.errors import Exit, RcError, Status, StructureError, UsageError
from rc_hpc.core.files import disk_errors, parts_folder
from rc_hpc.parallel.launch import Comm
from rc_hpc.store.attributes import result_versions
from rc_hpc.store.claim import Claim
from rc_hpc.store.completed import Completed
from rc_hpc.store.outputs import check_conditions, check_output
from rc_hpc.store.parts import RECORD, PartStore, begun, discard
from rc_hpc.store.reader import open_ours
from rc_hpc.store.schema import Schema
from rc_hpc.symmetry.recorder import FlightRecorder, crashed_ids

log = logging.getLogger("rc_hpc")

#: Native crashes after which a structure is given up.
CRASHES = 2
#: Statuses that are no failure.
GOOD = (Status.ok, Status.quarantined)


@dataclass(frozen=True)
class RunOptions:
    """How a run goes about its work; nothing of it changes the result.

    Attributes
    ----------
    output
        The file to write.
    resume, overwrite
        What to do with earlier work of this output.
    shard
        (i, N): do only the i-th of N shares and do not merge.
    progress
        See `rc_hpc.parallel.progress.MODES`.
    """

    output: Path
    resume: bool = False
    overwrite: bool = False
    shard: tuple[int, int] | None = None
    progress: str = "auto"


@dataclass
class Run:
    """An opened run.

    Attributes
    ----------
    store
        None where the output is finished already.
    completed
        Rows that earlier runs have done.
    crashed
        Ids given up after native crashes.
    flights
        Folder for the flight recorders.
    claim
        Keeps other runs away until the end of the `with` block; on rank 0 only.
    """

    store: PartStore | None
    completed: Completed
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


def identity_of(options, **more) -> dict:
    """What a result depends on: the options, the packages, and what `more` says of the input."""
    return {
        "options": options.to_json(),
        "options_hash": options.digest(),
        "result_versions": result_versions(),
        **more,
    }


def open_run(comm: Comm, run: RunOptions, schema: Schema, dims: dict, identity: dict) -> Run:
    """Open the parts folder of an output under the rules of --resume, --overwrite and --shard.

    Raises
    ------
    UsageError
        There is earlier work and neither option was given.
    RcError
        The earlier work belongs to other options or another input, another run is at work
        on it, or nothing can be written.
    """
    folder = parts_folder(run.output)
    flights = folder / (
        "flight" if run.shard is None else f"flight-{run.shard[0]}-of-{run.shard[1]}"
    )

    claim = None

    def prepare():
        nonlocal claim
        if run.overwrite and run.shard:
            raise UsageError(
                "--overwrite with --shard would remove the other shards' work; remove the files by hand"
            )
        check_output(run.output, run.resume, run.overwrite, run.shard)
        if (
            run.output.exists()
            and not begun(folder)
            and not run.overwrite
            and _finished(run.output, schema, identity)
        ):
            return None
        claim = Claim(folder, run.shard)
        try:
            return _open_parts(run, folder, flights, (schema, dims, identity))
        except BaseException:
            claim.release()
            raise

    opened = on_root(comm, prepare)
    if opened is None:
        return Run(None, Completed([]).seal(), set(), flights)
    return Run(PartStore(folder, schema, dims, identity), *opened, flights, claim)


def _open_parts(
    run: RunOptions, folder: Path, flights: Path, what: tuple
) -> tuple[Completed, set[str]]:
    """What earlier runs have done, and the ids given up after crashes."""
    if run.overwrite:
        discard(folder)
    elif not (run.resume or run.shard):
        if any(folder.glob("*.h5")):
            raise UsageError(
                f"{folder} holds the unfinished work of an earlier run: --resume goes on with it, --overwrite starts anew"
            )
        (folder / RECORD).unlink(missing_ok=True)  # that run did not come to any work
    store = PartStore(folder, *what)
    if run.shard:  # other shards are at work in the same folder: look, but move nothing
        parts = [part for part in store.names() if not store.problem(part)]
    else:
        store.clean()
        parts = store.scan()
    with disk_errors(flights):
        flights.mkdir(exist_ok=True)
        crashed = {id_ for id_, times in crashed_ids(flights).items() if times >= CRASHES}
    return store.completed(parts), crashed


def _finished(output: Path, schema: Schema, identity: dict) -> bool:
    """Whether an output without parts is this very work, with no row missing."""
    with open_ours(output, schema.kind) as h5:
        found = {key: h5.attrs.get(key) for key in identity if key != "total"}
        complete = bool(h5.attrs.get("complete_rows", True))
    check_conditions(output, found, {key: identity[key] for key in found})
    return complete


def open_recorder(comm: Comm, opened: Run) -> FlightRecorder:
    """This rank's flight recorder, with room on the disk for its notes."""
    with disk_errors(opened.flights):
        recorder = FlightRecorder(opened.flights, comm.rank)
        recorder.call(int)  # writes once
    return recorder


def mergeable(output: Path, schema: Schema, partial: bool) -> tuple[PartStore, bool]:
    """The parts of an output, and whether no row is missing.

    Raises
    ------
    RcError
        Rows are missing, unless `partial`; all are.
    """
    store = PartStore.open(parts_folder(output), schema)
    total, done = store.identity["total"], len(store.completed())
    if done == 0 or (done < total and not partial):
        cure = "run with --resume" if done == 0 else "run with --resume (or merge --partial)"
        raise RcError(f"{output}: {total - done} of {total} structures are not done yet: {cure}")
    return store, done >= total


def fail_row(batch: dict, row: int, error: Exception, what: str) -> None:
    """Record an error as the row's status and message."""
    if isinstance(error, StructureError):
        status, message = error.status, str(error)
    else:
        status = Status.internal
        message = f"{type(error).__name__}: {error}".replace("\n", " ")
        log.exception("%s: unexpected error, recorded as status 'internal'", what)
    batch["structures/status"][row] = status
    batch["structures/message"][row] = message


def count_failures(batch: dict) -> int:
    """Rows of a batch that failed."""
    return int(np.sum(~np.isin(batch["structures/status"], GOOD)))


def exit_code(complete: bool, failures: int) -> Exit:
    """Exit code of a run that ended in good order."""
    return Exit.FAILURES if complete and failures else Exit.CLEAN
