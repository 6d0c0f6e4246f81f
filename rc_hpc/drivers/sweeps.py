"""The sweeps from parsed arguments to an exit code, on every rank."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from rc_hpc import constants
from rc_hpc.cli import setup_logging
from rc_hpc.drivers.commands import cameras, on_packed, pack_options, run_options
from rc_hpc.errors import RcError
from rc_hpc.images.conventions import CONVENTIONS
from rc_hpc.options import FrontierOptions, OcclusionOptions
from rc_hpc.parallel.cache import prepare_numba_cache, warm_once_per_node
from rc_hpc.parallel.launch import communicator

#: Predicted time of one delta and reading of a structure, s.
POINT_S = 0.001


def run_sweep(args) -> int:
    """Run the sweep that the arguments name."""
    return {"frontier": frontier, "occlusion": occlusion}[args.sweep](args)


def frontier(args) -> int:
    """Pack what is not packed, then the tolerance frontier, then its tables."""
    comm = communicator()
    setup_logging(args, comm.rank)
    options, protocol, run = *frontier_options(args), run_options(args)

    def compute(packed, stop):
        prepare_numba_cache()
        from rc_hpc.drivers.frontier import run_frontier
        from rc_hpc.drivers.warm import warm_frontier

        warm_once_per_node(comm, warm_frontier)
        return run_frontier(comm, packed, protocol, options, run, stop)

    facts = {"view subsets": len(options.subsets), "deltas": len(options.deltas), "readings": len(options.readings)}
    points = len(options.deltas) * len(options.readings) * len(options.symprecs)
    return on_packed(comm, args, run, options.pack, "sweep", compute, facts, 0.02 + POINT_S * points)


def frontier_options(args):
    """Frontier options and protocol of the arguments."""
    protocol, subsets = cameras(args)
    pack = pack_options(args)
    options = FrontierOptions(
        protocol={"name": protocol.name, **protocol.identity()}, subsets=subsets, deltas=args.deltas, symprecs=args.symprecs or (pack.tau,),
        delta_max=args.delta_max if args.delta_max is not None else max(args.deltas[-1], constants.DELTA_MAX),
        enumerations=args.enumerations, rules=args.rules, truth=args.truth, quarantine=args.quarantine,
        max_candidates=args.max_candidates, pack=pack,
    )
    return options, protocol


def occlusion(args) -> int:
    """Pack what is not packed, then the occlusion sweep, then its tables."""
    comm = communicator()
    setup_logging(args, comm.rank)
    options, protocol, run = *occlusion_options(args), run_options(args)

    def compute(packed, stop):
        prepare_numba_cache()
        from rc_hpc.drivers.occlusion import run_occlusion
        from rc_hpc.drivers.warm import warm_occlusion

        warm_once_per_node(comm, warm_occlusion)
        return run_occlusion(comm, packed, protocol, options, run, stop)

    facts = {"view subsets": len(options.subsets), "conditions": len(options.conditions), "readings": len(options.readings)}
    return on_packed(comm, args, run, options.pack, "sweep", compute, facts, 0.02 + POINT_S * len(options.conditions) * len(options.readings))


def occlusion_options(args):
    """Occlusion options and protocol of the arguments."""
    protocol, subsets = cameras(args)
    if args.tiling is None and protocol.tiling == (1, 1, 1):  # as the pictures are drawn
        protocol = dataclasses.replace(protocol, tiling=CONVENTIONS["C1"].tiling)
    options = OcclusionOptions(
        protocol={"name": protocol.name, **protocol.identity()}, subsets=subsets, conditions=args.conditions,
        verifications=args.verify, enumerations=args.enumerations, rules=args.rules, delta=args.delta, radii_factor=args.radii,
        truth=args.truth, quarantine=args.quarantine, max_candidates=args.max_candidates, pack=pack_options(args),
    )
    return options, protocol


def merge_sweep(output: Path, partial: bool = False) -> str:
    """Merge the parts of a sweep of whatever kind; returns the content hash.

    Raises
    ------
    RcError
        The parts are no sweep's; rows are missing, unless `partial`.
    """
    from rc_hpc.drivers.frontier import merge_frontier
    from rc_hpc.drivers.occlusion import merge_occlusion
    from rc_hpc.store.parts import parts_folder, read_run

    mergers = {"frontier": merge_frontier, "occlusion": merge_occlusion}
    kind = read_run(parts_folder(output))["kind"]
    if kind not in mergers:
        raise RcError(f"{output}: its parts are of kind {kind!r}, which is no sweep: merge them with the command that wrote them")
    return mergers[kind](output, partial)
