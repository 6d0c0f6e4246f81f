"""Is a file, or a parts folder, what it says it is."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np

import rc_hpc
from rc_hpc.core.errors import RcError
from rc_hpc.kinds.registry import schema_of
from rc_hpc.store import layout
from rc_hpc.store.attributes import REQUIRED
from rc_hpc.store.batch import shape_of
from rc_hpc.store.content import content_hash, datasets
from rc_hpc.store.part_file import DAMAGE, first_line
from rc_hpc.store.parts import PartStore, read_run
from rc_hpc.store.reader import open_ours
from rc_hpc.store.schema import Schema


def validate(path: str | Path) -> list[str]:
    """Problems of a merged file or of a parts folder, one line each; none is an empty list.

    Nothing is changed: unusable parts stay where they are.
    """
    path = Path(path)
    if path.is_dir():
        try:
            return list(_parts_problems(path))
        except RcError as error:
            return [str(error)]
    # HDF5 may crash on a damaged file: let a child look at it
    package = str(Path(rc_hpc.__file__).parents[1])
    search = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    child = subprocess.run(
        [sys.executable, "-m", __name__, path],
        env=os.environ | {"PYTHONPATH": search},
        capture_output=True,
        check=False,
    )
    if child.returncode < 0:
        return [f"{path}: damaged: the HDF5 library crashed on it (signal {-child.returncode})"]
    if child.returncode:
        raise RcError(
            f"{path}: could not be validated: {child.stderr.decode(errors='replace').strip()}"
        )
    return json.loads(child.stdout)


def _validate_file(path: Path) -> list[str]:
    try:
        with open_ours(path) as h5:
            return [f"{path}: {problem}" for problem in _file_problems(h5)]
    except RcError as error:
        return [str(error)]
    except DAMAGE as error:
        return [f"{path}: damaged: {first_line(error)}"]


def _parts_problems(folder: Path) -> Iterator[str]:
    store = PartStore.open(folder, schema_of(read_run(folder)["kind"], folder))
    for part in store.names():
        if problem := store.problem(part):
            yield f"{folder / part}: {problem}"


def _file_problems(h5: h5py.File) -> Iterator[str]:
    schema = schema_of(h5.attrs["kind"], h5.filename)
    for name in REQUIRED:
        if name not in h5.attrs:
            yield f"root attribute {name!r} is missing"
    if hashlib.sha256(str(h5.attrs.get("options")).encode()).hexdigest() != h5.attrs.get(
        "options_hash"
    ):
        yield "options_hash is not the hash of options"
    found = datasets(h5)
    for name in found:
        for attribute in ("units", "description"):
            if not h5[name].attrs.get(attribute):
                yield f"{name}: has no {attribute}"
    missing = [
        path for path, column, _ in _columns(schema) if path not in found and not column.later
    ]
    if missing:
        yield from (f"{path}: missing" for path in missing)
    else:
        yield from _column_problems(h5, schema)
        yield from _order_problems(h5, schema)
    for name in found:
        if (members := h5py.check_enum_dtype(h5[name].dtype)) is not None:
            yield from _enum_problems(h5[name], name, members)
    if content_hash(h5) != h5.attrs.get("content_hash"):
        yield "content_hash does not match the content"


def _columns(schema: Schema):
    for column in schema.main:
        yield column.path, column, "structures/id"
    for table, columns in schema.children.items():
        for column in columns:
            yield f"{table}/{column.path}", column, f"{table}/structure"


def _column_problems(h5: h5py.File, schema: Schema) -> Iterator[str]:
    named = {name for _, column, _ in _columns(schema) for name in column.dims}
    dims = {name: h5[name].shape[0] for name in named if isinstance(h5.get(name), h5py.Dataset)}
    for name in sorted(named - dims.keys()):
        yield f"{name}: missing dimension"
        return
    for path, column, first in _columns(schema):
        if path not in h5:  # of an earlier version
            continue
        shape, dtype = shape_of(column, h5[first].shape[0], dims), layout.h5_dtype(column)
        if h5[path].shape != shape:
            yield f"{path}: shape {h5[path].shape}, must be {shape}"
        if h5[path].attrs.get("units") not in (None, column.unit):
            yield f"{path}: units {h5[path].attrs['units']!r}, must be {column.unit!r}"
        if h5[path].dtype != dtype or h5py.check_enum_dtype(
            h5[path].dtype
        ) != h5py.check_enum_dtype(dtype):
            yield f"{path}: type {h5[path].dtype}, must be {dtype}"


def _order_problems(h5: h5py.File, schema: Schema) -> Iterator[str]:
    columns = [h5[f"structures/{name}"] for name in ("id", "duplicate", "sha256")]
    row, last = 0, None
    for block in layout.row_blocks(columns[0]):
        for key in zip(
            *(layout.read_rows(column, block).tolist() for column in columns), strict=True
        ):
            if last is not None and key <= last:
                yield f"structures: row {row} (id {key[0]!r}) is out of order"
            row, last = row + 1, key
    for table in schema.children:
        structure, least = h5[f"{table}/structure"], 0
        for block in layout.row_blocks(structure):
            rows = structure[block]
            if rows[0] < least or rows[-1] >= row or np.any(np.diff(rows) < 0):
                yield f"{table}/structure: must ascend within 0 to {row - 1}"
                break
            least = rows[-1]


def _enum_problems(dataset: h5py.Dataset, name: str, members: dict[str, int]) -> Iterator[str]:
    strange: set[int] = set()
    for block in layout.row_blocks(dataset):
        strange |= set(np.unique(layout.read_rows(dataset, block)).tolist()) - set(members.values())
    if strange:
        yield f"{name}: {sorted(strange)} are no codes of this enum"


if __name__ == "__main__":
    json.dump(_validate_file(Path(sys.argv[1])), sys.stdout)
