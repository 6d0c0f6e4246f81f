"""From what a user names to a stream of items.

Files, folders, globs, the Materials Project, prototypes, synthetic.
"""

from __future__ import annotations

import glob
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import util
from pathlib import Path

from rc_hpc.core.errors import UsageError
from rc_hpc.structures import aflow, mp
from rc_hpc.structures.catalogue import catalogue_items
from rc_hpc.structures.files import is_gzip, mapped, read_span
from rc_hpc.structures.layouts import NoStructure
from rc_hpc.structures.listing import FORMATS, file_items, format_of
from rc_hpc.structures.molecules import G2, g2_file, g2_items
from rc_hpc.structures.readers import read_prototype
from rc_hpc.structures.record import Item
from rc_hpc.structures.scan import json_spans
from rc_hpc.structures.shelves import (
    Database,
    Files,
    Lines,
    Numbered,
    Shelf,
    Walked,
    told_strays,
    walk,
)
from rc_hpc.structures.synthetic import synthetic_item, synthetic_items

KINDS = (
    "a CIF, POSCAR, (ext)XYZ, pymatgen JSON or JSONL file (.gz too), an ASE database (.db), "
    "a folder or glob of them, 'mp:IDS' or 'mp:QUERY', 'prototypes', 'catalogue', 'aflow', 'g2' "
    "(molecules) or 'synthetic:N'"
)


def iter_items(
    sources: Sequence[str],
    *,
    format: str | None = None,
    seed: int = 0,
    strays: Counter[str] | None = None,
) -> Iterator[Item]:
    """List the structures of all sources, in their order, without reading any.

    Parameters
    ----------
    sources
        Files, folders, globs, ``mp:...`` (see `rc_hpc.structures.mp.parse_query`), ``prototypes``,
        ``catalogue`` (48 of them, by their minerals' names), ``aflow``, ``aflow:part=N`` or
        ``aflow:sg=N`` (the AFLOW encyclopedia), ``g2`` (148 molecules), ``synthetic:N`` or
        ``synthetic:N:natoms``.
    format
        One of cif, poscar, xyz, json, jsonl, db: taken for every file, whatever its name.
    seed
        Of the synthetic structures.
    strays
        Takes the number of the files of folders that are no structures and are passed over, by
        ending.

    Returns
    -------
    iterator of Item
        Ids: the file name of a single file (its path, where two sources share a
        name); the path below the folder or the fixed part of the glob; the key of
        a JSON object (``path#key`` in a folder); ``file#k``, k from 1, where a
        file without keys holds several.

    Raises
    ------
    UsageError
        At once, for a source that does not exist or is malformed; while listing,
        for a folder without files.
    """
    _check_request(format, seed)
    names = Counter(Path(source).name for source in sources)
    found: Counter[str] = Counter() if strays is None else strays
    listings = [_listing(str(source), format, seed, names, found) for source in sources]
    return (item for listing in listings for item in listing())


def _check_request(format: str | None, seed: int) -> None:
    if format is not None and format not in FORMATS:
        raise UsageError(f"there is no format {format!r}; choose one of {', '.join(FORMATS)}")
    if not 0 <= seed < 1 << 63:
        raise UsageError(f"--seed {seed}: give a whole number from 0 to {(1 << 63) - 1}")


def shelves_of(
    sources: Sequence[str],
    *,
    format: str | None = None,
    seed: int = 0,
    skip: Callable[[str], bool] = lambda path: False,
) -> list[Shelf]:
    """The same items as `iter_items` gives, by number: one shelf for each source.

    Parameters
    ----------
    skip
        Whether a file is left out.
    """
    _check_request(format, seed)
    names = Counter(Path(source).name for source in sources)
    shelves = (_shelf(str(source), format, seed, names, skip) for source in sources)
    return [shelf for shelf in shelves if shelf is not None]


def _shelf(
    source: str, format: str | None, seed: int, names: Counter[str], skip: Callable[[str], bool]
) -> Shelf | None:
    strays: Counter[str] = Counter()
    listing = _listing(source, format, seed, names, strays)
    if source.startswith("synthetic:"):
        count, natoms = _synthetic_numbers(source)
        item = partial(synthetic_item, natoms=natoms, seed=seed)
        return Numbered(count, item, f"{source} of seed {seed}")
    path = os.path.expanduser(source)
    if source not in _COLLECTIONS and source.partition(":")[0] not in ("aflow", "mp"):
        if os.path.isdir(path):
            nothing = partial(_no_files, path)
            return Files(partial(walk, path), path, format, True, nothing, skip)
        if os.path.isfile(path):
            if skip(path):
                return None
            kind = format or format_of(path)
            id_ = Path(path).name if names[Path(path).name] == 1 else source
            if kind == "jsonl" and not is_gzip(path):
                return Lines(path, id_, "")
            if kind == "db":
                return Database(path, id_)
        elif not os.path.lexists(path) and glob.has_magic(path):
            paths = partial(_matched, sorted(glob.glob(path, recursive=True)))
            nothing = partial(_no_files, path)
            return Files(paths, _fixed(path), format, False, nothing, skip)
    return Walked(lambda: (item for item in listing() if not skip(item.source)), strays)


