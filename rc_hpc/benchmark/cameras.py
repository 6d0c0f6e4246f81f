"""Cameras of a scene: three tilted crystal directions, random ones, and strict ones."""

from __future__ import annotations

import numpy as np

from rc_hpc.benchmark.records import Camera
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.geometry.cameras import rotation_from_direction

#: Coefficients of the three default views.
TILTED = ((1, 0, 0), (1, 1, 0), (1, 1, 1))
#: Directions of which one strict view is asked about: in every system four or more of them are
#: inequivalent under its Laue group.
STRICT = (
    *((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1)),
    *((2, 1, 0), (2, 0, 1), (0, 2, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2)),
)
#: Random directions that are tried for one view.
_TRIES = 1000


def camera(id_: str, coefficients, lattice, tilt_degrees: float = 0.0, up=None) -> Camera:
    """The camera that looks against a lattice direction.

    Parameters
    ----------
    coefficients : (3,)
        Of the lattice vectors.
    lattice : (3, 3)
        Rows, Å.
    tilt_degrees
        Turn about the screen's x axis after that.
    up : (3,), optional
        What is upwards on the screen; by default c.
    """
    direction = np.asarray(coefficients, float)
    rows = rotation_from_direction(direction @ lattice, lattice[2] if up is None else up).T
    angle = np.radians(tilt_degrees)
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array(((1.0, 0.0, 0.0), (0.0, c, -s), (0.0, s, c)))
    return Camera(id_, direction, turn @ rows, float(tilt_degrees))


def candidate_views(lattice, rng: np.random.Generator, settings: DisplaySettings):
    """The tilted views and the random ones, ``v00`` and so on.

    Parameters
    ----------
    lattice : (3, 3)
        Rows, Å.
    rng
        Draws the random directions; one that is too close to another view is drawn again.
    """
    found = [
        camera(f"v{k:02}", direction, lattice, settings.tilt) for k, direction in enumerate(TILTED)
    ]
    largest = np.cos(np.radians(settings.view_angle))
    for k in range(len(TILTED), len(TILTED) + settings.random_views):
        for _ in range(_TRIES):
            new = camera(f"v{k:02}", rng.uniform(-1.0, 1.0, 3), lattice)
            towards = [abs(float(new.rotation[2] @ one.rotation[2])) for one in found]
            if max(towards) < largest:
                break
        found.append(new)
    return tuple(found)


def strict_views(lattice) -> tuple[Camera, ...]:
    """Views exactly along the directions of `STRICT`, ``s00`` and so on."""
    return tuple(camera(f"s{k:02}", direction, lattice) for k, direction in enumerate(STRICT))
