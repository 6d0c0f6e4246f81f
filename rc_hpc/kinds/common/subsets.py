"""View subsets and granularities of labels, which several kinds count over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.store.schema import of_molecules
from rc_hpc.symmetry.point_groups import SCHOENFLIES

#: Granularities of a label, as the columns of a census are named.
GRANULARITIES = ("crystal_system", "bravais", "point_group", "space_group")


@dataclass(frozen=True)
class Labels:
    """What structures are labelled by.

    Attributes
    ----------
    granularities : tuple of str
        As the columns of a file are named, coarse ones first.
    classes : tuple of str
        Names of the codes of the coarsest, from 1 on.
    noun
        What the coarsest is called.
    structure
        What one is called, and whether it has a cell.
    """

    granularities: tuple[str, ...]
    classes: tuple[str, ...]
    noun: str
    structure: str
    cells: bool

    @property
    def coarsest(self) -> str:
        """As its column is named."""
        return self.granularities[0]


CRYSTALS = Labels(GRANULARITIES, CRYSTAL_SYSTEMS, "crystal system", "structure", True)
MOLECULES = Labels(("point_group",), SCHOENFLIES, "point group", "molecule", False)


def labels_of(options: Mapping[str, Any]) -> Labels:
    """What the structures of a file with these options, as recorded, are labelled by."""
    return MOLECULES if of_molecules(options) else CRYSTALS


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
    labelled : (K,) bool
        Whether reconstructions were labelled at all; by default all were.
    """

    names: tuple[str, ...]
    sizes: np.ndarray
    kappas: np.ndarray
    full: int | None
    labelled: Any = None

    def __post_init__(self) -> None:
        if self.labelled is None:
            object.__setattr__(self, "labelled", np.ones(len(self.names), bool))

    def by_size(self) -> dict[int, np.ndarray]:
        """Indices of the subsets of each size, by ascending size."""
        return {int(size): np.flatnonzero(self.sizes == size) for size in np.unique(self.sizes)}

    def read(self) -> dict[int, np.ndarray]:
        """As `by_size`, of the labelled ones."""
        of_size = {size: own[self.labelled[own]] for size, own in self.by_size().items()}
        return {size: own for size, own in of_size.items() if len(own)}
