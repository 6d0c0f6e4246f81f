"""Search for camera sets on a sample: random starts, coordinate exchange, local moves."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rc_hpc.geometry.camera_sets import CameraSet, alike, exchanged, geometric_cost, moved
from rc_hpc.kinds.design.oracle import sample_scores
from rc_hpc.oracle.cell import PackedCell

log = logging.getLogger("rc_hpc")

#: Rounds of local moves of every set that is kept, and how far a camera is turned in the first and
#: in the last, degrees.
ROUNDS, FIRST_TURN, LAST_TURN = 8, 8.0, 1.0


class Found(NamedTuple):
    """A camera set with its scores on the sample, see `rc_hpc.geometry.camera_sets.SCORES`."""

    cameras: CameraSet
    scores: dict[str, float]


def search(
    cells: Sequence[PackedCell],
    n_views: int,
    kept: Sequence[str],
    delta: float,
    seed: int,
    starts: int,
    shortlist: int,
    ask: str = "phantoms",
) -> list[Found]:
    """The best different camera sets by their cost on a sample of structures, best first.

    Every start is brought to a minimum of the geometric cost by coordinate exchange; all are
    scored on the sample, and the best, no two alike, are improved by turning one free camera
    after the other a little at random as long as that lowers the cost.

    Parameters
    ----------
    cells
        The sample; nothing else of any structure is looked at.
    kept
        Names of cameras of the protocol frozen that every set holds.
    delta, ask
        See `sample_scores`.
    seed
        Of all random numbers.
    starts, shortlist
        Number of starts, and of sets returned at most.
    """
    pool = []
    for number in range(starts):
        cameras = exchanged(kept, n_views, np.random.default_rng((seed, number)))
        pool.append(Found(cameras, sample_scores(cameras.protocol("start"), cells, delta, ask)))
    pool.sort(key=lambda found: found.scores["cost"])
    log.info(
        "design: %d starts scored, cost %.4f to %.4f",
        starts,
        pool[0].scores["cost"],
        pool[-1].scores["cost"],
    )
    chosen = different(pool, shortlist)
    chosen = [
        _improved(found, cells, delta, ask, np.random.default_rng((seed, starts, k)))
        for k, found in enumerate(chosen)
    ]
    chosen.sort(key=lambda found: found.scores["cost"])
    log.info(
        "design: %d sets kept, cost %.4f to %.4f",
        len(chosen),
        chosen[0].scores["cost"],
        chosen[-1].scores["cost"],
    )
    return different(chosen, shortlist)


def different(pool: Sequence[Found], most: int) -> list[Found]:
    """The first sets of a pool, no two of them alike."""
    chosen: list[Found] = []
    for found in pool:
        if len(chosen) < most and not any(alike(found.cameras, other.cameras) for other in chosen):
            chosen.append(found)
    return chosen


def _improved(
    found: Found,
    cells: Sequence[PackedCell],
    delta: float,
    ask: str,
    rng: np.random.Generator,
) -> Found:
    """The set after local moves, each taken where it lowers the cost."""
    for turn in np.geomspace(FIRST_TURN, LAST_TURN, ROUNDS):
        for which in range(len(found.cameras.free)):
            cameras = moved(found.cameras, which, turn, rng)
            # The cost is no less than this.
            if geometric_cost(cameras.directions) >= found.scores["cost"]:
                continue
            scores = sample_scores(cameras.protocol("move"), cells, delta, ask)
            if scores["cost"] < found.scores["cost"]:
                found = Found(cameras, scores)
    return found
