"""What stands along the axes of a result file, and what its numbers stand for, by name.

Everything is read from the file itself, so that it holds for every kind and for older versions.
"""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from rc_hpc.core.errors import RcError
from rc_hpc.store import layout
from rc_hpc.store.opening import open_h5
from rc_hpc.store.reader import open_ours

#: How a dimension is named that would be a second one of its name.
OTHER = "other_"
#: Datasets that name what stands along a dimension.
_ALONG = {
    "structure": "structures/id",
    "view": "protocol/view",
    "subset": "subsets/name",
    "protocol": "protocols/name",
    "bravais_code": "vocabulary/bravais",
    "point_group_code": "vocabulary/point_group",
    "system": "vocabulary/system",
    "training": "seed",
    "rule_index": "rule",
    "class_index": "class",
    "true_class": "class",
    "answered_class": "class",
}
_FIXED = {
    "xyz": ("x", "y", "z"),
    "vector": ("a", "b", "c"),
    "axis": ("a", "b", "c"),
    "screen": ("x", "y", "depth"),
    "tolerance": ("symprec", "angle_tolerance"),
    "colour": ("red", "green", "blue"),
}
#: Integer columns of long tables that number what another dataset names.
NUMBERED = {
    "structure": "structures/id",
    "view": "protocol/view",
    "view_a": "protocol/view",
    "view_b": "protocol/view",
    "subset": "subsets/name",
    "protocol": "protocols/name",
}
#: Datasets below axes/ that together name a reading, in the order of its steps.
_JOINED = ("rule", "enumeration", "estimator", "verification", "merge", "labeller")
#: Of a training: integers that number classes.
_CLASSES = ("truth", "answer")


def open_result(path: str | Path) -> h5py.File:
    """Open a finished file of ours for reading, of any kind and version.

    Raises
    ------
    RcError
        Not a file of ours; says what it seems to be.
    """
    path = Path(path)
    h5 = open_h5(path)
    if h5.attrs.get("creator") == "rc_hpc" and "content_hash" in h5.attrs:
        return h5
    h5.close()
    open_ours(path).close()
    raise RcError(f"{path}: not a finished file of rc_hpc: it has no content hash")


def tables(h5: h5py.File) -> list[str]:
    """Names of the long tables: any number of rows a structure, told by their column structure."""
    return sorted(
        name for name, item in h5.items() if isinstance(item, h5py.Group) and "structure" in item
    )


def axes(dataset: h5py.Dataset) -> tuple[str, ...]:
    """Names of the dimensions of a dataset, each once: earlier files have one twice."""
    names: list[str] = []
    for dimension in dataset.dims:
        names.append(f"{OTHER}{dimension.label}" if dimension.label in names else dimension.label)
    return tuple(names)


def is_structures(dimension: str) -> bool:
    """Whether structures stand along a dimension."""
    return dimension == "structure" or dimension.endswith("_structure")


class Labels:
    """Names in one file, each read once."""

    def __init__(self, h5: h5py.File):
        self.h5 = h5
        self._read: dict[str, np.ndarray] = {}

    def source(self, dimension: str) -> str | None:
        """Path of the dataset that names what stands along a dimension, or None."""
        path = _ALONG.get(dimension, f"axes/{dimension}")
        if dimension.endswith("_structure"):
            path = f"{dimension.removesuffix('_structure')}/id"
        dataset = self.h5.get(path)
        known = isinstance(dataset, h5py.Dataset) and dataset.ndim == 1
        return path if known and len(dataset) == len(self.h5[dimension]) else None

    def along(self, dimension: str) -> np.ndarray | None:
        """What stands along a dimension: text or numbers; None where only the place tells."""
        if dimension in _FIXED:
            return np.array(_FIXED[dimension], object)
        if dimension == "setting":
            return self._settings()
        path = self.source(dimension)
        return self._joined(dimension) if path is None else self._whole(path)

    def of(self, path: str) -> np.ndarray | None:
        """Names by code of a dataset whose integers stand for names, or None."""
        dataset = self.h5[path]
        members = h5py.check_enum_dtype(dataset.dtype)
        if members is not None and dataset.dtype.kind == "u":
            names = np.full(1 + max(members.values()), "", object)
            for name, code in members.items():
                names[code] = name
            return names
        if dataset.dtype.kind not in "iu":
            return None
        name = path.rpartition("/")[2]
        if axes(dataset) in (("row",), ("pair",)) and name in NUMBERED:
            return self._whole(NUMBERED[name])
        if name in _CLASSES and "class" in self.h5:
            return self._whole("class")
        for word in self.h5.get("vocabulary", ()):
            if name == word or name.startswith(f"{word}_"):
                return self._whole(f"vocabulary/{word}")
        return None

    def beside(self, dimension: str) -> list[str]:
        """Datasets below axes/ and subsets/ that have this dimension and do not name it."""
        return [
            f"{group}/{name}"
            for group in ("axes", "subsets")
            for name, item in sorted(self.h5.get(group, {}).items())
            if dimension in axes(item) and f"{group}/{name}" != "subsets/name" and name != dimension
        ]

    def _joined(self, dimension: str) -> np.ndarray | None:
        """The texts below axes/ of a dimension that several name together, such as a reading."""
        columns = [
            self._whole(path)
            for name in _JOINED
            if (path := f"axes/{name}") in self.h5 and axes(self.h5[path]) == (dimension,)
        ]
        rows = zip(*columns, strict=True)
        return np.array(["/".join(filter(None, row)) for row in rows], object) if columns else None

    def _settings(self) -> np.ndarray | None:
        found = self._whole("settings/sweep")
        if found is None:
            return None
        return np.array([f"{symprec:g} Å, {angle:g}°" for symprec, angle in found], object)

    def _whole(self, path: str) -> np.ndarray | None:
        """A dataset in full; None where it is not there."""
        if path not in self.h5:
            return None
        if path not in self._read:
            self._read[path] = layout.read_rows(self.h5[path])
        return self._read[path]


def named(values: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Names of codes; a code without one stays, as text."""
    codes = values.astype(np.int64)
    inside = (codes >= 0) & (codes < len(names))
    if inside.all():
        return names[codes]
    result = np.array(codes.astype(str), object)
    result[inside] = names[codes[inside]]
    return result
