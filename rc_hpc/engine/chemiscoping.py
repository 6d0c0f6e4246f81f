"""Structures of a result file, with what it says of each, as a data set for chemiscope."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import RcError, Status, UsageError
from rc_hpc.core.files import name_a_file
from rc_hpc.engine.exporting import atoms_of
from rc_hpc.engine.results import kind_of, lists_in

#: Endings that chemiscope knows.
ENDINGS = (".json", ".json.gz")


def check(path: Path, overwrite: bool) -> None:
    """Refuse a place that cannot or must not be written.

    Raises
    ------
    UsageError
    """
    name_a_file(path, "--chemiscope")
    if not path.name.endswith(ENDINGS):
        raise UsageError(f"--chemiscope {path}: name a file that ends in {' or '.join(ENDINGS)}")
    if path.exists() and not overwrite:
        raise UsageError(f"--chemiscope {path} is there already: name another, or --overwrite")


def write_data_set(file: Path, packed: Path | None, path: Path, title: str) -> int:
    """Write the cells of a file and its list of structures; returns the number of cells.

    Raises
    ------
    UsageError
        The file holds no structures.
    RcError
        chemiscope is not installed, or the data set cannot be written.
    """
    try:
        import chemiscope
    except ImportError as error:
        raise RcError(
            "--chemiscope needs chemiscope, which is not installed: pip install "
            "'rc_hpc[chemiscope]'"
        ) from error
    kind = kind_of(file)
    if not kind.export:
        raise UsageError(f"--chemiscope: {file} is a {kind.name} file, which leads to no cells")
    cells = [atoms_of(one) for one in kind.load("export")(file, packed, "cells", (), None)]
    (table,) = lists_in(file, ["structures"])[1]
    frame = table.frame[table.frame["status"] == Status.ok.name].set_index("id")
    frame = frame.loc[[atoms.info["id"] for atoms in cells]].reset_index()
    try:
        chemiscope.write_input(
            str(path),
            structures=cells,
            properties={
                name: {"target": "structure", "values": _plain(frame[name])}
                for name in frame
                if frame[name].astype(str).str.len().any()
            },
            metadata={"name": title},
        )
    except OSError as error:
        raise RcError(f"{path}: cannot be written ({error.strerror})") from error
    return len(cells)


def _plain(column: Any) -> list[Any]:
    """Numbers where all are finite, else texts: JSON has neither NaN nor infinity."""
    try:
        numbers = column.to_numpy(float, na_value=np.nan)
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if np.isfinite(numbers).all():
        return [float(one) for one in numbers]
    return ["" if one is None else str(one) for one in column.astype(object)]
