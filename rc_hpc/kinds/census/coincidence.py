"""Why a phantom is there: which atoms the two rays fall on that meet where no atom is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO
from rc_hpc.geometry.protocol import Protocol

if TYPE_CHECKING:
    import pandas as pd


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
            away = _from_ray(protocol, camera, point, positions[own])
            # The phantom lies in the middle of the gap: each ray is half of it away.
            seen.append(own[away <= max(phantom.gap / 2, away.min()) + CENSUS_ZERO])
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


def _from_ray(
    protocol: Protocol, camera: int, point: np.ndarray, positions: np.ndarray
) -> np.ndarray:
    """Distances (n,) of points from the ray of a camera through a point, Å."""
    if protocol.centres is not None and protocol.pinhole[camera]:
        along = point - protocol.centres[camera]
    else:
        along = protocol.rotations[camera][:, 2]
    offsets = positions - point
    along = along / np.linalg.norm(along)
    across: np.ndarray = np.linalg.norm(offsets - np.outer(offsets @ along, along), axis=1)
    return across
