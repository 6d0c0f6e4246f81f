"""The pack, census and render commands from parsed arguments to an exit code, on every rank."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import sys
import time
from pathlib import Path

import numpy as np

from rc_hpc.core import constants
from rc_hpc.core.errors import Exit, UsageError
from rc_hpc.core.old_door import setup_logging
from rc_hpc.engine.run import RunOptions, exit_code, on_root
from rc_hpc.geometry.protocol import load_protocol, parse_subsets, parse_tiling
from rc_hpc.images.conventions import CONVENTIONS, name_of
from rc_hpc.images.files import picture_folder
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.renders.options import RenderOptions
from rc_hpc.parallel.cache import prepare_numba_cache, warm_once_per_node
from rc_hpc.parallel.launch import Comm, communicator
from rc_hpc.parallel.shard import parse_shard
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.store.outputs import check_output

HDF5 = (".h5", ".hdf5")
#: More subsets than this are asked for by mistake rather than on purpose.
MANY_SUBSETS = 2048
#: Copies of a cell in a tiling at most: more is meant for one axis, or by nobody.
MANY_CELLS = 4096
#: Predicted time of packing a structure, s.
PACKING_S = 0.05


def pack(args) -> int:
    """Run the packing command."""
    comm = communicator()
    setup_logging(args, comm.rank)
    options, run = pack_options(args), run_options(args)
    if any(Path(source).suffix in HDF5 for source in args.source):
        raise UsageError(f"{args.source[0]} is packed already: give it to python -m rc_hpc.census")
    with StopSignal() as stop:
        from rc_hpc.engine.packing import run_packing

        listing = listing_of(args, run.output)
        if args.dry_run:
            return _dry_run(comm, args, lambda: {"structures": listing.count()}, PACKING_S)
        on_root(comm, lambda: check_output(run.output, run.resume, run.overwrite, run.shard))
        totals = run_packing(comm, listing, options, run, stop)
        return finish(comm, args, run, totals, "pack")


def census(args) -> int:
    """Run the census command: pack what is not packed, then the census, then its table."""
    comm = communicator()
    setup_logging(args, comm.rank)
    options, protocol, run = *census_options(args), run_options(args)

    def compute(packed, stop):
        prepare_numba_cache()
        from rc_hpc.engine.old_census import run_census
        from rc_hpc.engine.warm import warm

        warm_once_per_node(comm, functools.partial(warm, bool(protocol.pinhole.any())))
        return run_census(comm, packed, protocol, options, run, stop)

    return on_packed(
        comm,
        args,
        run,
        options.pack,
        "census",
        compute,
        {"view subsets": len(options.subsets)},
        0.02,
    )


def render(args) -> int:
    """Run the rendering command: pack what is not packed, then the pictures and their manifest."""
    comm = communicator()
    setup_logging(args, comm.rank)
    options, protocol, run = *render_options(args), run_options(args)

    def compute(packed, stop):
        from rc_hpc.engine.old_pictures import prepare_matplotlib, run_render

        prepare_matplotlib(comm)
        return run_render(comm, packed, protocol, options, run, stop)

    each = len(protocol.views)
    picture_folder(run.output)
    seconds = each * (0.03 if options.renderer == "fast" and not options.compare else 0.6)
    return on_packed(
        comm, args, run, options.pack, "render", compute, {"pictures of each": each}, seconds
    )


def on_packed(
    comm: Comm,
    args,
    run: RunOptions,
    options: PackOptions,
    command: str,
    compute,
    facts: dict,
    seconds_each: float,
) -> int:
    """Run a command that works on packed structures: pack what is not packed, compute, tell.

    Parameters
    ----------
    compute
        Called as ``compute(packed, stop)`` with the packed file and the signals; returns the totals.
    facts, seconds_each
        What --dry-run tells, and the time it expects of a packed structure, s.
    """
    packed = packed_source(args)
    if run.shard and packed is None:
        raise UsageError(
            f"--shard needs packed structures: python -m rc_hpc.pack SOURCE -o packed.h5 (it takes --shard too), then {command} packed.h5"
        )
    with StopSignal() as stop:
        if packed is None:
            packed = args.packed or run.output.with_name(f"{run.output.stem}.packed.h5")
            listing = listing_of(args, run.output, packed)
            if args.dry_run:
                return _dry_run(
                    comm,
                    args,
                    lambda: {"structures": listing.count(), **facts},
                    PACKING_S + seconds_each,
                )
            from rc_hpc.engine.packing import run_packing

            # The command's own output is looked at first: packing for an hour to learn that it exists helps nobody.
            on_root(comm, lambda: check_output(run.output, run.resume, run.overwrite, run.shard))
            stage = RunOptions(packed, run.resume, run.overwrite, None, run.progress)
            totals = run_packing(comm, listing, options, stage, stop)
            if totals is not None and not totals.complete:
                return finish(comm, args, run, totals, command)
        elif args.dry_run:
            return _dry_run(comm, args, lambda: _plan(packed, facts), seconds_each)
        return finish(comm, args, run, compute(packed, stop), command)


def pack_options(args) -> PackOptions:
    """Packing options of the arguments."""
    return PackOptions(tau=args.tau, angle_tolerance=args.angle_tolerance, max_atoms=args.max_atoms)


def cameras(args):
    """Protocol and view subsets of the arguments."""
    protocol = load_protocol(args.protocol, parse_tiling(args.tiling) if args.tiling else None)
    subsets = parse_subsets(args.subsets, protocol.views)
    if len(subsets) > MANY_SUBSETS:
        raise UsageError(
            f"{len(subsets)} view subsets of {len(protocol.views)} cameras: name those you want with --subsets"
        )
    return protocol, subsets


def census_options(args):
    """Census options and protocol of the arguments."""
    protocol, subsets = cameras(args)
    if math.prod(protocol.tiling) > MANY_CELLS:
        raise UsageError(
            f"tiling {'x'.join(map(str, protocol.tiling))} repeats each cell {math.prod(protocol.tiling)} times: {MANY_CELLS} is the most"
        )
    if args.max_candidates < 1:
        raise UsageError(f"--max-candidates must be at least 1, not {args.max_candidates}")
    delta_max = (
        args.delta_max if args.delta_max is not None else max(args.delta, constants.DELTA_MAX)
    )
    options = CensusOptions(
        protocol={"name": protocol.name, **protocol.identity()},
        subsets=subsets,
        delta=args.delta,
        delta_max=delta_max,
        enumeration=args.enumeration,
        merge=args.merge,
        truth=args.truth,
        label_every=args.label_every,
        quarantine=args.quarantine,
        max_candidates=args.max_candidates,
        pack=pack_options(args),
    )
    return options, protocol


def render_options(args):
    """Rendering options and protocol of the arguments."""
    convention = CONVENTIONS[args.convention]
    protocol = load_protocol(args.protocol or convention.protocol)
    protocol.require_orthographic("pictures")
    # A protocol file may repeat the cell; the built-in ones leave that to the convention.
    tiling = (
        parse_tiling(args.tiling)
        if args.tiling
        else protocol.tiling
        if protocol.tiling != (1, 1, 1)
        else convention.tiling
    )
    protocol = dataclasses.replace(protocol, tiling=tiling)
    radii_factor = convention.radii_factor if args.radii is None else args.radii
    options = RenderOptions(
        protocol={"name": protocol.name, **protocol.identity()},
        convention=name_of(protocol.name, tiling, radii_factor),
        radii_factor=radii_factor,
        size=args.size,
        renderer=args.renderer,
        compare=args.compare,
        name_seed=args.name_seed,
        pack=pack_options(args),
    )
    return options, protocol


def run_options(args) -> RunOptions:
    """Run options of the arguments."""
    if args.resume and args.overwrite:
        raise UsageError("--resume and --overwrite contradict each other: give one")
    _check_names(args)
    progress = "none" if args.quiet and args.progress == "auto" else args.progress
    return RunOptions(
        args.output,
        args.resume,
        args.overwrite,
        parse_shard(args.shard) if args.shard else None,
        progress,
    )


def _check_names(args) -> None:
    """Refuse an output that has no name, or would replace what is read or written beside it."""
    packed = getattr(args, "packed", None)
    outputs = {"-o": args.output, "--packed": packed} if packed is not None else {"-o": args.output}
    taken = {os.path.realpath(source): source for source in args.source}
    for option, path in outputs.items():
        if not path.name:
            raise UsageError(f"{option} {path} is a folder: name a file")
        if os.path.realpath(path) in taken:
            raise UsageError(
                f"{option} {path} is {taken[os.path.realpath(path)]} too: name another file"
            )
        taken[os.path.realpath(path)] = f"the file of {option}"


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


def listing_of(args, *outputs: Path):
    """The sources of the arguments as a listing, without the run's own outputs."""
    from rc_hpc.engine.packing import Listing

    ids = None
    if args.ids is not None:
        try:
            ids = frozenset(
                line.strip()
                for line in args.ids.read_text(encoding="utf-8-sig").splitlines()
                if line.strip()
            )
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--ids {args.ids}: cannot be read ({error})") from error
        if not ids:
            raise UsageError(f"--ids {args.ids}: holds no ids")
    listing = Listing(args.source, ids, args.format, args.seed, outputs)
    iter(listing)  # a source that is not there is told before anything else
    return listing


