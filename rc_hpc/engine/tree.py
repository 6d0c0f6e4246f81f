"""Any result file as an xarray DataTree: structures by id, cameras, subsets and enums by name.

Each group of the file is a node, with every dataset under its own name. Values are read when they
are used, and the file is open only while they are.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from rc_hpc.core.errors import RcError
from rc_hpc.engine.labels import (
    NUMBERED,
    Labels,
    axes,
    is_structures,
    named,
    open_result,
)
from rc_hpc.store import layout
from rc_hpc.store.content import datasets

try:
    import xarray as xr
    from xarray.core import indexing
except ImportError as error:
    raise RcError("rc_hpc.open needs xarray: pip install 'rc_hpc[notebook]'") from error

#: Dimensions that have, in the tree, the name of what stands along them.
_RENAMED = {"training": "seed", "class_index": "class", "rule_index": "rule"}
#: Columns of long tables that tell which row is which.
_TELLING = (*NUMBERED, "arm", "sample")


class _Stored(xr.backends.BackendArray):
    """A dataset of a file that is open only while values are read; codes come as names."""

    def __init__(self, path: Path, dataset: h5py.Dataset, names: np.ndarray | None):
        self.path, self.name, self.names = path, dataset.name, names
        self.shape = dataset.shape
        text = h5py.check_string_dtype(dataset.dtype) is not None
        self.dtype = np.dtype(object) if text or names is not None else np.dtype(dataset.dtype.str)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        one_list = indexing.IndexingSupport.OUTER_1VECTOR
        return indexing.explicit_indexing_adapter(key, self.shape, one_list, self._read)

    def _read(self, key: tuple) -> np.ndarray:
        with open_result(self.path) as h5:
            values = layout.read_rows(h5[self.name], key)
        values = values if self.names is None else named(np.asarray(values), self.names)
        return np.asarray(values, self.dtype)


def open_tree(path: str | Path) -> xr.DataTree:
    """Open a result file of any kind.

    Parameters
    ----------
    path
        A finished file: packed structures, census, sweep, renders, pixels, training, answers.

    Returns
    -------
    DataTree
        A node for each group. Dimensions have coordinates: `structure` ids, `view` and `subset`
        names of cameras, `delta`, `sigma` and the like their values, so that
        ``tree["cells"].sel(structure="mp-149", subset="axis_a+axis_b")`` works. Stored codes are
        names. Long tables (phantoms, atoms, ...) have one row each under the dimension `row`, with
        `structure` as a coordinate that has an index: ``tree["phantoms"].ds.sel(structure=...)``.
        Attributes of the root are those of the file, its `options` as a dict; those of a
        variable are `units` and, as `long_name`, its description.

    Raises
    ------
    RcError
        Not a finished file of ours; says what it seems to be.
    """
    path = Path(path).absolute()
    with open_result(path) as h5:
        nodes = _Nodes(path, h5)
        groups: dict[str, list[str]] = {"/": []}
        for name in datasets(h5):
            if not layout.is_length(h5[name]):
                groups.setdefault(name.rpartition("/")[0] or "/", []).append(name)
        tree = {group: nodes.dataset(names) for group, names in groups.items()}
        tree["/"].attrs = {name: _value(value) for name, value in h5.attrs.items()}
    return xr.DataTree.from_dict(tree)


class _Nodes:
    """Makes the nodes of one file."""

    def __init__(self, path: Path, h5: h5py.File):
        self.path = path
        self.h5 = h5
        self.labels = Labels(h5)

    def dataset(self, names: list[str]) -> xr.Dataset:
        """The node of some datasets of one group, with its coordinates."""
        variables = {name.rpartition("/")[2]: self._variable(name) for name in names}
        dimensions = dict.fromkeys(along for name in names for along in axes(self.h5[name]))
        coords = {}
        for dimension in dimensions:
            labels = self.labels.along(dimension) if dimension != "row" else None
            if labels is not None:
                source = self.labels.source(dimension)
                attrs = _attrs(self.h5[source]) if source else {}
                renamed = _renamed(dimension)
                coords[renamed] = xr.Variable((renamed,), labels, attrs)
            for beside in self.labels.beside(dimension):
                if set(axes(self.h5[beside])) <= dimensions.keys():
                    coords[beside.rpartition("/")[2]] = self._variable(beside)
        if "protocols/view" in self.h5 and {"protocol", "view"} <= dimensions.keys():
            coords["camera"] = self._variable("protocols/view")
        long = "row" in dimensions and "structure" in variables
        if long:
            coords |= {name: variables[name] for name in _TELLING if name in variables}
        rest = {name: one for name, one in variables.items() if name not in coords}
        made = xr.Dataset(rest, coords)
        return made.set_xindex("structure") if long else made

    def _variable(self, name: str) -> xr.Variable:
        dataset = self.h5[name]
        stored = _Stored(self.path, dataset, self.labels.of(name))
        lazy = indexing.MemoryCachedArray(indexing.LazilyIndexedArray(stored))
        dims = tuple(map(_renamed, axes(dataset)))
        return xr.Variable(dims, lazy, _attrs(dataset))


def _renamed(dimension: str) -> str:
    return "structure" if is_structures(dimension) else _RENAMED.get(dimension, dimension)


def _attrs(dataset: h5py.Dataset) -> dict[str, str]:
    told = {"units": dataset.attrs.get("units"), "long_name": dataset.attrs.get("description")}
    return {name: str(text) for name, text in told.items() if text is not None}


def _value(value: Any) -> Any:
    """An attribute as a Python value; what is JSON is read."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, str) and value.startswith(("{", "[")):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
