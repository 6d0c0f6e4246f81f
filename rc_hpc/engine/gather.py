"""Results of several structures as few arrays, which cross over to another process faster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from rc_hpc.store.batch import Batch

#: Columns of each structure, and its child tables by table and column; see `Compute`.
Result = tuple[dict[str, Any], dict[str, dict[str, Any]]]


class Gathered(NamedTuple):
    """Results of structures that have the same columns.

    Attributes
    ----------
    fields
        By column, one array with a row for each structure, or a list.
    tables
        By table and column, the child rows of all of them, or a list of those of each.
    sizes : dict
        Number of child rows of each structure, by table.
    """

    fields: dict[str, Any]
    tables: dict[str, dict[str, Any]]
    sizes: dict[str, list[int]]


def gathered(results: list[Result]) -> Gathered | list[Result]:
    """Several results as one; as they are where their columns are not the same."""
    if len(results) < 2:
        return results
    fields, tables = results[0]
    names = {table: columns.keys() for table, columns in tables.items()}
    for others, theirs in results[1:]:
        if others.keys() != fields.keys() or names != {t: c.keys() for t, c in theirs.items()}:
            return results
    return Gathered(
        {name: _stacked([own[name] for own, _ in results]) for name in fields},
        {
            table: {name: _chained([own[table][name] for _, own in results]) for name in columns}
            for table, columns in names.items()
        },
        {
            table: [len(next(iter(own[table].values()), ())) for _, own in results]
            for table in names
        },
    )


def fill(
    batch: Batch, rows: list[int], results: Gathered | list[Result]
) -> Iterator[dict[str, dict[str, Any]]]:
    """Fill rows of a batch with results; yields the child tables of each."""
    if not isinstance(results, Gathered):
        for row, (fields, tables) in zip(rows, results, strict=True):
            for path, value in fields.items():
                batch[path][row] = value
            yield tables
        return
    for path, values in results.fields.items():
        column = batch[path]
        if isinstance(values, np.ndarray) and column.dtype != object:
            column[rows] = values
            continue
        for row, value in zip(rows, values, strict=True):
            column[row] = value
    starts = {table: np.cumsum([0, *sizes]).tolist() for table, sizes in results.sizes.items()}
    for k in range(len(rows)):
        yield {
            table: {
                name: values[k]
                if isinstance(values, list)
                else values[starts[table][k] : starts[table][k + 1]]
                for name, values in columns.items()
            }
            for table, columns in results.tables.items()
        }


def _stacked(values: list[Any]) -> Any:
    first = values[0]
    if not isinstance(first, np.ndarray) or not first.ndim or not _alike(values):
        return values
    if any(value.shape != first.shape for value in values):
        return values
    return np.concatenate(values).reshape(len(values), *first.shape)


def _chained(values: list[Any]) -> Any:
    first = values[0]
    if not isinstance(first, np.ndarray) or not _alike(values):
        return values
    if any(value.shape[1:] != first.shape[1:] for value in values):
        return values
    return np.concatenate(values)


def _alike(values: list[Any]) -> bool:
    kind = values[0].dtype
    return all(isinstance(value, np.ndarray) and value.dtype == kind for value in values)
