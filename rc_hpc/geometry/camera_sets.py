"""Sets of cameras, some of them kept.

Their geometric scores, and good ones found by coordinate exchange.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rc_hpc.geometry.alignment import REACH
from rc_hpc.geometry.cameras import kappa, rotation_from_direction, rotation_from_string
from rc_hpc.geometry.conditioning import distribution, gain
from rc_hpc.geometry.protocol import BUILT_IN, Protocol

#: Weight of the pairs' mean squared kappa beside the squared gain of all views.
PAIR_WEIGHT = 0.1
#: Directions that coordinate exchange chooses from: 4 degrees apart on a half sphere.
GRID = 1000
#: Digits of a direction: it is written as it is used.
DIGITS = 6
#: Angle within which two sets' cameras count as the same, degrees.
SAME_ANGLE = 5.0
#: Definition of every score of the search, by name.
SCORES = {
    "cost": "What the search minimises: geometric_cost (1 + ambiguity + phantom_rate), or with "
    "loose_rate for phantom_rate, as --ask says.",
    "geometric_cost": "gain^2 + 0.1 times the mean of kappa^2 over all camera pairs.",
    "gain": "Largest standard deviation of the all-view least-squares position per sigma of "
    "a screen coordinate.",
    "gain_one_lost": "The largest gain when one camera is lost; inf for two cameras.",
    "kappa_max": "Largest conditioning number kappa of a camera pair.",
    "kappa_mean": "Mean kappa over the camera pairs.",
    "ambiguity": "Phantoms by acceptance per atom at delta 0.5 angstrom with all cameras: "
    "places where noise may put an atom.",
    "phantom_rate": "Share of structures and view subsets (of two cameras or more) with a "
    "phantom by acceptance at the design's delta.",
    "loose_rate": "Share of structures and subsets of two and three cameras with a place, within "
    "the design's delta, that is the only one on no image point: other crystals may have the "
    "pictures.",
    "aligned_rate": "Share of structures and cameras with a lattice vector (coefficients up "
    "to 3) along the camera.",
    "screen_length": "Shortest length of such a lattice vector on any screen, the median "
    "over the structures, angstrom.",
}


@dataclass(frozen=True)
class CameraSet:
    """Cameras of a design: kept ones of the protocol frozen first, then free ones.

    Attributes
    ----------
    kept : tuple of str
        Names of cameras of the protocol frozen.
    free : (m, 3) float64
        Unit view directions of the others.
    """

    kept: tuple[str, ...]
    free: np.ndarray

    @property
    def directions(self) -> np.ndarray:
        """View directions of all cameras, (V, 3)."""
        return np.concatenate((kept_directions(self.kept), self.free))

    def cameras(self) -> list[dict]:
        """The cameras as a protocol file has them; directions have `DIGITS` digits."""
        kept = [{"name": name, "rotation": BUILT_IN["frozen"][name]} for name in self.kept]
        free = [[float(x) for x in np.round(direction, DIGITS) + 0.0] for direction in self.free]
        return kept + [
            {"name": f"free{k}", "direction": direction} for k, direction in enumerate(free, 1)
        ]

    def protocol(self, name: str) -> Protocol:
        """The protocol that `toml_of` of `cameras` describes."""
        cameras = self.cameras()
        rotations = [
            rotation_from_string(camera["rotation"])
            if "rotation" in camera
            else rotation_from_direction(camera["direction"])
            for camera in cameras
        ]
        return Protocol(name, tuple(camera["name"] for camera in cameras), np.array(rotations))


def kept_directions(kept: Sequence[str]) -> np.ndarray:
    """View directions of cameras of the protocol frozen, (k, 3)."""
    return np.array(
        [rotation_from_string(BUILT_IN["frozen"][name])[:, 2] for name in kept]
    ).reshape(-1, 3)


def toml_of(name: str, cameras: Sequence[dict], about: Sequence[str] = ()) -> str:
    """A protocol file of cameras as `CameraSet.cameras` gives them; `about` become comments."""
    lines = [*(f"# {line}" for line in about), f"name = {json.dumps(name)}"]
    for camera in cameras:
        lines += [
            "",
            "[[camera]]",
            *(
                f"{key} = {json.dumps(camera[key])}"
                for key in ("name", "rotation", "direction")
                if key in camera
            ),
        ]
    return "\n".join(lines) + "\n"


def geometric_cost(directions) -> np.ndarray:
    """Squared gain of all views plus 0.1 times the pairs' mean squared kappa, (...).

    The first is the largest variance of the least-squares position, the second that of a
    position from two views, both per sigma^2 of a screen coordinate; infinite where a pair is
    parallel.

    Parameters
    ----------
    directions : (..., V, 3) array_like
        Unit view directions.
    """
    d = np.asarray(directions, float)
    n_views = d.shape[-2]
    smallest = np.linalg.eigvalsh(n_views * np.eye(3) - np.swapaxes(d, -1, -2) @ d)[..., 0]
    first, second = np.triu_indices(n_views, 1)
    free = 1.0 - np.abs(np.sum(d[..., first, :] * d[..., second, :], axis=-1))
    with np.errstate(divide="ignore"):
        return 1.0 / np.maximum(smallest, 0.0) + PAIR_WEIGHT * np.mean(
            1.0 / np.maximum(free, 0.0), axis=-1
        )


def half_sphere(n: int) -> np.ndarray:
    """Evenly spread view lines, (n, 3).

    A Fibonacci lattice on the upper half of the unit sphere.
    """
    z = (np.arange(n) + 0.5) / n
    turn = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(n)
    across = np.sqrt(1.0 - z**2)
    return np.column_stack((across * np.cos(turn), across * np.sin(turn), z))


def exchanged(kept: Sequence[str], n_views: int, rng: np.random.Generator) -> CameraSet:
    """A set at a local minimum of `geometric_cost`, found by coordinate exchange from a random one.

    One free camera after the other goes to the best direction of a lattice of directions that
    is turned at random, until none moves. Without kept cameras the set's orientation is random.
    """
    from scipy.spatial.transform import Rotation

    turn = Rotation.random(random_state=rng).as_matrix()
    grid = half_sphere(GRID) @ turn
    fixed = kept_directions(kept)
    directions = np.concatenate(
        (fixed, grid[rng.choice(GRID, n_views - len(fixed), replace=False)])
    )
    cost, moved = geometric_cost(directions), True
    while moved:
        moved = False
        for v in range(len(fixed), n_views):
            trials = np.repeat(directions[None], GRID, axis=0)
            trials[:, v] = grid
            costs = geometric_cost(trials)
            best = int(np.argmin(costs))
            if costs[best] < cost * (1 - 1e-9):
                cost, directions, moved = costs[best], trials[best], True
    return CameraSet(tuple(kept), upward(directions[len(fixed) :]))


def moved(cameras: CameraSet, which: int, degrees: float, rng: np.random.Generator) -> CameraSet:
    """The set with one free camera turned at random by some `degrees`."""
    free = cameras.free.copy()
    free[which] += np.radians(degrees) * rng.standard_normal(3)
    free[which] /= np.linalg.norm(free[which])
    return CameraSet(cameras.kept, upward(free))


def upward(directions) -> np.ndarray:
    """The same view lines seen from above.

    A camera and its opposite show mirror images, which tell the same.
    """
    directions = np.array(directions, float)
    directions[directions[:, 2] < 0] *= -1.0
    return directions


def alike(first: CameraSet, second: CameraSet) -> bool:
    """Whether every camera of the first set looks along nearly the line of one of the second."""
    cosines = np.abs(first.directions @ second.directions.T).max(axis=1)
    return bool((cosines > np.cos(np.radians(SAME_ANGLE))).all())


def geometric_scores(protocol: Protocol) -> dict[str, float]:
    """How the cameras of a protocol amplify errors; see `SCORES`."""
    views = tuple(range(len(protocol.views)))
    spread = distribution(protocol)
    lost = (
        max(gain(protocol, part) for part in itertools.combinations(views, len(views) - 1))
        if len(views) > 2
        else np.inf
    )
    d = protocol.directions
    pairs = [kappa(d[v], d[w]) ** 2 for v, w in itertools.combinations(views, 2)]
    return {
        "geometric_cost": spread["all_views"] ** 2 + PAIR_WEIGHT * float(np.mean(pairs)),
        "gain": spread["all_views"],
        "gain_one_lost": float(lost),
        "kappa_max": float(np.sqrt(max(pairs))),
        "kappa_mean": float(np.mean(np.sqrt(pairs))),
    }


def screen_length(lattice, directions, reach: int = REACH) -> float:
    """Smallest length that a lattice vector has on any camera's screen, Å; coefficients to `reach`.

    Atoms that differ by that vector are shown so close together; 0 for a camera along a lattice
    vector.
    """
    every = np.array(list(itertools.product(range(-reach, reach + 1), repeat=3)))
    vectors = every[len(every) // 2 + 1 :] @ np.asarray(lattice, float)
    along = vectors @ np.asarray(directions, float).T
    across = np.sum(vectors**2, axis=1)[:, None] - along**2
    return float(np.sqrt(max(across.min(), 0.0)))
