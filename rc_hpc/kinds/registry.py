"""All kinds of result files, one row for each structure. A new kind is a folder and a line here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rc_hpc.core.errors import RcError
from rc_hpc.core.kind import Kind
from rc_hpc.core.lazy import resolve

if TYPE_CHECKING:
    from rc_hpc.store.schema import Schema

#: Folders of this room, one a kind.
FOLDERS = (
    "packed",
    "census",
    "frontier",
    "occlusion",
    "design",
    "noise",
    "unique",
    "renders",
    "readings",
    "scores",
    "scenes",
    "pictures",
    "determined",
)
_DECLARED: tuple[Kind, ...] = tuple(resolve(f"rc_hpc.kinds.{name}:KIND") for name in FOLDERS)
#: By the root attribute ``kind`` of their files.
KINDS = {kind.name: kind for kind in _DECLARED}
PACKED = KINDS["packed"]


def of_command(command: str) -> list[Kind]:
    """Kinds of file that ``python -m rc_hpc.COMMAND`` makes."""
    return [kind for kind in KINDS.values() if kind.command.split()[0] == command]


def schema_of(name: str, where: str | Path) -> Schema:
    """Columns of the kind of this name.

    Raises
    ------
    RcError
        There is no such kind in this version; `where` is what it was read from.
    """
    if name not in KINDS:
        raise RcError(
            f"{where}: of kind {name!r}, which this version of rc_hpc does not know: "
            "use the version that wrote it"
        )
    schema: Schema = KINDS[name].load("schema")
    return schema