def finish(comm: Comm, args, run: RunOptions, totals, command: str) -> int:
    """Tell how the run ended and return its exit code, alike on all ranks."""
    if totals is not None and not totals.complete:
        if comm.rank == 0:
            print(
                f"{run.output}: stopped in good order; the same command with --resume goes on",
                file=sys.stderr,
            )
        return Exit.CLEAN
    if run.shard:
        if totals is None:
            return _told(comm, f"{run.output}: finished already")
        _told(
            comm,
            f"{run.output}: shard {run.shard[0]}/{run.shard[1]} is done; when all are: python -m rc_hpc.{command} merge {run.output}",
        )
        return exit_code(True, totals.failures)

    def close():
        from rc_hpc.engine.validate import status

        found = status(run.output).by_status
        if not args.quiet:
            if command in ("census", "sweep"):
                from rc_hpc.tables import summary

                print(summary(run.output))
            else:
                print(
                    f"{run.output}: {sum(found.values())} structures: "
                    + ", ".join(f"{n} {name}" for name, n in found.items())
                )
            if command == "render":
                from rc_hpc.engine.old_pictures import account

                print(account(run.output))
            sys.stdout.flush()
        return sum(n for name, n in found.items() if name not in ("ok", "quarantined"))

    return exit_code(True, on_root(comm, close))


def _told(comm: Comm, text: str) -> Exit:
    if comm.rank == 0:
        print(text)
    return Exit.CLEAN


def _plan(packed: Path, facts: dict) -> dict:
    from rc_hpc.kinds.packed.reader import PackedReader

    with PackedReader(packed) as reader:
        n_atoms, status = reader.read("structures/n_atoms"), reader.read("structures/status")
    usable = status == 0
    return {
        "structures": len(status),
        "of which are computed": int(usable.sum()),
        **facts,
        "atoms, median and largest": f"{np.median(n_atoms[usable]):.0f}, {n_atoms[usable].max()}"
        if usable.any()
        else "none",
    }


def _dry_run(comm: Comm, args, plan, seconds_each: float) -> int:
    def show():
        started = time.perf_counter()
        facts = plan()
        seconds = facts["structures"] * seconds_each / comm.size
        print(f"would write {args.output} with {comm.size} rank(s):")
        for name, value in facts.items():
            print(f"  {name}: {value}")
        print(
            f"  expected time: about {seconds:.0f} s (typical structures of some 20 atoms; listed in {time.perf_counter() - started:.1f} s)"
        )

    on_root(comm, show)
    return Exit.CLEAN
