"""The data dictionary: every dataset that is written, with its type, unit and one sentence.

Files, validation and the tables are driven by these lists. A *main* column has one
row per structure; a *child* table has any number of rows per structure and points
back through its `structure` column. Trailing dimensions are named; lengths that are
not in `FIXED_DIMS` (`view`, `subset`, `setting`, ...) belong to a file, not to the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Raised when a dataset changes its meaning or goes: other versions are refused.
SCHEMA_VERSION = 1

TEXT = "text"  # variable-length UTF-8

#: Lengths of the dimensions that are the same in every file.
FIXED_DIMS = {"vector": 3, "xyz": 3}


@dataclass(frozen=True)
class Column:
    """One dataset.

    Attributes
    ----------
    path
        Dataset path below its table, or below the root for a main column.
    dtype
        NumPy dtype string, `TEXT`, or an IntEnum class (stored as an HDF5 enum).
    unit
        Unit as written to the `units` attribute: ``angstrom``, ``degree``, ``1``.
    description
        One sentence for people.
    dims
        Names of the trailing dimensions.
    fill
        Value of a row for which nothing was computed.
    later
        Files of earlier versions lack it, and are valid without.
    """

    path: str
    dtype: Any
    unit: str
    description: str
    dims: tuple[str, ...] = ()
    fill: Any = 0
    later: bool = False

    @property
    def numpy_dtype(self) -> np.dtype:
        """Dtype in memory: object for text, uint8 for enums."""
        if self.dtype == TEXT:
            return np.dtype(object)
        if isinstance(self.dtype, type):
            return np.dtype(np.uint8)
        dtype: np.dtype = np.dtype(self.dtype)
        return dtype


@dataclass(frozen=True)
class Schema:
    """Main columns and child tables of one kind of file.

    Attributes
    ----------
    kind, title
    main, children
        Of crystals.
    molecules
        The same of molecules, which have no lattice; None where the kind knows none.
    """

    kind: str
    title: str
    main: tuple[Column, ...]
    children: dict[str, tuple[Column, ...]]
    molecules: Schema | None = None

    def of(self, options: Mapping[str, Any]) -> Schema:
        """The schema of files with these options, as they are recorded."""
        return self.molecules if self.molecules and of_molecules(options) else self


def of_molecules(options: Mapping[str, Any]) -> bool:
    """Whether options, as they are recorded, are of molecules: a packed file's own or its pack."""
    return bool(options.get("pack", options).get("molecules", False))
