"""The design run: search on one side of a packed file, then every set found, and known ones, on both sides."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.core.constants import SWEEP
from rc_hpc.core.errors import Status, UsageError
from rc_hpc.core.files import write_whole
from rc_hpc.core.vocabulary import TRUTHS, Side
from rc_hpc.engine.commands import pack_options
from rc_hpc.engine.old_noise import READ_WEIGHT, protocol_statics
from rc_hpc.engine.rows import Job, merge_rows, run_rows
from rc_hpc.engine.run import RunOptions, log, on_root
from rc_hpc.engine.sweeps import named_protocol
from rc_hpc.geometry.camera_sets import SCORES, toml_of
from rc_hpc.geometry.protocol import BUILT_IN, Protocol
from rc_hpc.kinds.common.statics import protocol_of, vocabulary
from rc_hpc.kinds.design.counts import read_design
from rc_hpc.kinds.design.options import DesignOptions
from rc_hpc.kinds.design.oracle import DesignSweep, sample_scores
from rc_hpc.kinds.design.schema import DESIGN
from rc_hpc.kinds.design.search import search
from rc_hpc.kinds.design.sides import split_sides
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.parallel.launch import Comm
from rc_hpc.parallel.run import Totals
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.store.outputs import check_not_read, check_output

#: Cameras of a set, and of one beside it, at most: every subset of two or more is reconstructed.
MOST_VIEWS = 8
#: Atoms of a structure that the search looks at, at most.
LARGEST = 200
#: Predicted time of a structure that takes no part, in units of a census.
NOTHING = 1e-6


@dataclass(frozen=True)
class Request:
    """What is to be designed; see `DesignOptions` for the fields of the same name.

    Attributes
    ----------
    held_out : float or frozenset of str
        Share of the formulas, or ids.
    shortlist
        Sets found, at most.
    beside
        Protocols to compare them with, each under its own name.
    """

    views: int
    keep: tuple[str, ...]
    beside: tuple[Protocol, ...]
    held_out: float | frozenset[str]
    seed: int = 0
    starts: int = 64
    shortlist: int = 4
    sample: int = 40
    training: int = 100
    delta: float = 0.01
    sigmas: tuple[float, ...] = ()
    seeds: int = 3
    truth: str = TRUTHS[0]
    quarantine: str = "drop"
    pack: PackOptions = PackOptions()

    def __post_init__(self):
        if not 2 <= self.views <= MOST_VIEWS:
            raise UsageError(f"--views must be between 2 and {MOST_VIEWS}, not {self.views}")
        known = tuple(BUILT_IN["frozen"])
        for name in self.keep:
            if name not in known:
                raise UsageError(f"--keep {name!r}: choose from {', '.join(known)}")
        if len(set(self.keep)) != len(self.keep):
            raise UsageError("--keep names a camera twice")
        if len(self.keep) >= self.views:
            raise UsageError(
                f"--keep holds {len(self.keep)} of {self.views} cameras: nothing is left to design"
            )
        for name in ("starts", "shortlist", "sample", "training"):
            if getattr(self, name) < 1:
                raise UsageError(f"--{name} must be at least 1, not {getattr(self, name)}")
        if not 0 <= self.seed < 2**63:
            raise UsageError(
                f"--search-seed must not be negative, nor {2**63} or more: {self.seed}"
            )
        if not 1 <= self.seeds <= 10_000:
            raise UsageError(f"--seeds must be between 1 and 10000, not {self.seeds}")
        if isinstance(self.held_out, float) and not 0 < self.held_out < 1:
            raise UsageError(
                f"--held-out must be a share between 0 and 1 or a file of ids, not {self.held_out:g}"
            )
        if not 1e-9 <= self.delta <= 0.5:
            raise UsageError(f"--delta must be between 1e-9 and 0.5 Å, not {self.delta}")
        if (
            not self.sigmas
            or not 0 <= self.sigmas[0]
            or not 0 < self.sigmas[-1] < float("inf")
            or sorted(set(self.sigmas)) != list(self.sigmas)
        ):
            raise UsageError(
                f"--sigmas must be different lengths in Å, ascending, none negative, one of them positive, not {', '.join(map(str, self.sigmas)) or 'none'}"
            )
        names = [protocol.name for protocol in self.beside]
        if not names or len(set(names)) != len(names):
            raise UsageError(
                f"--beside must be different protocols, each under its own name, not {', '.join(names) or 'none'}"
            )
        for protocol in self.beside:
            if len(protocol.views) > MOST_VIEWS:
                raise UsageError(
                    f"protocol {protocol.name!r} has {len(protocol.views)} cameras: a design compares up to {MOST_VIEWS}"
                )


def request_of(args) -> Request:
    """The request that the arguments make."""
    held_out = args.held_out
    check_not_read(
        toml_path(args.output),
        [*map(Path, args.beside.split(",")), *([held_out] if isinstance(held_out, Path) else [])],
    )
    if isinstance(held_out, Path):
        try:
            held_out = frozenset(
                line.strip()
                for line in held_out.read_text(encoding="utf-8-sig").splitlines()
                if line.strip()
            )
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"--held-out {args.held_out}: neither a number nor a file that can be read ({error})"
            ) from error
    return Request(
        views=args.views,
        keep=args.keep,
        beside=tuple(named_protocol(name) for name in args.beside.split(",")),
        held_out=held_out,
        seed=args.search_seed,
        starts=args.starts,
        shortlist=args.shortlist,
        sample=args.sample,
        training=args.training,
        delta=args.delta,
        sigmas=args.sigmas,
        seeds=args.seeds,
        truth=args.truth,
        quarantine=args.quarantine,
        pack=pack_options(args),
    )


def toml_path(output: Path) -> Path:
    """Where the protocol file of the best set goes."""
    return output.with_suffix(".toml")


def run_design(
    comm: Comm, packed: Path, request: Request, run: RunOptions, stop: StopSignal
) -> Totals | None:
    """Design cameras on a packed file; all ranks together.

    Returns
    -------
    Totals
        None where the output was finished already.
    """
    on_root(comm, functools.partial(_check_outputs, run))
    options, sides = on_root(comm, lambda: plan(packed, request))
    protocols = [protocol_of(identity) for identity in options.protocols]

    def prepare(recorder):
        return DesignSweep(protocols, options, sides, recorder).run

    cells = sum(int(np.prod(protocol.tiling)) for protocol in protocols)
    weight = READ_WEIGHT * cells * (1 + options.seeds * sum(sigma > 0 for sigma in options.sigmas))
    with PackedReader(packed) as reader:
        weights = np.array([weight if id in sides else NOTHING for id in reader.ids])
    totals = run_rows(
        comm, packed, Job(DESIGN, options, dims_of(options), statics, prepare, weights), run, stop
    )
    if totals is None or (totals.complete and not run.shard):
        on_root(comm, lambda: write_best(run.output))
    return totals


def _check_outputs(run: RunOptions) -> None:
    """Refuse outputs before the search is made for them."""
    check_output(run.output, run.resume, run.overwrite, run.shard)
    path = toml_path(run.output)
    if path == run.output:
        raise UsageError(
            f"-o {run.output}: the ending .toml is that of the protocol file beside the output"
        )
    if path.exists() and not (run.resume or run.overwrite or run.shard):
        raise UsageError(
            f"{path} exists, and the best cameras go there: --overwrite replaces it, -o names another output"
        )


def plan(packed: Path, request: Request) -> tuple[DesignOptions, dict[str, int]]:
    """Split the structures and search on those that may be looked at.

    Returns
    -------
    options
        With the sets found and those beside them.
    sides : dict of str to int
        Code of `Side` by id, without unused structures.
    """
    with PackedReader(packed) as reader:
        ids = np.array(reader.ids, object)
        read = {
            name: reader.read(f"structures/{name}")
            for name in ("formula", "status", "quarantine", "n_atoms")
        }
        usable = (read["status"] == Status.ok) & (
            (read["quarantine"] == 0) | (request.quarantine == "keep")
        )
        if not isinstance(request.held_out, float) and (
            strange := request.held_out - set(ids.tolist())
        ):
            raise UsageError(f"--held-out names {min(strange)!r}, which {packed} does not hold")
        codes = split_sides(
            ids,
            read["formula"],
            usable,
            read["n_atoms"],
            request.held_out,
            request.training,
            request.sample,
            LARGEST,
            request.seed,
        )
        cells = [_cell(reader, row) for row in np.flatnonzero(codes == Side.searched)]
    log.info(
        "design: %d structures held out, %d choose, %d of these are searched",
        (codes == Side.held_out).sum(),
        ((codes == Side.training) | (codes == Side.searched)).sum(),
        len(cells),
    )
    found = search(
        cells,
        request.views,
        request.keep,
        request.delta,
        request.seed,
        request.starts,
        request.shortlist,
    )
    protocols = [one.cameras.protocol(f"found{k}") for k, one in enumerate(found, 1)]
    if taken := {protocol.name for protocol in protocols} & {
        protocol.name for protocol in request.beside
    }:
        raise UsageError(
            f"--beside holds a protocol named {min(taken)!r}, as the sets that are found are: give it another name"
        )
    sides = {id: int(code) for id, code in zip(ids, codes, strict=True) if code}
    options = DesignOptions(
        protocols=tuple(
            {"name": protocol.name, **protocol.identity()}
            for protocol in (*protocols, *request.beside)
        ),
        scores=tuple(
            _plain(scores)
            for scores in (
                *(one.scores for one in found),
                *(sample_scores(protocol, cells, request.delta) for protocol in request.beside),
            )
        ),
        cameras=tuple(tuple(one.cameras.cameras()) for one in found),
        views=request.views,
        keep=request.keep,
        seed=request.seed,
        starts=request.starts,
        sample=request.sample,
        training=request.training,
        held_out=f"{request.held_out:g}" if isinstance(request.held_out, float) else "ids",
        sides=hashlib.sha256(json.dumps(sorted(sides.items())).encode()).hexdigest(),
        delta=request.delta,
        sigmas=request.sigmas,
        seeds=request.seeds,
        truth=request.truth,
        quarantine=request.quarantine,
        pack=request.pack,
    )
    return options, sides


def _plain(scores: dict[str, float]) -> dict[str, float | None]:
    """JSON has no infinity."""
    return {name: float(value) if np.isfinite(value) else None for name, value in scores.items()}


def _cell(reader: PackedReader, row: int) -> PackedCell:
    values, children = reader.rows(int(row), int(row) + 1, ("atoms",))
    atoms = children["atoms"]
    names = ("id", "lattice", "space_group", "space_group_conventional", "min_same_species")
    id, lattice, group, conventional, separation = (
        values[f"structures/{name}"][0] for name in names
    )
    return PackedCell(
        id,
        lattice,
        atoms["position"],
        atoms["number"],
        int(group),
        int(conventional),
        float(separation),
    )


def merge_design(output: Path, partial: bool = False) -> str:
    """Merge the parts of a design, remove them where none is missing, and write the best cameras; returns the content hash.

    Raises
    ------
    RcError
        Rows are missing, unless `partial`; all are.
    """
    digest = merge_rows(output, DESIGN, statics, partial)
    if not partial:
        write_best(output)
    return digest


def write_best(output: Path) -> Path:
    """Write the protocol file of the best set of a finished design beside it."""
    found = read_design(output)
    best, options = found.design.best, found.options
    about = (
        f"Cameras found by python -m rc_hpc.sweep design, search seed {options['seed']}, kept: {', '.join(options['keep']) or 'none'};",
        f"content hash of the design: {found.attrs['content_hash']}.",
        "Directions are those towards the viewer, in the Cartesian frame of the conventional standard cell.",
    )
    path = toml_path(output)
    write_whole(path, toml_of(output.stem, options["cameras"][best], about).encode())
    log.info("%s: the best cameras, for --protocol", path)
    return path


def dims_of(options: DesignOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    n_views = max(len(protocol["views"]) for protocol in options.protocols)
    return {
        "setting": len(SWEEP),
        "protocol": len(options.protocols),
        "view": n_views,
        "size": n_views - 1,
        "sigma": len(options.sigmas),
        "seed": options.seeds,
    }


def statics(options: dict) -> dict:
    """Datasets of a design file that belong to no structure, from the options it was made with."""
    protocols = [protocol_of(identity) for identity in options["protocols"]]
    n_found = len(options["cameras"])
    scores = {
        name: np.array(
            [np.inf if scores[name] is None else scores[name] for scores in options["scores"]]
        )
        for name in SCORES
    }
    return {
        **vocabulary(),
        **protocol_statics(protocols),
        "protocols/found": (
            np.arange(len(protocols)) < n_found,
            "1",
            "Whether the search found it; the others stand beside.",
            ("protocol",),
        ),
        **{
            f"scores/{name}": (
                scores[name],
                "angstrom" if name == "screen_length" else "1",
                f"{text} On the searched structures.",
                ("protocol",),
            )
            for name, text in SCORES.items()
        },
        "axes/sigma": (
            np.array(options["sigmas"]),
            "angstrom",
            "Standard deviation of each screen coordinate of a centroid.",
            ("sigma",),
        ),
        "axes/seed": (
            np.arange(options["seeds"]),
            "1",
            "Seed of the errors; the same errors, scaled, serve every sigma.",
            ("seed",),
        ),
        "axes/size": (
            np.arange(2, 1 + max(len(protocol.views) for protocol in protocols)),
            "1",
            "Views of a subset.",
            ("size",),
        ),
    }
