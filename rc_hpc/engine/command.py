"""The command of any kind, from what was asked for to an exit code, on every rank."""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.door import Asked, Talk, give_up_output, setup_logging
from rc_hpc.core.errors import Exit, Status, UsageError
from rc_hpc.core.kind import Kind
from rc_hpc.core.options import Options
from rc_hpc.engine.ending import next_commands, refused_rows
from rc_hpc.engine.listing import Listing
from rc_hpc.engine.molecular import check_knows, settled
from rc_hpc.engine.options import RunOptions, check_names, sources
from rc_hpc.engine.packing import run_packing
from rc_hpc.engine.results import summary
from rc_hpc.engine.rows import PackedRows, run_rows
from rc_hpc.engine.run import GOOD, Work
from rc_hpc.engine.status import status
from rc_hpc.engine.subset import copy_chosen, places_in
from rc_hpc.kinds.common.source import Source
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.kinds.registry import PACKED
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.parallel.check_folder import size
from rc_hpc.parallel.compiling import warm_once_per_node
from rc_hpc.parallel.launch import Comm, communicator, launcher_rank, on_root
from rc_hpc.parallel.run import Totals
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.parallel.state import RunState
from rc_hpc.store.batch import row_bytes
from rc_hpc.store.files import state_of, trust
from rc_hpc.store.shared import check_together

#: Rows of a child table that a typical structure has.
_CHILD_ROWS = 40
#: A result is there twice when it is merged: as parts and as a file.
_COPIES = 2


def run(kind: Kind, asked: Asked) -> int:
    """Run the command of a kind: pack what is not packed, compute, tell.

    Raises
    ------
    RcError
        The run cannot begin or go on.
    """
    talk = asked.make(Talk)
    setup_logging(talk, launcher_rank())
    prepare_numba_cache()  # before anything imports a kernel, which looks for its cache then
    asked = settled(asked)
    options = asked.make(kind.load("options"))
    check_knows(kind, options)
    how, source = _asked_of_run(asked, sources(kind), talk)
    check_names(how, source)
    rank = launcher_rank()
    with RunState(how.state, kind.command, how.output, how.shard, rank=rank) as state:
        comm = communicator()
        if not how.dry_run:
            state.begin()
        with StopSignal() as stop:
            command = _Command(comm, kind, options, how, source, talk, stop, state)
            if kind is PACKED:
                return command.pack()
            return command.compute_source() if kind.source else command.compute()


def _asked_of_run(asked: Asked, read: type[Options], talk: Talk) -> tuple[RunOptions, Any]:
    how, source = asked.make(RunOptions), asked.make(read)
    if talk.quiet and how.progress == "auto":
        how = dataclasses.replace(how, progress="none")
    return how, source


