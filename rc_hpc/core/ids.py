"""Lists of structures: ids with commas between them, or files.

A line of a file is an id, or a JSON object with ``material_id``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rc_hpc.core.errors import UsageError
from rc_hpc.core.text import parse_json

#: What ``--ids`` says of itself in every command.
IDS = "only these: ids with commas between them, or a file with one a line"


def asked_ids(text: str, flag: str) -> tuple[str, ...]:
    """Ids of a file with one a line, or separated by commas.

    Raises
    ------
    UsageError
        The file cannot be read, or there are none.
    """
    if Path(text).is_file():
        return read_ids(Path(text), flag)
    ids = tuple(part for part in text.split(",") if part)
    if not ids or Path(text).is_dir():
        raise UsageError(f"{flag} {text}: give ids with commas between them, or a file of them")
    return ids


def read_ids(path: Path, flag: str) -> tuple[str, ...]:
    """Ids of a file in its order; raises as `read_entries`."""
    return tuple(entry["material_id"] for entry in read_entries(path, flag))


def read_entries(path: Path, flag: str) -> tuple[dict[str, Any], ...]:
    """What a file says of each structure, in its order: ``material_id`` and what else stands there.

    Blank lines, comments (lines that begin with ``#``) and a byte-order mark are none.

    Parameters
    ----------
    flag
        The option that named the file, for messages.

    Raises
    ------
    UsageError
        The file cannot be read, a line is not of that form, or there are no ids.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{flag} {path}: cannot be read ({error})") from error
    entries = []
    for number, line in enumerate(text.split("\n"), 1):
        if (line := line.strip()) and not line.startswith("#"):
            entries.append(_entry(line, f"{flag} {path}, line {number}"))
    if not entries:
        raise UsageError(f"{flag} {path}: holds no ids")
    return tuple(entries)


def _entry(line: str, where: str) -> dict[str, Any]:
    if not line.startswith("{"):
        return {"material_id": line}
    try:
        entry: dict[str, Any] = parse_json(line)
    except ValueError as error:
        raise UsageError(f"{where}: not JSON ({error}); give an id, or a JSON object") from error
    if not isinstance(entry.get("material_id"), str):
        raise UsageError(f"{where}: has no material_id; give it, or the id alone")
    return entry
