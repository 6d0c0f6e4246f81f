"""What is within one part: a sealed HDF5 file that holds one batch.

Everything else knows parts by their names and this class only.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import h5py
import numpy as np

from rc_hpc.core.errors import RcError
from rc_hpc.store import layout
from rc_hpc.store.batch import Batch, Children, check_batch, shape_of
from rc_hpc.store.content import datasets
from rc_hpc.store.files import new_h5, seal_problem
from rc_hpc.store.opening import DAMAGE, first_line, open_h5
from rc_hpc.store.schema import SCHEMA_VERSION, Column, Schema

#: Ending of the names of parts.
ENDING = ".h5"


@dataclass(frozen=True)
class Form:
    """What the parts of a run hold: columns, and the lengths that the schema leaves open."""

    schema: Schema
    dims: dict[str, int]

    def tables(self) -> dict[str, tuple[Column, ...]]:
        """All tables by their path prefix; the main columns have the prefix ''."""
        children = self.schema.children.items()
        return {"": self.schema.main} | {f"{table}/": columns for table, columns in children}


class PartFile:
    """A finished part, open for reading; use as a context manager.

    Attributes
    ----------
    rows
        Rows of the batch.
    host
        Machine that wrote it.
    """

    def __init__(self, path: Path):
        self._h5 = open_h5(path)
        self.rows = int(self._h5.attrs["rows"])
        self.host = str(self._h5.attrs["host"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._h5.close()

    def __getitem__(self, path: str) -> np.ndarray:
        """A whole column: text as str objects, enums as uint8."""
        return layout.read_rows(self._h5[path])

    @staticmethod
    def write(
        path: Path, form: Form, batch: Batch, children: Children, marks: Mapping[str, str]
    ) -> None:
        """Write a batch; the file appears when it is whole.

        Parameters
        ----------
        marks
            What `problem` is to find again, by name.
        """
        rows = check_batch(form.schema, batch, form.dims, children)
        with new_h5(path) as h5:
            for prefix, columns in form.tables().items():
                arrays = children[prefix[:-1]] if prefix else batch
                # Bare and uncompressed: a part lives for hours, and is written often.
                for column in columns:
                    h5.create_dataset(
                        prefix + column.path,
                        data=arrays[column.path],
                        dtype=layout.h5_dtype(column),
                        track_times=False,
                    )
            attributes = {
                "kind": form.schema.kind,
                "schema_version": SCHEMA_VERSION,
                **marks,
                "host": socket.gethostname(),
                "rows": rows,
                "complete": True,
            }
            for name, value in attributes.items():
                h5.attrs[name] = value

    @staticmethod
    def problem(path: Path, form: Form, marks: Mapping[str, tuple[str, ...]]) -> str:
        """Why a part cannot be used, or an empty string; its checksum is computed again.

        Parameters
        ----------
        marks
            Values that are allowed for each mark.

        Raises
        ------
        RcError
            The file system cannot read it.
        """
        try:
            if path.is_symlink():
                return "a symbolic link, which is not followed"
            problem = seal_problem(path)
            if problem is None:
                return "truncated, changed, or not a part written by rc_hpc: it has no checksum"
            if problem:
                return problem
            with layout.open_bare(path) as h5:
                return _mismatch(h5, form, marks)
        except DAMAGE as error:
            if isinstance(error, OSError) and error.errno:
                # The file system's fault, not the part's.
                raise RcError(
                    f"{path}: cannot be read ({os.strerror(error.errno)}); no part was touched"
                ) from error
            return f"damaged: {first_line(error)}"


def _mismatch(h5: h5py.File, form: Form, marks: Mapping[str, tuple[str, ...]]) -> str:
    attrs, schema = h5.attrs, form.schema
    if attrs.get("kind") != schema.kind or attrs.get("schema_version") != SCHEMA_VERSION:
        return f"not a part of kind {schema.kind!r}, version {SCHEMA_VERSION}"
    for name, allowed in marks.items():
        if attrs.get(name) not in allowed:
            return {
                "identity_hash": "from a run with other options or another input",
                "code": f"from a run of other code (fingerprint {attrs.get('code')})",
            }[name]
    if not attrs.get("complete", False):
        return "not complete"
    expected = set()
    for prefix, columns in form.tables().items():
        rows = len(h5[f"{prefix}structure"]) if prefix else int(attrs["rows"])
        for column in columns:
            path = prefix + column.path
            expected.add(path)
            dataset = h5[path]
            shape, dtype = shape_of(column, rows, form.dims), layout.h5_dtype(column)
            if dataset.shape != shape or dataset.dtype != dtype:
                return f"{path}: wrong shape or type"
    return "" if expected == set(datasets(h5)) else "holds other datasets than the schema"
