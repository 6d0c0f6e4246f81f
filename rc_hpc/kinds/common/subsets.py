"""View subsets and granularities of labels, which several kinds count over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Granularities of a label, as the columns of a census are named.
GRANULARITIES = ("crystal_system", "bravais", "point_group", "space_group")


@dataclass(frozen=True)
class Subsets:
    """The camera subsets of a census.

    Attributes
    ----------
    names : (K,) sequence of str
    sizes : (K,) int
        Views of each subset.
    kappas : (K,) float
    full : int or None
        Index of the subset with all views of the protocol, where it is among them.
    """

    names: tuple[str, ...]
    sizes: np.ndarray
    kappas: np.ndarray
    full: int | None

    def by_size(self) -> dict[int, np.ndarray]:
        """Indices of the subsets of each size, by ascending size."""
        return {int(size): np.flatnonzero(self.sizes == size) for size in np.unique(self.sizes)}
