"""Splits as files: a folder with ``train.jsonl`` and ``eval.jsonl``, as released and as built here.

A line is a JSON object with ``material_id`` and ``crystal_system``, and where known ``elements``
and ``formula``; other keys are left alone. ``split_meta.json`` names the reserved elements.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import RcError, fault_of
from rc_hpc.core.files import disk_errors, write_whole
from rc_hpc.core.text import parse_json

TRAIN, EVAL, META = "train.jsonl", "eval.jsonl", "split_meta.json"


@dataclass(frozen=True)
class Part:
    """One side of a split, in file order.

    Attributes
    ----------
    path
    ids, systems
        Ids and crystal systems.
    elements, formulas
        None where a line does not have it.
    sha256
        Of the file.
    """

    path: Path
    ids: tuple[str, ...]
    systems: tuple[str, ...]
    elements: tuple[tuple[str, ...] | None, ...]
    formulas: tuple[str | None, ...]
    sha256: str


@dataclass(frozen=True)
class Split:
    """Both sides, and what the folder says of them.

    Attributes
    ----------
    train, evaluation
    reserved
        Elements that only the evaluation structures may hold; empty where no file says so.
    """

    train: Part
    evaluation: Part
    reserved: tuple[str, ...]


def read_part(path: Path) -> Part:
    """Read one side.

    Raises
    ------
    RcError
        Not readable, a line without id or crystal system, or an id twice.
    """
    try:
        data = path.read_bytes()
        lines = [
            (number, parse_json(line))
            for number, line in enumerate(data.splitlines(), 1)
            if line.strip()
        ]
    except OSError as error:
        raise fault_of(path)(
            f"{path}: {error.strerror}: name a folder with {TRAIN} and {EVAL}"
        ) from error
    except ValueError as error:
        raise RcError(f"{path}: not JSON lines ({error}): write it again") from error
    seen = set()
    for number, row in lines:
        if (
            not isinstance(row, dict)
            or not isinstance(row.get("material_id"), str)
            or row.get("crystal_system") not in CRYSTAL_SYSTEMS
        ):
            raise RcError(
                f"{path}, line {number}: needs material_id and crystal_system, one of "
                f"{', '.join(CRYSTAL_SYSTEMS)}"
            )
        if row["material_id"] in seen:
            raise RcError(
                f"{path}, line {number}: {row['material_id']} is there twice: keep one of them"
            )
        seen.add(row["material_id"])
    rows = [row for _, row in lines]
    if not rows:
        raise RcError(f"{path}: holds no structures")
    return Part(
        path,
        tuple(row["material_id"] for row in rows),
        tuple(row["crystal_system"] for row in rows),
        tuple(tuple(row["elements"]) if "elements" in row else None for row in rows),
        tuple(row.get("formula") for row in rows),
        hashlib.sha256(data).hexdigest(),
    )


def read_split(folder: Path) -> Split:
    """Read both sides of a folder.

    Raises
    ------
    RcError
        They share an id, or a file is not the one whose hash the meta data hold.
    """
    train, evaluation = read_part(folder / TRAIN), read_part(folder / EVAL)
    if both := sorted(set(train.ids) & set(evaluation.ids)):
        raise RcError(
            f"{folder}: {len(both)} structures are in {TRAIN} and in {EVAL}: "
            f"{', '.join(both[:5])}: build the split again"
        )
    reserved = ()
    if (folder / META).is_file():
        try:
            meta = parse_json((folder / META).read_text(encoding="utf-8"))
            reserved, hashes = tuple(meta.get("reserved_elements", ())), meta.get("sha256", {})
        except (ValueError, AttributeError) as error:
            raise RcError(f"{folder / META}: not valid JSON ({error}): write it again") from error
        for part in (train, evaluation):
            if hashes.get(part.path.name, part.sha256) != part.sha256:
                raise RcError(
                    f"{part.path}: changed since the split was built: its SHA-256 is not that of "
                    f"{META}; build it again"
                )
    return Split(train, evaluation, reserved)


def write_split(folder: Path, train: list[dict], evaluation: list[dict], meta: dict) -> dict:
    """Write both sides, their id lists and `meta` with the hash of each file; returns the latter.

    The meta data come last, so that a folder with them is whole.
    """
    written = {}
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / META).unlink(missing_ok=True)
        for name, rows in ((TRAIN, train), (EVAL, evaluation)):
            texts = {
                name: "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows),
                f"{Path(name).stem}.ids": "".join(row["material_id"] + "\n" for row in rows),
            }
            for file, text in texts.items():
                write_whole(folder / file, text.encode())
                written[file] = hashlib.sha256(text.encode()).hexdigest()
        meta = {**meta, "sha256": written}
        write_whole(folder / META, (json.dumps(meta, indent=1, sort_keys=True) + "\n").encode())
    return meta
