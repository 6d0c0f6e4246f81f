"""Where in a JSON file its structures lie: alone, by keys, in a list, in pages or by columns.

Told by the first entries; nothing is read but these and the columns of ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from rc_hpc.structures.entries import array_reader
from rc_hpc.structures.readers import WRAPPERS
from rc_hpc.structures.scan import json_of, json_spans

#: Keys that may name an entry of a JSON list or line, in the order they are tried.
ID_KEYS = ("material_id", "id", "jid", "name")
#: Entries of a JSON object that are looked at to tell one structure from a collection.
PEEK = 64
#: Stands for the name of a structure that has its file to itself.
ALONE = object()
LAYOUTS = (
    "a structure, an object or a list of structures, pandas' columns, a page of OPTIMADE, "
    "or the JSON of pymatgen, JARVIS, ASE or moyopy"
)
Span = tuple[int, int]
Entry = tuple[object, int, int]


class NoStructure(ValueError):
    """A JSON file that is whole and holds something else."""


def json_entries(buffer) -> Iterator[Entry]:
    """Name (`ALONE`, a string, or None) and span of each structure.

    Raises
    ------
    ValueError
        The text is no JSON, or holds no structure in any layout that is read.
    """
    first = list(islice(json_spans(buffer), PEEK))
    spans = {key: (start, end) for key, start, end in first if key is not None}
    if columns := _columns(buffer, spans):
        return _of_columns(buffer, spans, columns)
    if {"columns", "data"} <= spans.keys():
        return _of_split(buffer, spans)
    if "data" in spans and spans.keys().isdisjoint(WRAPPERS):
        start, end = spans["data"]
        if buffer[start : start + 1] == b"[":
            return _of_list(buffer, start, end)
        if _is_structure(buffer[start:end]):
            return iter([(own_id(buffer[start:end]), start, end)])
    if is_entry(dict.fromkeys(spans)):
        return iter([(ALONE, 0, len(buffer))])
    if {"ids", "nextid"} <= spans.keys():
        rows = [entry for entry in json_spans(buffer) if (entry[0] or "").isdecimal()]
        return iter([(ALONE if len(rows) == 1 else None, *row[1:]) for row in rows])
    if first and not any(_is_structure(buffer[start:end]) for _, start, end in first):
        raise NoStructure(f"this JSON holds no structure; read are {LAYOUTS}")
    return iter(json_spans(buffer)) if spans else _of_list(buffer, 0, len(buffer))


def is_entry(entry: Any) -> bool:
    """Whether a parsed JSON value has the look of a structure."""
    if isinstance(entry, str):
        return "data_" in entry.lower()
    if not isinstance(entry, dict):
        return False
    pymatgen = {"lattice", "sites"} <= entry.keys()
    wrapped = not entry.keys().isdisjoint(WRAPPERS)
    return pymatgen or wrapped or array_reader(entry) is not None


def _parsed(text: bytes) -> Any:
    try:
        return json_of(text)
    except ValueError:  # its reading will fail, and say so
        return None


def _is_structure(text: bytes) -> bool:
    return is_entry(_parsed(text))


def own_id(text: bytes) -> str | None:
    """The id that a JSON entry gives itself; None where it gives none or is broken."""
    entry = _parsed(text)
    if isinstance(entry, dict):
        for key in ID_KEYS:
            if isinstance(entry.get(key), (str, int)):
                return str(entry[key])
    return None


def _of_list(buffer, start: int, end: int) -> Iterator[Entry]:
    for key, first, last in json_spans(buffer, start, end):
        yield own_id(buffer[first:last]) if key is None else key, first, last


def _columns(buffer, spans: dict[str, Span]) -> list[str]:
    """Keys under which rows of structures lie, as pandas writes a table by columns."""
    columns = []
    for name in WRAPPERS:
        if name not in spans or buffer[spans[name][0] : spans[name][0] + 1] not in (b"{", b"["):
            continue
        for key, start, end in islice(json_spans(buffer, *spans[name]), 1):
            own = key in (*WRAPPERS, "lattice", "sites")
            if not own and _is_structure(buffer[start:end]):
                columns.append(name)
    return columns


def _of_columns(buffer, spans: dict[str, Span], columns: list[str]) -> Iterator[Entry]:
    column = _one(columns)
    ids: dict[str, Any] = {}
    for name in ID_KEYS:
        told = _parsed(buffer[slice(*spans[name])]) if name in spans else None
        if isinstance(told, list):
            told = {str(row): value for row, value in enumerate(told)}
        if isinstance(told, dict):
            ids = told
            break
    for row, (key, start, end) in enumerate(json_spans(buffer, *spans[column])):
        label = ids.get(str(row) if key is None else key)
        yield key if label is None else str(label), start, end


def _of_split(buffer, spans: dict[str, Span]) -> Iterator[Entry]:
    """Rows of a table that names its columns once, as Matbench's files do."""
    names = _parsed(buffer[slice(*spans["columns"])])
    names = [name if isinstance(name, str) else "" for name in names or []]
    place = names.index(_one([name for name in WRAPPERS if name in names]))
    index = _parsed(buffer[slice(*spans["index"])]) if "index" in spans else None
    own = next((names.index(name) for name in ID_KEYS if name in names), None)
    for row, (_, start, end) in enumerate(json_spans(buffer, *spans["data"])):
        cells = [cell[1:] for cell in json_spans(buffer, start, end)]
        if len(cells) != len(names):
            raise ValueError(f"row {row} has {len(cells)} values for {len(names)} columns")
        label = None if own is None else _parsed(buffer[slice(*cells[own])])
        if label is None and isinstance(index, list) and row < len(index):
            label = index[row] if isinstance(index[row], str) else None
        yield None if label is None else str(label), *cells[place]


def _one(columns: list[str]) -> str:
    if len(columns) != 1:
        raise ValueError(
            f"structures lie in {len(columns)} of its columns "
            f"({', '.join(columns) or 'none is called ' + ', '.join(WRAPPERS)}); keep one of them"
        )
    return columns[0]
