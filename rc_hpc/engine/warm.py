"""Compile or load every kernel on the smallest input; a census does not load what only sweeps need."""

import dataclasses

import numpy as np

from rc_hpc.core.vocabulary import ESTIMATORS
from rc_hpc.geometry.protocol import Protocol, load_protocol
from rc_hpc.kinds.occlusion.options import OCCLUSION_RULES, OcclusionOptions
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.oracle.labelling import LabelTable


def _cameras(pinholes: bool) -> Protocol:
    protocol = load_protocol("frozen")
    return dataclasses.replace(protocol, centres=10 * protocol.directions) if pinholes else protocol


def warm(pinholes: bool = False) -> None:
    """Run the kernels of a census once."""
    GeometricOracle(_cameras(pinholes), ((0, 1),)).run([[0.0, 0.0, 0.0]], [1], 0.01)


def warm_frontier(pinholes: bool = False) -> None:
    """Run the kernels of a tolerance frontier once."""
    oracle = GeometricOracle(_cameras(pinholes), ((0, 1),))
    found = oracle.enumerate([[0.0, 0.0, 0.0]], [1], 0.01, 0.01)
    oracle.steps(found, np.array([0.01]))
    oracle.profile(found)
    made = oracle.at_delta(found.within(0.01), 0.01, chosen=np.array([0]))
    table = LabelTable(np.eye(3), (), 5.0, ordered=False)
    for _ in range(2):  # the second is compared with the first
        table.labels(made.numbers, *made.cells[0])


def warm_noise() -> None:
    """Run the kernels of a noise sweep once."""
    from rc_hpc.oracle.noise import NoiseReading, NoisyOracle

    numbers, positions = (
        np.array([1, 1, 2]),
        np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 1.0], [1.0, 2.0, 0.0]]),
    )
    for estimator in ESTIMATORS[:2]:
        oracle = NoisyOracle(load_protocol("frozen"), NoiseReading(estimator=estimator))
        screen = np.stack([(positions @ rotation)[:, :2] for rotation in oracle.rotations])
        screen[1, 0] += 0.3
        kinds, points, _ = oracle.locate(numbers, screen, 0.1)
        oracle.label(5 * np.eye(3), kinds, points, 0.01, 0.01)


def warm_design() -> None:
    """Run the kernels of a camera design once."""
    warm()
    warm_noise()


def warm_occlusion() -> None:
    """Run the kernels of an occlusion sweep once."""
    from rc_hpc.kinds.occlusion.oracle import OcclusionOracle

    protocol = load_protocol("frozen", (2, 1, 1))
    options = OcclusionOptions(
        protocol.identity(),
        ((0, 1),),
        conditions=("O2",),
        verifications=("covered", "excused"),
        rules=OCCLUSION_RULES,
    )
    OcclusionOracle(protocol, options).run(
        PackedCell("", 3 * np.eye(3), np.zeros((1, 3)), np.array([29]), 221, 221, np.inf)
    )
