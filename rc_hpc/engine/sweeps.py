"""The sweeps from parsed arguments to an exit code, on every rank."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
from pathlib import Path

from rc_hpc.core import constants
from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.old_door import setup_logging
from rc_hpc.engine.commands import MANY_CELLS, cameras, on_packed, pack_options, run_options
from rc_hpc.geometry.protocol import Protocol, load_protocol, parse_tiling
from rc_hpc.images.conventions import CONVENTIONS
from rc_hpc.kinds.frontier.options import FrontierOptions
from rc_hpc.kinds.noise.options import NoiseOptions
from rc_hpc.kinds.occlusion.options import OcclusionOptions
from rc_hpc.parallel.cache import prepare_numba_cache, warm_once_per_node
from rc_hpc.parallel.launch import communicator

#: Predicted time of one delta and reading of a structure, s.
POINT_S = 0.001
#: Predicted time of reading one noisy conventional cell, s.
READ_S = 0.008


def run_sweep(args) -> int:
    """Run the sweep that the arguments name."""
    return {"frontier": frontier, "occlusion": occlusion, "noise": noise, "design": design}[
        args.sweep
    ](args)


def frontier(args) -> int:
    """Pack what is not packed, then the tolerance frontier, then its tables."""
    comm = communicator()
    setup_logging(args, comm.rank)
    options, protocol, run = *frontier_options(args), run_options(args)

    def compute(packed, stop):
        prepare_numba_cache()
        from rc_hpc.engine.old_frontier import run_frontier
        from rc_hpc.engine.warm import warm_frontier

        warm_once_per_node(comm, functools.partial(warm_frontier, bool(protocol.pinhole.any())))
        return run_frontier(comm, packed, protocol, options, run, stop)

    facts = {
        "view subsets": len(options.subsets),
        "deltas": len(options.deltas),
        "readings": len(options.readings),
    }
    points = len(options.deltas) * len(options.readings) * len(options.symprecs)
    return on_packed(
        comm, args, run, options.pack, "sweep", compute, facts, 0.02 + POINT_S * points
    )


def frontier_options(args):
    """Frontier options and protocol of the arguments."""
    protocol, subsets = cameras(args)
    pack = pack_options(args)
    options = FrontierOptions(
        protocol={"name": protocol.name, **protocol.identity()},
        subsets=subsets,
        deltas=args.deltas,
        symprecs=args.symprecs or (pack.tau,),
        delta_max=args.delta_max
        if args.delta_max is not None
        else max(args.deltas[-1], constants.DELTA_MAX),
        enumerations=args.enumerations,
        rules=args.rules,
        truth=args.truth,
        quarantine=args.quarantine,
        max_candidates=args.max_candidates,
        pack=pack,
    )
    return options, protocol


def noise(args) -> int:
    """Pack what is not packed, then the noise sweep, then its tables."""
    comm = communicator()
    setup_logging(args, comm.rank)
    options, protocols, order, run = *noise_options(args), run_options(args)

    def compute(packed, stop):
        prepare_numba_cache()
        from rc_hpc.engine.old_noise import run_noise
        from rc_hpc.engine.warm import warm_noise

        warm_once_per_node(comm, warm_noise)
        return run_noise(comm, packed, protocols, options, run, stop, order)

    facts = {
        "protocols": len(protocols),
        "readings": len(options.readings),
        "sigmas": len(options.sigmas),
        "seeds": options.seeds,
    }
    cells = sum(math.prod(protocol.tiling) for protocol in protocols)
    return on_packed(
        comm, args, run, options.pack, "sweep", compute, facts, READ_S * options.reads * cells
    )


def noise_options(args):
    """Noise options of the arguments, protocols, and the order in which the record's errors are drawn."""
    order = None
    if args.order is not None:
        if "record" not in args.rules:
            raise UsageError(
                "--order belongs to the rule record, which alone draws all errors from one stream: add --rules record"
            )
        try:
            order = args.order.read_text(encoding="utf-8-sig").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--order {args.order}: cannot be read ({error})") from error
        order = [line.strip() for line in order if line.strip()]
    protocols = [named_protocol(text) for text in args.protocols.split(",")]
    options = NoiseOptions(
        protocols=tuple({"name": protocol.name, **protocol.identity()} for protocol in protocols),
        sigmas=args.sigmas,
        seeds=args.seeds,
        rules=args.rules,
        estimators=args.estimators,
        merge=args.merge,
        labeller=args.labeller,
        order="" if order is None else hashlib.sha256("\n".join(order).encode()).hexdigest(),
        truth=args.truth,
        quarantine=args.quarantine,
        pack=pack_options(args),
    )
    return options, protocols, order


