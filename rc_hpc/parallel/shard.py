"""Rows to batches, batches to shards: by predicted cost, alike on every machine."""

from __future__ import annotations

import heapq

import numpy as np

#: Towards the end of the rows a batch takes at most this part of the predicted cost that is left,
#: and at least this part of the largest batch: the ranks end close together.
TAPER = 4


def make_batches(
    costs: np.ndarray, max_cost_share: float, max_rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Cut rows into contiguous batches of bounded predicted cost, the last ones ever smaller.

    The cut depends on no number of ranks or shards, so that any number of them may resume
    the work of any other.

    Parameters
    ----------
    costs : (n,) float64
        Predicted cost of each row, >= 0, any unit.
    max_cost_share
        Largest share of the total cost in one batch; only a single row may exceed it.
    max_rows
        Largest number of rows in one batch.

    Returns
    -------
    bounds : (n_batches + 1,) int64
        Batch b holds the rows ``bounds[b]:bounds[b + 1]``.
    order : (n_batches,) int64
        Batches in the order they are to be drawn: largest predicted cost first, so that
        the ranks end close together.
    """
    costs = _checked(costs)
    if not 0 < max_cost_share <= 1 or max_rows < 1:
        raise ValueError(
            f"max_cost_share {max_cost_share} must be in (0, 1], max_rows {max_rows} at least 1"
        )
    # Cost of all rows before row i.
    before = np.concatenate(([0.0], np.cumsum(costs)))
    limit = max_cost_share * before[-1]
    ends = [0]
    while ends[-1] < len(costs):
        start = ends[-1]
        room = min(limit, max(limit, before[-1] - before[start]) / TAPER)
        end = int(np.searchsorted(before, before[start] + room, side="right")) - 1
        ends.append(min(max(end, start + 1), start + max_rows, len(costs)))
    bounds = np.array(ends, np.int64)
    return bounds, largest_first(batch_costs(costs, bounds))


def batch_costs(costs: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Predicted cost of each batch, (n_batches,) float64, for `bounds` of `make_batches`."""
    before = np.concatenate(([0.0], np.cumsum(costs)))
    return before[bounds[1:]] - before[bounds[:-1]]


def largest_first(costs: np.ndarray) -> np.ndarray:
    """Indices by falling cost, ties by index, (n,) int64."""
    return np.argsort(-np.asarray(costs, np.float64), kind="stable")


def shard_batches(costs: np.ndarray, i: int, n: int) -> np.ndarray:
    """Batches of shard `i` of `n`: a split of nearly equal cost that every shard agrees on.

    Largest batch first, each to the shard with the least cost so far; ties by fewest
    batches, then by shard. Two shards differ by no more than the largest batch.

    Parameters
    ----------
    costs : (n_batches,) float64
        Predicted cost of each batch, >= 0.
    i, n
        Shard and number of shards, 0 <= i < n.

    Returns
    -------
    (m,) int64
        Indices of the shard's batches, in the order they are to be drawn (largest first).
    """
    costs = _checked(costs)
    if not 0 <= i < n:
        raise ValueError(f"shard {i} of {n}: shards are numbered 0 to n - 1")
    loads = [(0.0, 0, shard) for shard in range(n)]
    mine = []
    for batch in largest_first(costs):
        load, count, shard = loads[0]
        heapq.heapreplace(loads, (load + float(costs[batch]), count + 1, shard))
        if shard == i:
            mine.append(batch)
    return np.array(mine, np.int64)


def _checked(costs) -> np.ndarray:
    costs = np.asarray(costs, np.float64)
    if costs.ndim != 1 or not np.isfinite(costs).all() or (costs < 0).any():
        raise ValueError("costs must be one row of finite numbers >= 0")
    return costs
