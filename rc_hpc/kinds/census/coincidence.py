"""Why a phantom is there: which atoms the two rays fall on that meet where no atom is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO
from rc_hpc.geometry.protocol import Protocol

if TYPE_CHECKING:
    import pandas as pd

#: Distances of atoms from rays that are held at a time.
_BLOCK = 1_000_000


@dataclass(frozen=True)
class Coincidence:
    """One phantom and what is seen where it is.

    Attributes
    ----------
    element
        Symbol.
    position : (3,) float64
        Å.
    cameras
        The two whose rays meet there.
    atoms
        Of each of the two, indices of the drawn atoms whose images its ray goes through.
    gap
        Distance of the two rays, Å.
    distance
        To the nearest atom of the element, Å.
    refuting
        The other camera in which the nearest image of the element is farthest from the
        phantom's; None where none is farther than the rays of the two are apart.
    """

    element: str
    position: np.ndarray
    cameras: tuple[int, int]
    atoms: tuple[np.ndarray, np.ndarray]
    gap: float
    distance: float
    refuting: int | None


def coincidences(
    protocol: Protocol, positions: np.ndarray, numbers: np.ndarray, phantoms: pd.DataFrame
) -> list[Coincidence]:
    """The coincidences behind phantoms, in their order.

    Parameters
    ----------
    positions, numbers
        The drawn atoms; Å.
    phantoms
        As in `rc_hpc.kinds.census.computed.Computed.phantoms`.
    """
    from ase.data import atomic_numbers

    explained = []
    for phantom in phantoms.itertuples(index=False):
        point = np.array([phantom.x, phantom.y, phantom.z])
        own = np.flatnonzero(numbers == atomic_numbers[phantom.element])
        cameras = tuple(protocol.views.index(view) for view in (phantom.view_a, phantom.view_b))
        seen = []
        for camera in cameras:
            away = _from_rays(protocol, camera, point[None], positions[own])
            seen.append(own[_met(away, np.array([phantom.gap]))[0]])
        first, second = cameras
        explained.append(
            Coincidence(
                phantom.element,
                point,
                (first, second),
                (seen[0], seen[1]),
                float(phantom.gap),
                float(phantom.distance),
                _refuting(protocol, phantom),
            )
        )
    return explained


def points_of(structure: np.ndarray, number: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Which phantoms are one point, (n,) int: each pair of rays that meet there is a phantom's row.

    Parameters
    ----------
    structure, number : (n,) int
        Row of the structure, atomic number.
    position : (n, 3) float64
        Å; points of one species within `CENSUS_ZERO` are one, as in ``cells/n_phantoms``.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    n = len(position)
    if n == 0:
        return np.empty(0, np.int64)
    # Whole steps between structures and species keep them apart.
    places = np.column_stack([position, structure, number]).astype(np.float64)
    near = cKDTree(places).query_pairs(CENSUS_ZERO, output_type="ndarray")
    graph = coo_array((np.ones(len(near), bool), (near[:, 0], near[:, 1])), shape=(n, n))
    points: np.ndarray = connected_components(graph, directed=False)[1]
    return points.astype(np.int64)


def clearest(
    protocol: Protocol, positions: np.ndarray, numbers: np.ndarray, phantoms: pd.DataFrame
) -> Coincidence:
    """The coincidence of the phantom that is farthest from every atom."""
    farthest = phantoms["distance"].to_numpy().argmax()
    (one,) = coincidences(protocol, positions, numbers, phantoms.iloc[[farthest]])
    return one


def _refuting(protocol: Protocol, phantom: Any) -> int | None:
    residuals = [getattr(phantom, f"residual_{view}") for view in protocol.views]
    most = int(np.argmax(residuals))
    return most if residuals[most] > max(phantom.gap, CENSUS_ZERO) else None


def first_seen(
    protocol: Protocol,
    positions: np.ndarray,
    numbers: np.ndarray,
    phantoms: Mapping[str, np.ndarray],
) -> np.ndarray:
    """The atoms that name the two rays of each phantom, (m, 2): of each ray the first it is on.

    Parameters
    ----------
    positions, numbers
        The drawn atoms of one structure; Å.
    phantoms
        Its columns `number`, `position`, `view_a`, `view_b` and `gap` of the table of phantoms.
    """
    views = np.column_stack([phantoms["view_a"], phantoms["view_b"]])
    named = np.zeros(views.shape, np.int64)
    for number in np.unique(phantoms["number"]):
        own = np.flatnonzero(numbers == number)
        of_number = phantoms["number"] == number
        for camera in np.unique(views[of_number]):
            for side in range(2):
                every = np.flatnonzero(of_number & (views[:, side] == camera))
                for its in np.array_split(every, -(-len(every) * len(own) // _BLOCK) or 1):
                    away = _from_rays(protocol, camera, phantoms["position"][its], positions[own])
                    named[its, side] = own[_met(away, phantoms["gap"][its]).argmax(axis=1)]
    return named


def _met(away: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """Which atoms a ray goes through, (m, n), from their distances from it, Å.

    The phantom lies in the middle of the gap (m,): each ray is half of it away.
    """
    nearest = away.min(axis=1, initial=np.inf)
    limit = np.maximum(gap / 2, nearest) + CENSUS_ZERO
    met: np.ndarray = away <= limit[:, None]
    return met


def _from_rays(
    protocol: Protocol, camera: int, points: np.ndarray, positions: np.ndarray
) -> np.ndarray:
    """Distances (m, n) of positions from the rays of a camera through points, Å."""
    if protocol.centres is not None and protocol.pinhole[camera]:
        along = points - protocol.centres[camera]
    else:
        along = np.broadcast_to(protocol.rotations[camera][:, 2], points.shape)
    along = (along / np.linalg.norm(along, axis=1, keepdims=True))[:, None]
    offsets = positions[None] - points[:, None]
    within = (offsets * along).sum(axis=2, keepdims=True)
    across: np.ndarray = np.linalg.norm(offsets - within * along, axis=2)
    return across
