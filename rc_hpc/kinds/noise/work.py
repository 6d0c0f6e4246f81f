"""How a noise sweep is run: what it takes besides the oracle on one structure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rc_hpc.core.constants import SWEEP
from rc_hpc.core.vocabulary import ESTIMATORS
from rc_hpc.geometry import conditioning
from rc_hpc.geometry.protocol import Protocol, load_protocol
from rc_hpc.kinds.common.cameras import protocol_statics
from rc_hpc.kinds.common.costs import Rows, census_costs
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.common.statics import vocabulary
from rc_hpc.kinds.noise.options import NoiseOptions
from rc_hpc.kinds.noise.oracle import NoiseSweep
from rc_hpc.oracle.noise import NoiseReading, NoisyOracle, delta_of

#: Predicted time of reading one noisy conventional cell, in units of a census, and in s.
READ_WEIGHT, READ_S = 1.5, 0.008


def _cells(options: NoiseOptions) -> int:
    return sum(math.prod(protocol["tiling"]) for protocol in options.protocols)


def dims(options: NoiseOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return {
        "setting": len(SWEEP),
        "protocol": len(options.protocols),
        "view": max(len(protocol["views"]) for protocol in options.protocols),
        "reading": len(options.readings),
        "sigma": len(options.sigmas),
        "seed": options.seeds,
    }


def statics(options: NoiseOptions) -> dict[str, Any]:
    """Datasets that belong to no structure."""
    protocols = [protocol_of(identity) for identity in options.protocols]
    oracles = NoiseSweep(protocols, options).oracles
    rules, estimators, merges, labellers = zip(*options.readings, strict=True)
    deltas = [
        [[delta_of(rule, sigma, row[0].kappa) for sigma in options.sigmas] for rule in rules]
        for row in oracles
    ]
    gains = [
        [conditioning.gain(protocol, oracle.used) for oracle in row]
        for protocol, row in zip(protocols, oracles, strict=True)
    ]
    return {
        **vocabulary(options.pack),
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
            "How the symmetry of the noisy cell is found; true-error sets symprec from the true "
            "positions.",
            ("reading",),
        ),
        **noise_axes(options.sigmas, options.seeds),
        "axes/delta": (
            np.array(deltas),
            "angstrom",
            "Acceptance and merge tolerance; where the matching starts for the estimator "
            "all-views.",
            ("protocol", "reading", "sigma"),
        ),
        "axes/gain": (
            np.array(gains),
            "1",
            "Largest standard deviation of an estimated position, in units of sigma.",
            ("protocol", "reading"),
        ),
    }


def noise_axes(sigmas: tuple[float, ...], seeds: int) -> dict[str, Any]:
    """The axes of every result from noisy pictures."""
    return {
        "axes/sigma": (
            np.array(sigmas),
            "angstrom",
            "Standard deviation of each screen coordinate of a centroid.",
            ("sigma",),
        ),
        "axes/seed": (
            np.arange(seeds),
            "1",
            "Seed of the errors; the same errors, scaled, serve every sigma.",
            ("seed",),
        ),
    }


def _pairs(protocols: list[Protocol]) -> dict[str, Any]:
    """Independent camera pairs of all protocols, one after the other."""
    rows = [
        (p, v, w, angle, protocol.kappas()[v, w])
        for p, protocol in enumerate(protocols)
        for (v, w), angle in conditioning.separation_angles(protocol).items()
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
            "Conditioning number kappa: how much the stacked error of two image points may "
            "grow into the error of the point they fix.",
            ("pair",),
        ),
    }


def costs(options: NoiseOptions, _shared: Any, rows: Rows) -> np.ndarray:
    """Predicted time of each structure, (n,), ms."""
    return (READ_WEIGHT * _cells(options) * options.reads) * census_costs(rows)


def facts(options: NoiseOptions) -> tuple[dict[str, Any], float]:
    """What a dry run tells, and seconds for a structure."""
    told = {
        "protocols": len(options.protocols),
        "readings": len(options.readings),
        "sigmas": len(options.sigmas),
        "seeds": options.seeds,
    }
    return told, READ_S * options.reads * _cells(options)


def warm(_options: Any) -> None:
    """Run the kernels once."""
    numbers = np.array([1, 1, 2])
    positions = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 1.0], [1.0, 2.0, 0.0]])
    for estimator in ESTIMATORS[:2]:
        small = NoisyOracle(load_protocol("frozen"), NoiseReading(estimator=estimator))
        screen = np.stack([(positions @ rotation)[:, :2] for rotation in small.rotations])
        screen[1, 0] += 0.3
        kinds, points, _ = small.locate(numbers, screen, 0.1)
        small.label(5 * np.eye(3), kinds, points, 0.01, 0.01)
