"""Rows to shards and batches, by predicted cost; shards are alike on every machine."""

from __future__ import annotations

import heapq

import numpy as np

#: Towards the end of the rows a batch takes at most this part of the predicted cost that is left,
#: and at least this part of the largest batch: the ranks end close together.
TAPER = 4

#: Rows that take more than this part of a rank's predicted work are drawn first and alone.
ALONE = 0.02
#: Least part of a rank's predicted work in one batch.
LEAST = 0.01
#: Stretches of rows that a shard is made of, about.
PIECES = 64


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


def guided(
    costs: np.ndarray, ranks: int, max_rows: int, ceiling: float, floor: float
) -> tuple[np.ndarray, np.ndarray]:
    """Cut rows into batches that shrink with what is left: the ranks end close together.

    A batch takes left / (2 ranks) of the predicted cost, within `floor` and `ceiling`; rows dearer
    than `ALONE` of a rank's share come first, each alone, dearest first.

    Parameters
    ----------
    costs : (n,) float64
        Predicted cost of each row, >= 0, any unit.
    ranks
        That draw from them.
    max_rows
        Largest number of rows in one batch.
    ceiling, floor
        Largest and smallest cost of a batch, but for single rows; the floor rises to `LEAST` of a
        rank's share, and `ceiling` wins.

    Returns
    -------
    rows : (n,) int64
        All rows, in the order in which they are drawn; within a batch they ascend.
    bounds : (n_batches + 1,) int64
        Batch b holds ``rows[bounds[b]:bounds[b + 1]]``.
    """
    costs = _checked(costs)
    if ranks < 1 or max_rows < 1 or not ceiling > 0:
        raise ValueError(f"{ranks} ranks, {max_rows} rows, ceiling {ceiling}: must be above 0")
    share = float(costs.sum()) / ranks
    alone = np.flatnonzero(costs > max(ALONE * share, floor)) if ranks > 1 else np.empty(0, int)
    alone = alone[largest_first(costs[alone])]
    rest = np.setdiff1d(np.arange(len(costs)), alone, assume_unique=True)
    before = np.concatenate(([0.0], np.cumsum(costs[rest])))
    least = min(ceiling, max(floor, LEAST * share))
    ends = [0]
    while ends[-1] < len(rest):
        start = ends[-1]
        room = min(ceiling, max(least, (before[-1] - before[start]) / (2 * ranks)))
        end = int(np.searchsorted(before, before[start] + room, side="right")) - 1
        ends.append(min(max(end, start + 1), start + max_rows, len(rest)))
    bounds = np.concatenate((np.arange(len(alone)), len(alone) + np.array(ends, np.int64)))
    return np.concatenate((alone, rest)).astype(np.int64), bounds.astype(np.int64)


def shard_rows(costs: np.ndarray, i: int, n: int, max_rows: int) -> np.ndarray:
    """Rows of shard `i` of `n`, ascending, (m,) int64: of nearly equal cost, in whole stretches."""
    bounds, _ = make_batches(costs, 1 / (n * PIECES), max_rows)
    mine = np.sort(shard_batches(batch_costs(costs, bounds), i, n))
    ranges = [np.arange(bounds[batch], bounds[batch + 1]) for batch in mine]
    return np.concatenate([np.empty(0, np.int64), *ranges])


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
