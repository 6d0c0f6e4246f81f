"""What packing and the census share: opening a run, its rows, and its end."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.constants import SWEEP
from rc_hpc.errors import Exit, RcError, Status, StructureError, UsageError
from rc_hpc.parallel.launch import Comm
from rc_hpc.store.completed import Completed
from rc_hpc.store.parts import PartStore, differences, discard, parts_folder
from rc_hpc.store.reader import open_ours
from rc_hpc.store.schema import Schema
from rc_hpc.symmetry.labels import BRAVAIS_LATTICES, POINT_GROUPS
from rc_hpc.symmetry.recorder import crashed_ids

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
    """

    store: PartStore | None
    completed: Completed
    crashed: set[str]
    flights: Path

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        return self.store is None


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


def open_run(comm: Comm, run: RunOptions, schema: Schema, dims: dict, identity: dict) -> Run:
    """Open the parts folder of an output under the rules of --resume, --overwrite and --shard.

    Raises
    ------
    UsageError
        There is earlier work and neither option was given.
    RcError
        The earlier work belongs to other options or another input, or nothing can be written.
    """
    folder = parts_folder(run.output)
    flights = folder / ("flight" if run.shard is None else f"flight-{run.shard[0]}-of-{run.shard[1]}")

    def prepare():
        if run.overwrite and run.shard:
            raise UsageError("--overwrite with --shard would remove the other shards' work; remove the files by hand")
        if run.overwrite:
            discard(folder)
        elif run.output.exists() and not (run.resume or run.shard):
            raise UsageError(f"{run.output} exists: --overwrite replaces it, --resume completes it, -o names another file")
        elif folder.exists() and any(folder.glob("*.h5")) and not (run.resume or run.shard):
            raise UsageError(f"{folder} holds the unfinished work of an earlier run: --resume goes on with it, --overwrite starts anew")
        if run.output.exists() and not folder.exists() and not run.overwrite:
            _same_work(run.output, schema, identity)
            return None
        store = PartStore(folder, schema, dims, identity)
        if run.shard:  # other shards are at work in the same folder: look, but move nothing
            parts = [part for part in store.names() if not store.problem(part, deep=False)]
        else:
            store.clean()
            parts = store.scan()
        flights.mkdir(exist_ok=True)
        crashed = {id_ for id_, times in crashed_ids(flights).items() if times >= CRASHES}
        return store.completed(parts), crashed

    opened = on_root(comm, prepare)
    if opened is None:
        return Run(None, Completed([]).seal(), set(), flights)
    return Run(PartStore(folder, schema, dims, identity), *opened, flights)


def _same_work(output: Path, schema: Schema, identity: dict) -> None:
    with open_ours(output, schema.kind) as h5:
        found = {key: h5.attrs.get(key) for key in ("options", "options_hash", "input_hash")}
    different = differences(found, {key: identity[key] for key in found})
    if different:
        raise RcError(
            f"{output} was made under other conditions ({'; '.join(different)}): "
            "use the old ones, --overwrite, or another -o"
        )


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


def vocabulary() -> dict:
    """Static datasets that decode the stored label codes."""
    return {
        "vocabulary/bravais": (
            ["", *BRAVAIS_LATTICES], "1", "Bravais lattice by stored code; trigonal lattices are filed under h.", ("bravais_code",)),
        "vocabulary/point_group": (
            ["", *POINT_GROUPS], "1", "Crystallographic point group by stored code.", ("point_group_code",)),
        "settings/sweep": (
            np.array(SWEEP), "angstrom, degree", "symprec and angle tolerance of each setting of the tolerance sweep.",
            ("setting", "tolerance")),
    }


def exit_code(complete: bool, failures: int) -> Exit:
    """Exit code of a run that ended in good order."""
    return Exit.FAILURES if complete and failures else Exit.CLEAN
