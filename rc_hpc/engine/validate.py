"""Is a file, or a parts folder, what it says it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np

from rc_hpc.core.apart import Lost, alone
from rc_hpc.core.errors import RcError
from rc_hpc.engine.labels import OTHER
from rc_hpc.kinds.registry import KINDS, schema_of
from rc_hpc.store import layout
from rc_hpc.store.attributes import REQUIRED
from rc_hpc.store.batch import shape_of
from rc_hpc.store.content import content_hash, datasets
from rc_hpc.store.leaves import damaged_leaves
from rc_hpc.store.opening import (
    DAMAGE,
    first_line,
    patience_s,
    problem_of,
    unreadable,
    why_lost,
)
from rc_hpc.store.parts import PartStore, read_run
from rc_hpc.store.reader import stranger
from rc_hpc.store.schema import Schema

#: CPU time to look for what is damaged, s.
_LOOK_S = 600.0


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
    if not path.is_file():
        return _validate_file(path)
    seconds = patience_s(path)
    try:
        problems: list[str] = alone(_validate_file, path, cpu_s=seconds)
    except Lost as lost:
        return [f"{path}: {why_lost(lost, seconds)}"]
    if problems:
        with suppress(Lost):
            problems += alone(_damaged_rows, path, cpu_s=_LOOK_S)
    return problems


def _damaged_rows(path: Path) -> list[str]:
    """Which rows of which datasets are damaged, where the file can be opened and tells."""
    try:
        with layout.open_bare(path) as h5:
            return [f"{path}: {damage}" for damage in damaged_leaves(h5)]
    except DAMAGE:
        return []


def _validate_file(path: Path) -> list[str]:
    try:
        if problem := problem_of(path, looked=False):
            return [f"{path}: {problem}"]
        with layout.open_bare(path) as h5:
            problems = [unreadable(h5) or stranger(h5)]
            problems = [one for one in problems if one] or list(_file_problems(h5))
            return [f"{path}: {problem}" for problem in problems]
    except RcError as error:
        return [str(error)]
    except DAMAGE as error:
        return [f"{path}: damaged: {first_line(error)}"]


def _parts_problems(folder: Path) -> Iterator[str]:
    store = PartStore.open(folder, schema_of(read_run(folder)["kind"], folder))
    for name in store.names():
        found = store.look(name)
        for problem in (*([found.problem] if found.problem else ()), *found.damaged):
            yield f"{folder / name}: {problem}"


def _file_problems(h5: h5py.File) -> Iterator[str]:
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
    if kind := KINDS.get(h5.attrs["kind"]):
        options = json.loads(str(h5.attrs.get("options", "{}")))
        yield from _schema_problems(h5, kind.load("schema").of(options), found)
    for name in found:
        if (members := h5py.check_enum_dtype(h5[name].dtype)) is not None:
            yield from _enum_problems(h5[name], name, members)
    if content_hash(h5) != h5.attrs.get("content_hash"):
        yield "content_hash does not match the content"


def _schema_problems(h5: h5py.File, schema: Schema, found: Collection[str]) -> Iterator[str]:
    missing = [
        path for path, column, _ in _columns(schema) if path not in found and not column.later
    ]
    if missing:
        yield from (f"{path}: missing" for path in missing)
    else:
        yield from _column_problems(h5, schema)
        yield from _order_problems(h5, schema)


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
        if (same := name.removeprefix(OTHER)) in dims:  # an earlier version has one name for both
            dims[name] = dims[same]
            continue
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
        if not _same_type(h5[path].dtype, dtype):
            yield f"{path}: type {h5[path].dtype}, must be {dtype}"


def _same_type(found: np.dtype, wanted: np.dtype) -> bool:
    """Whether a type is as wanted; older enums have fewer members, texts a length or none."""
    if h5py.check_string_dtype(wanted):
        return h5py.check_string_dtype(found) is not None
    own, members = h5py.check_enum_dtype(found), h5py.check_enum_dtype(wanted)
    older = own is not None and members is not None and own.items() <= members.items()
    return bool(found == wanted) and (older or own == members)


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
