"""What a version promises to keep: commands and options, columns of files, codes, names of the API.

``python tests/promised.py`` adds to ``tests/promised.json`` what is offered now; it takes nothing
away. What is there is removed by hand alone, with a new first number of the version.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import rc_hpc
from rc_hpc.__main__ import COMMANDS, parsers
from rc_hpc.core.errors import Exit, Status
from rc_hpc.kinds.registry import KINDS
from rc_hpc.store.schema import Column

FILE = Path(__file__).with_suffix(".json")


def _options() -> dict[str, list[str]]:
    """Options by command, and action where it takes one."""
    return {
        f"{name} {word}".strip(): sorted(
            text for action in parser._actions for text in action.option_strings if len(text) > 2
        )
        for name in COMMANDS
        for word, parser in parsers(name).items()
    }


def _column(column: Column) -> str:
    """Type and unit."""
    dtype = column.dtype
    return f"{dtype if isinstance(dtype, str) else dtype.__name__}, {column.unit}"


def _columns() -> dict[str, dict[str, str]]:
    """Type and unit of each column, by kind and path."""
    found = {}
    for name, kind in KINDS.items():
        schema = kind.load("schema")
        found[name] = {column.path: _column(column) for column in schema.main} | {
            f"{table}/{column.path}": _column(column)
            for table, columns in schema.children.items()
            for column in columns
        }
    return found


def _names() -> dict[str, list[str]]:
    """Of `import rc_hpc`: parameters of functions, and what may be asked of objects."""
    found = {}
    for name in rc_hpc.__all__:
        public = getattr(rc_hpc, name)
        if isinstance(public, type):
            inherited = set(dir(Exception))
            found[name] = sorted(
                a for a in dir(public) if not a.startswith("_") and a not in inherited
            )
        elif callable(public):
            found[name] = list(inspect.signature(public).parameters)
    return found


def offered() -> dict[str, Any]:
    """What this version has."""
    return {
        "options": _options(),
        "columns": _columns(),
        "tables": {name: sorted(kind.table_lines) for name, kind in KINDS.items()},
        "exit_codes": {code.name: int(code) for code in Exit},
        "statuses": {status.name: int(status) for status in Status},
        "names": _names(),
    }


def joined(promised: Any, now: Any) -> Any:
    """Both; what is promised stays as it is."""
    if isinstance(promised, dict):
        new = {name: value for name, value in now.items() if name not in promised}
        return {
            name: joined(value, now[name]) if name in now else value
            for name, value in promised.items()
        } | new
    if isinstance(promised, list):
        return promised + [value for value in now if value not in promised]
    return promised


def broken(promised: Any, now: Any, place: str = "") -> list[str]:
    """Places of what was promised and is not offered."""
    if isinstance(promised, dict):
        return [
            text
            for name, value in promised.items()
            for text in (
                broken(value, now[name], f"{place}/{name}")
                if name in now
                else [f"{place}/{name}: gone"]
            )
        ]
    if isinstance(promised, list):
        return [f"{place}: {value} gone" for value in promised if value not in now]
    return [] if promised == now else [f"{place}: {now}, promised {promised}"]


if __name__ == "__main__":
    old = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    text = json.dumps(joined(old, offered()), indent=1, sort_keys=True)
    FILE.write_text(text + "\n", encoding="utf-8")
