"""The items of one file.

A listing holds no structures. JSON, JSON lines, XYZ and CIF files are scanned
once for byte spans (one big JSON object through a memory map), databases for
row numbers; an item's bytes are read again when they are asked for. A file that
cannot be listed becomes an item too, whose `read` says why.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from urllib.parse import quote

from rc_hpc.core.errors import Status
from rc_hpc.structures.checks import one_line, refuse
from rc_hpc.structures.cif import read_cif
from rc_hpc.structures.files import mapped, name_and_suffix, opened, read_file, read_span
from rc_hpc.structures.layouts import ALONE, NoStructure, json_entries, own_id
from rc_hpc.structures.poscar import read_poscar
from rc_hpc.structures.readers import (
    ase_row,
    read_ase_row,
    read_json,
    read_xyz,
)
from rc_hpc.structures.record import Item
from rc_hpc.structures.scan import cif_blocks, line_spans, xyz_spans

SUFFIXES = {
    ".cif": "cif",
    ".mcif": "cif",
    ".vasp": "poscar",
    ".poscar": "poscar",
    ".contcar": "poscar",
    ".xyz": "xyz",
    ".extxyz": "xyz",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".db": "db",
}
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))


def format_of(path: str) -> str | None:
    """Format by name: a known suffix, or POSCAR or CONTCAR at either end; ``.gz`` is left aside."""
    name, suffix = name_and_suffix(path)
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    bare, ends = name.upper(), ("POSCAR", "CONTCAR")
    return "poscar" if bare.startswith(ends) or bare.endswith(ends) else None


def file_items(
    path: str, id: str, prefix: str, format: str | None, of_folder: bool = False
) -> Iterator[Item]:
    """Items of one file, at least one.

    Parameters
    ----------
    path
        The file.
    id
        Id of its single structure; several are ``id#1``, ``id#2``, ...
    prefix
        Put before ids that the file itself gives.
    format
        One of `FORMATS`, or None to go by the name.
    of_folder
        Nobody has named the file: `NoStructure` is raised of a JSON of something else.
    """
    if not os.path.isfile(path):
        yield broken(id, path, Status.read_error, f"it cannot be opened as a file{_fault(path)}")
        return
    kind = format or format_of(path)
    if kind is None:
        yield broken(
            id,
            path,
            Status.read_error,
            "its name tells no known format; name the format with --format, or move it out",
        )
        return
    empty = True
    try:
        for item in LISTINGS[kind](path, id, prefix):
            empty = False
            yield item
    except (OSError, ValueError, sqlite3.Error, RecursionError) as error:
        if of_folder and empty and isinstance(error, NoStructure):
            raise
        yield broken(id, path, Status.read_error, f"{one_line(error)}; repair the file")
    else:
        if empty:
            yield broken(id, path, Status.empty, "it holds no structures; write them again")


def _fault(path: str) -> str:
    try:
        os.stat(path)
        os.scandir(path).close()
    except NotADirectoryError:
        return "; put a regular file in its place"
    except OSError as error:
        return f" ({error.strerror}); check its link and permissions"
    return "; it is a folder"


def broken(id: str, source: str, status: Status, message: str) -> Item:
    """An item that stands for something unreadable; it has no bytes."""
    return Item(id, source, bytes, partial(_refuse, status, message))


def _refuse(status: Status, message: str, item: Item, blob: bytes):
    raise refuse(item, status, message)


def _numbered(id: str, spans: Iterator[tuple[int, int]]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Each span with its id: plain for a single one, else ``id#k``."""
    first = next(spans, None)
    if first is None:
        return
    try:
        second = next(spans, None)
    except ValueError:  # the first one is good, what follows is not
        yield f"{id}#1", first
        raise
    if second is None:
        yield id, first
        return
    yield f"{id}#1", first
    yield f"{id}#2", second
    for k, span in enumerate(spans, 3):
        yield f"{id}#{k}", span


def _poscar(path: str, id: str, prefix: str) -> Iterator[Item]:
    yield Item(id, path, partial(read_file, path), read_poscar)


def _cif(path: str, id: str, prefix: str) -> Iterator[Item]:
    data = read_file(path)
    spans = cif_blocks(data)
    if len(spans) < 2:
        yield Item(id, path, partial(read_file, path), read_cif)
        return
    for name, span in _numbered(id, iter(spans)):
        yield Item(name, path, partial(read_span, path, *span), read_cif)


def _xyz(path: str, id: str, prefix: str) -> Iterator[Item]:
    with opened(path) as file:
        for name, span in _numbered(id, xyz_spans(file)):
            yield Item(name, path, partial(read_span, path, *span), read_xyz)


def _json(path: str, id: str, prefix: str) -> Iterator[Item]:
    buffer = mapped(path)
    if not buffer:
        return
    for k, (key, start, end) in enumerate(json_entries(buffer), 1):
        if key is ALONE and (start, end) == (0, len(buffer)):
            yield Item(id, path, partial(read_file, path), read_json)
            return
        name = id if key is ALONE else f"{id}#{k}" if key is None else f"{prefix}{key}"
        yield Item(name, path, partial(read_span, path, start, end), read_json)


def _jsonl(path: str, id: str, prefix: str) -> Iterator[Item]:
    with opened(path) as file:
        for number, line, start, end in line_spans(file):
            key = own_id(line)
            name = f"{id}#{number}" if key is None else prefix + key
            yield Item(name, path, partial(read_span, path, start, end), read_json)


def _db(path: str, id: str, prefix: str) -> Iterator[Item]:
    # Read-only, so that a foreign sqlite file is never turned into an ASE database.
    with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as connection:
        for (row,) in connection.execute("SELECT id FROM systems ORDER BY id"):
            yield Item(f"{id}#{row}", path, partial(ase_row, path, row), read_ase_row)


LISTINGS = {"cif": _cif, "poscar": _poscar, "xyz": _xyz, "json": _json, "jsonl": _jsonl, "db": _db}
