"""The noise run: a packed file to what is read of its structures from noisy pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rc_hpc.core.constants import SWEEP
from rc_hpc.core.errors import Status, UsageError
from rc_hpc.engine.rows import Job, merge_rows, run_rows
from rc_hpc.engine.run import RunOptions
from rc_hpc.geometry import conditioning
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.common.statics import protocol_of, vocabulary
from rc_hpc.kinds.noise.options import NoiseOptions
from rc_hpc.kinds.noise.oracle import NoiseSweep, SharedStream
from rc_hpc.kinds.noise.schema import NOISE
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.oracle.noise import delta_of
from rc_hpc.parallel.launch import Comm
from rc_hpc.parallel.run import Totals
from rc_hpc.parallel.signals import StopSignal

#: Predicted time of reading one noisy cell, in units of a census.
READ_WEIGHT = 1.5


def run_noise(
    comm: Comm,
    packed: Path,
    protocols: list[Protocol],
    options: NoiseOptions,
    run: RunOptions,
    stop: StopSignal,
    order: Sequence[str] | None = None,
) -> Totals | None:
    """Noise sweep of a packed file; all ranks together.

    Parameters
    ----------
    order
        Ids in the order in which the record's errors are drawn; by default that of the file.

    Returns
    -------
    Totals
        None where the output was finished already.
    """
    sizes = _sizes(packed, order) if options.shared else {}

    def prepare(recorder):
        streams = None
        if options.shared:
            streams = [
                SharedStream(
                    {id: n * int(np.prod(p.tiling)) for id, n in sizes.items()},
                    options.seeds,
                    len(p.views),
                )
                for p in protocols
            ]
        return NoiseSweep(protocols, options, streams, recorder).run

    cells = sum(int(np.prod(protocol.tiling)) for protocol in protocols)
    return run_rows(
        comm,
        packed,
        Job(
            NOISE, options, dims_of(options), statics, prepare, READ_WEIGHT * cells * options.reads
        ),
        run,
        stop,
    )


def merge_noise(output: Path, partial: bool = False) -> str:
    """Merge the parts of a noise sweep, and remove them where none is missing; returns the content hash.

    Raises
    ------
    RcError
        Rows are missing, unless `partial`; all are.
    """
    return merge_rows(output, NOISE, statics, partial)


def _sizes(packed: Path, order: Sequence[str] | None) -> dict[str, int]:
    """Atoms of the conventional cells that are computed, in the order in which they draw."""
    with PackedReader(packed) as reader:
        usable = reader.read("structures/status") == Status.ok
        found = dict(
            zip(
                np.array(reader.ids, object)[usable].tolist(),
                reader.read("structures/n_atoms")[usable].tolist(),
                strict=True,
            )
        )
    if order is None:
        return found
    for id in order:
        if id not in found:
            raise UsageError(
                f"--order names {id!r}, which {packed} does not hold as a usable structure: the errors of all that follow would be others"
            )
    if missing := found.keys() - set(order):
        raise UsageError(
            f"--order does not name {min(missing)!r}, a structure of {packed}: it must name all of them"
        )
    if len(set(order)) != len(order):
        raise UsageError("--order names an id twice")
    return {id: found[id] for id in order}


def dims_of(options: NoiseOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return {
        "setting": len(SWEEP),
        "protocol": len(options.protocols),
        "view": max(len(protocol["views"]) for protocol in options.protocols),
        "reading": len(options.readings),
        "sigma": len(options.sigmas),
        "seed": options.seeds,
    }


def statics(options: dict) -> dict:
    """Datasets of a noise file that belong to no structure, from the options it was made with."""
    lists = {name: tuple(options[name]) for name in ("protocols", "sigmas", "rules", "estimators")}
    made = NoiseOptions(**{**options, **lists, "pack": PackOptions(**options["pack"])})
    protocols = [protocol_of(identity) for identity in made.protocols]
    oracles = NoiseSweep(protocols, made).oracles
    rules, estimators, merges, labellers = zip(*made.readings, strict=True)
    return {
        **vocabulary(),
        **protocol_statics(protocols),
        **_pairs(protocols),
        "axes/rule": (rules, "1", "Rule by which delta follows from sigma.", ("reading",)),
        "axes/estimator": (
            estimators,
            "1",
            "Centroids that a position is estimated from.",
            ("reading",),
        ),
        "axes/merge": (
            merges,
            "1",
            "Merge rule of the estimators that read pairs; all-views has none.",
            ("reading",),
        ),
        "axes/labeller": (
            labellers,
            "1",
            "How the symmetry of the noisy cell is found; true-error sets symprec from the true positions.",
            ("reading",),
        ),
        "axes/sigma": (
            np.array(made.sigmas),
            "angstrom",
            "Standard deviation of each screen coordinate of a centroid.",
            ("sigma",),
        ),
        "axes/seed": (
            np.arange(made.seeds),
            "1",
            "Seed of the errors; the same errors, scaled, serve every sigma.",
            ("seed",),
        ),
        "axes/delta": (
            np.array(
                [
                    [
                        [delta_of(rule, sigma, row[0].kappa) for sigma in made.sigmas]
                        for rule in rules
                    ]
                    for row in oracles
                ]
            ),
            "angstrom",
            "Acceptance and merge tolerance; where the matching starts for the estimator all-views.",
            ("protocol", "reading", "sigma"),
        ),
        "axes/gain": (
            np.array(
                [
                    [conditioning.gain(protocol, oracle.used) for oracle in row]
                    for protocol, row in zip(protocols, oracles, strict=True)
                ]
            ),
            "1",
            "Largest standard deviation of an estimated position, in units of sigma.",
            ("protocol", "reading"),
        ),
    }


def protocol_statics(protocols: list[Protocol]) -> dict:
    """Cameras of each protocol; views beyond a protocol's own are empty, NaN where there are numbers."""
    n_views = max(len(protocol.views) for protocol in protocols)
    names = np.full((len(protocols), n_views), "", object)
    rotations = np.full((len(protocols), n_views, 3, 3), np.nan)
    for p, protocol in enumerate(protocols):
        names[p, : len(protocol.views)] = protocol.views
        rotations[p, : len(protocol.views)] = protocol.rotations
    spread = [conditioning.distribution(protocol) for protocol in protocols]
    return {
        "protocols/name": (
            [protocol.name for protocol in protocols],
            "1",
            "Name of each protocol.",
            ("protocol",),
        ),
        "protocols/n_views": (
            np.array([len(protocol.views) for protocol in protocols]),
            "1",
            "Number of its cameras.",
            ("protocol",),
        ),
        "protocols/view": (names, "1", "Names of its cameras.", ("protocol", "view")),
        "protocols/rotation": (
            rotations,
            "1",
            "Rotation of each camera: screen x, y and depth are columns of position @ rotation.",
            ("protocol", "view", "xyz", "screen"),
        ),
        "protocols/direction": (
            rotations[..., 2],
            "1",
            "View direction of each camera, towards the viewer.",
            ("protocol", "view", "xyz"),
        ),
        "protocols/tiling": (
            np.array([protocol.tiling for protocol in protocols]),
            "1",
            "Repetitions of the conventional cell along its axes.",
            ("protocol", "axis"),
        ),
        "protocols/kappa": (
            np.array([one["max"] for one in spread]),
            "1",
            "Largest conditioning number kappa among the independent camera pairs.",
            ("protocol",),
        ),
        "protocols/gain": (
            np.array([one["all_views"] for one in spread]),
            "1",
            "The same 2-norm for all views together: that of their least-squares position.",
            ("protocol",),
        ),
    }


def _pairs(protocols: list[Protocol]) -> dict:
    """Independent camera pairs of all protocols, one after the other."""
    rows = [
        (p, *pair, angle, protocol.kappas()[pair])
        for p, protocol in enumerate(protocols)
        for pair, angle in conditioning.separation_angles(protocol).items()
    ]
    owner, first, second, angles, kappas = (np.array(column) for column in zip(*rows, strict=True))
    return {
        "pairs/protocol": (
            owner,
            "1",
            "Protocol of the camera pair: index into /protocols.",
            ("pair",),
        ),
        "pairs/view_a": (first, "1", "First camera: index into the protocol's views.", ("pair",)),
        "pairs/view_b": (second, "1", "Second camera.", ("pair",)),
        "pairs/angle": (angles, "degree", "Acute angle between the two view lines.", ("pair",)),
        "pairs/kappa": (
            kappas,
            "1",
            "Conditioning number kappa: how much the stacked error of two image points may grow into the error of the point they fix.",
            ("pair",),
        ),
    }
