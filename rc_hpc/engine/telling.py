"""Tables of a result file to the terminal or to files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rc_hpc.core.errors import Exit
from rc_hpc.core.kind import LIST_LINES
from rc_hpc.engine.results import lists_in, tables_of
from rc_hpc.report.tables import cut, show, write, write_bytes


def tell_tables(
    path: Path, names: Sequence[str], style: str, folder: Path | None, quiet: bool
) -> int:
    """Print tables of a file, or write one file a table; returns the exit code."""
    if names and set(names) <= set(LIST_LINES):
        attrs, tables = lists_in(path, names)
    else:
        counts, tables = tables_of(path, names)
        attrs = counts.attrs
    if folder is None:
        short = style == "terminal" and not names
        show([cut(table) for table in tables] if short else tables, style)
        return Exit.CLEAN
    source = {
        "census": path.name,
        "content_hash": str(attrs["content_hash"]),
        "options": json.loads(attrs["options"]),
    }
    for table in tables:
        written = write(table, folder, style, source)
        if not quiet:
            print(f"{written}: {table.caption}")
    if style == "csv":  # which has no room for it
        about = {**source, "captions": {table.name: table.caption for table in tables}}
        text = json.dumps(about, indent=1, ensure_ascii=False) + "\n"
        write_bytes(folder / "tables.json", text.encode())
    return Exit.CLEAN
