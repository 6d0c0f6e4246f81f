"""Batches: what one worker computed, as arrays, before it becomes a part file.

A batch is a dict from a main column's path to an array whose first axis is the
batch's rows; its children are a dict from a table's name to such a dict, where the
`structure` column holds rows of the batch, 0 to n - 1, in ascending order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import EnumType

import numpy as np

from rc_hpc.core.text import NOT_STORABLE
from rc_hpc.store.schema import FIXED_DIMS, TEXT, Column, Schema

Batch = dict[str, np.ndarray]
Children = dict[str, Batch]


@dataclass(frozen=True)
class Rows:
    """Structures in memory, one row each.

    Attributes
    ----------
    batch
        Columns by their path in the file.
    children
        Child tables by name, their rows in the order of the structures.
    """

    batch: Batch
    children: Children

    def __len__(self) -> int:
        return len(self.batch["structures/id"])

    def child(self, table: str, row: int) -> Batch:
        """The rows of a child table that belong to one structure."""
        columns = self.children[table]
        first, last = np.searchsorted(columns["structure"], (row, row + 1))
        return {name: values[first:last] for name, values in columns.items()}


def shape_of(column: Column, n: int, dims: dict[str, int]) -> tuple[int, ...]:
    """Shape of a column of `n` rows; `dims` has the lengths that the schema leaves open."""
    lengths = FIXED_DIMS | dims
    return (n, *(lengths[name] for name in column.dims))


def filled(column: Column, n: int, dims: dict[str, int]) -> np.ndarray:
    """`n` rows of the column's fill value."""
    return np.full(shape_of(column, n, dims), column.fill, dtype=column.numpy_dtype)


def empty_batch(schema: Schema, n: int, dims: dict[str, int]) -> Batch:
    """All main columns of `n` rows, filled with their fill values."""
    return {column.path: filled(column, n, dims) for column in schema.main}


def empty_children(schema: Schema, dims: dict[str, int]) -> Children:
    """All child tables, with no rows."""
    return {
        table: {column.path: filled(column, 0, dims) for column in columns}
        for table, columns in schema.children.items()
    }


def row_bytes(schema: Schema, dims: dict[str, int], child_rows: int, text: int = 40) -> int:
    """Bytes of a main row in memory with its child rows; texts are taken to be so long."""

    def width(column: Column) -> int:
        count = int(np.prod(shape_of(column, 1, dims), dtype=np.int64))
        return count * (text if column.dtype == TEXT else column.numpy_dtype.itemsize)

    children = sum(width(one) for columns in schema.children.values() for one in columns)
    return sum(map(width, schema.main)) + child_rows * children


def check_batch(
    schema: Schema, batch: Batch, dims: dict[str, int], children: Children | None = None
) -> int:
    """Number of rows of the batch, after a check of every array against the schema.

    Raises
    ------
    ValueError
        Names the dataset that is missing, unknown or does not fit, and how.
    """
    n = _check_table("", schema.main, batch, dims)
    if children is None:
        return n
    _same_names("", schema.children, children)
    for table, columns in schema.children.items():
        _check_table(f"{table}/", columns, children[table], dims)
        rows = children[table]["structure"]
        if len(rows) and (rows[0] < 0 or rows[-1] >= n or np.any(np.diff(rows) < 0)):
            raise ValueError(f"{table}/structure: must ascend within 0 to {n - 1}")
    return n


def _check_table(
    prefix: str, columns: tuple[Column, ...], arrays: Batch, dims: dict[str, int]
) -> int:
    _same_names(prefix, [column.path for column in columns], arrays)
    n = len(arrays[columns[0].path])
    for column in columns:
        name, array = prefix + column.path, arrays[column.path]
        if array.dtype != column.numpy_dtype:
            raise ValueError(f"{name}: dtype {array.dtype}, must be {column.numpy_dtype}")
        shape = shape_of(column, n, dims)
        if array.shape != shape:
            raise ValueError(f"{name}: shape {array.shape}, must be {shape}")
        if column.dtype == TEXT:
            for value in array.ravel():
                if not isinstance(value, str):
                    raise ValueError(f"{name}: {value!r} is not text")
                if NOT_STORABLE.search(value):
                    raise ValueError(
                        f"{name}: {value!r} holds characters that HDF5 text cannot; use `storable`"
                    )
        elif isinstance(column.dtype, EnumType):
            strange = set(np.unique(array).tolist()) - set(map(int, column.dtype))
            if strange:
                raise ValueError(
                    f"{name}: {sorted(strange)} are no codes of {column.dtype.__name__}"
                )
    return n


def _same_names(prefix: str, wanted: Iterable[str], found: Iterable[str]) -> None:
    for name in wanted:
        if name not in found:
            raise ValueError(f"{prefix}{name}: missing")
    for name in found:
        if name not in wanted:
            raise ValueError(f"{prefix}{name}: not in the schema")
