"""Smallest phantom deltas: the counts of a census file against the definition."""

import numpy as np
from tables_cases import options_of, random_batch, write_census

from rc_hpc.core.errors import Status
from rc_hpc.engine.results import tables_of
from rc_hpc.geometry.protocol import load_protocol, parse_subsets
from rc_hpc.kinds.census.counts import count_census
from rc_hpc.kinds.census.phantom_deltas import DELTAS, steps_of, tally_deltas
from rc_hpc.kinds.census.tables import tables
from rc_hpc.oracle.geometry import GeometricOracle


def test_table_counts_structures_and_subsets(tmp_path):
    options = options_of(delta_max=0.25)
    batch = random_batch(options, 80)
    counts = count_census(
        write_census(tmp_path / "census.h5", options, batch), block_bytes=26 * 8 * 7
    )
    frame = tables(counts, ("phantom-deltas",))[0].frame
    sizes = np.array([len(subset) for subset in options.subsets])
    ok = batch["structures/status"] == Status.ok
    for name, chosen in (
        ("without quarantined", ok & (batch["structures/quarantine"] == 0)),
        ("with quarantined", ok),
    ):
        rows = frame[frame["structures"] == name]
        assert rows["delta_angstrom"].tolist() == DELTAS[DELTAS <= 0.25].tolist() and set(
            rows["n"]
        ) == {chosen.sum()}
        for size in (2, 3, 4, 5):
            smallest = batch["cells/phantom_delta"][chosen][:, sizes == size]
            wanted = [int((smallest <= delta).sum()) for delta in rows["delta_angstrom"]]
            assert rows[f"count_{size}_views"].tolist() == wanted and 0 < wanted[0] < wanted[-1]
            np.testing.assert_allclose(
                rows[f"share_{size}_views"], np.array(wanted) / smallest.size
            )


def test_phantoms_are_not_monotone_in_delta():
    """Two atoms, two cameras: a phantom comes where its gap is accepted, and goes where delta
    reaches to the nearest atom: then it is that atom, seen badly.

    The rays of one atom along x and of the other along y pass 0.05 Å apart; halfway between, the
    nearest atom of the two is sqrt(0.1^2 + 0.025^2) = 0.1031 Å away.
    """
    frozen = load_protocol("frozen")
    positions, numbers = np.array([[1.0, 1.0, 1.0], [1.1, 1.15, 1.05]]), np.array([6, 6])
    oracle = GeometricOracle(frozen, parse_subsets("axis_a+axis_b", frozen.views))
    counts, accepted = [], []
    for delta in (0.01, 0.049, 0.051, 0.1, 0.104, 0.2):
        found = oracle.run(positions, numbers, delta)
        counts.append(int(found.n_phantoms[0]))
        # twin: both mixed pairs of rays, by hand
        mixed = [(1.1, 1.0, 1.025), (1.0, 1.15, 1.025)]
        near = [np.linalg.norm(positions - point, axis=1).min() for point in mixed]
        accepted.append(sum(0.05 <= delta < distance for distance in near))
    assert counts == accepted == [0, 0, 2, 2, 0, 0]


def test_at_delta_itself_counts_and_none_does_not():
    found = tally_deltas(np.array([[DELTAS[3], np.inf, np.nan, 0.0]]))
    assert found[:, 0].tolist() == [0, 0, 0] + [1] * (len(DELTAS) - 3)
    assert not found[:, 1:3].any() and found[:, 3].all()


def test_deltas_ascend():
    assert (np.diff(DELTAS) > 0).all() and {0.01, 0.125, 0.2, 0.5} <= set(DELTAS)


def test_steps_are_at_every_structures_own_delta(tmp_path):
    options = options_of(delta_max=0.25)
    batch = random_batch(options, 80)
    path = write_census(tmp_path / "census.h5", options, batch)
    counts = count_census(path, block_bytes=26 * 8 * 7)
    frame = tables(counts, ("phantom-steps",))[0].frame
    assert "phantom-steps" not in {table.name for table in tables_of(path)[1]}
    sizes = np.array([len(subset) for subset in options.subsets])
    ok = (batch["structures/status"] == Status.ok) & (batch["structures/quarantine"] == 0)
    rows = frame[frame["structures"] == "without quarantined"]
    deltas = rows["delta_angstrom"].to_numpy()
    assert deltas[0] == 0 and (np.diff(deltas) > 0).all() and deltas[-1] <= 0.25
    for size in (2, 3, 4, 5):
        own = np.sort(batch["cells/phantom_delta"][ok][:, sizes == size], axis=None)
        got = rows[f"count_{size}_views"].to_numpy(int)
        # Twin: how many are not larger, with what five digits leave of each.
        assert got.tolist() == [int((own <= delta * (1 + 1e-9)).sum()) for delta in deltas]
        inside = own[(own <= 0.25) & (own > 1e-9)]
        near = deltas[np.searchsorted(deltas, inside * (1 - 1e-9))]
        assert (near >= inside * (1 - 1e-9)).all() and (near <= inside * (1 + 1.0001e-4)).all()
        at = rows[rows["delta_angstrom"].isin(DELTAS)]
        both = tables(counts, ("phantom-deltas",))[0].frame
        both = both[both["structures"] == "without quarantined"].set_index("delta_angstrom")
        for delta, count in zip(at["delta_angstrom"], at[f"count_{size}_views"], strict=True):
            assert both.loc[delta, f"count_{size}_views"] == count


def test_steps_add_up_and_do_not_grow():
    rng = np.random.default_rng(0)
    sizes = np.array([2, 2, 3])
    values = np.where(rng.random((50_000, 3)) < 0.3, np.inf, 10 ** rng.uniform(-2, -1, (50_000, 3)))
    whole = steps_of(values, sizes)
    parts = steps_of(values[:20_000], sizes) + steps_of(values[20_000:], sizes)
    np.testing.assert_array_equal(whole.deltas, parts.deltas)
    np.testing.assert_array_equal(whole.counts, parts.counts)
    assert whole.counts.sum() == np.isfinite(values).sum() and len(whole.deltas) <= 90_001
    zeros = steps_of(np.array([[0.0, 1e-12, np.nan]]), sizes)
    assert zeros.deltas.tolist() == [0.0] and zeros.counts.tolist() == [[2, 0]]
