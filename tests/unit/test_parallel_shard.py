"""Batches and shards."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rc_hpc.core.errors import Exit, UsageError
from rc_hpc.engine.options import parse_shard
from rc_hpc.parallel.shard import (
    ALONE,
    TAPER,
    batch_costs,
    guided,
    make_batches,
    shard_batches,
    shard_rows,
)

cost_lists = st.lists(st.floats(0, 1e6) | st.integers(0, 3).map(float), max_size=60)


@given(cost_lists, st.floats(0.001, 1), st.integers(1, 20))
def test_batches_are_contiguous_bounded_and_maximal(costs, share, max_rows):
    bounds, order = make_batches(costs, share, max_rows)
    assert bounds[0] == 0 and bounds[-1] == len(costs)
    rows = np.diff(bounds)
    assert (rows >= 1).all() and (rows <= max_rows).all()
    limit = share * sum(costs)
    room = 1e-9 * (1 + sum(costs))
    for start, end in pairwise(bounds):
        bound = min(limit, max(limit, sum(costs[start:])) / TAPER)
        assert end - start == 1 or sum(costs[start:end]) <= bound + room
        if end < len(costs) and end - start < max_rows:
            assert sum(costs[start : end + 1]) >= bound - room
    assert sorted(order) == list(range(len(rows)))
    drawn = batch_costs(costs, bounds)[order]
    assert (np.diff(drawn) <= 0).all()


def test_batches_by_hand():
    bounds, order = make_batches(
        [1, 1, 2, 8, *[1] * 52], max_cost_share=0.0625, max_rows=3
    )  # at most 4 in a batch
    assert bounds[:4].tolist() == [0, 3, 4, 7]
    assert order[:2].tolist() == [1, 0]
    assert np.diff(bounds).tolist() == [
        3,
        1,
        *[3] * 14,
        *[2] * 2,
        *[1] * 6,
    ]  # a quarter of what is left


@given(cost_lists, st.integers(1, 9))
def test_shards_cover_every_batch_once_and_are_balanced(costs, n):
    shards = [shard_batches(costs, i, n) for i in range(n)]
    assert sorted(np.concatenate(shards)) == list(range(len(costs)))
    loads = [sum(costs[batch] for batch in shard) for shard in shards]
    assert max(loads) - min(loads) <= max(costs, default=0) + 1e-9 * (1 + sum(costs))
    for shard in shards:
        assert (np.diff(np.array(costs)[shard]) <= 0).all()


def test_shards_of_equal_and_zero_cost_are_dealt_in_turn():
    for cost in (0.0, 1.0):
        assert shard_batches([cost] * 6, 1, 3).tolist() == [1, 4]


@pytest.mark.parametrize("bad", [[1, -1], [np.nan], [np.inf], [[1.0]]])
def test_senseless_costs_are_refused(bad):
    with pytest.raises(ValueError, match="costs"):
        make_batches(bad, 0.5, 2)
    with pytest.raises(ValueError, match="costs"):
        shard_batches(bad, 0, 2)


@pytest.mark.parametrize("share, rows", [(0, 1), (1.5, 1), (0.5, 0), (np.nan, 1)])
def test_senseless_bounds_are_refused(share, rows):
    with pytest.raises(ValueError, match="max_rows"):
        make_batches([1.0], share, rows)


def test_shard_numbers_out_of_range_are_refused():
    with pytest.raises(ValueError, match="0 to n - 1"):
        shard_batches([1.0], 2, 2)


@pytest.mark.parametrize("text, shard", [("0/1", (0, 1)), ("7/8", (7, 8)), (" 3 / 12 ", (3, 12))])
def test_parse_shard(text, shard):
    assert parse_shard(text) == shard


@pytest.mark.parametrize(
    "text, cure",
    [
        ("8/8", "0/8 to 7/8"),
        ("8/8", "--array=0-7"),
        ("9/8", "from zero"),
        ("0/0", "at least one"),
        ("1", "i/N"),
        ("-1/4", "i/N"),
        ("1/4/2", "i/N"),
        ("a/b", "i/N"),
        ("", "i/N"),
        ("1.0/2", "i/N"),
    ],
)
def test_parse_shard_refuses_with_the_cure(text, cure):
    with pytest.raises(UsageError) as error:
        parse_shard(text)
    assert cure in str(error.value)
    assert error.value.code == Exit.USAGE


@given(cost_lists, st.integers(1, 40), st.integers(1, 20), st.floats(0.1, 1e6), st.floats(0, 10))
def test_guided_batches(costs, ranks, max_rows, ceiling, floor):
    rows, bounds = guided(costs, ranks, max_rows, ceiling, floor)
    assert sorted(rows.tolist()) == list(range(len(costs)))
    assert bounds[0] == 0 and bounds[-1] == len(costs)
    sizes = np.diff(bounds)
    assert (sizes >= 1).all() and (sizes <= max_rows).all()
    room = 1e-9 * (1 + sum(costs))
    left = sum(costs)
    for start, end in pairwise(bounds.tolist()):
        own = rows[start:end]
        assert (np.diff(own) > 0).all()
        cost = sum(costs[row] for row in own)
        assert end - start == 1 or cost <= ceiling + room
        left -= cost
    share = sum(costs) / ranks
    dear = [row for row in range(len(costs)) if costs[row] > max(ALONE * share, floor)]
    if ranks > 1:
        first = rows[: len(dear)].tolist()
        assert sorted(first) == dear and sizes[: len(dear)].tolist() == [1] * len(dear)
        assert [costs[row] for row in first] == sorted((costs[row] for row in dear), reverse=True)
    rest = rows[len(dear) if ranks > 1 else 0 :]
    assert (np.diff(rest) > 0).all()


def test_guided_batches_by_hand():
    rows, bounds = guided([1.0] * 64 + [100.0], 4, 1000, 1e9, 1)
    assert rows[0] == 64 and bounds[:2].tolist() == [0, 1]
    # an eighth of what is left
    assert np.diff(bounds)[1:8].tolist() == [8, 7, 6, 5, 4, 4, 3]
    assert np.diff(guided([1.0] * 64, 1, 1000, 10, 5)[1]).tolist() == [10, 10, 10, 10, 10, 7, 5, 2]


@given(cost_lists, st.integers(1, 9), st.integers(1, 20))
def test_shards_share_the_rows(costs, n, max_rows):
    shards = [shard_rows(costs, i, n, max_rows) for i in range(n)]
    assert sorted(np.concatenate(shards).tolist()) == list(range(len(costs)))
    assert all((np.diff(shard) > 0).all() for shard in shards)


@pytest.mark.parametrize("ranks, rows, ceiling", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_impossible_guided_batches_are_refused(ranks, rows, ceiling):
    with pytest.raises(ValueError, match="must be above 0"):
        guided([1.0], ranks, rows, ceiling, 0)
