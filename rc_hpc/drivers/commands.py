"""The pack and census commands from parsed arguments to an exit code, on every rank."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from rc_hpc import constants
from rc_hpc.cli import setup_logging
from rc_hpc.drivers.common import RunOptions, exit_code, on_root
from rc_hpc.errors import Exit, UsageError
from rc_hpc.geometry.protocol import load_protocol, parse_subsets, parse_tiling
from rc_hpc.options import CensusOptions, PackOptions
from rc_hpc.parallel.cache import prepare_numba_cache, warm_once_per_node
from rc_hpc.parallel.launch import Comm, communicator
from rc_hpc.parallel.shard import parse_shard
from rc_hpc.parallel.signals import StopSignal

HDF5 = (".h5", ".hdf5")
#: More subsets than this are asked for by mistake rather than on purpose.
MANY_SUBSETS = 2048


def pack(args) -> int:
    """Run the packing command."""
    comm = communicator()
    setup_logging(args, comm.rank)
    options, run = pack_options(args), run_options(args)
    if any(Path(source).suffix in HDF5 for source in args.source):
        raise UsageError(f"{args.source[0]} is packed already: give it to python -m rc_hpc.census")
    with StopSignal() as stop:
        from rc_hpc.drivers.packing import run_packing

        listing = listing_of(args)
        if args.dry_run:
            return _dry_run(comm, args, lambda: {"structures": listing.measure()[0]}, 0.05)
        totals = run_packing(comm, listing, options, run, stop)
        return finish(comm, args, run, totals, "pack")


def census(args) -> int:
    """Run the census command: pack what is not packed, then the census, then its table."""
    comm = communicator()
    setup_logging(args, comm.rank)
    options, protocol, run = *census_options(args), run_options(args)
    packed = packed_source(args)
    source_given = packed is not None
    if run.shard and not source_given:
        raise UsageError("--shard needs packed structures: python -m rc_hpc.pack SOURCE -o packed.h5 (it takes --shard too), then census packed.h5")
    with StopSignal() as stop:
        from rc_hpc.drivers.packing import run_packing

        if not source_given:
            listing = listing_of(args)
            packed = args.packed or run.output.with_name(f"{run.output.stem}.packed.h5")
            if args.dry_run:
                return _dry_run(comm, args, lambda: {"structures": listing.measure()[0], "view subsets": len(options.subsets)}, 0.07)
            # The census' own output is looked at first: packing for an hour to learn that it exists helps nobody.
            on_root(comm, lambda: check_output(run))
            stage = RunOptions(packed, run.resume, run.overwrite, None, run.progress)
            totals = run_packing(comm, listing, options.pack, stage, stop)
            if totals is not None and not totals.complete:
                return finish(comm, args, run, totals, "census")
        elif args.dry_run:
            return _dry_run(comm, args, lambda: _plan(packed, options), None)
        prepare_numba_cache()
        from rc_hpc.drivers.census import run_census
        from rc_hpc.drivers.warm import warm

        warm_once_per_node(comm, warm)
        totals = run_census(comm, packed, protocol, options, run, stop)
        return finish(comm, args, run, totals, "census")


def pack_options(args) -> PackOptions:
    """Packing options of the arguments."""
    return PackOptions(tau=args.tau, angle_tolerance=args.angle_tolerance, max_atoms=args.max_atoms)


def census_options(args):
    """Census options and protocol of the arguments."""
    protocol = load_protocol(args.protocol, parse_tiling(args.tiling) if args.tiling else None)
    subsets = parse_subsets(args.subsets, protocol.views)
    if len(subsets) > MANY_SUBSETS:
        raise UsageError(f"{len(subsets)} view subsets of {len(protocol.views)} cameras: name those you want with --subsets")
    delta_max = args.delta_max if args.delta_max is not None else max(args.delta, constants.DELTA_MAX)
    options = CensusOptions(
        protocol={"name": protocol.name, **protocol.identity()}, subsets=subsets, delta=args.delta, delta_max=delta_max,
        enumeration=args.enumeration, merge=args.merge, truth=args.truth, label_every=args.label_every,
        quarantine=args.quarantine, max_candidates=args.max_candidates, pack=pack_options(args),
    )
    return options, protocol


def run_options(args) -> RunOptions:
    """Run options of the arguments."""
    if args.resume and args.overwrite:
        raise UsageError("--resume and --overwrite contradict each other: give one")
    progress = "none" if args.quiet and args.progress == "auto" else args.progress
    return RunOptions(args.output, args.resume, args.overwrite, parse_shard(args.shard) if args.shard else None, progress)


def packed_source(args) -> Path | None:
    """The packed file that was given as source, or None."""
    packed = [source for source in args.source if Path(source).suffix in HDF5]
    if not packed:
        return None
    if len(args.source) > 1:
        raise UsageError(f"{packed[0]} is packed: it must be the only source")
    for name in ("ids", "packed", "format"):
        if getattr(args, name) is not None:
            raise UsageError(f"--{name} belongs to packing, and {packed[0]} is packed already")
    if not Path(packed[0]).is_file():
        raise UsageError(f"no file {packed[0]}")
    return Path(packed[0])


def listing_of(args):
    """The sources of the arguments as a listing."""
    from rc_hpc.drivers.packing import Listing

    ids = None
    if args.ids is not None:
        try:
            ids = frozenset(line.strip() for line in args.ids.read_text(encoding="utf-8").splitlines() if line.strip())
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--ids {args.ids}: cannot be read ({error})") from error
        if not ids:
            raise UsageError(f"--ids {args.ids}: holds no ids")
    return Listing(args.source, ids, args.format, args.seed)


def check_output(run: RunOptions) -> None:
    """Refuse an output that exists, before any work is done for it."""
    if run.output.exists() and not (run.resume or run.overwrite):
        raise UsageError(f"{run.output} exists: --overwrite replaces it, --resume completes it, -o names another file")
    if not run.output.parent.is_dir():
        raise UsageError(f"no folder {run.output.parent} to write {run.output.name} into")


def finish(comm: Comm, args, run: RunOptions, totals, command: str) -> int:
    """Tell how the run ended and return its exit code, alike on all ranks."""
    if totals is not None and not totals.complete:
        if comm.rank == 0:
            print(f"{run.output}: stopped in good order; the same command with --resume goes on", file=sys.stderr)
        return Exit.CLEAN
    if run.shard:
        if comm.rank == 0:
            print(f"{run.output}: shard {run.shard[0]}/{run.shard[1]} is done; when all are: python -m rc_hpc.{command} merge {run.output}")
        return exit_code(True, totals.failures)

    def close():
        from rc_hpc.store.validate import status

        found = status(run.output).by_status
        if not args.quiet:
            if command == "census":
                from rc_hpc.tables import summary

                print(summary(run.output))
            else:
                print(f"{run.output}: {sum(found.values())} structures: " + ", ".join(f"{n} {name}" for name, n in found.items()))
            sys.stdout.flush()
        return sum(n for name, n in found.items() if name not in ("ok", "quarantined"))

    return exit_code(True, on_root(comm, close))


def _plan(packed: Path, options: CensusOptions) -> dict:
    from rc_hpc.store.reader import PackedReader

    with PackedReader(packed) as reader:
        n_atoms, status = reader.read("structures/n_atoms"), reader.read("structures/status")
    usable = status == 0
    return {
        "structures": len(status),
        "of which are computed": int(usable.sum()),
        "view subsets": len(options.subsets),
        "atoms, median and largest": f"{np.median(n_atoms[usable]):.0f}, {n_atoms[usable].max()}" if usable.any() else "none",
    }


def _dry_run(comm: Comm, args, plan, seconds_each: float | None) -> int:
    def show():
        started = time.perf_counter()
        facts = plan()
        seconds = facts["structures"] * (seconds_each or 0.02) / comm.size
        print(f"would write {args.output} with {comm.size} rank(s):")
        for name, value in facts.items():
            print(f"  {name}: {value}")
        print(f"  expected time: about {seconds:.0f} s (typical structures of some 20 atoms; listed in {time.perf_counter() - started:.1f} s)")

    on_root(comm, show)
    return Exit.CLEAN