_COLLECTIONS = ("prototypes", "catalogue", G2)


def _listing(
    source: str, format: str | None, seed: int, names: Counter[str], strays: Counter[str]
) -> Callable[[], Iterator[Item]]:
    """What lists one source; faults of the request itself are raised here."""
    if source == "prototypes":
        _prototype_file()
        return _prototypes
    if source == G2:
        g2_file()
        return g2_items
    if source == "catalogue":
        _prototype_file()
        return lambda: catalogue_items(_prototypes())
    if source.startswith("synthetic:"):
        return partial(synthetic_items, *_synthetic_numbers(source), seed)
    if source.partition(":")[0] == "aflow":
        return aflow.listing(source)
    if source.startswith("mp:"):
        return mp.listing(source)
    path = os.path.expanduser(source)
    if os.path.isdir(path):
        return partial(_folder, path, format, strays)
    if os.path.lexists(path):
        name = Path(path).name
        return partial(file_items, path, name if names[name] == 1 else source, "", format)
    if glob.has_magic(path):
        matches = sorted(glob.glob(path, recursive=True))
        if matches:
            return partial(_glob, path, matches, format)
        raise UsageError(f"no file matches {source!r}; check the pattern and its quotes")
    raise UsageError(f"there is no source {source!r}; give {KINDS}")


def _synthetic_numbers(source: str) -> tuple[int, int | None]:
    parts = source.split(":")[1:]
    if len(parts) > 2 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise UsageError(
            f"{source!r} is not synthetic:N or synthetic:N:natoms with whole numbers above 0"
        )
    return int(parts[0]), int(parts[1]) if len(parts) == 2 else None


def _folder(folder: str, format: str | None, strays: Counter[str]) -> Iterator[Item]:
    """Items of the structure files below a folder; what else lies there is counted."""
    passed: Counter[str] = Counter()
    found = False
    for path in walk(folder):
        ending = Path(path).suffix.lower() or "without ending"
        if format is None and os.path.isfile(path) and format_of(path) is None:
            passed[ending] += 1
            continue
        try:
            for item in _below(path, folder, format, of_folder=True):
                found = True
                yield item
        except NoStructure:
            passed[ending] += 1
    if not found:
        raise UsageError(_no_files(folder, told_strays(passed) if passed else ""))
    strays.update(passed)


def _no_files(folder: str, passed: str) -> str:
    also = f" but {passed}; name a format with --format" if passed else ""
    return f"the folder {folder!r} holds no files of structures{also}; give {KINDS}"


def _glob(pattern: str, matches: list[str], format: str | None) -> Iterator[Item]:
    for path in _matched(matches):
        yield from _below(path, _fixed(pattern), format)


def _fixed(pattern: str) -> str:
    """Folder before the first character of a glob that stands for others."""
    fixed = pattern[: min(pattern.find(c) for c in "*?[" if c in pattern)]
    return os.path.dirname(fixed) or "."


def _matched(matches: list[str]) -> Iterator[str]:
    """Files that a glob has found, and those below folders, each once."""
    seen = set()  # with ** a folder and its files both match
    for match in matches:
        for path in walk(match) if os.path.isdir(match) else (match,):
            if path not in seen:
                seen.add(path)
                yield path


def _below(path: str, base: str, format: str | None, of_folder: bool = False) -> Iterator[Item]:
    below = Path(os.path.relpath(path, base)).as_posix()
    return file_items(path, below, f"{below}#", format, of_folder)


def _prototypes() -> Iterator[Item]:
    """The AFLOW prototypes in pymatgen's order; a repeated label gets ``#2``, ``#3``, ..."""
    path = _prototype_file()
    seen: Counter[str] = Counter()
    buffer = mapped(path)
    for _, start, end in json_spans(buffer):
        label = json.loads(buffer[start:end])["tags"]["aflow"]
        seen[label] += 1
        name = label if seen[label] == 1 else f"{label}#{seen[label]}"
        yield Item(name, "prototypes", partial(read_span, path, start, end), read_prototype)


def _prototype_file() -> str:
    """Path of the collection, found without importing pymatgen (which takes a second)."""
    spec = util.find_spec("pymatgen")
    for folder in (spec and spec.submodule_search_locations) or ():
        path = os.path.join(folder, "analysis", "prototypes", "aflow_prototypes.json.gz")
        if os.path.isfile(path):
            return path
    raise UsageError(
        "the prototypes come with pymatgen, which is missing or lacks them; "
        "install pymatgen or name another source"
    )
