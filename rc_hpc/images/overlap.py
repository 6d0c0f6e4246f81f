"""How much of what is drawn lies under or over another disc of its element."""

from __future__ import annotations

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO


def overlapping(centres, radii, numbers, same: float | None = None) -> np.ndarray:
    """Which discs of one picture overlap another disc of the same element, (n,) bool.

    Parameters
    ----------
    centres : (n, 2) array_like
        Any unit of length.
    radii : (n,) array_like
        The same unit.
    numbers : (n,) array_like
        Atomic numbers.
    same
        Centres up to this distance apart coincide, and do not count as overlapping; None: they
        count.
    """
    from scipy.spatial import KDTree

    centres, radii = np.asarray(centres, float), np.asarray(radii, float)
    found = np.zeros(len(centres), bool)
    for number in np.unique(numbers):
        members = np.flatnonzero(numbers == number)
        pairs = members[
            KDTree(centres[members]).query_pairs(2 * radii[members].max(), output_type="ndarray")
        ].reshape(-1, 2)
        apart = np.linalg.norm(centres[pairs[:, 0]] - centres[pairs[:, 1]], axis=1)
        meets = apart < radii[pairs].sum(1)
        if same is not None:
            meets &= apart > same
        found[pairs[meets]] = True
    return found


def overlap_fraction(views, numbers, coincident: bool = True) -> float:
    """Share of a structure's drawn atoms that overlap one of their element, mean over its views.

    Parameters
    ----------
    views
        `rc_hpc.images.view.View` of each camera.
    numbers : (n,) array_like
        Atomic numbers of the drawn atoms.
    coincident
        Whether discs whose centres coincide within 1e-6 Å count.
    """
    return float(
        np.mean(
            [
                overlapping(
                    view.centres,
                    view.radii,
                    numbers,
                    None if coincident else CENSUS_ZERO * view.px_per_angstrom,
                ).mean()
                for view in views
            ]
        )
    )