class _Command:
    def __init__(
        self,
        comm: Comm,
        kind: Kind,
        options: Any,
        how: RunOptions,
        source: Any,
        talk: Talk,
        stop: StopSignal,
        state: RunState,
    ):
        self.comm, self.kind, self.options = comm, kind, options
        self.how, self.source, self.talk = how, source, talk
        self.stop, self.state = stop, state
        #: Whether files of the user's own were packed in this run.
        self.packed_now = False

    def pack(self) -> int:
        """Pack the source."""
        if packed := self.source.packed_file:
            return self._pack_again(packed)
        molecules = self.options.molecules
        listing = Listing.of(self.source, self.how.output, molecules=molecules)
        if self.how.dry_run:
            return self._dry_run(lambda: {"structures": listing.count()})
        work = Work.of(self.kind, self.options, self.how)
        on_root(self.comm, work.check)
        return self._finish(run_packing(self.comm, listing, work, self.stop, self.state))

    def _pack_again(self, packed: Path) -> int:
        """Some of the structures of a packed file as a file of their own."""
        if not self.source.chosen.given:
            on_root(self.comm, lambda: PackedReader(packed).close())
            raise UsageError(
                f"{packed} is packed already: give it to python -m rc_hpc.census, or choose some "
                "of it with --ids, --exclude, --first or --sample"
            )
        if self.how.dry_run:
            return self._dry_run(lambda: {"structures": self._chosen_of(packed)})
        if self.how.shard:
            raise UsageError("--shard: choosing from a packed file copies rows, in one go")
        work = Work.of(self.kind, self.options, self.how)
        on_root(self.comm, work.check)
        self._choose(packed, self.how.output)
        return self._finish(None)

    def _choose(self, packed: Path, output: Path) -> None:
        on_root(self.comm, lambda: copy_chosen(packed, self.source.chosen, output, self.how))

    def _chosen_of(self, packed: Path) -> int:
        with PackedReader(packed) as reader:
            return len(places_in(reader, self.source.chosen))

    def compute(self) -> int:
        """Pack what is not packed, then compute every structure."""
        packed = self.source.as_it_is
        if self.how.shard and packed is None:
            raise UsageError(
                "--shard needs packed structures: python -m rc_hpc.pack SOURCE -o packed.h5 "
                "(with --ids, --first or --sample where some are chosen; it takes --shard too), "
                f"then {self.kind.command} packed.h5"
            )
        facts = self.kind.load("facts")(self.options)[0]
        work = Work.of(self.kind, self.options, self.how)
        if packed is None:
            output = self.how.output
            packed = self.source.packed or output.with_name(f"{output.stem}.packed.h5")
            if whole := self.source.packed_file:
                return self._compute_chosen(whole, packed, work, facts)
            molecules = self.options.pack.molecules
            listing = Listing.of(self.source, output, packed, molecules=molecules)
            if self.how.dry_run:
                return self._dry_run(lambda: {"structures": listing.count(), **facts}, packing=True)
            # The command's own output is looked at first: packing for an hour to learn that it
            # exists helps nobody.
            on_root(self.comm, work.check)
            totals = self._pack_first(packed, listing)
            self.packed_now = totals is not None and any(map(os.path.lexists, self.source.source))
            if totals is not None and not totals.complete:
                return self._finish(totals)
        elif self.how.dry_run:
            return self._dry_run(lambda: _plan(packed, facts))
        else:
            on_root(self.comm, work.check)
            # A damaged file is told before kernels are compiled for it.
            on_root(self.comm, lambda: PackedReader(packed).close())
        return self._finish(self._packed_rows(packed))

    def _packed_rows(self, packed: Path) -> Totals | None:
        tell, but = self.comm.rank == 0, getattr(self.options, "anew", ())
        return self._rows(lambda: PackedRows(packed, self.options.pack, but, tell), packed)

    def _compute_chosen(self, whole: Path, packed: Path, work: Work, facts: dict) -> int:
        """Compute some of the structures of a packed file."""
        if self.how.dry_run:
            return self._dry_run(lambda: {"structures": self._chosen_of(whole), **facts})
        on_root(self.comm, work.check)
        self._choose(whole, packed)
        return self._finish(self._packed_rows(packed))

    def compute_source(self) -> int:
        """Compute every row of the kind's own source."""
        if self.how.dry_run:
            facts = self.kind.load("facts")(self.options)[0]
            return self._dry_run(lambda: {self.kind.unit: len(self.source.open())} | facts)
        work = Work.of(self.kind, self.options, self.how)
        on_root(self.comm, work.check)
        return self._finish(self._rows(self.source.open))

    def _pack_first(self, packed: Path, listing: Listing) -> Totals | None:
        how = dataclasses.replace(self.how, output=packed, shard=None)
        pack: PackOptions = self.options.pack
        work = Work.of(PACKED, pack, how)
        return run_packing(self.comm, listing, work, self.stop, self.state)

    def _rows(self, opener: Callable[[], Source], packed: Path | None = None) -> Totals | None:
        options, shared = self.options, None
        warm_once_per_node(self.comm, functools.partial(self.kind.load("warm"), options))
        if packed is not None:
            check_together(packed, self.comm)
            trust(on_root(self.comm, lambda: _checked(packed)))
        with opener() as source:
            if plan := self.kind.load("plan"):
                options, shared = on_root(self.comm, lambda: plan(packed or source, options))
            work = Work.of(self.kind, options, self.how)
            return run_rows(self.comm, source, work, shared, self.stop, self.state)

    def _finish(self, totals: Totals | None) -> int:
        """Tell how the run ended and return its exit code, alike on all ranks."""
        output, shard = self.how.output, self.how.shard
        if totals is not None and not totals.complete:
            self.state.stopped(totals.stop_code)
            if self.comm.rank == 0:
                print(
                    f"{output}: stopped in good order; the same command with --resume goes on",
                    file=sys.stderr,
                )
            return totals.stop_code
        if shard:
            code = _code(0 if totals is None else totals.failures)
            self.state.done(code)
            if self.comm.rank == 0:
                print(
                    f"{output}: finished already"
                    if totals is None
                    else f"{output}: shard {shard[0]}/{shard[1]} is done; when all are: "
                    f"python -m rc_hpc.{self.kind.command.split()[0]} merge {output}"
                )
            return code
        code = _code(on_root(self.comm, self._tell))
        self.state.done(code)
        return code

    def _tell(self) -> int:
        """Print what ends a run; the number of failures."""
        by_status = status(self.how.output).by_status
        if not self.talk.quiet:
            try:
                self._show(by_status)
                sys.stdout.flush()
            except OSError as error:  # the result is whole all the same
                print(
                    f"rc_hpc: {self.how.output} is whole, but {give_up_output(error)}",
                    file=sys.stderr,
                )
        good = {one.name for one in GOOD}
        return sum(n for name, n in by_status.items() if name not in good)

    def _show(self, by_status: dict[str, int]) -> None:
        if self.kind.tables:
            print(summary(self.how.output))
        else:
            counts = ", ".join(f"{n} {name}" for name, n in by_status.items())
            print(f"{self.how.output}: {sum(by_status.values())} {self.kind.unit}: {counts}")
        if told := Work.of(self.kind, self.options, self.how).beside.account():
            print(told)
        if self.talk.verbose:
            for line in refused_rows(self.how.output):
                print(line)
        if self.packed_now or self.kind.after:
            print("\n".join(["", *next_commands(self.kind, self.how.output)]).rstrip("\n"))

    def _dry_run(self, plan, packing: bool = False) -> int:
        """Say what would be done."""

        def seconds_each() -> float:
            kinds = [self.kind, PACKED] if packing else [self.kind]
            return sum(
                kind.load("facts")(self.options if kind is self.kind else self.options.pack)[1]
                for kind in kinds
            )

        def bytes_each() -> int:
            """Of a structure, not compressed: more than the files will have."""
            works = [Work.of(self.kind, self.options, self.how)]
            if packing:
                works.append(Work.of(PACKED, self.options.pack, self.how))
            return sum(_COPIES * row_bytes(one.schema, one.dims, _CHILD_ROWS) for one in works)

        def show():
            started = time.perf_counter()
            facts = plan()
            seconds = facts[self.kind.unit] * seconds_each() / self.comm.size
            listed = time.perf_counter() - started
            print(f"would write {self.how.output} with {self.comm.size} rank(s):")
            for name, value in facts.items():
                print(f"  {name}: {value}")
            typical = "" if self.kind.source else "typical structures of some 20 atoms; "
            print(f"  expected time: about {seconds:.0f} s ({typical}listed in {listed:.1f} s)")
            needed = facts[self.kind.unit] * bytes_each()
            beside = ", without what is written beside it" if self.kind.beside else ""
            print(f"  room that it wants: at most some {size(needed)}, with its parts{beside}")
            self.state.planned(needed)

        on_root(self.comm, show)
        return Exit.CLEAN


def _checked(packed: Path) -> tuple[str, int, int]:
    """The state in which one rank has read all of a packed file, so that no other must."""
    PackedReader(packed).close()
    return state_of(packed)


def _code(failures: int) -> Exit:
    """Exit code of a run that came to its end."""
    return Exit.FAILURES if failures else Exit.CLEAN


def _plan(packed: Path, facts: dict) -> dict:
    with PackedReader(packed) as reader:
        n_atoms, codes = reader.read("structures/n_atoms"), reader.read("structures/status")
    usable = n_atoms[codes == Status.ok]
    atoms = f"{np.median(usable):.0f}, {usable.max()}" if len(usable) else "none"
    return {
        "structures": len(codes),
        "of which are computed": len(usable),
        **facts,
        "atoms, median and largest": atoms,
    }