def named_protocol(text: str) -> Protocol:
    """Protocol of ``NAME``, ``FILE``, or either with ``@N`` or ``@NxNxN`` for a tiling, which its name then shows."""
    name, at, tiling = (text, "", "") if Path(text).is_file() else text.rpartition("@")
    protocol = (
        load_protocol(name, parse_tiling(tiling.replace("x", ","))) if at else load_protocol(text)
    )
    protocol.require_orthographic("noise sweeps")
    cells, shown = math.prod(protocol.tiling), "x".join(map(str, protocol.tiling))
    if cells > MANY_CELLS:
        raise UsageError(
            f"tiling {shown} repeats each cell {cells} times: {MANY_CELLS} is the most"
        )
    return (
        protocol if cells == 1 else dataclasses.replace(protocol, name=f"{protocol.name}@{shown}")
    )


def occlusion(args) -> int:
    """Pack what is not packed, then the occlusion sweep, then its tables."""
    comm = communicator()
    setup_logging(args, comm.rank)
    options, protocol, run = *occlusion_options(args), run_options(args)

    def compute(packed, stop):
        prepare_numba_cache()
        from rc_hpc.engine.old_occlusion import run_occlusion
        from rc_hpc.engine.warm import warm_occlusion

        warm_once_per_node(comm, warm_occlusion)
        return run_occlusion(comm, packed, protocol, options, run, stop)

    facts = {
        "view subsets": len(options.subsets),
        "conditions": len(options.conditions),
        "readings": len(options.readings),
    }
    return on_packed(
        comm,
        args,
        run,
        options.pack,
        "sweep",
        compute,
        facts,
        0.02 + POINT_S * len(options.conditions) * len(options.readings),
    )


def occlusion_options(args):
    """Occlusion options and protocol of the arguments."""
    protocol, subsets = cameras(args)
    protocol.require_orthographic("occlusion sweeps")
    if args.tiling is None and protocol.tiling == (1, 1, 1):  # as the pictures are drawn
        protocol = dataclasses.replace(protocol, tiling=CONVENTIONS["C1"].tiling)
    options = OcclusionOptions(
        protocol={"name": protocol.name, **protocol.identity()},
        subsets=subsets,
        conditions=args.conditions,
        verifications=args.verify,
        enumerations=args.enumerations,
        rules=args.rules,
        delta=args.delta,
        radii_factor=args.radii,
        truth=args.truth,
        quarantine=args.quarantine,
        max_candidates=args.max_candidates,
        pack=pack_options(args),
    )
    return options, protocol


def design(args) -> int:
    """Pack what is not packed, then the search for cameras and their comparison, then its tables."""
    comm = communicator()
    setup_logging(args, comm.rank)
    prepare_numba_cache()
    from rc_hpc.engine.old_design import request_of, run_design

    request, run = request_of(args), run_options(args)

    def compute(packed, stop):
        from rc_hpc.engine.warm import warm_design

        warm_once_per_node(comm, warm_design)
        return run_design(comm, packed, request, run, stop)

    sets = request.shortlist + len(request.beside)
    facts = {
        "cameras of a set": request.views,
        "random starts": request.starts,
        "sets read": sets,
        "sigmas": len(request.sigmas),
        "seeds": request.seeds,
    }
    return on_packed(
        comm,
        args,
        run,
        request.pack,
        "sweep",
        compute,
        facts,
        READ_S * sets * (1 + request.seeds * sum(sigma > 0 for sigma in request.sigmas)),
    )


def merge_sweep(output: Path, partial: bool = False) -> str:
    """Merge the parts of a sweep of whatever kind; returns the content hash.

    Raises
    ------
    RcError
        The parts are no sweep's; rows are missing, unless `partial`.
    """
    from rc_hpc.core.files import parts_folder
    from rc_hpc.engine.old_design import merge_design
    from rc_hpc.engine.old_frontier import merge_frontier
    from rc_hpc.engine.old_noise import merge_noise
    from rc_hpc.engine.old_occlusion import merge_occlusion
    from rc_hpc.store.parts import read_run

    mergers = {
        "frontier": merge_frontier,
        "occlusion": merge_occlusion,
        "noise": merge_noise,
        "design": merge_design,
    }
    kind = read_run(parts_folder(output))["kind"]
    if kind not in mergers:
        raise RcError(
            f"{output}: its parts are of kind {kind!r}, which is no sweep: merge them with the command that wrote them"
        )
    return mergers[kind](output, partial)
