"""View curve and monotonicity, and the frontier's counts, against loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables_cases import options_of, random_batch, write_census

from rc_hpc.core.errors import Status
from rc_hpc.geometry.pairs import subset_masks
from rc_hpc.geometry.protocol import load_protocol, parse_subsets
from rc_hpc.kinds.census.counts import count_census
from rc_hpc.kinds.census.monotonicity import adjacent, count_losses, nested
from rc_hpc.kinds.census.tables import tables
from rc_hpc.kinds.frontier.frames import certified_steps

SUBSETS = parse_subsets("all", load_protocol("frozen").views)
MASKS = subset_masks(SUBSETS)


def test_nested_pairs_of_five_views():
    assert nested(MASKS).sum() == 105 and adjacent(MASKS).sum() == 55
    for i, small in enumerate(SUBSETS):
        for j, large in enumerate(SUBSETS):
            assert nested(MASKS)[i, j] == (set(small) < set(large))
            assert adjacent(MASKS)[i, j] == (
                set(small) < set(large) and len(large) == len(small) + 1
            )


def test_losses_are_those_of_a_loop_and_add_up():
    correct = np.random.default_rng(0).random((40, 26)) < 0.9
    whole = count_losses(correct, MASKS)
    parts = count_losses(correct[:13], MASKS) + count_losses(correct[13:], MASKS)
    for pairs, structures in (
        (nested(MASKS), whole.structures),
        (adjacent(MASKS), whole.structures_adjacent),
    ):
        lossy = np.zeros(40, bool)
        for i, j in np.argwhere(pairs):
            lost = correct[:, i] & ~correct[:, j]
            assert whole.lost[i, j] == parts.lost[i, j] == lost.sum()
            lossy |= lost
        assert structures == lossy.sum()
    assert (parts.structures, parts.structures_adjacent) == (
        whole.structures,
        whole.structures_adjacent,
    )
    assert 0 < whole.structures_adjacent <= whole.structures <= 40


def test_tables_of_views(tmp_path):
    options = options_of(tiling=(2, 1, 1))
    batch = random_batch(options, 60)
    frames = {
        t.name: t.frame
        for t in tables(
            count_census(write_census(tmp_path / "c.h5", options, batch)),
            ("views", "violations", "falling"),
        )
    }
    kept = (batch["structures/status"] == Status.ok) & (batch["structures/quarantine"] == 0)
    right = batch["cells/correct_crystal_system"][kept]
    excess = batch["cells/n_recovered"][kept] - 2 * batch["structures/n_atoms"][kept][:, None]
    sizes = np.array([len(subset) for subset in SUBSETS])
    views = frames["views"][frames["views"]["structures"] == "without quarantined"].set_index(
        "views"
    )
    for size in (2, 3, 4, 5):
        shares = right[:, sizes == size].mean(axis=0)
        assert views.loc[size, ["R1", "R1_min", "R1_max"]].tolist() == pytest.approx(
            [shares.mean(), shares.min(), shares.max()]
        )
        assert views.loc[size, "mean_excess"] == pytest.approx(excess[:, sizes == size].mean())
    row = frames["violations"].iloc[0]
    losses = count_losses(right, MASKS)
    assert (row["n_pairs"], row["comparisons"], row["losses"]) == (
        105,
        105 * kept.sum(),
        losses.lost[nested(MASKS)].sum(),
    )
    falls = [(i, j) for i, j in np.argwhere(nested(MASKS)) if right[:, i].sum() > right[:, j].sum()]
    falling = frames["falling"][frames["falling"]["structures"] == "without quarantined"]
    assert row["aggregate"] == len(falls) == len(falling) > 0
    assert falling["R1_count"].tolist() == [right[:, i].sum() for i, _ in falls]


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 6))
def test_certified_steps_are_the_count_at_every_delta(seed, n):
    rng = np.random.default_rng(seed)
    separation = np.where(rng.random(n) < 0.3, np.inf, rng.uniform(0.1, 1.2, n))
    structure, lower, upper = [], [], []
    for k in range(n):
        bounds = np.sort(rng.uniform(0, 0.7, 2 * rng.integers(0, 4)))
        structure += [k] * (len(bounds) // 2)
        lower += bounds[::2].tolist()
        upper += bounds[1::2].tolist()
    structure, lower, upper = np.array(structure, int), np.array(lower), np.array(upper)
    delta, certified = certified_steps(structure, lower, upper, separation, 0.5)
    assert (
        delta[0] == 0
        and (np.diff(delta) > 0).all()
        and (np.diff(certified) != 0).all()
        and delta[-1] <= 0.5
    )
    for at in np.concatenate(
        (rng.uniform(0, 0.5, 30), lower[lower <= 0.5], upper[upper <= 0.5], delta)
    ):
        inside = np.zeros(n, bool)
        np.logical_or.at(inside, structure, (lower <= at) & (at < upper))
        wanted = np.sum(~inside & (separation > 2 * at))
        assert certified[np.searchsorted(delta, at, side="right") - 1] == wanted
